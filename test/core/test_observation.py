# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy import TILTED_XYZW, toy_spec_data

from policy_node.core.observation import ObservationBuilder
from policy_node.core.runner import PolicyRunner
from policy_node.core.sensors import SensorLayout
from policy_node.errors import SpecError
from policy_node.spec.model import EntitySpec, ObservationsSpec


def observations(terms: list[tuple[int, int, bool | None]], group: tuple[int, bool | None]) -> ObservationsSpec:
    """One group of topic-like terms (width, history, backfill) that read the velocity command's columns."""
    listed, position = [], 0
    for number, (width, history, backfill) in enumerate(terms):
        stop = position + width * max(1, history)
        joints = ["a", "b", "c", "d"][:width] if number == 0 else ["d", "c", "b", "a"][:width]
        listed.append(
            {
                "name": f"t{number}",
                "term": "joint_pos",
                "slice": [position, stop],
                "frame_dim": width,
                "history_length": history,
                "backfill": backfill,
                "config": {"dofs_name": joints},
            }
        )
        position = stop
    dim = position * max(1, group[0])
    return ObservationsSpec.model_validate(
        {
            "dim": dim,
            "groups": [
                {
                    "name": "g",
                    "slice": [0, dim],
                    "history_length": group[0],
                    "backfill": group[1],
                    "terms": listed,
                }
            ],
        }
    )


def builder(spec: ObservationsSpec) -> tuple[ObservationBuilder, SensorLayout]:
    layout = SensorLayout(4, 3, {})
    entity = EntitySpec(dofs_name=["a", "b", "c", "d"], default_dofs_pos=[0.0] * 4, kp=[1.0] * 4, kd=[1.0] * 4)
    return ObservationBuilder(spec, layout, {"robot": entity}), layout


def push(built: tuple[ObservationBuilder, SensorLayout], frame: list[float]) -> list[float]:
    buffer = np.zeros(built[1].width)
    buffer[built[1].columns["joint_pos"]] = frame
    return built[0].build(buffer).tolist()


def test_each_component_follows_the_contract(make_runner: Callable[..., PolicyRunner]) -> None:
    runner = make_runner()
    sensors = runner.new_sensors()
    sensors.joint_pos[:] = [0.2, 0.4, 0.6, 0.8]  # minus the default 0.1, 0.2, 0.3: a 0.1, b 0.2, c 0.3
    sensors.joint_vel[:] = [1.0, -3.0, 5.0, 7.0]  # clipped to +-2, then halved: a 0.5, b -1, c 1
    sensors.commands["velocity_command"][:] = [0.5, -0.3, 0.2]
    obs = runner.observe(sensors)
    assert obs[6:9].tolist() == pytest.approx([1.0, -0.6, 0.05])
    assert obs[9:12].tolist() == pytest.approx([0.2, 0.3, 0.1])  # b, c, a
    assert obs[12:15].tolist() == pytest.approx([1.0, 0.5, -1.0])  # c, a, b
    assert obs[15:].tolist() == [0.0, 0.0, 0.0]


def test_gravity_and_rate_pass_the_mount_once(make_runner: Callable[..., PolicyRunner]) -> None:
    data = toy_spec_data()
    # A mount of +90 degrees about x: IMU y is base z, IMU z is base -y.
    data["deployment"]["imu"]["mount_quat_xyzw"] = [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]
    runner = make_runner(data)
    sensors = runner.new_sensors()
    sensors.imu_ang_vel[:] = [1.0, 2.0, 3.0]  # base: x 1, y -3, z 2
    quat = np.array(TILTED_XYZW) / np.linalg.norm(TILTED_XYZW)
    sensors.imu_quat_xyzw[:] = (
        quat  # gravity in the IMU frame (0.3420, -0.4698, -0.8138) -> base (0.3420, 0.8138, -0.4698)
    )
    obs = runner.observe(sensors)
    assert obs[0:3].tolist() == pytest.approx([0.25, -0.75, 0.5], abs=1e-6)
    assert obs[3:6].tolist() == pytest.approx([0.3420, 0.8138, -0.4698], abs=2e-4)


