# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Forms of the command: the message of this package, and those that other drivers already take.

Only JointCommand carries gains. Each other form says what it sends in place of damping, and which guards it voids; it
must be chosen by the parameter command_type.
"""

from __future__ import annotations

from array import array
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from builtin_interfaces.msg import Duration, Time
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from policy_node.core.controller import JointTargets
from policy_node.msg import JointCommand
from policy_node.spec.robot import Site

COMMAND_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
"""Reliable, because a reliable publisher is heard by reliable and best-effort subscribers; depth 1, because only the
newest command is worth anything."""


class CommandOutput(Protocol):
    """Publishes one form of command.

    Attributes:
        in_place_of_damping: what the driver is told when the robot should be damped; empty where damping is expressed.
        publisher: what it publishes with.
    """

    in_place_of_damping: str
    publisher: Publisher

    def publish(self, targets: JointTargets, stamp: Time, sequence: int, *, damping: bool) -> None:
        """Publishes one command for every joint."""


class _Wire:
    """Names and order of the joints on the wire."""

    def __init__(self, site: Site) -> None:
        self.names = [site.wire_names[joint] for joint in site.command_joints]
        self._index = np.array([site.joint_names.index(joint) for joint in site.command_joints], dtype=np.intp)

    def array(self, values: npt.NDArray[np.float64]) -> array[float]:
        """Values of the contract's order in the wire's order, as rclpy takes them without a copy per element."""
        return array("d", values.take(self._index).tobytes())


class JointCommandOutput:
    """policy_node/JointCommand: position, velocity, effort, kp and kd of every joint."""

    in_place_of_damping = ""

    def __init__(self, node: Node, site: Site, valid_for: float) -> None:
        self._wire = _Wire(site)
        self.publisher = node.create_publisher(JointCommand, "joint_command", COMMAND_QOS)
        self._message = JointCommand(name=self._wire.names, valid_for=valid_for)

    def publish(self, targets: JointTargets, stamp: Time, sequence: int, *, damping: bool) -> None:
        """Publishes one command."""
        message, wire = self._message, self._wire
        message.header.stamp = stamp
        message.sequence = sequence
        message.position = wire.array(targets.position)
        message.velocity = wire.array(targets.velocity)
        message.effort = wire.array(targets.effort)
        message.kp = wire.array(targets.kp)
        message.kd = wire.array(targets.kd)
        self.publisher.publish(message)


class JointTrajectoryOutput:
    """trajectory_msgs/JointTrajectory with one point per tick, for a joint_trajectory_controller."""

    in_place_of_damping = (
        "holds the joints where they were last measured, at the controller's own stiffness; gains of the contract, the "
        "torque guard and valid_for have no effect"
    )

    def __init__(self, node: Node, site: Site, control_dt: float) -> None:
        self._wire = _Wire(site)
        self.publisher = node.create_publisher(JointTrajectory, "joint_trajectory", COMMAND_QOS)
        seconds, nanoseconds = divmod(round(control_dt * 1e9), 1_000_000_000)
        self._after = Duration(sec=seconds, nanosec=nanoseconds)

    def publish(self, targets: JointTargets, stamp: Time, sequence: int, *, damping: bool) -> None:
        """Publishes one point, to be reached one tick from now."""
        point = JointTrajectoryPoint(positions=self._wire.array(targets.position), time_from_start=self._after)
        message = JointTrajectory(joint_names=self._wire.names, points=[point])
        # A stamp of zero means "now" to the controller: clocks of two hosts need not agree.
        self.publisher.publish(message)


class Float64MultiArrayOutput:
    """std_msgs/Float64MultiArray of positions in the order command_joints, for a forward_command_controller."""

    in_place_of_damping = JointTrajectoryOutput.in_place_of_damping

    def __init__(self, node: Node, site: Site) -> None:
        self._wire = _Wire(site)
        self.publisher = node.create_publisher(Float64MultiArray, "commands", COMMAND_QOS)

    def publish(self, targets: JointTargets, stamp: Time, sequence: int, *, damping: bool) -> None:
        """Publishes one array."""
        self.publisher.publish(Float64MultiArray(data=self._wire.array(targets.position)))


class JointStateOutput:
    """sensor_msgs/JointState of positions: what Isaac Sim's articulation controller takes, and what plot tools show."""

    in_place_of_damping = JointTrajectoryOutput.in_place_of_damping

    def __init__(self, node: Node, site: Site, topic: str = "joint_command", qos: QoSProfile = COMMAND_QOS) -> None:
        self._wire = _Wire(site)
        self.publisher = node.create_publisher(JointState, topic, qos)
        self._message = JointState(name=self._wire.names)

    def publish(self, targets: JointTargets, stamp: Time, sequence: int, *, damping: bool) -> None:
        """Publishes one set of positions."""
        message = self._message
        message.header.stamp = stamp
        message.position = self._wire.array(targets.position)
        self.publisher.publish(message)


def make_output(kind: str, node: Node, site: Site, control_dt: float, valid_for: float) -> CommandOutput:
    """The output of a command_type."""
    outputs: dict[str, Any] = {
        "joint_command": lambda: JointCommandOutput(node, site, valid_for),
        "joint_trajectory": lambda: JointTrajectoryOutput(node, site, control_dt),
        "float64_multi_array": lambda: Float64MultiArrayOutput(node, site),
        "joint_state": lambda: JointStateOutput(node, site),
    }
    made: CommandOutput = outputs[kind]()
    return made
