# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The pip package, for machines without ROS, described in setup.cfg. colcon builds from CMakeLists.txt."""

from setuptools import setup

setup()