def test_last_action_is_raw_and_one_tick_old(make_runner: Callable[..., PolicyRunner]) -> None:
    runner = make_runner(action=[37.0, -1.0, 2.0])  # 37 is beyond actions.clip: what is remembered is not clipped
    sensors = runner.new_sensors()
    runner.step(sensors)
    assert runner.obs[15:].tolist() == [0.0, 0.0, 0.0]
    runner.step(sensors)
    assert runner.obs[15:].tolist() == [37.0, -1.0, 2.0]
    runner.reset(runner.default_pos)
    runner.step(sensors)
    assert runner.obs[15:].tolist() == [0.0, 0.0, 0.0]


def test_term_history_stacks_each_term_oldest_first() -> None:
    built = builder(observations([(1, 3, True), (2, 3, True)], (0, None)))
    # t0 sees joint a; t1 sees joints d, c. Frames (a; d, c): (1; 10, 100), (2; 20, 200), (3; 30, 300).
    push(built, [1, 0, 100, 10])
    push(built, [2, 0, 200, 20])
    assert push(built, [3, 0, 300, 30]) == [1, 2, 3, 10, 100, 20, 200, 30, 300]


def test_group_history_stacks_whole_frames_oldest_first() -> None:
    built = builder(observations([(1, 0, None), (2, 0, None)], (3, True)))
    push(built, [1, 0, 100, 10])
    push(built, [2, 0, 200, 20])
    assert push(built, [3, 0, 300, 30]) == [1, 10, 100, 2, 20, 200, 3, 30, 300]


def test_history_is_filled_with_the_first_frame_or_with_zeros_after_reset() -> None:
    built = builder(observations([(1, 3, True), (1, 3, False)], (0, None)))
    assert push(built, [5, 0, 0, 7]) == [5, 5, 5, 0, 0, 7]
    push(built, [6, 0, 0, 8])
    built[0].reset()
    assert push(built, [1, 0, 0, 2]) == [1, 1, 1, 0, 0, 2]


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 5), st.booleans()), min_size=1, max_size=2),
    st.lists(st.lists(st.integers(-9, 9).map(float), min_size=4, max_size=4), min_size=1, max_size=12),
)
def test_term_history_equals_a_naive_deque(terms: list[Any], frames: list[list[float]]) -> None:
    built = builder(observations(terms, (0, None)))
    queues: list[deque[list[float]]] = [deque(maxlen=history) for _, history, _ in terms]
    for frame in frames:
        expected: list[float] = []
        for number, (queue, (width, history, backfill)) in enumerate(zip(queues, terms)):
            part = frame[:width] if number == 0 else frame[::-1][:width]
            if not queue:
                queue.extend([part if backfill else [0.0] * width] * (history - 1))
            queue.append(part)
            expected += [value for item in queue for value in item]
        assert push(built, frame) == expected


def test_an_unknown_term_is_refused_with_the_known_ones(make_runner: Callable[..., PolicyRunner]) -> None:
    data = toy_spec_data()
    data["observations"]["groups"][0]["terms"][1]["term"] = "height_scan"
    with pytest.raises(SpecError) as error:
        make_runner(data)
    assert "observation term 'gravity' of group 'policy': the term 'height_scan' is not known." in str(error.value)
    assert "projected_gravity" in str(error.value)


def test_a_config_key_that_could_change_numbers_is_refused(make_runner: Callable[..., PolicyRunner]) -> None:
    data = toy_spec_data()
    data["observations"]["groups"][0]["terms"][3]["config"]["offset_by_encoder"] = True
    with pytest.raises(SpecError, match="config has the keys offset_by_encoder"):
        make_runner(data)
    data["deployment"]["inert_keys"] = ["offset_by_encoder"]
    make_runner(data)


def test_sanitize_replaces_and_disabled_reports_what_is_not_finite(make_runner: Callable[..., PolicyRunner]) -> None:
    for policy, expected in (("sanitize", [0.0]), ("disabled", [float("nan")])):
        data = toy_spec_data()
        data["observations"]["groups"][0]["nan_policy"] = policy
        runner = make_runner(data)
        sensors = runner.new_sensors()
        sensors.joint_vel[1] = np.nan  # joint b is the third component of joint_vel
        obs = runner.observe(sensors)
        assert obs[14:15].tolist() == pytest.approx(expected, nan_ok=True)
        _, fault = runner.step(sensors)
        if policy == "disabled":
            assert fault is not None
            assert "joint_vel[2]" in str(fault)
