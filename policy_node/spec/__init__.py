# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The contract: models of policy_spec.json, task descriptions, robot files and bundles."""

from policy_node.pydantic_check import require_pydantic_2

# Every module of this folder needs pydantic 2, and what apt installs is pydantic 1.
require_pydantic_2()
