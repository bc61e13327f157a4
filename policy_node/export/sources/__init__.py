# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Source frameworks: each module turns a checkpoint into a :class:`SourcePolicy`."""

from policy_node.export.sources.base import SourcePolicy

__all__ = ["SourcePolicy"]
