# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from policy_node.errors import SpecError
from policy_node.spec.model import PolicySpec
from policy_node.spec.robot import join, load_robot


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "robot.yaml"
    path.write_text(text)
    return path


def test_the_stricter_limit_wins_and_the_difference_is_told(tmp_path: Path, toy_spec: PolicySpec) -> None:
    robot = load_robot(write(tmp_path, "name: r\njoint_limits:\n  a: {lower: -0.5, upper: 2.0, effort: 50.0}\n"))
    site = join(toy_spec, robot)
    assert (site.lower[0], site.upper[0], site.effort[0]) == (-0.5, 1.0, 50.0)
    assert "a: upper is 2 in the robot file and 1 in the contract; the stricter, 1, counts." in site.notes


def test_names_and_order_of_the_wire_come_from_the_robot_file(tmp_path: Path, toy_spec: PolicySpec) -> None:
    text = (
        "name: r\njoint_name_map: {motor_7: a}\ncommand_joints: [d, b, c, a]\ndamping_kd: {a: 5.0, b: 5, c: 5, d: 5}\n"
    )
    site = join(toy_spec, load_robot(write(tmp_path, text)))
    assert site.command_joints == ("d", "b", "c", "a")
    assert site.wire_names == {"a": "motor_7", "b": "b", "c": "c", "d": "d"}
    assert site.damping_kd.tolist() == [5.0] * 4
    assert not any("damping_kd" in note for note in site.notes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "name: r\njoint_limits:\n  knee: {lower: 0.0}\n",
            "joint_limits: knee is not a joint of the contract, which has: a, b",
        ),
        ("name: r\ncommand_joints: [a, b, c]\n", "command_joints: lacks d"),
        ("name: r\njoint_limits:\n  a: {lower: 0.5}\n", "joint_limits.a: the default 0.1 is outside [0.5, 1]"),
        ("name: r\njoint_name_map: {m: a, n: a}\n", "two names on the wire stand for one joint"),
    ],
)
def test_a_robot_file_that_contradicts_the_contract_is_refused(
    tmp_path: Path, toy_spec: PolicySpec, text: str, said: str
) -> None:
    with pytest.raises(SpecError) as error:
        join(toy_spec, load_robot(write(tmp_path, text)))
    assert said in str(error.value)


def test_a_mistyped_key_is_answered_with_the_right_one_and_no_dangerous_advice(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as error:
        load_robot(write(tmp_path, "name: r\ndampng_kd: {a: 5.0}\n"))
    assert "line 2: dampng_kd: is not a key that this version knows. Did you mean 'damping_kd'?" in str(error.value)
    assert "inert_keys" not in str(error.value)


def test_a_parameter_file_is_told_from_a_robot_file(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="Give it as params_file"):
        load_robot(write(tmp_path, "/**:\n  ros__parameters:\n    hold_speed: 0.3\n"))


def test_two_joints_never_share_a_name_on_the_wire(tmp_path: Path, toy_spec: PolicySpec) -> None:
    with pytest.raises(SpecError, match="joint_name_map: b would be the name of two joints"):
        join(toy_spec, load_robot(write(tmp_path, "name: r\njoint_name_map: {b: a}\n")))


def test_a_wrong_key_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as error:
        load_robot(write(tmp_path, "name: r\ndamping_kd:\n  a: 1.0\n  b: -1.0\n"))
    assert "robot.yaml: line 4: damping_kd.b: got -1.0; input should be greater than 0." in str(error.value)
