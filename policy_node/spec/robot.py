# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The robot file: what belongs to a robot and not to a policy."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from policy_node.errors import SpecError
from policy_node.spec.files import build, plain, read_data
from policy_node.spec.model import Finite, ImuSpec, PolicySpec, Positive


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class RobotJointLimits(_Closed):
    """Limits of one joint: rad, rad, rad/s, N m. What is left out is left to the policy's contract."""

    lower: Finite | None = None
    upper: Finite | None = None
    velocity: Positive | None = None
    effort: Positive | None = None


class RobotFile(_Closed):
    """One robot.

    Attributes:
        name: for messages and status.
        joint_name_map: name on ``joint_states`` and ``joint_command`` -> name in the contract.
        command_joints: order of the joints in ``joint_command``, names of the contract; its own order if empty.
        joint_limits: per joint of the contract; the stricter of this and the contract counts.
        damping_kd: per joint, N m s/rad, applied with kp 0 when the robot is damped.
        imu: frame and mount of the IMU; replaces what the contract says, for a robot built differently.
    """

    name: Annotated[str, Field(min_length=1)]
    joint_name_map: dict[str, str] = {}
    command_joints: list[str] = []
    joint_limits: dict[str, RobotJointLimits] = {}
    damping_kd: dict[str, Positive] = {}
    imu: ImuSpec | None = None


@dataclass(frozen=True)
class Site:
    """The contract's robot and the site's robot file, joined: one entity, its joints in the contract's order.

    Attributes:
        joint_names: the entity's ``dofs_name``.
        lower, upper: position limits, shape (num_joints,), rad; infinite where nobody says.
        velocity: speed limits, rad/s; effort: torque limits, N m; infinite where nobody says.
        damping_kd: N m s/rad.
        command_joints: order of joints on the wire, contract names.
        wire_names: contract name -> name on the wire.
        imu: frame and mount.
        notes: what differs between the two files, and what nobody says, in words for the log.
    """

    joint_names: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray
    damping_kd: np.ndarray
    command_joints: tuple[str, ...]
    wire_names: dict[str, str]
    imu: ImuSpec
    notes: tuple[str, ...]


def load_robot(path: Path) -> RobotFile:
    """Reads a robot file.

    Raises:
        SpecError: the file is unreadable or holds an unknown or wrong key; faults name lines.
    """
    read = read_data(path)
    if isinstance(read, dict) and any("ros__parameters" in value for value in read.values() if isinstance(value, dict)):
        raise SpecError(
            path.name, ["holds parameters of a node. Give it as params_file; a robot file is another thing."]
        )
    return build(RobotFile, plain(read), path.name, lines=read, inert=False)


