# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""A driver of two joints without gravity, right or with one fault, to try the conformance test itself.

python toy_driver.py [FAULT]
"""

from __future__ import annotations

import math
import sys
import time
from array import array
from dataclasses import replace

import numpy as np
import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from policy_node.msg import JointCommand
from policy_node.ros.sim_node import as_drive_command
from policy_node.sim.joint_drive import JointDrive

JOINTS = ("other_joint", "probe_joint")
INERTIA, LIMIT, DT = 0.02, 5.0, 0.005
FAULTS = (
    "",
    "never expires",
    "judges by stamp",
    "takes stale",
    "goes by order",
    "takes NaN",
    "forgets effort",
    "no limit",
)


class ToyDriver:
    """Integrates two joints that obey commands, but for one fault."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.drive = JointDrive(JOINTS, np.full(2, 2.0))
        self.q, self.qd = np.zeros(2), np.zeros(2)

    def receive(self, message: JointCommand) -> None:
        command = as_drive_command(message)
        now = time.monotonic()
        if self.fault == "never expires":
            command = replace(command, valid_for=1e9)
        elif self.fault == "judges by stamp":
            now += message.header.stamp.sec - time.time()
        elif self.fault == "takes stale":
            self.drive.sequence = 0
        elif self.fault == "goes by order":
            command = replace(command, name=JOINTS)
        elif self.fault == "takes NaN":
            command = replace(command, position=np.nan_to_num(command.position, nan=1.0))
        elif self.fault == "forgets effort":
            command = replace(command, effort=np.zeros(len(command.name)))
        self.drive.receive(command, now)

    def step(self) -> np.ndarray:
        """Advances by DT; returns the torques, N m."""
        self.drive.expire(time.monotonic())
        drive = self.drive
        torque = drive.ctrl - drive.kp * self.q - drive.kd * self.qd
        if self.fault != "no limit":
            torque = np.clip(torque, -LIMIT, LIMIT)
        # The implicit step is stable whatever the gains.
        self.qd += DT * torque / (INERTIA + DT * drive.kd + DT * DT * drive.kp)
        self.q += DT * self.qd
        return torque


def main() -> None:
    """Runs until it is interrupted."""
    fault = sys.argv[1] if len(sys.argv) > 1 else ""
    assert fault in FAULTS, f"no fault {fault!r}"
    driver = ToyDriver(fault)
    rclpy.init()
    node = rclpy.create_node("toy_driver")
    publisher = node.create_publisher(JointState, "joint_states", qos_profile_sensor_data)
    node.create_subscription(JointCommand, "joint_command", driver.receive, qos_profile_sensor_data)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    due = time.monotonic()
    try:
        while rclpy.ok():
            executor.spin_once(timeout_sec=max(0.0, due - time.monotonic()))
            while time.monotonic() >= due:
                torque = driver.step()
                due += DT
                message = JointState(name=JOINTS, position=array("d", driver.q), velocity=array("d", driver.qd))
                message.effort = array("d", [t if math.isfinite(t) else 0.0 for t in torque])
                publisher.publish(message)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass


if __name__ == "__main__":
    main()
