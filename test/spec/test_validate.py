# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from toy import toy_spec_data

from policy_node.errors import SpecError
from policy_node.spec.bundle import dump_spec, parse_spec

Change = Callable[[dict[str, Any]], Any]


def faults_of(change: Change) -> str:
    data = toy_spec_data()
    change(data)
    with pytest.raises(SpecError) as error:
        parse_spec(json.dumps(data))
    return str(error.value)


def terms(data: dict[str, Any]) -> Any:
    return data["observations"]["groups"][0]["terms"]


def robot(data: dict[str, Any]) -> Any:
    return data["entities"]["robot"]


def limits(data: dict[str, Any]) -> Any:
    return data["deployment"]["joint_limits"]["robot"]


CASES: list[tuple[str, Change, str]] = [
    (
        "gap",
        lambda d: terms(d)[1].update(slice=[4, 7]),
        "('gravity').slice: got [4, 7]; in order and without a gap it is [3, 6]",
    ),
    (
        "width",
        lambda d: d["observations"].update(dim=20),
        "observations.dim: got 20; the groups add up to 18: base_ang_vel 3, gravity 3",
    ),
    ("scale", lambda d: terms(d)[2].update(scale=[1.0, 2.0]), "has 2 entries; the width is 3"),
    ("zero scale", lambda d: terms(d)[0].update(scale=0.0), "got 0, which erases the value"),
    ("clip", lambda d: terms(d)[4].update(clip=[2.0, -2.0]), "the lower bound comes first"),
    ("name twice", lambda d: terms(d)[1].update(name="command"), "'command' stands there 2 times"),
    ("backfill", lambda d: terms(d)[1].update(backfill=True), "got True with history_length 0"),
    (
        "kp zero",
        lambda d: robot(d).update(kp=[0.0, 20.0, 30.0, 40.0]),
        "joint 'a' has 0, but a position term drives it",
    ),
    ("kd negative zero", lambda d: robot(d).update(kd=[-0.0, 2.0, 3.0, 4.0]), "joint 'a' has -0.0; a gain is never"),
    ("kp negative", lambda d: robot(d).update(kp=[-1.0, 2.0, 3.0, 4.0]), "joint 'a' has -1.0"),
    (
        "default length",
        lambda d: robot(d).update(default_dofs_pos=[0.0] * 3),
        "has 3 entries; dofs_name lists 4 joints",
    ),
    (
        "unknown joint",
        lambda d: d["actions"]["terms"][0].update(dofs_name=["c", "a", "z"]),
        "'z' is not a joint of entity 'robot'. It has: a, b, c, d",
    ),
    ("action width", lambda d: d["actions"].update(dim=4), "actions.dim: got 4; the terms' slices end at 3"),
    ("rate", lambda d: d["rate"].update(decimation=2), "decimation 2 * sim_dt 0.005 is 0.01"),
    ("limits", lambda d: limits(d).update(lower=[0.15, -1.0, -1.0, -1.0]), "joint 'a' has its default 0.1 outside"),
    ("limits order", lambda d: limits(d).update(upper=[-2.0, 1.0, 1.0, 1.0]), "lower comes first"),
    (
        "command name",
        lambda d: d["deployment"]["commands"].update(joint_pos={"ranges": [[-1.0, 1.0]]}),
        "deployment.commands.joint_pos: nothing feeds a command of that name; known: velocity_command",
    ),
    (
        "command width",
        lambda d: d["deployment"]["commands"]["velocity_command"].update(ranges=[[-1.0, 1.0]]),
        "has 1 entries; expected 3",
    ),
    ("tiny gain", lambda d: robot(d).update(kp=[1e-320, 2.0, 3.0, 4.0]), "which is too small for a gain"),
    ("absurd decimation", lambda d: d["rate"].update(decimation=10**400), "The robot would run at another rate"),
    ("version", lambda d: d.update(schema_version=7), "this version reads 1 and 'policy_node/1'"),
    ("plain version", lambda d: d.update(schema_version=1), "such a file carries 'policy_node/1'"),
    ("extension", lambda d: d["deployment"]["requires"].append("time_travel"), "'time_travel' is not known"),
    ("mount", lambda d: d["deployment"]["imu"].update(mount_quat_xyzw=[0.0, 0.0, 0.0, 2.0]), "has norm 2"),
    ("undeclared mount", lambda d: d["deployment"].update(requires=[]), "lacks 'imu_mount'"),
    ("unknown key", lambda d: terms(d)[0].update(noise=0.1), "terms[0].noise: is not a key that this version knows"),
    ("type", lambda d: terms(d)[0].update(scale="0.25"), "observations.groups[0].terms[0].scale"),
    ("missing", lambda d: d["rate"].pop("control_dt"), "rate.control_dt: is missing. Add it."),
]


@pytest.mark.parametrize(("change", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_contract_that_cannot_be_run_right_is_refused(change: Change, said: str) -> None:
    assert said in faults_of(change)


def test_all_faults_are_reported_at_once() -> None:
    def change(data: dict[str, Any]) -> None:
        robot(data)["kp"][0] = -1.0
        terms(data)[0]["scale"] = 0.0
        data["rate"]["decimation"] = 3

    assert len(faults_of(change).splitlines()) == 3


def test_numbers_keep_every_digit() -> None:
    data = toy_spec_data()
    data["actions"]["terms"][0]["scale"] = [0.54754699, 0.1 + 0.2, 1e-17]
    spec = parse_spec(dump_spec(parse_spec(json.dumps(data))))
    assert spec.actions.terms[0].scale == [0.54754699, 0.30000000000000004, 1e-17]


def test_unknown_keys_that_change_no_number_survive_a_round_trip() -> None:
    data = toy_spec_data()
    data["lab"] = {"run": 7}
    data["deployment"]["gripper"] = "none"
    again = json.loads(dump_spec(parse_spec(json.dumps(data))))
    assert again["lab"] == {"run": 7}
    assert again["deployment"]["gripper"] == "none"
