# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from policy_node.sim.joint_drive import DriveCommand, JointDrive

Make = Callable[..., DriveCommand]
JOINTS = ("shoulder", "elbow", "slide")
DAMPING = np.array([3.0, 2.0, 1.0])


@pytest.fixture
def drive() -> JointDrive:
    return JointDrive(JOINTS, DAMPING)


def state_of(drive: JointDrive) -> tuple[Any, ...]:
    return (drive.sequence, drive.holds, *(tuple(x.tolist()) for x in (drive.kp, drive.kd, drive.ctrl)))


def test_without_a_command_every_joint_is_damped(drive: JointDrive) -> None:
    assert not drive.holds
    assert drive.kp.tolist() == [0.0, 0.0, 0.0]
    assert drive.kd.tolist() == DAMPING.tolist()
    assert drive.ctrl.tolist() == [0.0, 0.0, 0.0]


def test_command_goes_to_joints_by_name(drive: JointDrive, command: Make) -> None:
    fields = {"position": [0.01, 0.5, -0.3], "velocity": [0.1, 2.0, -1.0], "effort": [7.0, -2.0, 0.5],
              "kp": [100.0, 20.0, 10.0], "kd": [5.0, 0.5, 0.2]}
    assert drive.receive(command(**fields), 0.0) is None
    assert drive.target_pos.tolist() == [0.5, -0.3, 0.01]
    assert drive.kp.tolist() == [20.0, 10.0, 100.0]
    assert drive.kd.tolist() == [0.5, 0.2, 5.0]
    # kp q* + kd qd* + effort, by hand.
    assert drive.ctrl.tolist() == pytest.approx([20 * 0.5 + 0.5 * 2 - 2, 10 * -0.3 - 0.2 + 0.5, 1.0 + 0.5 + 7.0])


def test_command_expires_after_its_time_from_receipt(drive: JointDrive, command: Make) -> None:
    drive.receive(command(kp=[1.0, 1.0, 1.0], valid_for=0.1), 5.0)
    assert not drive.expire(5.1)
    assert drive.expire(5.1001)
    assert drive.kp.tolist() == [0.0, 0.0, 0.0]
    assert drive.kd.tolist() == DAMPING.tolist()
    assert not drive.expire(6.0), "it expires once"
    assert drive.expired == 1


def test_newer_command_extends_the_time_and_ends_the_damping(drive: JointDrive, command: Make) -> None:
    drive.receive(command(1), 0.0)
    drive.receive(command(2), 0.09)
    assert not drive.expire(0.15)
    assert drive.expire(0.2)
    assert drive.receive(command(3, kp=[1.0, 1.0, 1.0]), 0.3) is None
    assert drive.kp.tolist() == [1.0, 1.0, 1.0]


def test_stale_command_neither_acts_nor_extends_the_time(drive: JointDrive, command: Make) -> None:
    drive.receive(command(5, kp=[1.0, 1.0, 1.0]), 0.0)
    for sequence in (5, 4, 2):
        reason = drive.receive(command(sequence, kp=[9.0, 9.0, 9.0]), 0.09)
        assert reason is not None
        assert "not newer than command 5" in reason
    assert drive.kp.tolist() == [1.0, 1.0, 1.0]
    assert drive.dropped == {"stale": 3}
    assert drive.expire(0.11)


def test_a_late_command_of_a_former_sender_shuts_out_the_new_one_only_until_it_runs_out(
    drive: JointDrive, command: Make
) -> None:
    assert drive.receive(command(1), 0.0) is None
    assert drive.receive(command(5001), 0.01) is None  # valid for 0.1 s, as the others
    assert drive.receive(command(2), 0.02) is not None
    assert drive.receive(command(7), 0.2) is None
    assert drive.receive(command(8), 0.21) is None
    assert drive.receive(command(8), 0.5) is not None  # a sender that is stuck on one message is never obeyed again


def test_sequence_may_skip_and_may_start_anew_at_one(drive: JointDrive, command: Make) -> None:
    for sequence in (7, 90, 1, 2):
        assert drive.receive(command(sequence), 0.0) is None
        assert drive.sequence == sequence


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"name": ("slide", "shoulder", "knee")}, "unknown joint", ["knee", "shoulder, elbow, slide"]),
        ({"name": ("slide", "shoulder")}, "missing joint", ["elbow"]),
        ({"name": ("slide", "shoulder", "elbow", "elbow")}, "joint named twice", ["elbow"]),
        ({"name": ()}, "missing joint", ["shoulder, elbow, slide"]),
        ({"position": [0.0, 0.0]}, "length", ["'position' has 2", "'name' has 3"]),
        ({"kd": []}, "length", ["'kd' has 0"]),
        ({"velocity": [0.0, np.nan, 0.0]}, "not finite", ["velocity", "shoulder"]),
        ({"effort": [0.0, 0.0, np.inf]}, "not finite", ["effort", "elbow"]),
        ({"kp": [0.0, -1.0, 0.0]}, "negative gain", ["kp", "shoulder"]),
        ({"valid_for": 0.0}, "valid_for", ["0 s"]),
        ({"valid_for": np.inf}, "valid_for", ["inf s"]),
        ({"sequence": 0}, "sequence", ["start at 1"]),
    ],
)
def test_faulty_command_is_dropped_whole_and_the_last_one_holds(
    drive: JointDrive, command: Make, change: dict[str, Any], kind: str, words: list[str]
) -> None:
    good = {"position": [0.1, 0.2, 0.3], "kp": [4.0, 5.0, 6.0], "kd": [1.0, 1.0, 1.0]}
    drive.receive(command(3, **good), 0.0)
    before = state_of(drive)
    reason = drive.receive(command(**{"sequence": 4, **change}), 0.01)
    assert reason is not None
    for word in words:
        assert word in reason
    assert state_of(drive) == before
    assert drive.dropped == {kind: 1}
