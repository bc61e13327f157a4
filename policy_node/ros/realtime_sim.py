# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Simulated time in pace with the steady clock."""

from __future__ import annotations

import threading
import time

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from policy_node.msg import PolicyStatus
from policy_node.ros.sim_node import SimNode, as_stamp
from policy_node.sim.simulation import Simulation

STATUS_QOS = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
"""As the deploy node publishes it: transient local, so that the present state is heard at once."""


def run_realtime(node: SimNode, simulation: Simulation, *, publish_dt: float, stop: threading.Event) -> None:
    """Runs until the simulation ends or ``stop`` is set; the node's callbacks run in another thread.

    Args:
        node: its topics.
        simulation: what goes on.
        publish_dt: seconds from one sample of the sensors to the next, a multiple of the plant's time step.
        stop: ends it.
    """
    plant = simulation.plant
    steps = plant.steps_in(publish_dt)
    heard = [""]

    def on_status(message: PolicyStatus) -> None:
        heard[0] = message.state

    node.create_subscription(PolicyStatus, "policy_node/status", on_status, STATUS_QOS)
    deadline = time.monotonic()
    next_tick_ns = plant.time_ns
    tick_ns = round(simulation.tick_dt * 1e9)
    while not stop.is_set() and not simulation.ended:
        stamp = as_stamp(plant.time_ns)
        ticks = plant.time_ns >= next_tick_ns
        if ticks:
            next_tick_ns += tick_ns
            simulation.hear_state(heard[0])
            reading, velocity_command = simulation.begin_tick()
            if velocity_command is not None:
                node.publish_velocity_command(velocity_command, stamp)
        else:
            reading = plant.read()
        node.publish_reading(reading, stamp)
        command = node.take_command()
        if command is not None:
            reason = simulation.apply(command)
            if reason is not None:
                node.get_logger().warning(reason, throttle_duration_sec=1.0)
        if ticks:
            simulation.note_tick(reading, velocity_command)
        plant.step(steps * plant.timestep)
        deadline += publish_dt
        now = time.monotonic()
        if now < deadline:
            time.sleep(deadline - now)
        elif now > deadline + publish_dt:
            # What a stalled machine has missed is never made up for in a burst: a robot's time does not run faster.
            simulation.stalls += 1
            deadline = now
