# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The contract: models of policy_spec.json, task descriptions, robot files and bundles."""
