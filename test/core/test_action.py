# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy import toy_spec_data

from policy_node.core.action import ActionDecoder
from policy_node.core.runner import PolicyRunner
from policy_node.errors import SpecError
from policy_node.spec.bundle import parse_spec


def decode(data: dict, action: list[float]) -> list[float]:
    import json

    return ActionDecoder(parse_spec(json.dumps(data))).decode(np.array(action, np.float32)).tolist()


def test_targets_land_on_their_joints_and_undriven_ones_stay_at_default() -> None:
    # c = 1 * 0.5 + 0.3, a = 2 * 0.25 + 0.1, b = -1 * 0.2 + 0.2, d is nobody's: 0.4.
    assert decode(toy_spec_data(), [1.0, 2.0, -1.0]) == pytest.approx([0.6, 0.0, 0.8, 0.4])


def test_the_raw_action_is_clipped_before_the_scale() -> None:
    # c = 10 * 0.5 + 0.3 = 5.3; without the clip 37 would give 18.8. a = -10 * 0.25 + 0.1 = -2.4.
    assert decode(toy_spec_data(), [37.0, -12.0, 0.0]) == pytest.approx([-2.4, 0.2, 5.3, 0.4])


def test_a_negative_scale_keeps_the_raw_clip() -> None:
    data = toy_spec_data()
    data["actions"]["terms"][0]["scale"] = [-0.5, 0.25, 0.2]
    assert decode(data, [37.0, 0.0, 0.0])[2] == pytest.approx(-10.0 * 0.5 + 0.3)


def test_target_clip_acts_on_the_target() -> None:
    data = toy_spec_data()
    data["deployment"]["target_clip"] = {"legs": [[-0.5, -0.6, -0.7], [0.5, 0.6, 0.7]]}  # c, a, b
    data["deployment"]["requires"].append("target_clip")
    assert decode(data, [10.0, -10.0, 10.0]) == pytest.approx([-0.6, 0.7, 0.5, 0.4])


@given(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=3, max_size=3),
    st.lists(st.floats(-3, 3).filter(lambda x: abs(x) > 1e-3), min_size=3, max_size=3),
    st.tuples(st.floats(-5, 4), st.floats(0.01, 3)),
    st.tuples(st.floats(-2, 1), st.floats(0.01, 2)),
)
def test_one_folded_clip_equals_raw_clip_then_target_clip(
    action: list[float], scale: list[float], raw: tuple[float, float], target: tuple[float, float]
) -> None:
    data = toy_spec_data()
    data["actions"]["clip"] = [raw[0], raw[0] + raw[1]]
    data["actions"]["terms"][0]["scale"] = scale
    data["deployment"]["target_clip"] = {"legs": [target[0], target[0] + target[1]]}
    data["deployment"]["requires"].append("target_clip")
    slow = []
    for value, factor, offset in zip(np.float32(action).tolist(), scale, (0.3, 0.1, 0.2)):
        clipped = min(max(value, raw[0]), raw[0] + raw[1]) * factor + offset
        slow.append(min(max(clipped, target[0]), target[0] + target[1]))
    c, a, b = slow
    assert decode(data, action)[:3] == [a, b, c]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("target", "velocity", "'velocity' is not supported yet"),
        ("reference_source", "delta", "'delta' is not supported yet"),
        ("mimic_dofs", {"d": ["a", 1.0, 0.0]}, "mimic joints are not supported yet"),
        ("dofs_name", None, "its class 'JointPositionAction' carries no joints"),
    ],
)
def test_what_cannot_be_run_right_is_refused(
    make_runner: Callable[..., PolicyRunner], key: str, value: object, said: str
) -> None:
    data = toy_spec_data()
    data["actions"]["terms"][0][key] = value
    with pytest.raises(SpecError, match="action term 'legs'") as error:
        make_runner(data)
    assert said in str(error.value)
