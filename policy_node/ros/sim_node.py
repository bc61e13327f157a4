# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The simulated robot on ROS topics: what its sensors say goes out, commands come in."""

from __future__ import annotations

from array import array
from collections.abc import Callable

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState

from policy_node.msg import JointCommand
from policy_node.sim.command import CommandReceiver
from policy_node.sim.plant import Plant, Readings

RELIABLE = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""Reliable: in lockstep a lost sample would stop the simulation."""

COMMAND_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Best effort hears every publisher; depth 1, because only the newest command is worth anything."""

DAMPING_KD = 3.0
"""N m s/rad on every joint: what this driver damps with by itself."""


class SimNode(Node):
    """Publishers and the command subscription of a simulated robot.

    Attributes:
        plant: the robot.
        receiver: which command is in force.
        newest: newest command that was not yet handed to the receiver.
        on_command: called after each command, in the executor's thread.
    """

    def __init__(self, plant: Plant, imu_frame: str, *, lockstep: bool) -> None:
        super().__init__("sim")
        self.plant = plant
        self.receiver = CommandReceiver(plant.joint_names, np.full(len(plant.joint_names), DAMPING_KD))
        self.newest: JointCommand | None = None
        self.on_command: Callable[[], None] = lambda: None
        # In real time the sensors of a robot publish best effort, and so does this one.
        qos = RELIABLE if lockstep else qos_profile_sensor_data
        self.joint_states = self.create_publisher(JointState, "joint_states", qos)
        self.imu = self.create_publisher(Imu, "imu/data", qos)
        self._odom = self.create_publisher(Odometry, "odom", qos)
        self._cmd_vel = self.create_publisher(TwistStamped, "cmd_vel", RELIABLE)
        self._clock = self.create_publisher(Clock, "/clock", qos_profile_sensor_data)
        self._imu_frame = imu_frame
        self.create_subscription(
            JointCommand, "joint_command", self._on_command, RELIABLE if lockstep else COMMAND_QOS
        )

    def take_command(self, now: float) -> None:
        """Hands the newest command to the receiver; ``now`` is the driver's steady time, s."""
        message, self.newest = self.newest, None
        if message is None:
            return
        arrays = [np.frombuffer(getattr(message, key)) for key in ("position", "velocity", "effort", "kp", "kd")]
        if not self.receiver.receive(message.name, arrays, message.sequence, message.valid_for, now):
            self.get_logger().warn(f"dropped a command: {self.receiver.refusal}", throttle_duration_sec=1.0)

    def publish_sensors(self, readings: Readings, stamp: Time) -> None:
        """Publishes joint states, IMU, odometry and the clock."""
        joints = JointState(name=self.plant.joint_names, position=_doubles(readings.joint_pos),
                            velocity=_doubles(readings.joint_vel), effort=_doubles(readings.joint_effort))
        joints.header.stamp = stamp
        imu = Imu()
        imu.header.stamp, imu.header.frame_id = stamp, self._imu_frame
        _set_xyzw(imu.orientation, readings.imu_quat_xyzw)
        _set_xyz(imu.angular_velocity, readings.imu_ang_vel)
        _set_xyz(imu.linear_acceleration, readings.imu_lin_acc)
        odom = Odometry(child_frame_id="base")
        odom.header.stamp, odom.header.frame_id = stamp, "odom"
        _set_xyz(odom.pose.pose.position, readings.base_pos)
        _set_xyzw(odom.pose.pose.orientation, readings.base_quat_xyzw)
        _set_xyz(odom.twist.twist.linear, readings.base_lin_vel)
        _set_xyz(odom.twist.twist.angular, readings.base_ang_vel)
        self._clock.publish(Clock(clock=stamp))
        self.joint_states.publish(joints)
        self.imu.publish(imu)
        self._odom.publish(odom)

    def publish_velocity_command(self, command: tuple[float, float, float], stamp: Time) -> None:
        """Publishes a velocity command, as a gamepad or a planner would."""
        twist = TwistStamped()
        twist.header.stamp, twist.header.frame_id = stamp, "base"
        twist.twist.linear.x, twist.twist.linear.y, twist.twist.angular.z = command
        self._cmd_vel.publish(twist)

    def _on_command(self, message: JointCommand) -> None:
        self.newest = message
        self.on_command()


def to_stamp(seconds: float) -> Time:
    """Simulated time as a message."""
    whole, nanoseconds = divmod(round(seconds * 1e9), 1_000_000_000)
    return Time(sec=whole, nanosec=nanoseconds)


def _doubles(values: np.ndarray) -> array[float]:
    return array("d", np.ascontiguousarray(values, np.float64).tobytes())


def _set_xyz(vector: object, values: np.ndarray) -> None:
    vector.x, vector.y, vector.z = values.tolist()  # type: ignore[attr-defined]


def _set_xyzw(quaternion: object, values: np.ndarray) -> None:
    quaternion.x, quaternion.y, quaternion.z, quaternion.w = values.tolist()  # type: ignore[attr-defined]
