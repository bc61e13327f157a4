# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""What a simulated robot measures: joints, IMU, and where its base truly is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_IMU_SENSORS = (
    ("orientation", mujoco.mjtSensor.mjSENS_FRAMEQUAT),
    ("gyro", mujoco.mjtSensor.mjSENS_GYRO),
    ("accelerometer", mujoco.mjtSensor.mjSENS_ACCELEROMETER),
)


@dataclass(frozen=True, slots=True)
class ImuReading:
    """What an IMU says, all in its own frame.

    Attributes:
        quat_xyzw: orientation of the IMU's frame in the world, x, y, z, w.
        ang_vel: angular velocity, rad/s, shape (3,).
        lin_acc: specific force, m/s^2, shape (3,): at rest it points up and is as long as gravity.
    """

    quat_xyzw: FloatArray
    ang_vel: FloatArray
    lin_acc: FloatArray


@dataclass(frozen=True, slots=True)
class BaseReading:
    """The true state of a floating base.

    Attributes:
        pos: position in the world, m, shape (3,).
        quat_xyzw: orientation in the world, x, y, z, w.
        lin_vel: linear velocity, base frame, m/s, shape (3,).
        ang_vel: angular velocity, base frame, rad/s, shape (3,).
    """

    pos: FloatArray
    quat_xyzw: FloatArray
    lin_vel: FloatArray
    ang_vel: FloatArray


@dataclass(frozen=True, slots=True)
class Reading:
    """All that is measured at one instant; joint arrays have shape (num_joints,), in the model's order.

    Attributes:
        time_ns: simulated time, ns.
        joint_pos: positions, rad (m for a slide joint).
        joint_vel: velocities, rad/s (m/s).
        joint_effort: torques that the drives apply, after their limits, N m (N).
        imu: the IMU; None for a robot without one.
        base: the floating base; None for a robot that is fixed to the world.
    """

    time_ns: int
    joint_pos: FloatArray
    joint_vel: FloatArray
    joint_effort: FloatArray
    imu: ImuReading | None
    base: BaseReading | None


def add_imu_sensors(spec: Any, site: str) -> tuple[str, str, str]:
    """Gives a site of a model the sensors of an IMU, as far as it lacks them.

    Args:
        spec: the mujoco.MjSpec to change.
        site: name of the site.

    Returns:
        Names of the sensors of orientation, angular velocity and specific force.
    """
    names = []
    for quantity, kind in _IMU_SENSORS:
        # An orientation relative to another body is no IMU's.
        found = [s for s in spec.sensors if s.type == kind and s.objname == site and not s.refname]
        sensor = found[0] if found else spec.add_sensor(type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=site)
        if not sensor.name:
            sensor.name = f"policy_node_{site}_{quantity}"
        names.append(sensor.name)
    return names[0], names[1], names[2]


class ImuSensor:
    """Reads the sensors that :func:`add_imu_sensors` named."""

    def __init__(self, model: Any, names: tuple[str, str, str]) -> None:
        self._quat_at, self._gyro_at, self._acc_at = (int(model.sensor(name).adr[0]) for name in names)

    def read(self, data: Any) -> ImuReading:
        """Reads the sensors as of the last forward computation."""
        values = data.sensordata
        w, x, y, z = values[self._quat_at : self._quat_at + 4]
        return ImuReading(
            np.array([x, y, z, w]),
            values[self._gyro_at : self._gyro_at + 3].copy(),
            values[self._acc_at : self._acc_at + 3].copy(),
        )


class BaseSensor:
    """Reads the state of a free joint.

    Attributes:
        qpos_at: where its seven numbers begin in MuJoCo's qpos.
        qvel_at: where its six numbers begin in MuJoCo's qvel.
    """

    def __init__(self, model: Any, joint_id: int) -> None:
        self.qpos_at = int(model.jnt_qposadr[joint_id])
        self.qvel_at = int(model.jnt_dofadr[joint_id])
        self._rotation = np.zeros(9)

    def read(self, data: Any) -> BaseReading:
        """Reads position and velocity as they are now."""
        p, v = self.qpos_at, self.qvel_at
        quat_wxyz = data.qpos[p + 3 : p + 7]
        mujoco.mju_quat2Mat(self._rotation, quat_wxyz)
        return BaseReading(
            data.qpos[p : p + 3].copy(),
            quat_wxyz[[1, 2, 3, 0]],
            # MuJoCo gives a free joint's linear velocity in the world, its angular velocity in the body.
            self._rotation.reshape(3, 3).T @ data.qvel[v : v + 3],
            data.qvel[v + 3 : v + 6].copy(),
        )
