# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Rotations as scalar-last quaternions (x, y, z, w).

A unit quaternion ``quat_xyzw`` of a frame B in a frame A rotates the components of a vector in B into its
components in A. Formulas: the rotation matrix of a unit quaternion, as in Diebel, "Representing Attitude"
(2006), equation 125, transposed to map from B to A.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def gravity_in_frame(x: float, y: float, z: float, w: float) -> tuple[float, float, float]:
    """Direction of gravity in a frame.

    The unit quaternion (x, y, z, w) is the orientation of the frame in a world whose z points up.

    Returns:
        The unit vector (0, 0, -1) of the world, in the components of the frame.
    """
    return 2.0 * (w * y - x * z), -2.0 * (w * x + y * z), 2.0 * (x * x + y * y) - 1.0


def matrix_from_quat(quat_xyzw: Sequence[float]) -> npt.NDArray[np.float64]:
    """Rotation matrix, shape (3, 3), of a quaternion; the quaternion is normalised first."""
    x, y, z, w = np.asarray(quat_xyzw, dtype=np.float64) / np.linalg.norm(quat_xyzw)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
