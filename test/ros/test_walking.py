# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The main job, end to end: sim and deploy as processes over DDS, in lockstep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import ROBOT_FILE, bundle, legs_swapped, variant, walk_in_lockstep, without_action

from policy_node.core.joint_map import JointMap
from policy_node.spec.robot import load_robot

__all__ = ["bundle"]

COURSE: list[dict[str, Any]] = [
    {"name": "stand", "duration": 2.0, "command": [0.0, 0.0, 0.0]},
    {"name": "forward", "duration": 5.0, "command": [0.6, 0.0, 0.0]},
    {"name": "turn", "duration": 5.0, "command": [0.0, 0.0, 0.8]},
    {"name": "sideways", "duration": 5.0, "command": [0.0, 0.3, 0.0]},
    {"name": "pushed", "duration": 5.0, "command": [0.3, 0.0, 0.0], "push": {"at": 1.0, "velocity": [0.0, 0.5, 0.0]}},
]
FORWARD: list[dict[str, Any]] = [{"name": "forward", "duration": 6.0, "command": [0.6, 0.0, 0.0]}]


@pytest.fixture(scope="module")
def walked(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    code, run = walk_in_lockstep(tmp_path_factory.mktemp("walk"), bundle, COURSE)
    assert code == 0
    return run


def test_the_robot_walks_as_commanded_and_does_not_fall(walked: dict[str, np.ndarray]) -> None:
    assert walked["falls"] == 0
    assert walked["completed"]
    velocity = np.column_stack([walked["base_lin_vel"][:, :2], walked["base_ang_vel"][:, 2]])
    for number, leg in enumerate(COURSE):
        rows = np.flatnonzero(walked["segment"] == number)
        reached = velocity[rows[-100:]].mean(axis=0)  # the last two seconds
        error = np.abs(reached - leg["command"])
        assert error[0] < 0.1, (leg["name"], reached)
        assert error[1] < 0.1, (leg["name"], reached)
        assert error[2] < 0.15, (leg["name"], reached)


def test_undriven_joints_are_at_their_default_in_every_command(walked: dict[str, np.ndarray], bundle: Path) -> None:
    entity = json.loads((bundle / "policy_spec.json").read_text())["entities"]["robot"]
    running = walked["state"] == "RUNNING"
    assert running.sum() > 1000
    for joint in ("head_pan_joint", "head_tilt_joint"):
        place, ours = walked["joint_names"].tolist().index(joint), entity["dofs_name"].index(joint)
        assert entity["default_dofs_pos"][ours] != 0.0
        assert (walked["target_pos"][running, place] == entity["default_dofs_pos"][ours]).all()
        assert (walked["kp"][running, place] == entity["kp"][ours]).all()
        assert (walked["kd"][running, place] == entity["kd"][ours]).all()
        assert np.abs(walked["joint_pos"][running, place] - entity["default_dofs_pos"][ours]).max() < 0.1


def test_no_two_of_the_three_joint_orders_are_alike_or_inverse(walked: dict[str, np.ndarray], bundle: Path) -> None:
    entity = json.loads((bundle / "policy_spec.json").read_text())["entities"]["robot"]
    wire, contract = walked["joint_names"].tolist(), entity["dofs_name"]
    command = load_robot(ROBOT_FILE).command_joints
    for first, second in ((wire, contract), (contract, command), (wire, command)):
        index = JointMap(first).resolve(second)
        assert index.tolist() != list(range(len(index)))
        assert index[index].tolist() != list(range(len(index)))


def test_two_runs_give_the_same_bits(bundle: Path, tmp_path: Path) -> None:
    runs = [walk_in_lockstep(tmp_path, bundle, FORWARD, name)[1] for name in ("first", "second")]
    assert str(runs[0]["digest"]) == str(runs[1]["digest"])
    assert (runs[0]["qpos"] == runs[1]["qpos"]).all()


def test_without_actions_the_robot_stays_where_it_is(bundle: Path, tmp_path: Path) -> None:
    still = variant(bundle, tmp_path / "still", change_model=without_action)
    code, run = walk_in_lockstep(tmp_path, still, FORWARD)
    assert code == 0
    landed = run["base_pos"][run["segment"] == 0][50, :2]  # a second after the gantry let go
    assert np.linalg.norm(run["base_pos"][-1, :2] - landed) < 0.1


def test_with_two_legs_swapped_in_the_contract_the_robot_falls(bundle: Path, tmp_path: Path) -> None:
    wrong = variant(bundle, tmp_path / "wrong", change_spec=legs_swapped)
    code, run = walk_in_lockstep(tmp_path, wrong, FORWARD)
    assert code == 1
    assert run["falls"] == 1
