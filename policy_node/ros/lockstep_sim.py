# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Simulated time in lockstep: it advances by one tick when the deploy node has answered the tick."""

from __future__ import annotations

import threading
import time

from policy_node.errors import PolicyNodeError
from policy_node.msg import LockstepDone, LockstepTick
from policy_node.ros.sim_node import LOCKSTEP_QOS, SimNode, as_stamp
from policy_node.sim.simulation import Simulation

FIRST_TICK_TIMEOUT = 60.0
"""Seconds that the deploy node may take to appear, and then to answer the first tick: it may still load its bundle."""


class PartnerGoneError(PolicyNodeError, TimeoutError):
    """The deploy node did not answer in time."""


class LockstepPartner:
    """The deploy node, as the simulator sees it.

    Args:
        node: the simulator's topics.
        stop: ends every wait.
    """

    def __init__(self, node: SimNode, stop: threading.Event) -> None:
        self._node, self._stop = node, stop
        self._condition = threading.Condition()
        self._done: LockstepDone | None = None
        self._tick = node.create_publisher(LockstepTick, "lockstep/tick", LOCKSTEP_QOS)
        node.create_subscription(LockstepDone, "lockstep/done", self._on_done, LOCKSTEP_QOS)
        # The command of a tick may come before its answer or after it.
        node.on_command = self._wake

    def wait_for_match(self, timeout: float) -> None:
        """Waits until the deploy node has found all that it needs of this node, and the other way round.

        Args:
            timeout: s of steady time.

        Raises:
            PartnerGoneError: it did not appear in time; the text says what is missing.
        """
        node = self._node
        deadline = time.monotonic() + timeout
        while not self._stop.wait(0.02):
            found = {
                "a subscriber of joint_states": node.joint_states.get_subscription_count(),
                # The deploy node subscribes to it last, so that by then its other subscriptions are known too.
                "a subscriber of lockstep/tick": self._tick.get_subscription_count(),
                "a publisher of lockstep/done": node.count_publishers("lockstep/done"),
                "a publisher of joint_command": node.count_publishers("joint_command"),
            }
            missing = [what for what, count in found.items() if not count]
            if not missing:
                return
            if time.monotonic() > deadline:
                raise PartnerGoneError(
                    f"no deploy node in lockstep appeared within {timeout:g} s; missing: {', '.join(missing)}. Start "
                    f"it with lockstep:=true, in the same namespace and ROS_DOMAIN_ID."
                )
            node.get_logger().info(f"waits for {missing[0]}", throttle_duration_sec=5.0, skip_first=True)

    def exchange(self, message: LockstepTick, timeout: float) -> LockstepDone | None:
        """Asks for a tick and waits for its answer, and for the command that the answer names.

        Args:
            message: the tick.
            timeout: s of steady time.

        Returns:
            The answer, or None when the process is to stop.

        Raises:
            PartnerGoneError: the answer or its command did not come in time.
        """
        self._done = None
        self._tick.publish(message)
        deadline = time.monotonic() + timeout
        with self._condition:
            while not self._complete(message.tick):
                if self._stop.is_set():
                    return None
                if time.monotonic() > deadline:
                    what = f"tick {message.tick}" if self._done is None else f"tick {message.tick} with its command"
                    raise PartnerGoneError(
                        f"the deploy node did not answer {what} within {timeout:g} s. Look at its log: it may have "
                        f"ended, or have been deactivated. --partner-timeout sets how long to wait."
                    )
                self._condition.wait(0.1)
        return self._done

    def _complete(self, tick: int) -> bool:
        done, command = self._done, self._node.newest
        if done is None or done.tick != tick:
            return False
        return done.sequence == 0 or (command is not None and command.sequence == done.sequence)

    def _on_done(self, message: LockstepDone) -> None:
        with self._condition:
            self._done = message
            self._condition.notify()

    def _wake(self) -> None:
        with self._condition:
            self._condition.notify()


def run_lockstep(node: SimNode, simulation: Simulation, *, partner_timeout: float, stop: threading.Event) -> None:
    """Runs until the simulation ends or ``stop`` is set; the node's callbacks run in another thread.

    Args:
        node: its topics.
        simulation: what goes on.
        partner_timeout: s of steady time that an answer may take, but for the first one.
        stop: ends it.

    Raises:
        PartnerGoneError: the deploy node did not answer.
    """
    plant = simulation.plant
    partner = LockstepPartner(node, stop)
    partner.wait_for_match(FIRST_TICK_TIMEOUT)
    tick = 0
    while not stop.is_set() and not simulation.ended:
        stamp = as_stamp(plant.time_ns)
        reading, velocity_command = simulation.begin_tick()
        topics = node.publish_reading(reading, stamp)
        if velocity_command is not None:
            topics += node.publish_velocity_command(velocity_command, stamp)
        message = LockstepTick(tick=tick, dt=simulation.tick_dt, input=topics)
        message.header.stamp = stamp
        done = partner.exchange(message, partner_timeout if tick else FIRST_TICK_TIMEOUT)
        if done is None:
            return
        command = node.take_command() if done.sequence else None
        if command is not None:
            reason = simulation.apply(command)
            if reason is not None:
                node.get_logger().warning(reason, throttle_duration_sec=1.0)
        simulation.hear_state(done.state)
        simulation.note_tick(reading, velocity_command)
        plant.step(simulation.tick_dt)
        tick += 1
