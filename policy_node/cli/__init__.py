# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""One thin module per executable, each with a ``main(argv)`` that returns an exit code."""