def join(spec: PolicySpec, robot: RobotFile | None, source: str = "robot file") -> Site:
    """Joins contract and robot file; the stricter limit wins and every difference becomes a note.

    Args:
        spec: the contract; it must have exactly one entity.
        robot: the robot file, or None for a robot about which only the contract speaks.
        source: name of the robot file for messages.

    Raises:
        SpecError: names of the robot file are unknown to the contract, or the limits exclude each other.
    """
    entity_name, entity = next(iter(spec.entities.items()))
    joints = entity.dofs_name
    index = {joint: i for i, joint in enumerate(joints)}
    count = len(joints)
    lower, upper = np.full(count, -np.inf), np.full(count, np.inf)
    velocity, effort = np.full(count, np.inf), np.full(count, np.inf)
    notes: list[str] = []
    declared = spec.deployment.joint_limits.get(entity_name)
    if declared is not None:
        lower[:], upper[:] = declared.lower, declared.upper
        velocity[:], effort[:] = declared.velocity, declared.effort
    robot = robot or RobotFile(name="unnamed robot")
    faults = _unknown_joints(robot, index)
    if faults:
        raise SpecError(source, faults)
    for joint, limits in robot.joint_limits.items():
        i = index[joint]
        for key, bounds, stricter in (
            ("lower", lower, max),
            ("upper", upper, min),
            ("velocity", velocity, min),
            ("effort", effort, min),
        ):
            value = getattr(limits, key)
            if value is None:
                continue
            if np.isfinite(bounds[i]) and value != bounds[i]:
                notes.append(
                    f"{joint}: {key} is {value:g} in the robot file and {bounds[i]:g} in the contract; "
                    f"the stricter, {stricter(value, bounds[i]):g}, counts."
                )
            bounds[i] = stricter(value, bounds[i])
    for i, joint in enumerate(joints):
        if not lower[i] < upper[i]:
            faults.append(
                f"joint_limits.{joint}: contract and robot file leave no range ([{lower[i]:g}, {upper[i]:g}])."
            )
        elif not lower[i] <= entity.default_dofs_pos[i] <= upper[i]:
            faults.append(
                f"joint_limits.{joint}: the default {entity.default_dofs_pos[i]:g} is outside "
                f"[{lower[i]:g}, {upper[i]:g}]."
            )
    unlimited = [joint for i, joint in enumerate(joints) if not np.isfinite(lower[i] + upper[i])]
    if unlimited:
        faults.append(
            "joint_limits: neither contract nor robot file limits the position of "
            f"{', '.join(unlimited)}. Add lower and upper for each."
        )
    if faults:
        raise SpecError(source, faults)
    for key, bounds in (("velocity", velocity), ("effort", effort)):
        missing = [joint for joint, value in zip(joints, bounds) if not np.isfinite(value)]
        if missing:
            notes.append(f"nobody limits the {key} of {', '.join(missing)}; that guard is off there.")
    damping_kd = np.asarray(entity.kd, dtype=float)
    unset = [joint for joint in joints if joint not in robot.damping_kd]
    for joint, kd in robot.damping_kd.items():
        damping_kd[index[joint]] = kd
    if unset:
        which = "any joint" if len(unset) == count else ", ".join(unset)
        notes.append(
            f"no damping_kd for {which}: the contract's kd is used when the robot is damped, "
            "which may be nearly a free fall. Give a robot file with damping_kd."
        )
    imu = spec.deployment.imu if robot.imu is None else robot.imu
    if robot.imu is not None and robot.imu != spec.deployment.imu:
        notes.append(
            f"the IMU is mounted as the robot file says, {imu.mount_quat_xyzw} (xyzw), frame {imu.frame_id}; "
            f"the contract says {spec.deployment.imu.mount_quat_xyzw}, frame {spec.deployment.imu.frame_id}."
        )
    command_joints = tuple(robot.command_joints) or tuple(joints)
    wire_names = {joint: joint for joint in joints}
    wire_names.update({ours: wire for wire, ours in robot.joint_name_map.items()})
    twice = sorted(name for name, times in Counter(wire_names.values()).items() if times > 1)
    if twice:
        raise SpecError(
            source,
            [f"joint_name_map: {', '.join(twice)} would be the name of two joints on the wire. Map the other one too."],
        )
    return Site(
        tuple(joints), lower, upper, velocity, effort, damping_kd, command_joints, wire_names, imu, tuple(notes)
    )


def _unknown_joints(robot: RobotFile, index: dict[str, int]) -> list[str]:
    faults = []
    has = ", ".join(index)
    for key, names in (
        ("joint_limits", robot.joint_limits),
        ("damping_kd", robot.damping_kd),
        ("command_joints", robot.command_joints),
        ("joint_name_map", robot.joint_name_map.values()),
    ):
        unknown = [name for name in names if name not in index]
        if unknown:
            faults.append(f"{key}: {', '.join(unknown)} is not a joint of the contract, which has: {has}.")
    if robot.command_joints:
        lacking = [joint for joint in index if joint not in robot.command_joints]
        if lacking:
            faults.append(f"command_joints: lacks {', '.join(lacking)}. List every joint, or leave the key out.")
        if len(set(robot.command_joints)) != len(robot.command_joints):
            faults.append("command_joints: lists a joint twice.")
    if len(set(robot.joint_name_map.values())) != len(robot.joint_name_map):
        faults.append("joint_name_map: two names on the wire stand for one joint.")
    if robot.imu is not None and abs(float(np.linalg.norm(robot.imu.mount_quat_xyzw)) - 1.0) > 1e-3:
        faults.append("imu.mount_quat_xyzw: has a norm other than 1.")
    return faults
