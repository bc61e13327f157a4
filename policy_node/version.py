# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The version of this package: the one place where it is written by hand for Python.

package.xml and CHANGELOG.rst must state the same one, because ROS tools read it there; a test compares them.
"""

__version__ = "0.1.0"
