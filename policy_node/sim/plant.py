# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""A robot of any MJCF file, driven by commands with gains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from policy_node.errors import PolicyNodeError
from policy_node.sim.joint_drive import DriveCommand, JointDrive
from policy_node.sim.sensors import BaseSensor, ImuSensor, Reading, add_imu_sensors

FloatArray = npt.NDArray[np.float64]

# MuJoCo's arrays hold plain numbers, which never equal its enumerations.
FREE, HINGE, SLIDE = (int(kind) for kind in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_HINGE,
                                             mujoco.mjtJoint.mjJNT_SLIDE))
ON_JOINT = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
BAD_STATES = tuple(int(kind) for kind in (mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL,
                                          mujoco.mjtWarning.mjWARN_BADQACC))
NO_BIAS = int(mujoco.mjtBias.mjBIAS_NONE)

GANTRY = "policy_node_gantry"
FULL_TORQUE_SPEED = 6.0
"""A drive without a command damps so that it reaches its torque limit at this speed, rad/s: the robot sinks, slowly."""
UNLIMITED_DAMPING = 1.0
"""Damping of a drive whose torque has no limit, N m s/rad."""


class PlantError(PolicyNodeError, ValueError):
    """A model that cannot be simulated here, or a request that it cannot fulfil."""


class Plant:
    """Simulates a robot and obeys commands as a good driver does.

    The model's own actuators are replaced by one drive for each hinge and slide joint. It keeps their torque limits.
    A drive applies kp (q* - q) + kd (qd* - qd) + effort anew in every physics step, and the damping is integrated
    implicitly, so that a large kd does not make the simulation unstable.

    Args:
        model_path: MJCF file.
        imu_site: site that carries the IMU; empty for a robot without one.
        damping_kd: joint -> damping without a command, N m s/rad. A joint that is not named gets one that reaches its
            torque limit at ``FULL_TORQUE_SPEED``.
        keyframe: pose to start in; None for the keyframe ``home``, or the first one, or the model's zero.

    Attributes:
        joint_names: hinge and slide joints, in the model's order.
        torque_limit: lowest and highest torque of each joint, N m, shape (num_joints, 2).
        joint_range: lowest and highest position of each joint, rad, shape (num_joints, 2); infinite where unlimited.
        limit_hits: how often each joint ran into a position limit, shape (num_joints,).
        drive: what the commands have set.
        base_name: body that floats; None for a robot that is fixed to the world.
        model, data: MuJoCo's own, for viewers and recordings.

    Raises:
        PlantError: the model cannot be loaded or lacks what is needed.
    """

    def __init__(
        self,
        model_path: str | Path,
        *,
        imu_site: str = "imu",
        damping_kd: Mapping[str, float] | None = None,
        keyframe: str | None = None,
    ) -> None:
        self.model_path = Path(model_path)
        spec, original = _load(self.model_path)
        joint_ids = np.flatnonzero(np.isin(original.jnt_type, (HINGE, SLIDE))).tolist()
        self.joint_names = tuple(original.joint(j).name for j in joint_ids)
        if not joint_ids or not all(self.joint_names):
            raise PlantError(
                f"{self.model_path.name}: {self.joint_names.count('') if joint_ids else 'all'} of its hinge and slide "
                f"joints have no name, or there are none. Commands go by name: name every joint."
            )
        self.torque_limit = torque_limits(original)[joint_ids]
        limited = original.jnt_limited[joint_ids].astype(bool)[:, np.newaxis]
        self.joint_range = np.where(limited, original.jnt_range[joint_ids], [-np.inf, np.inf])
        imu_sensors = self._require_imu(spec, original, imu_site) if imu_site else None
        base_joint = _base_joint(original, imu_site)
        self.base_name = original.body(original.jnt_bodyid[base_joint]).name if base_joint is not None else None
        if self.base_name == "":
            raise PlantError(f"{self.model_path.name}: the body with the free joint has no name. Name it, e.g. base.")
        self._replace_actuators(spec)
        if self.base_name is not None:
            # A weld to the world holds the base as a gantry does: forces act on it, so the IMU still feels gravity.
            spec.add_equality(
                name=GANTRY, type=mujoco.mjtEq.mjEQ_WELD, objtype=mujoco.mjtObj.mjOBJ_BODY, name1="world",
                name2=self.base_name, active=False,
            )
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        ids = [self.model.joint(name).id for name in self.joint_names]
        self._qpos_at = self.model.jnt_qposadr[ids]
        self._qvel_at = self.model.jnt_dofadr[ids]
        self._actuators = np.array([self.model.actuator(name).id for name in self.joint_names])
        self._imu = ImuSensor(self.model, imu_sensors) if imu_sensors else None
        self._base: BaseSensor | None = None
        if self.base_name is not None:
            free_joint = int(self.model.body_jntadr[self.model.body(self.base_name).id])
            self._base = BaseSensor(self.model, free_joint)
        self.drive = JointDrive(self.joint_names, self._damping(damping_kd or {}))
        self.timestep = float(self.model.opt.timestep)
        self._timestep_ns = round(self.timestep * 1e9)
        self.reset(keyframe)

    @property
    def time(self) -> float:
        """Simulated time since the last reset, s."""
        return self.time_ns * 1e-9

    @property
    def time_ns(self) -> int:
        """Simulated time since the last reset, ns: an exact multiple of the time step."""
        return self._steps * self._timestep_ns

    @property
    def standing_height(self) -> float:
        """Height of the base in the pose of the last reset, m; zero for a fixed robot."""
        return self._standing_height

    def reset(self, keyframe: str | None = None) -> None:
        """Starts over: time zero, a keyframe's pose, no command, nothing held.

        Args:
            keyframe: its name; None for ``home``, or the first one, or the model's zero.

        Raises:
            PlantError: there is no such keyframe.
        """
        names = [self.model.key(i).name for i in range(self.model.nkey)]
        if keyframe is not None and keyframe not in names:
            raise PlantError(
                f"{self.model_path.name} has no keyframe '{keyframe}'. It has: {', '.join(names) or 'none'}."
            )
        if keyframe is None and names:
            keyframe = "home" if "home" in names else names[0]
        if keyframe is None:
            mujoco.mj_resetData(self.model, self.data)
        else:
            mujoco.mj_resetDataKeyframe(self.model, self.data, names.index(keyframe))
        self.data.time = 0.0
        self._steps = 0
        self.limit_hits = np.zeros(len(self.joint_names), dtype=np.int64)
        self._at_limit = self._beyond_limit()
        self._standing_height = float(self.data.qpos[self._base.qpos_at + 2]) if self._base is not None else 0.0
        self.drive.reset()
        self._write_drive()
        self._stale = True

    def apply(self, command: DriveCommand) -> str | None:
        """Receives a command now; returns why it was dropped, or None when it was taken."""
        reason = self.drive.receive(command, self.time)
        if reason is None:
            self._write_drive()
        return reason

    def step(self, duration: float) -> None:
        """Advances the simulation.

        Args:
            duration: how far, s: a multiple of the time step.

        Raises:
            PlantError: it is no multiple of the time step, or the simulation became unstable.
        """
        for _ in range(self.steps_in(duration)):
            if self.drive.expire(self.time):
                self._write_drive()
            mujoco.mj_step(self.model, self.data)
            self._steps += 1
            beyond = self._beyond_limit()
            self.limit_hits += beyond & ~self._at_limit
            self._at_limit = beyond
        self._stale = True
        if any(self.data.warning[kind].number for kind in BAD_STATES):
            # MuJoCo starts over by itself then; whoever listens must not take that for a robot that stands again.
            raise PlantError(
                f"{self.model_path.name}: the simulation has become unstable by {self.time:.3f} s. Look for colliding "
                f"parts, small masses and large gains without damping, or take a smaller timestep."
            )

    def steps_in(self, duration: float) -> int:
        """Physics steps in a duration.

        Raises:
            PlantError: the duration (s) is no multiple of the time step.
        """
        steps = round(duration / self.timestep)
        if steps < 1 or abs(steps * self.timestep - duration) > 1e-9:
            raise PlantError(
                f"{duration:g} s is no multiple of the time step of {self.model_path.name}, {self.timestep:g} s. "
                f"Take {max(1, steps) * self.timestep:g} s, or change the model's timestep."
            )
        return steps

    def read(self) -> Reading:
        """Measures everything at the present instant."""
        if self._stale:
            # A step leaves the sensors as they were at its beginning; this brings them to its end.
            mujoco.mj_forward(self.model, self.data)
            self._stale = False
        return Reading(
            self.time_ns,
            self.data.qpos[self._qpos_at],
            self.data.qvel[self._qvel_at],
            self.data.qfrc_actuator[self._qvel_at],
            self._imu.read(self.data) if self._imu is not None else None,
            self._base.read(self.data) if self._base is not None else None,
        )

    def suspend(self, held: bool, *, lift: float = 0.0) -> None:
        """Holds the base at its pose as a gantry does, or lets it go.

        Args:
            held: True to hold it.
            lift: how much to raise the base before, m.

        Raises:
            PlantError: the robot is fixed to the world.
        """
        base = self._need_base("be suspended")
        gantry = self.model.equality(GANTRY).id
        if held:
            p, v = base.qpos_at, base.qvel_at
            self.data.qpos[p + 2] += lift
            self.data.qvel[v : v + 6] = 0.0
            # For a weld: an anchor, the pose of the second body in the first one, and the weight of the rotation.
            self.model.eq_data[gantry, :11] = [0.0, 0.0, 0.0, *self.data.qpos[p : p + 7], 1.0]
        self.data.eq_active[gantry] = held
        self._stale = True

    def push(self, velocity: Sequence[float]) -> None:
        """Changes the velocity of the base at once.

        Args:
            velocity: what to add, world frame, m/s, shape (3,).

        Raises:
            PlantError: the robot is fixed to the world.
        """
        base = self._need_base("be pushed")
        self.data.qvel[base.qvel_at : base.qvel_at + 3] += velocity
        self._stale = True

    def _need_base(self, what: str) -> BaseSensor:
        if self._base is None:
            raise PlantError(f"{self.model_path.name} has no free joint: a robot fixed to the world cannot {what}.")
        return self._base

    def _write_drive(self) -> None:
        bias = self.model.actuator_biasprm
        bias[self._actuators, 1] = -self.drive.kp
        bias[self._actuators, 2] = -self.drive.kd
        self.data.ctrl[self._actuators] = self.drive.ctrl
        self._stale = True

    def _beyond_limit(self) -> npt.NDArray[np.bool_]:
        pos = self.data.qpos[self._qpos_at]
        return (pos <= self.joint_range[:, 0]) | (pos >= self.joint_range[:, 1])

    def _damping(self, given: Mapping[str, float]) -> FloatArray:
        unknown = sorted(set(given) - set(self.joint_names))
        if unknown:
            raise PlantError(
                f"damping is given for {', '.join(unknown)}, which {self.model_path.name} lacks. "
                f"It has: {', '.join(self.joint_names)}."
            )
        largest = np.abs(self.torque_limit).max(axis=1)
        default = np.where(np.isfinite(largest), largest / FULL_TORQUE_SPEED, UNLIMITED_DAMPING)
        return np.array([given.get(name, kd) for name, kd in zip(self.joint_names, default.tolist(), strict=True)])

    def _require_imu(self, spec: Any, model: Any, site: str) -> tuple[str, str, str]:
        sites = [model.site(i).name for i in range(model.nsite)]
        if site not in sites:
            named = ", ".join(filter(None, sites)) or "none"
            raise PlantError(
                f"{self.model_path.name} has no site '{site}' for the IMU. It has: {named}. "
                f"Name the right one, or none (an empty name) for a robot without an IMU."
            )
        return add_imu_sensors(spec, site)

    def _replace_actuators(self, spec: Any) -> None:
        for sensor in list(spec.sensors):
            if sensor.objtype == mujoco.mjtObj.mjOBJ_ACTUATOR:
                spec.delete(sensor)
        for actuator in list(spec.actuators):
            spec.delete(actuator)
        for key in spec.keys:
            # Controls and activations of the actuators that are gone.
            key.ctrl, key.act = [], []
        for joint in spec.joints:
            # The drive has this limit already. Were it the joint's, the damping of a drive at its limit would be
            # integrated as if there were none, and the robot would be as sluggish as one with a huge armature.
            joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_FALSE
        for name, limit in zip(self.joint_names, self.torque_limit, strict=True):
            limited = bool(np.isfinite(limit).all())
            spec.add_actuator(
                name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT, gear=[1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
                dyntype=mujoco.mjtDyn.mjDYN_NONE, gaintype=mujoco.mjtGain.mjGAIN_FIXED, gainprm=[1.0] + [0.0] * 9,
                biastype=mujoco.mjtBias.mjBIAS_AFFINE, biasprm=[0.0] * 10, ctrllimited=False, forcelimited=limited,
                forcerange=limit if limited else [0.0, 0.0],
            )
        # Only the implicit integrators treat the damping of actuators implicitly.
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST


def torque_limits(model: Any) -> FloatArray:
    """Lowest and highest torque that a model's actuators can put on each of its joints, as the model states it.

    Args:
        model: a mujoco.MjModel.

    Returns:
        Shape (njnt, 2), N m (N); infinite where nothing limits it.
    """
    limits = np.tile([-np.inf, np.inf], (model.njnt, 1))
    of_actuators: dict[int, FloatArray] = {}
    for i in range(model.nu):
        if model.actuator_trntype[i] not in ON_JOINT:
            continue
        if model.actuator_forcelimited[i]:
            force = model.actuator_forcerange[i]
        elif model.actuator_ctrllimited[i] and model.actuator_biastype[i] == NO_BIAS:
            # A plain motor: what its control allows is what it can do.
            force = model.actuator_ctrlrange[i] * model.actuator_gainprm[i, 0]
        else:
            continue
        joint = int(model.actuator_trnid[i, 0])
        torque = np.sort(force * model.actuator_gear[i, 0])
        other = of_actuators.get(joint, torque)
        of_actuators[joint] = np.array([min(torque[0], other[0]), max(torque[1], other[1])])
    for joint, torque in of_actuators.items():
        limits[joint] = torque
    own = model.jnt_actfrclimited.astype(bool)
    limits[own, 0] = np.maximum(limits[own, 0], model.jnt_actfrcrange[own, 0])
    limits[own, 1] = np.minimum(limits[own, 1], model.jnt_actfrcrange[own, 1])
    return limits


def _load(path: Path) -> tuple[Any, Any]:
    if not path.is_file():
        raise PlantError(f"there is no model file {path}. Give the path of an MJCF file.")
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        return spec, spec.compile()
    except ValueError as error:
        raise PlantError(f"{path}: MuJoCo cannot load it: {' '.join(str(error).split())}") from None


def _base_joint(model: Any, imu_site: str) -> int | None:
    """The free joint of the robot: the one that the IMU rides on, or else the first one that carries other joints."""
    free = [j for j in range(model.njnt) if model.jnt_type[j] == FREE]
    if imu_site:
        root = model.body_rootid[model.site_bodyid[model.site(imu_site).id]]
        return next((j for j in free if model.jnt_bodyid[j] == root), None)
    carried = {int(model.body_rootid[model.jnt_bodyid[j]]) for j in range(model.njnt) if j not in free}
    return next((j for j in free if int(model.jnt_bodyid[j]) in carried), None)
