# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""From a checkpoint to a bundle: one module per source framework under ``sources``."""

from policy_node.export.bundle import ExportReport, export_checkpoint

__all__ = ["ExportReport", "export_checkpoint"]
