# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy import TILTED_XYZW, rotation

from policy_node.core.rotation import gravity_in_frame, matrix_from_quat


def test_gravity_of_a_mixed_tilt_is_the_inverse_rotation_of_minus_z() -> None:
    # Roll 30, pitch 20, yaw 70: R^T (0, 0, -1) = (sin 20, -sin 30 cos 20, -cos 30 cos 20) = (0.3420, -0.4698, -0.8138).
    # The forward rotation would give (-0.5712, -0.1073, -0.8138).
    assert gravity_in_frame(*TILTED_XYZW) == pytest.approx((0.3420, -0.4698, -0.8138), abs=2e-4)


def test_gravity_reads_the_quaternion_scalar_last() -> None:
    x, y, z, w = TILTED_XYZW
    assert gravity_in_frame(w, x, y, z) != pytest.approx((0.3420, -0.4698, -0.8138), abs=1e-1)


@given(st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(lambda q: np.linalg.norm(q) > 0.1))
def test_gravity_and_matrix_agree_with_the_sandwich_product(quat: list[float]) -> None:
    unit = np.array(quat) / np.linalg.norm(quat)
    expected = rotation(unit)
    assert matrix_from_quat(quat) == pytest.approx(expected, abs=1e-9)
    assert gravity_in_frame(*unit) == pytest.approx(expected.T @ [0, 0, -1], abs=1e-9)
