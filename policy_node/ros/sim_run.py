# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""How simulated time advances: in pace with the steady clock, or in lockstep with the deploy node."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from policy_node.msg import LockstepDone, LockstepTick, PolicyStatus
from policy_node.ros.sim_node import RELIABLE, SimNode, to_stamp
from policy_node.sim.course import Course
from policy_node.sim.plant import SimulationError
from policy_node.sim.recording import Recording

FIRST_TICK_TIMEOUT = 60.0
"""Seconds that the first tick may take: the node may still be loading its bundle."""

AFTER_A_FALL = 1.0
"""Simulated seconds that a course goes on after a fall, so that the recording shows it."""

STATUS_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""As the deploy node publishes its status: transient local, so that the present state is heard at once."""


@dataclass
class Run:
    """What both modes share: the course, the gantry, the recording and the end.

    Attributes:
        node: the simulated robot.
        tick_dt: simulated seconds from one velocity command to the next.
        duration: simulated seconds after which to stop without a course; None runs until stopped.
        show: called once per tick, for a viewer.
        policy_state: state of the deploy node, as last heard.
        fell_at: simulated time of the fall, or None.
    """

    node: SimNode
    tick_dt: float
    course: Course | None
    record: Path | None
    duration: float | None
    show: Callable[[], None] = lambda: None
    policy_state: str = ""
    fell_at: float | None = None
    falls: int = 0
    course_start: float | None = None
    leg: int = -1
    velocity_command: tuple[float, float, float] = (0.0, 0.0, 0.0)
    recording: Recording = field(init=False)

    def __post_init__(self) -> None:
        self.recording = Recording(self.node.plant.joint_names)

    def begin_tick(self) -> None:
        """Lets go of the base when the policy runs, and looks up the course."""
        plant = self.node.plant
        self.show()
        if self.policy_state == PolicyStatus.RUNNING:
            if plant.suspended:
                plant.suspend(False)
            if self.course_start is None:
                self.course_start = plant.time
                self.node.get_logger().info("the policy runs")
        if self.course is None or self.course_start is None:
            return
        moment = self.course.at(plant.time - self.course_start, self.tick_dt)
        self.leg, self.velocity_command = moment.leg, moment.command
        if moment.push is not None:
            plant.push(np.array(moment.push))

    def finished(self) -> bool:
        """Whether the course, the duration, or the time after a fall is over."""
        plant = self.node.plant
        if plant.fallen and self.fell_at is None and not plant.suspended:
            self.fell_at = plant.time
            self.falls += 1
            self.node.get_logger().error(f"the robot fell at {plant.time:.2f} s")
        if self.fell_at is not None and self.course is not None and plant.time > self.fell_at + AFTER_A_FALL:
            return True
        if self.course is not None:
            return self.course_start is not None and plant.time >= self.course_start + self.course.duration - 1e-9
        return self.duration is not None and plant.time >= self.duration - 1e-9

    def end(self, missed: int) -> int:
        """Writes the recording and says how it went; returns the exit code."""
        plant, receiver = self.node.plant, self.node.receiver
        if self.record is not None:
            legs = self.course.legs if self.course else []
            self.recording.save(
                self.record, falls=self.falls, limit_hits=plant.limit_hits, dropped=receiver.dropped,
                expired=receiver.expired, late=missed, course_start=self.course_start or 0.0,
                leg_names=[leg.name for leg in legs], leg_durations=[leg.duration for leg in legs],
                leg_commands=[leg.command for leg in legs],
                leg_pushes=[leg.push.at if leg.push else -1.0 for leg in legs], tick_dt=self.tick_dt,
            )
        self.node.get_logger().info(
            f"simulated {plant.time:.2f} s: {self.falls} falls, {receiver.taken} commands, {receiver.dropped} dropped, "
            f"{receiver.expired} expired, digest {self.recording.digest[:16]}"
        )
        return 1 if self.falls else 0


def run_realtime(run: Run, publish_dt: float, stop: threading.Event) -> int:
    """Keeps pace with the steady clock: physics and sensors each ``publish_dt``; after a stall time goes on from there.

    Returns:
        The exit code.
    """
    node, plant = run.node, run.node.plant

    def on_status(message: PolicyStatus) -> None:
        run.policy_state = message.state

    node.create_subscription(PolicyStatus, "policy_node/status", on_status, STATUS_QOS)
    steps = max(1, round(publish_dt / plant.timestep))
    per_tick = max(1, round(run.tick_dt / (steps * plant.timestep)))
    deadline, late, count = time.monotonic(), 0, 0
    while not stop.is_set() and not run.finished():
        readings = plant.read()
        stamp = to_stamp(plant.time)
        node.publish_sensors(readings, stamp)
        if count % per_tick == 0:
            run.begin_tick()
            if run.course is not None:
                node.publish_velocity_command(run.velocity_command, stamp)
        now = time.monotonic()
        node.take_command(now)
        command = node.receiver.current(now)
        if count % per_tick == 0 and run.record is not None:
            run.recording.add(plant.time, readings, run.velocity_command, run.leg, run.policy_state, command,
                              plant.data.qpos)
        plant.apply(command)
        for _ in range(steps):
            plant.step()
        count += 1
        deadline += steps * plant.timestep
        remaining = deadline - time.monotonic()
        if remaining > 0.0:
            time.sleep(remaining)
        elif remaining < -2.0 * run.tick_dt:
            # A machine that stalled must not be made up for in a burst: no robot's time runs faster afterwards.
            late += 1
            deadline = time.monotonic()
    return run.end(late)


class LockstepPartner:
    """The deploy node's side of the lockstep, as the simulator sees it."""

    def __init__(self, node: SimNode, stop: threading.Event) -> None:
        self._node, self._stop = node, stop
        self._condition = threading.Condition()
        self._done: LockstepDone | None = None
        self._tick = node.create_publisher(LockstepTick, "lockstep/tick", RELIABLE)
        self._answers = node.create_subscription(LockstepDone, "lockstep/done", self._on_done, RELIABLE)
        # The command of a tick may come before or after its answer.
        node.on_command = self._wake

    def wait_for_match(self, timeout: float) -> None:
        """Waits until both sides have found each other.

        Raises:
            SimulationError: nobody came.
        """
        node = self._node
        deadline = time.monotonic() + timeout
        while not self._stop.is_set():
            publishers = (node.joint_states, node.imu, self._tick)
            heard = all(publisher.get_subscription_count() for publisher in publishers)
            if heard and node.count_publishers("lockstep/done") and node.count_publishers("joint_command"):
                return
            if time.monotonic() > deadline:
                raise SimulationError(f"no deploy node in lockstep appeared within {timeout:g} s. Start it with "
                                      "lockstep:=true, in the same namespace and domain.")
            time.sleep(0.02)

    def exchange(self, message: LockstepTick, timeout: float) -> LockstepDone | None:
        """Asks for one tick and waits for its answer and its command; None when the process is to stop.

        Raises:
            SimulationError: the answer did not come within ``timeout`` s of steady time.
        """
        self._done = None
        self._tick.publish(message)
        deadline = time.monotonic() + timeout
        with self._condition:
            while not self._complete(message.tick):
                if self._stop.is_set():
                    return None
                if time.monotonic() > deadline:
                    raise SimulationError(f"the deploy node did not answer tick {message.tick} within {timeout:g} s.")
                self._condition.wait(0.1)
        return self._done

    def _complete(self, tick: int) -> bool:
        done = self._done
        if done is None or done.tick != tick:
            return False
        return done.sequence == 0 or (self._node.newest is not None and self._node.newest.sequence == done.sequence)

    def _on_done(self, message: LockstepDone) -> None:
        with self._condition:
            self._done = message
            self._condition.notify()

    def _wake(self) -> None:
        with self._condition:
            self._condition.notify()


