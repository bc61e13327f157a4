# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy_node.core.joint_map import JointMap
from policy_node.errors import JointNameError

NAMES = ["a", "b", "c", "d", "e", "f"]


@given(st.permutations(NAMES), st.permutations([*NAMES, "extra"]))
def test_values_come_out_under_their_own_name(wanted: list[str], sent: list[str]) -> None:
    values = np.arange(float(len(sent)))
    taken = values.take(JointMap(wanted).resolve(sent))
    assert dict(zip(wanted, taken)) == {name: values[sent.index(name)] for name in wanted}


def test_a_new_order_of_the_sender_is_resolved_anew() -> None:
    joint_map = JointMap(["a", "b", "c"])
    assert joint_map.resolve(["c", "a", "b"]).tolist() == [1, 2, 0]
    assert joint_map.resolve(["b", "c", "a"]).tolist() == [2, 0, 1]


def test_missing_joints_are_named_with_what_is_there() -> None:
    with pytest.raises(JointNameError) as error:
        JointMap(["left_hip", "left_knee", "right_knee"]).resolve(["left_hip", "arm"])
    assert str(error.value) == (
        "lacks 2 of the 3 joints that the contract needs: left_knee, right_knee. It has: left_hip, arm. Remap the "
        "topic, or map the names with joint_name_map in the robot file."
    )


def test_a_name_that_stands_there_twice_is_refused() -> None:
    with pytest.raises(JointNameError, match="a stand there twice"):
        JointMap(["a", "b"]).resolve(["a", "b", "a"])
