# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Input topics: callbacks keep the newest message and its arrival time, a tick takes them into the inputs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Twist, TwistStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Imu, JointState

from policy_node.core.inputs import IMU, JOINT_STATES, Inputs

SENSOR_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Best effort, because such a subscriber hears reliable and best-effort publishers; depth 1, because a tick wants the
newest sample and nothing older."""

LOCKSTEP_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""Reliable, because in lockstep a lost sample would stop the simulation."""

CMD_VEL = "cmd_vel"
VELOCITY_COMMAND = "velocity_command"


class InputTopics:
    """Subscriptions of the deploy node.

    Attributes:
        newest: topic -> (message, steady arrival time in s) not yet taken by a tick.
        arrived: called after each message, in the executor's thread.
    """

    def __init__(self, node: Node, inputs: Inputs, *, lockstep: bool, stamped: str) -> None:
        self.newest: dict[str, tuple[Any, float]] = {}
        self.arrived: Callable[[], None] = lambda: None
        self._node, self._inputs = node, inputs
        self._qos = LOCKSTEP_QOS if lockstep else SENSOR_QOS
        self._subscriptions: dict[str, Any] = {}
        self._subscribe(JOINT_STATES, JointState)
        self._subscribe(IMU, Imu)
        self._search = None
        if VELOCITY_COMMAND in inputs.commands:
            if stamped == "auto" and not lockstep:
                self._search = node.create_timer(0.5, self._find_cmd_vel_type)
            else:
                self._subscribe_cmd_vel(stamped != "false")

    def destroy(self) -> None:
        """Ends all subscriptions."""
        if self._search is not None:
            self._node.destroy_timer(self._search)
        for subscription in self._subscriptions.values():
            self._node.destroy_subscription(subscription)

    def take(self, arrival: float | None = None) -> None:
        """Takes the newest message of each topic into the inputs.

        Args:
            arrival: time to note instead of the real arrival, for lockstep, s.
        """
        for topic in list(self.newest):
            message, arrived = self.newest.pop(topic)
            when = arrived if arrival is None else arrival
            if topic == JOINT_STATES:
                self._inputs.set_joint_states(
                    message.name, np.asarray(message.position), np.asarray(message.velocity), when
                )
            elif topic == IMU:
                quat, rate = message.orientation, message.angular_velocity
                self._inputs.set_imu(
                    (quat.x, quat.y, quat.z, quat.w),
                    (rate.x, rate.y, rate.z),
                    when,
                    message.header.frame_id,
                    # REP 145: a covariance that begins with -1 marks a quantity that the sensor does not report.
                    has_orientation=message.orientation_covariance[0] != -1.0,
                )
            else:
                twist = message.twist if isinstance(message, TwistStamped) else message
                self._inputs.set_command(VELOCITY_COMMAND, (twist.linear.x, twist.linear.y, twist.angular.z), when)

    def has(self, topics: list[str], stamp: Time) -> bool:
        """Whether the newest message of each of these topics that is listened to carries this stamp."""
        for topic in self._subscriptions.keys() & set(topics):
            held = self.newest.get(topic)
            if held is None or held[0].header.stamp != stamp:
                return False
        return True

    def _subscribe(self, topic: str, kind: type) -> None:
        keeper = self._keeper(topic)
        self._subscriptions[topic] = self._node.create_subscription(kind, topic, keeper, self._qos)

    def _keeper(self, topic: str) -> Callable[[Any, Any], None]:
        def keep(message: Any, info: Any) -> None:
            # The middleware's time of receipt, so that a backlog does not look fresh. It is a time of the system
            # clock, of which only the distance to now is used.
            waited = (
                max(0.0, (time.time_ns() - info["received_timestamp"]) * 1e-9) if info["received_timestamp"] else 0.0
            )
            self.newest[topic] = (message, time.monotonic() - min(waited, 10.0))
            self.arrived()

        return keep

    def _subscribe_cmd_vel(self, stamped: bool) -> None:
        kind = TwistStamped if stamped else Twist
        self._subscribe(CMD_VEL, kind)
        self._node.get_logger().info(f"listens to cmd_vel as {kind.__name__}")

    def _find_cmd_vel_type(self) -> None:
        topic = self._node.resolve_topic_name(CMD_VEL)
        kinds = {info.topic_type for info in self._node.get_publishers_info_by_topic(topic)}
        for kind, stamped in (("geometry_msgs/msg/TwistStamped", True), ("geometry_msgs/msg/Twist", False)):
            if kind in kinds and self._search is not None:
                self._node.destroy_timer(self._search)
                self._search = None
                self._subscribe_cmd_vel(stamped)
                return
