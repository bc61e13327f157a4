# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The conformance test of drivers can fail: a driver with one fault fails what it should, and one without passes."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).with_name("test_driver_conformance.py")
DRIVER = Path(__file__).parents[1] / "support" / "toy_driver.py"


def conformance(fault: str, tests: str) -> subprocess.CompletedProcess[str]:
    """Runs some of the conformance tests against the toy driver with a fault."""
    command = [sys.executable, "-m", "pytest", "-o", "pythonpath=test/support", str(TESTS), "-k", tests]
    environment = {
        **os.environ,
        "DRIVER_COMMAND": shlex.join([sys.executable, str(DRIVER), fault]),
        "DRIVER_PROBE_JOINT": "probe_joint",
    }
    return subprocess.run(command, cwd=DRIVER.parent, env=environment, capture_output=True, text=True, timeout=120)


def test_a_driver_without_a_fault_passes() -> None:
    done = conformance("", "followed or effort or order or ends or stale or nan or limited")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        ("never expires", "test_a_command_ends_when_valid_for_has_passed"),
        ("judges by stamp", "test_a_command_holds_from_its_receipt and zero"),
        ("takes stale", "test_the_same_command_again_is_stale_and_prolongs_nothing"),
        ("goes by order", "test_joints_are_found_by_name_and_not_by_order"),
        ("takes NaN", "test_a_bad_command_is_dropped_whole and position and nan"),
        ("forgets effort", "test_effort_is_added_to_what_the_gains_give"),
        ("no limit", "test_torque_is_limited"),
    ],
)
def test_a_fault_is_found(fault: str, test: str) -> None:
    done = conformance(fault, test)
    assert done.returncode == 1, done.stdout
    assert "1 failed" in done.stdout


def test_an_empty_command_looks_for_a_driver_that_runs_already_and_starts_none() -> None:
    command = [sys.executable, "-m", "pytest", "-o", "pythonpath=test/support", str(TESTS), "-k", "order", "-x"]
    environment = {**os.environ, "DRIVER_COMMAND": "", "DRIVER_PATIENCE": "2"}
    done = subprocess.run(command, cwd=DRIVER.parent, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stdout
    assert "the driver publishes no joint states, or subscribes to no commands" in done.stdout
