# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The pip package, for machines without ROS; setup.cfg says everything. colcon builds from CMakeLists.txt instead."""

from setuptools import setup

setup()
