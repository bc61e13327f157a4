# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""A robot in the test's own process: it publishes sensors, follows commands, and remembers what it was told."""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from sensor_msgs.msg import Imu, JointState
from spinning import Spinner
from std_srvs.srv import Trigger

from policy_node.msg import JointCommand, PolicyStatus
from policy_node.ros.status import STATUS_QOS
from policy_node.spec.model import PolicySpec

PERIOD = 0.005


class FakeRobot:
    """Tracks position targets perfectly and stands level.

    Attributes:
        commands: every message heard, oldest first.
        status: the newest status.
        send_joints, send_imu: whether these sensors speak.
        spoil: changes a joint state message before it is sent.
    """

    def __init__(
        self,
        spec: PolicySpec,
        domain: int,
        start: float = 0.05,
        command_type: type = JointCommand,
        command_topic: str = "joint_command",
        read: Callable[[Any], dict[str, float]] | None = None,
    ) -> None:
        self.commands: list[Any] = []
        self.status: PolicyStatus | None = None
        self.states: list[str] = []
        self.send_joints = self.send_imu = True
        self.spoil: Callable[[JointState], None] = lambda _: None
        entity = next(iter(spec.entities.values()))
        names = list(entity.dofs_name)
        # Another order than that of the contract, with a joint that nobody knows.
        order = np.random.default_rng(1).permutation(len(names))
        self.names = [names[place] for place in order] + ["tail_joint"]
        default = dict(zip(names, entity.default_dofs_pos))
        self.position = {name: default.get(name, 0.0) + start for name in self.names}
        self.mount = spec.deployment.imu.mount_quat_xyzw
        self.frame = spec.deployment.imu.frame_id or ""
        self._read = read or _positions
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = rclpy.create_node("fake_robot", context=self._context)
        self._joints = self._node.create_publisher(JointState, "joint_states", qos_profile_sensor_data)
        self._imu = self._node.create_publisher(Imu, "imu/data", qos_profile_sensor_data)
        reliable = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
        self._node.create_subscription(command_type, command_topic, self._on_command, reliable)
        self._node.create_subscription(PolicyStatus, "policy_node/status", self._on_status, STATUS_QOS)
        self._clients = {
            name: self._node.create_client(Trigger, f"policy_node/{name}")
            for name in ("run", "hold", "damp", "estop", "reset")
        }
        self._node.create_timer(PERIOD, self._publish)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._news = threading.Condition()
        self._spinner = Spinner(self._executor)

    def __enter__(self) -> FakeRobot:
        return self

    def __exit__(self, *_: object) -> None:
        self._spinner.end()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)

    @property
    def node(self) -> Any:
        """The robot's ROS node."""
        return self._node

    @property
    def state(self) -> str:
        """State of the deploy node, as last heard."""
        return self.status.state if self.status is not None else ""

    def wait_for(self, what: Callable[[], Any], timeout: float = 60.0) -> None:
        """Waits until something holds; checked whenever a message came."""
        deadline = time.monotonic() + timeout
        with self._news:
            while not what():
                if time.monotonic() > deadline:
                    reason = self.status.reason if self.status is not None else "no status heard"
                    raise AssertionError(f"it never came about; the node is in {self.state or 'no state'}: {reason}")
                self._news.wait(0.2)

    def ask(self, name: str) -> Trigger.Response:
        """Calls ~/run, ~/hold, ~/damp, ~/estop or ~/reset."""
        client = self._clients[name]
        assert client.wait_for_service(timeout_sec=30.0)
        future = client.call_async(Trigger.Request())
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        assert done.wait(30.0), f"{name} was not answered"
        return future.result()

    def _publish(self) -> None:
        stamp = self._node.get_clock().now().to_msg()
        if self.send_joints:
            positions = array("d", [self.position[name] for name in self.names])
            message = JointState(name=self.names, position=positions, velocity=array("d", [0.0] * len(self.names)))
            message.header.stamp = stamp
            self.spoil(message)
            self._joints.publish(message)
        if self.send_imu:
            imu = Imu()
            imu.header.stamp, imu.header.frame_id = stamp, self.frame
            # The base is level, so the IMU is turned by its mount.
            quat = imu.orientation
            quat.x, quat.y, quat.z, quat.w = self.mount
            self._imu.publish(imu)

    def _on_command(self, message: Any) -> None:
        self.position.update({name: value for name, value in self._read(message).items() if name in self.position})
        with self._news:
            self.commands.append(message)
            self._news.notify_all()

    def _on_status(self, message: PolicyStatus) -> None:
        with self._news:
            self.status = message
            if not self.states or self.states[-1] != message.state:
                self.states.append(message.state)
            self._news.notify_all()


def _positions(message: JointCommand) -> dict[str, float]:
    return {name: value for name, value, kp in zip(message.name, message.position, message.kp) if kp > 0.0}
