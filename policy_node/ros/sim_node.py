# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The simulated robot on ROS topics: what its sensors say goes out, commands come in."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState

from policy_node.msg import JointCommand
from policy_node.sim.joint_drive import DriveCommand, FloatArray
from policy_node.sim.sensors import Reading

JOINT_STATES, IMU, ODOM, CMD_VEL = "joint_states", "imu/data", "odom", "cmd_vel"

LOCKSTEP_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""Reliable, because in lockstep a lost sample would stop the simulation."""

CMD_VEL_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
"""Reliable, because gamepads and planners publish so; depth 1, because only the newest command counts."""

COMMAND_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Best effort, because such a subscriber hears every publisher; depth 1, because only the newest command counts."""

CLOCK_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""As every node subscribes to /clock: a time that came late is worth nothing."""

BASE_FRAME, ODOM_FRAME = "base_link", "odom"


class SimNode(Node):
    """Publishers of a simulated robot, and its subscription to commands.

    Args:
        joint_names: joints of the robot, in the model's order.
        imu_frame: frame_id of the IMU's messages.
        lockstep: whether every message must arrive.

    Attributes:
        newest: newest command that nobody has taken yet.
        on_command: called after each command, in the executor's thread.
    """

    def __init__(self, joint_names: Sequence[str], imu_frame: str, *, lockstep: bool) -> None:
        super().__init__("sim")
        self.newest: JointCommand | None = None
        self.on_command: Callable[[], None] = lambda: None
        self._joint_names, self._imu_frame = list(joint_names), imu_frame
        # In real time the sensors of a robot publish best effort, and so do these.
        qos = LOCKSTEP_QOS if lockstep else qos_profile_sensor_data
        self._clock = self.create_publisher(Clock, "/clock", CLOCK_QOS)
        self.joint_states = self.create_publisher(JointState, JOINT_STATES, qos)
        self._imu = self.create_publisher(Imu, IMU, qos)
        self._odom = self.create_publisher(Odometry, ODOM, qos)
        self._cmd_vel = self.create_publisher(TwistStamped, CMD_VEL, LOCKSTEP_QOS if lockstep else CMD_VEL_QOS)
        qos = LOCKSTEP_QOS if lockstep else COMMAND_QOS
        self.create_subscription(JointCommand, "joint_command", self._on_command, qos)

    def take_command(self) -> DriveCommand | None:
        """The newest command that nobody has taken yet."""
        message, self.newest = self.newest, None
        return None if message is None else as_drive_command(message)

    def publish_reading(self, reading: Reading, stamp: Time) -> list[str]:
        """Publishes what the robot measures, and the clock; returns the topics, without the clock."""
        # First, so that no stamp lies in a listener's future.
        self._clock.publish(Clock(clock=stamp))
        joints = JointState(
            name=self._joint_names, position=_doubles(reading.joint_pos), velocity=_doubles(reading.joint_vel),
            effort=_doubles(reading.joint_effort),
        )
        joints.header.stamp = stamp
        self.joint_states.publish(joints)
        topics = [JOINT_STATES]
        if reading.imu is not None:
            imu = Imu()
            imu.header.stamp, imu.header.frame_id = stamp, self._imu_frame
            _set_xyzw(imu.orientation, reading.imu.quat_xyzw)
            _set_xyz(imu.angular_velocity, reading.imu.ang_vel)
            _set_xyz(imu.linear_acceleration, reading.imu.lin_acc)
            self._imu.publish(imu)
            topics.append(IMU)
        if reading.base is not None:
            odom = Odometry(child_frame_id=BASE_FRAME)
            odom.header.stamp, odom.header.frame_id = stamp, ODOM_FRAME
            _set_xyz(odom.pose.pose.position, reading.base.pos)
            _set_xyzw(odom.pose.pose.orientation, reading.base.quat_xyzw)
            _set_xyz(odom.twist.twist.linear, reading.base.lin_vel)
            _set_xyz(odom.twist.twist.angular, reading.base.ang_vel)
            self._odom.publish(odom)
            topics.append(ODOM)
        return topics

    def publish_velocity_command(self, command: FloatArray, stamp: Time) -> list[str]:
        """Publishes forward, left (m/s) and yaw (rad/s) velocity as a gamepad would; returns the topic."""
        twist = TwistStamped()
        twist.header.stamp, twist.header.frame_id = stamp, BASE_FRAME
        twist.twist.linear.x, twist.twist.linear.y, twist.twist.angular.z = command.tolist()
        self._cmd_vel.publish(twist)
        return [CMD_VEL]

    def _on_command(self, message: JointCommand) -> None:
        self.newest = message
        self.on_command()


def as_drive_command(message: JointCommand) -> DriveCommand:
    """The plant's form of a command, unchecked."""
    return DriveCommand(
        tuple(message.name), np.array(message.position), np.array(message.velocity), np.array(message.effort),
        np.array(message.kp), np.array(message.kd), message.sequence, message.valid_for,
    )


def as_stamp(time_ns: int) -> Time:
    """Simulated time (ns) as a message."""
    seconds, nanoseconds = divmod(time_ns, 1_000_000_000)
    return Time(sec=seconds, nanosec=nanoseconds)


def _doubles(values: FloatArray) -> array[float]:
    # An array is copied as it is; of a list every element would be checked.
    return array("d", values.tobytes())


def _set_xyz(vector: Any, values: FloatArray) -> None:
    vector.x, vector.y, vector.z = values.tolist()


def _set_xyzw(quaternion: Any, values: FloatArray) -> None:
    quaternion.x, quaternion.y, quaternion.z, quaternion.w = values.tolist()
