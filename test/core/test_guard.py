# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy import toy_spec_data

from policy_node.core.guard import TargetGuard
from policy_node.core.params import ControllerParams
from policy_node.spec.bundle import parse_spec
from policy_node.spec.robot import join

KP, KD = np.array([10.0, 20.0, 30.0, 40.0]), np.array([1.0, 2.0, 3.0, 4.0])


def guard(start: list[float], effort: float = 100.0, velocity: float = 10.0, blend_time: float = 0.0) -> TargetGuard:
    data = toy_spec_data()
    limits = data["deployment"]["joint_limits"]["robot"]
    limits["effort"], limits["velocity"] = [effort] * 4, [velocity] * 4
    made = TargetGuard(join(parse_spec(json.dumps(data)), None), KP, KD, 0.02, ControllerParams(blend_time=blend_time))
    made.reset(np.array(start))
    return made


def test_a_target_inside_its_bounds_is_untouched() -> None:
    made = guard([0.0] * 4)
    target = np.array([0.1, -0.1, 0.15, 0.0])
    assert made.bound(target, np.zeros(4), np.zeros(4)).tolist() == target.tolist()
    assert not made.clamped.any()


def test_a_target_moves_at_most_one_step_per_tick() -> None:
    # 10 rad/s for 0.02 s is 0.2 rad.
    made = guard([0.0] * 4)
    target = np.array([0.9, -0.9, 0.1, 0.0])
    assert made.bound(target, np.zeros(4), np.zeros(4)).tolist() == pytest.approx([0.2, -0.2, 0.1, 0.0])
    assert made.clamped.tolist() == [True, True, False, False]
    assert made.bound(target, np.zeros(4), np.zeros(4)).tolist() == pytest.approx([0.4, -0.4, 0.1, 0.0])


def test_implied_torque_stays_below_the_effort() -> None:
    # kp 10, 20, 30 and kd 1, 2, 3; effort 3, q 0.1, qd -1: kp * (t - 0.1) + kd <= 3 gives 0.3, 0.15 and 0.1.
    made = guard([0.0] * 4, effort=3.0, velocity=1000.0)
    out = made.bound(np.full(4, 0.9), np.full(4, 0.1), np.full(4, -1.0))
    assert out[:3].tolist() == pytest.approx([0.3, 0.15, 0.1])
    assert (KP * (out - 0.1) + KD)[:3].tolist() == pytest.approx([3.0] * 3)


def test_a_speed_that_cannot_be_true_does_not_push_the_target_away() -> None:
    # kd 1 at 100 rad/s is 100 N m, against 3: the bound would be from 9.8 to 10.4 if it followed the speed.
    made = guard([0.1] * 4, effort=3.0)
    out = made.bound(np.full(4, 0.1), np.full(4, 0.1), np.full(4, 100.0))
    assert out.tolist() == pytest.approx([0.1] * 4)


def test_position_limits_win_over_torque_and_speed() -> None:
    made = guard([3.0] * 4)  # as if the robot had been pushed beyond its limits of +-1
    assert made.bound(np.full(4, 3.0), np.full(4, 3.0), np.zeros(4)).tolist() == [1.0] * 4


def test_first_targets_are_blended_in_and_then_bounded() -> None:
    # 0.1 s is five ticks: a fifth of the way, two fifths and so on; but never more than 0.2 rad per tick.
    made = guard([0.0] * 4, blend_time=0.1)
    target = np.array([0.5, -0.5, 0.1, 0.0])
    path = [made.bound(target, np.zeros(4), np.zeros(4)).tolist() for _ in range(6)]
    assert np.array(path)[:, 0].tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.5])
    made = guard([0.0] * 4, velocity=2.0, blend_time=0.1)
    path = [made.bound(target, np.zeros(4), np.zeros(4)).tolist() for _ in range(4)]
    assert np.array(path)[:, 0].tolist() == pytest.approx([0.04, 0.08, 0.12, 0.16])


@given(st.lists(st.floats(-1e3, 1e3), min_size=12, max_size=12))
def test_no_command_is_ever_outside_its_limits(numbers: list[float]) -> None:
    made = guard([0.0] * 4)
    target, pos, vel = np.array(numbers).reshape(3, 4)
    out = made.bound(target, pos, vel)
    assert np.isfinite(out).all()
    assert (np.abs(out) <= 1.0).all()
    assert made.clamped.tolist() == (out != target).tolist()
