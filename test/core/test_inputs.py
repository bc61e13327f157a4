# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from toy import MOUNT_XYZW, WIRE_JOINTS

from policy_node.core.controller import Controller
from policy_node.core.inputs import Inputs
from policy_node.core.params import ControllerParams
from policy_node.core.runner import PolicyRunner


@pytest.fixture
def inputs(make_runner: Callable[..., PolicyRunner]) -> Inputs:
    return Controller(make_runner(), ControllerParams()).inputs


def joint_states(inputs: Inputs, names: list[str] | None = None, **change: Any) -> bool:
    names = names or WIRE_JOINTS
    values = {
        "position": np.arange(float(len(names))),
        "velocity": -np.arange(float(len(names))),
        "arrival": 1.0,
        **change,
    }
    return inputs.set_joint_states(names, values["position"], values["velocity"], values["arrival"])


def test_joint_states_are_taken_by_name(inputs: Inputs) -> None:
    assert joint_states(inputs)  # d 0, b 1, c 2, extra 3, a 4
    assert inputs.sensors.joint_pos.tolist() == [4.0, 1.0, 2.0, 0.0]
    assert inputs.sensors.joint_vel.tolist() == [-4.0, -1.0, -2.0, 0.0]


def test_nan_in_a_joint_that_nobody_needs_is_no_fault(inputs: Inputs) -> None:
    assert joint_states(inputs, velocity=np.array([0.0, 0.0, 0.0, np.nan, 0.0]))


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize(
    ("names", "change", "said"),
    [
        (None, {"velocity": np.array([0.0, np.nan, 0.0, 0.0, 0.0])}, "velocity of b is nan"),
        (None, {"position": np.array([np.inf, 0.0, 0.0, 0.0, 0.0])}, "position of d is inf"),
        (None, {"position": np.array([0.0, 1e308, 1e308, 0.0, 0.0])}, "position of b is 1e+308"),
        (None, {"velocity": np.zeros(0)}, "5 names, 5 positions and 0 velocities"),
        (["a", "b", "c"], {}, "lacks 1 of the 4 joints that the contract needs: d"),
        (["a", "b", "c", "d", "b"], {}, "b stand there twice"),
        ([f"j{i}" for i in range(600)], {}, "at most 512"),
    ],
)
def test_a_refused_sample_changes_nothing_and_says_why(
    inputs: Inputs, names: list[str] | None, change: dict[str, Any], said: str
) -> None:
    joint_states(inputs)
    before = inputs.sensors.flat.copy()
    assert not joint_states(inputs, names, arrival=2.0, **change)
    assert said in inputs.joint_states.rejection
    assert inputs.sensors.flat.tolist() == before.tolist()
    assert inputs.joint_states.arrival == 1.0
    assert joint_states(inputs, arrival=3.0)
    assert inputs.joint_states.rejection == ""


@pytest.mark.parametrize(
    ("quat", "rate", "options", "said"),
    [
        ((0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0), {}, "has norm 0"),
        ((0.0, 0.0, 0.0, 0.5), (0.0, 0.0, 0.0), {}, "has norm 0.5"),
        ((float("nan"), 0.0, 0.0, 1.0), (0.0, 0.0, 0.0), {}, "has norm nan"),
        ((0.0, 0.0, 0.0, 1.0), (0.0, float("inf"), 0.0), {}, "angular velocity is (0, inf, 0)"),
        ((0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0), {"has_orientation": False}, "reports no orientation"),
        (
            (0.0, 0.0, 0.0, 1.0),
            (0.0, 0.0, 0.0),
            {"frame_id": "torso"},
            "frame_id is 'torso'; the contract was made for 'imu_link'",
        ),
    ],
)
def test_an_imu_sample_that_cannot_be_right_is_refused(
    inputs: Inputs, quat: tuple[float, ...], rate: tuple[float, ...], options: dict[str, Any], said: str
) -> None:
    assert not inputs.set_imu(quat, rate, 1.0, **{"frame_id": "imu_link", **options})
    assert said in inputs.imu.rejection
    assert inputs.sensors.imu_quat_xyzw.tolist() == [0.0, 0.0, 0.0, 1.0]


def test_a_quaternion_that_is_nearly_unit_is_normalised(inputs: Inputs) -> None:
    assert inputs.set_imu([value * 1.0003 for value in MOUNT_XYZW], (0.0, 0.0, 0.0), 1.0, "imu_link")
    assert np.linalg.norm(inputs.sensors.imu_quat_xyzw) == pytest.approx(1.0, abs=1e-12)


def test_a_command_is_clamped_to_its_trained_range_and_counted(inputs: Inputs) -> None:
    inputs.set_command("velocity_command", (3.0, -0.2, -9.0), 1.0)
    inputs.latch_commands(1.1)
    assert inputs.sensors.commands["velocity_command"].tolist() == [1.0, -0.2, -2.0]
    assert inputs.commands["velocity_command"].clamped == 1


def test_a_stale_or_broken_command_counts_as_zero(inputs: Inputs) -> None:
    inputs.set_command("velocity_command", (0.5, 0.2, 0.1), 1.0)
    inputs.latch_commands(1.4)
    assert inputs.sensors.commands["velocity_command"].tolist() == [0.5, 0.2, 0.1]
    inputs.latch_commands(1.6)
    assert inputs.sensors.commands["velocity_command"].tolist() == [0.0, 0.0, 0.0]
    inputs.set_command("velocity_command", (0.5, 0.2, 0.1), 2.0)
    assert not inputs.set_command("velocity_command", (float("nan"), 0.0, 0.0), 2.1)
    inputs.latch_commands(2.1)
    assert inputs.sensors.commands["velocity_command"].tolist() == [0.0, 0.0, 0.0]
