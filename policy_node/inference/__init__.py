# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime: graphs, sessions, providers, and the loading of bundles."""