def run_lockstep(run: Run, partner_timeout: float, stop: threading.Event) -> int:
    """Advances one tick at a time, each when the command for it has come.

    Returns:
        The exit code.

    Raises:
        SimulationError: the deploy node is gone.
    """
    node, plant = run.node, run.node.plant
    partner = LockstepPartner(node, stop)
    partner.wait_for_match(FIRST_TICK_TIMEOUT)
    steps = max(1, round(run.tick_dt / plant.timestep))
    tick = 0
    while not stop.is_set() and not run.finished():
        run.begin_tick()
        readings = plant.read()
        stamp = to_stamp(tick * steps * plant.timestep)
        node.publish_sensors(readings, stamp)
        inputs = ["joint_states", "imu/data", "odom"]
        if run.course is not None:
            node.publish_velocity_command(run.velocity_command, stamp)
            inputs.append("cmd_vel")
        message = LockstepTick(tick=tick, dt=steps * plant.timestep, input=inputs)
        message.header.stamp = stamp
        done = partner.exchange(message, partner_timeout if tick else FIRST_TICK_TIMEOUT)
        if done is None:
            break
        now = plant.time
        node.take_command(now)
        command = node.receiver.current(now)
        run.policy_state = done.state
        run.recording.add(plant.time, readings, run.velocity_command, run.leg, done.state, command, plant.data.qpos)
        for _ in range(steps):
            plant.apply(node.receiver.current(plant.time))
            plant.step()
        tick += 1
    return run.end(0)
