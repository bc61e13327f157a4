# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""A robot simulated with MuJoCo, free of ROS: it obeys commands, and reads its sensors, as a real robot does."""
