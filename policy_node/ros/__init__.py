# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The ROS side: the only folder that imports rclpy or messages."""
