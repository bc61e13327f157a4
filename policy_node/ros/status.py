# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""What a person sees of the node: ~/status and /diagnostics."""

from __future__ import annotations

import math
from array import array

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from policy_node.core.controller import Controller
from policy_node.core.machine import State
from policy_node.inference.load import LoadedPolicy
from policy_node.msg import PolicyStatus
from policy_node.ros.timing import Window

STATUS_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Transient local, so that whoever looks later still hears the last word."""

STATUS_PERIOD = 0.1
DIAGNOSTICS_PERIOD = 1.0
_LEVELS = {
    State.DAMPING: DiagnosticStatus.ERROR,
    State.ESTOPPED: DiagnosticStatus.ERROR,
    State.WAITING: DiagnosticStatus.WARN,
}


class StatusPublisher:
    """Publishes the node's status at a low rate and at once with each change of state.

    Attributes:
        due_at: steady time of the next status, s.
    """

    def __init__(self, node: Node) -> None:
        self.due_at = -math.inf
        self._node = node
        self._diagnostics_at = -math.inf
        self._status = node.create_publisher(PolicyStatus, "~/status", STATUS_QOS)
        self._diagnostics = node.create_publisher(DiagnosticArray, "/diagnostics", 10)

    def due(self, now: float) -> bool:
        """Whether it is time for a status."""
        return now >= self.due_at

    def publish(
        self,
        controller: Controller,
        loaded: LoadedPolicy,
        *,
        ticks: int,
        missed: int,
        overruns: int,
        sequence: int,
        tick_times: Window,
        periods: Window,
        now: float,
        steady: float,
    ) -> None:
        """Publishes the status, and the diagnostics when they are due.

        Ages are counted from ``now``, which is simulated time in lockstep; ``steady`` is the steady clock, s.
        """
        self.due_at = steady + STATUS_PERIOD
        machine = controller.machine
        message = PolicyStatus(
            state=machine.state.value,
            reason=machine.reason,
            remedy=machine.remedy,
            bundle=str(loaded.bundle.path),
            bundle_hash=loaded.bundle.digest,
            provider=loaded.provider,
            golden_source=loaded.golden_source,
            ticks=ticks,
            missed_ticks=missed,
            overruns=overruns,
            sequence=sequence,
        )
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.tick_time_p50, message.tick_time_p99, message.tick_time_max = tick_times.summary()
        message.period_p50, message.period_p99, message.period_max = periods.summary()
        streams = controller.inputs.streams()
        message.input = [stream.name for stream in streams]
        message.input_age = array("d", [now - stream.arrival for stream in streams])
        clamped = [i for i, count in enumerate(controller.clamp_count.tolist()) if count]
        message.clamped_joint = [controller.runner.site.joint_names[i] for i in clamped]
        message.clamp_count = array("Q", [int(controller.clamp_count[i]) for i in clamped])
        self._status.publish(message)
        if steady >= self._diagnostics_at:
            self._diagnostics_at = steady + DIAGNOSTICS_PERIOD
            self._publish_diagnostics(message, machine.state)

    def _publish_diagnostics(self, status: PolicyStatus, state: State) -> None:
        # Bare numbers with the unit in the key: plot tools draw them then.
        values = {
            "tick time p99 (s)": status.tick_time_p99,
            "period p99 (s)": status.period_p99,
            "missed ticks": status.missed_ticks,
            "overruns": status.overruns,
            **{f"age of {name} (s)": age for name, age in zip(status.input, status.input_age)},
        }
        entry = DiagnosticStatus(
            level=_LEVELS.get(state, DiagnosticStatus.OK),
            name=f"{self._node.get_fully_qualified_name()}: policy",
            message=f"{status.state}: {status.reason}",
            hardware_id=status.bundle,
            values=[KeyValue(key="state", value=status.state)]
            + [KeyValue(key=key, value=f"{value:g}") for key, value in values.items()],
        )
        message = DiagnosticArray(status=[entry])
        message.header.stamp = status.header.stamp
        self._diagnostics.publish(message)
