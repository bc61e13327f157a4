# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Which policy_node the tests in this folder see. test/test_imports.py is the counterpart."""

from __future__ import annotations

from pathlib import Path

from ament_index_python.packages import get_package_prefix

import policy_node
import policy_node.msg


def test_these_tests_run_against_the_installed_package() -> None:
    installed = Path(policy_node.__file__)
    assert installed.is_relative_to(get_package_prefix("policy_node"))
    assert installed.parent == Path(policy_node.msg.__file__).parents[1]
