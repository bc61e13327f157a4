# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""What the sensors and commands say at one tick, in the order of the contract."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


class SensorLayout:
    """Where each quantity stands in the flat buffer of one tick.

    The first part holds what is measured or commanded; the second part what a tick derives from it and remembers.
    Observation terms select columns of this buffer, so a whole observation is one gather.

    Attributes:
        columns: name -> slice of the flat buffer.
        num_measured: width of the first part.
        width: width of the whole buffer.
    """

    def __init__(self, num_joints: int, num_actions: int, commands: Mapping[str, int]) -> None:
        self.columns: dict[str, slice] = {}
        self.width = 0
        self.commands = dict(commands)
        self._add("joint_pos", num_joints)
        self._add("joint_vel", num_joints)
        self._add("imu_quat_xyzw", 4)
        self._add("imu_ang_vel", 3)
        for name, size in commands.items():
            self._add(name, size)
        self.num_measured = self.width
        # These two stand side by side: one product with the mount turns both into the base frame.
        self._add("base_ang_vel", 3)
        self._add("projected_gravity", 3)
        self._add("last_action", num_actions)

    def _add(self, name: str, size: int) -> None:
        self.columns[name] = slice(self.width, self.width + size)
        self.width += size


class Sensors:
    """One sample of everything that a policy may observe; the arrays are views of one flat buffer.

    Attributes:
        joint_pos: measured angles, shape (num_joints,), rad, contract order.
        joint_vel: measured speeds, shape (num_joints,), rad/s, contract order.
        imu_quat_xyzw: orientation of the IMU frame in the world, shape (4,), unit norm.
        imu_ang_vel: angular velocity in the IMU frame, shape (3,), rad/s.
        commands: name -> command vector; velocity_command is (vx m/s, vy m/s, yaw rate rad/s) in the base frame.
        flat: all of them, shape (layout.num_measured,).
    """

    __slots__ = ("commands", "flat", "imu_ang_vel", "imu_quat_xyzw", "joint_pos", "joint_vel")

    def __init__(self, layout: SensorLayout) -> None:
        self.flat: FloatArray = np.zeros(layout.num_measured)
        self.joint_pos: FloatArray = self.flat[layout.columns["joint_pos"]]
        self.joint_vel: FloatArray = self.flat[layout.columns["joint_vel"]]
        self.imu_quat_xyzw: FloatArray = self.flat[layout.columns["imu_quat_xyzw"]]
        self.imu_ang_vel: FloatArray = self.flat[layout.columns["imu_ang_vel"]]
        self.commands: dict[str, FloatArray] = {name: self.flat[layout.columns[name]] for name in layout.commands}
        self.imu_quat_xyzw[3] = 1.0
