# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""policy_node: takes a trained reinforcement-learning policy to a robot.

Importing this package imports nothing heavy, so that every executable can answer ``--help`` at once.
"""

from policy_node.version import __version__

__all__ = ["__version__"]
