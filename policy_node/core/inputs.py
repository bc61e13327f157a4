# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Input streams: each sample is checked once, taken into the contract's order, and aged on a steady clock."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from policy_node.core.joint_map import JointMap
from policy_node.core.sensors import Sensors
from policy_node.errors import JointNameError
from policy_node.spec.model import CommandSpec, ImuSpec

F64 = npt.NDArray[np.float64]

JOINT_STATES = "joint_states"
IMU = "imu/data"
MAX_NAMES = 512
QUAT_NORM_TOLERANCE = 0.05


@dataclass(slots=True)
class Stream:
    """What is known about one input.

    Attributes:
        name: topic, for messages.
        accepted: number of samples taken; rejected: number refused.
        arrival: steady time of the newest sample taken, s; negative infinity before the first.
        rejection: why the newest refused sample was refused; empty once a good one follows.
    """

    name: str
    accepted: int = 0
    rejected: int = 0
    arrival: float = -math.inf
    rejection: str = ""

    def take(self, arrival: float) -> None:
        """Notes a good sample."""
        self.accepted += 1
        self.arrival = arrival
        self.rejection = ""

    def refuse(self, why: str) -> None:
        """Notes a refused sample: it changes nothing but this record."""
        self.rejected += 1
        self.rejection = why


@dataclass(slots=True)
class CommandInput:
    """A command's stream, trained range and newest value."""

    stream: Stream
    low: F64
    high: F64
    timeout: float
    value: F64
    clamped: int = 0


@dataclass
class Inputs:
    """All inputs of a robot, and the sample that they add up to.

    A sample that is refused never reaches the observation. Times are seconds of one steady clock, or of simulated
    time in lockstep.

    Attributes:
        sensors: the newest good sample of everything.
        joint_states, imu: their streams.
        commands: name -> command input.
    """

    sensors: Sensors
    joint_names: Sequence[str]
    wire_names: Mapping[str, str]
    imu_spec: ImuSpec
    command_specs: Mapping[str, CommandSpec]
    joint_states: Stream = field(default_factory=lambda: Stream(JOINT_STATES))
    imu: Stream = field(default_factory=lambda: Stream(IMU))
    commands: dict[str, CommandInput] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._map = JointMap([self.wire_names[name] for name in self.joint_names])
        self._scratch = np.zeros((2, len(self.joint_names)))
        for name, values in self.sensors.commands.items():
            spec = self.command_specs.get(name)
            low = np.array([pair[0] for pair in spec.ranges]) if spec else np.full(len(values), -np.inf)
            high = np.array([pair[1] for pair in spec.ranges]) if spec else np.full(len(values), np.inf)
            timeout = spec.timeout if spec else 0.5
            self.commands[name] = CommandInput(Stream(name), low, high, timeout, np.zeros(len(values)))

    def set_joint_states(self, names: Sequence[str], position: F64, velocity: F64, arrival: float) -> bool:
        """Takes joint states, or refuses them with a reason.

        Args:
            names: joint names on the wire, in the sender's order.
            position: rad, same length and order.
            velocity: rad/s, same length and order.
            arrival: steady time, s.

        Returns:
            True when the sample was taken.
        """
        stream = self.joint_states
        if len(names) > MAX_NAMES:
            stream.refuse(f"names {len(names)} joints; at most {MAX_NAMES} are read")
            return False
        if len(position) != len(names) or len(velocity) != len(names):
            stream.refuse(
                f"has {len(names)} names, {len(position)} positions and {len(velocity)} velocities; all three must be "
                "as long. A driver without velocities cannot be run with this policy",
            )
            return False
        try:
            index = self._map.resolve(names)
        except JointNameError as error:
            stream.refuse(str(error))
            return False
        scratch = self._scratch
        position.take(index, out=scratch[0], mode="clip")
        velocity.take(index, out=scratch[1], mode="clip")
        if not math.isfinite(scratch.sum()):
            # The sum of finite numbers may overflow too; such numbers are no angles either.
            row, column = divmod(int(np.argmax(~(np.abs(scratch) < 1e100))), scratch.shape[1])
            stream.refuse(f"{('position', 'velocity')[row]} of {self.joint_names[column]} is {scratch[row, column]}")
            return False
        self.sensors.joint_pos[:] = scratch[0]
        self.sensors.joint_vel[:] = scratch[1]
        stream.take(arrival)
        return True

    def set_imu(
        self,
        quat_xyzw: Sequence[float],
        ang_vel: Sequence[float],
        arrival: float,
        frame_id: str = "",
        has_orientation: bool = True,
    ) -> bool:
        """Takes an IMU sample, or refuses it with a reason.

        Args:
            quat_xyzw: orientation of the IMU frame in the world.
            ang_vel: in the IMU frame, rad/s.
            arrival: steady time, s.
            frame_id: frame that the message names.
            has_orientation: false where the message says that it reports none.

        Returns:
            True when the sample was taken.
        """
        stream = self.imu
        expected = self.imu_spec.frame_id
        if expected and frame_id != expected:
            stream.refuse(
                f"frame_id is '{frame_id}'; the contract was made for '{expected}'. Remap imu/data to "
                "that IMU, or state frame and mount of this one in the robot file",
            )
            return False
        if not has_orientation:
            stream.refuse("reports no orientation (orientation_covariance[0] is -1), and the policy needs it")
            return False
        x, y, z, w = quat_xyzw
        norm = math.sqrt(x * x + y * y + z * z + w * w)
        if not abs(norm - 1.0) <= QUAT_NORM_TOLERANCE:
            stream.refuse(f"orientation ({x:g}, {y:g}, {z:g}, {w:g}) has norm {norm:g}; a rotation has norm 1")
            return False
        a, b, c = ang_vel
        if not math.isfinite(a + b + c):
            stream.refuse(f"angular velocity is ({a:g}, {b:g}, {c:g})")
            return False
        quat = self.sensors.imu_quat_xyzw
        quat[0], quat[1], quat[2], quat[3] = x / norm, y / norm, z / norm, w / norm
        rate = self.sensors.imu_ang_vel
        rate[0], rate[1], rate[2] = a, b, c
        stream.take(arrival)
        return True

    def set_command(self, name: str, values: Sequence[float], arrival: float) -> bool:
        """Takes a command, clamped to its trained range; one that is not finite counts as zero and is refused."""
        command = self.commands[name]
        if len(values) != len(command.value) or not math.isfinite(sum(values)):
            command.stream.refuse(f"is {tuple(values)}; expected {len(command.value)} finite numbers")
            command.value[:] = 0.0
            return False
        command.value[:] = values
        np.clip(command.value, command.low, command.high, out=command.value)
        if any(value != kept for value, kept in zip(values, command.value.tolist())):
            command.clamped += 1
        command.stream.take(arrival)
        return True

    def latch_commands(self, now: float) -> None:
        """Writes the commands of this tick into the sample: zero where the newest is too old."""
        for name, command in self.commands.items():
            fresh = now - command.stream.arrival <= command.timeout
            self.sensors.commands[name][:] = command.value if fresh else 0.0

    def needed(self) -> tuple[Stream, Stream]:
        """The streams without which no policy runs."""
        return self.joint_states, self.imu

    def streams(self) -> list[Stream]:
        """Every stream, for status."""
        return [*self.needed(), *(command.stream for command in self.commands.values())]
