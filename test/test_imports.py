# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Which policy_node the tests outside test/ros see. test/ros/test_installed_package.py is the counterpart."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import policy_node


def test_these_tests_run_against_the_sources() -> None:
    assert Path(policy_node.__file__) == Path(__file__).parents[1] / "policy_node" / "__init__.py"


def test_the_sources_hold_no_messages() -> None:
    assert find_spec("policy_node.msg") is None
