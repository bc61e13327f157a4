# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
