# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The executables as a person uses them, without ROS."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from toy import toy_spec_data

from policy_node.cli.bench import NETWORKS, make_bundle
from policy_node.cli.bench import main as bench
from policy_node.cli.check import main as check
from policy_node.cli.main import COMMANDS, main
from policy_node.inference.load import load_policy


def test_check_prints_what_is_observed_and_driven(
    write_bundle: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert check([str(write_bundle())]) == 0
    out = capsys.readouterr().out
    assert "gravity" in out
    assert "12:15" in out  # joint_vel stands there
    assert "50 ticks replayed" in out
    assert "good" in out


def test_check_says_every_fault_and_returns_1(
    write_bundle: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    data = toy_spec_data()
    data["rate"]["decimation"] = 3
    data["entities"]["robot"]["kd"][2] = -0.0
    assert check([str(write_bundle(data))]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "decimation 3 * sim_dt 0.005 is 0.015" in out
    assert "joint 'c' has -0.0" in out


@pytest.mark.parametrize("joints", list(NETWORKS))
def test_the_benchmark_measures_a_bundle_that_loads(tmp_path: Path, joints: int) -> None:
    loaded = load_policy(make_bundle(tmp_path / "bundle", joints))
    command, fault = loaded.runner.step(loaded.runner.new_sensors())
    assert fault is None
    assert command is not None
    assert len(command) == joints


def test_bench_prints_ratios(write_bundle: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert bench([str(write_bundle()), "--paced-seconds", "0.2"]) == 0
    out = capsys.readouterr().out
    assert "hot" in out
    assert "50 Hz" in out


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_explains_itself_without_ros(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main([name, "--help"])
    except SystemExit as end:
        code = int(end.code or 0)
    assert code == 0
    assert "usage:" in capsys.readouterr().out


def test_an_unknown_command_is_answered_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fly"]) == 2
    assert "no command 'fly'. There are: export" in capsys.readouterr().err
