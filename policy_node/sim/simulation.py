# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""One run of a plant: its course, its gantry, its falls and its recording, whatever makes the time pass."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from policy_node.sim.course import Course
from policy_node.sim.joint_drive import DriveCommand, FloatArray
from policy_node.sim.plant import Plant
from policy_node.sim.recording import Digest, Recorder
from policy_node.sim.sensors import Reading

RUNNING = "RUNNING"
"""State of the deploy node in which the policy drives: the course starts, and the gantry lets go."""

GANTRY_LIFT = 0.03
"""How far above its standing pose the gantry holds the robot, m: the feet hang free of the floor."""
SECONDS_AFTER_FALL = 1.0
FALL_HEIGHT = 0.5
"""Share of the standing height below which the base has fallen."""
FALL_COS_TILT = math.cos(math.radians(60.0))


class Simulation:
    """What goes on around a plant in each tick.

    Args:
        plant: the robot.
        tick_dt: seconds between two ticks, a multiple of the plant's time step.
        course: velocity commands; None when somebody else sends them.
        suspend: hold the base until the policy runs.
        duration: seconds to simulate, without a course; None for no end.
        record: whether to keep every tick.
        say: called with a sentence when something happens.
        show: called at each tick, to draw the robot.

    Attributes:
        plant: the robot.
        tick_dt: seconds between two ticks.
        course: velocity commands, or None.
        state: what the deploy node last said; empty before it said anything.
        started_at: simulated time at which the policy first ran, s; None before.
        falls: how often the robot fell.
        stalls: how often the machine was too slow, in real time.
        digest: over all inputs and commands.
    """

    def __init__(
        self, plant: Plant, *, tick_dt: float, course: Course | None = None, suspend: bool = False,
        duration: float | None = None, record: bool = False, say: Callable[[str], None] | None = None,
        show: Callable[[], None] | None = None,
    ) -> None:
        plant.steps_in(tick_dt)
        self.plant, self.tick_dt, self.course = plant, tick_dt, course
        self.state = ""
        self.started_at: float | None = None
        self.falls = self.stalls = 0
        self.digest = Digest()
        self._duration, self._say, self._show = duration, say or (lambda _: None), show or (lambda: None)
        self._recorder = Recorder() if record else None
        self._pushes = course.pushes() if course is not None else []
        self._fallen = False
        self._fell_at: float | None = None
        if suspend:
            plant.suspend(True, lift=GANTRY_LIFT)
        self._suspended = suspend

    @property
    def course_time(self) -> float | None:
        """Seconds of course that have passed; None before it starts."""
        return None if self.started_at is None else self.plant.time - self.started_at

    @property
    def ended(self) -> bool:
        """Whether the course or the duration is over, or the robot fell on its course a second ago."""
        now = self.plant.time
        if self.course is None:
            return self._duration is not None and now >= self._duration - 1e-9
        if self._fell_at is not None and now >= self._fell_at + SECONDS_AFTER_FALL:
            return True
        return self.completed

    @property
    def completed(self) -> bool:
        """Whether the whole course has been driven."""
        time = self.course_time
        return self.course is not None and time is not None and time >= self.course.duration - 1e-9

    def hear_state(self, state: str) -> None:
        """Takes note of the deploy node's state; the first RUNNING releases the gantry and starts the course."""
        self.state = state
        if state == RUNNING and self.started_at is None:
            self.started_at = self.plant.time
            self._say(f"the policy runs, {self.plant.time:.2f} s after the start")
            if self._suspended:
                self.plant.suspend(False)
                self._suspended = False

    def velocity_command(self) -> FloatArray | None:
        """Forward and left velocity (m/s) and yaw rate (rad/s) now; zero before the start, None without a course."""
        if self.course is None:
            return None
        time = self.course_time
        return np.zeros(3) if time is None else np.array(self.course.segments[self.course.segment_at(time)].command)

    def begin_tick(self) -> tuple[Reading, FloatArray | None]:
        """Pushes if it is time to; returns what this tick publishes: the sensors and the velocity command."""
        time = self.course_time
        while time is not None and self._pushes and time >= self._pushes[0][0] - 1e-9:
            self.plant.push(self._pushes.pop(0)[1])
        self._show()
        reading, command = self.plant.read(), self.velocity_command()
        self.digest.add_input(reading, command)
        return reading, command

    def apply(self, command: DriveCommand) -> str | None:
        """Gives a command to the plant; returns why it was dropped, or None."""
        reason = self.plant.apply(command)
        if reason is None:
            self.digest.add_command(command, self.plant.time_ns)
        return reason

    def note_tick(self, reading: Reading, command: FloatArray | None) -> None:
        """Records a tick after its command, and looks whether the robot has fallen."""
        self._look_for_fall(reading)
        if self._recorder is None:
            return
        drive, time, base = self.plant.drive, self.course_time, reading.base
        nowhere = np.full(3, np.nan)
        self._recorder.add(
            time=reading.time_ns * 1e-9,
            course_time=np.nan if time is None else time,
            segment=-1 if self.course is None or time is None else self.course.segment_at(time),
            command=nowhere if command is None else command,
            base_pos=nowhere if base is None else base.pos,
            base_quat_xyzw=np.full(4, np.nan) if base is None else base.quat_xyzw,
            base_lin_vel=nowhere if base is None else base.lin_vel,
            base_ang_vel=nowhere if base is None else base.ang_vel,
            joint_pos=reading.joint_pos,
            joint_vel=reading.joint_vel,
            joint_effort=reading.joint_effort,
            target_pos=drive.target_pos,
            kp=drive.kp,
            kd=drive.kd,
            state=self.state,
            qpos=self.plant.data.qpos,
        )

    def write(self, path: Path) -> None:
        """Writes the recording."""
        assert self._recorder is not None
        segments = self.course.segments if self.course is not None else ()
        self._recorder.write(
            path,
            joint_names=self.plant.joint_names,
            segment_names=[segment.name for segment in segments],
            segment_durations=[segment.duration for segment in segments],
            segment_commands=[segment.command for segment in segments],
            push_times=[time for time, _ in self.course.pushes()] if self.course is not None else [],
            tick_dt=self.tick_dt,
            model=str(self.plant.model_path.resolve()),
            digest=self.digest.hexdigest(),
            completed=self.completed,
            falls=self.falls,
            stalls=self.stalls,
            limit_hits=self.plant.limit_hits,
            expired=self.plant.drive.expired,
            dropped=self.dropped_commands,
        )

    @property
    def dropped_commands(self) -> int:
        """Commands that were refused or stale."""
        return sum(self.plant.drive.dropped.values())

    def summary(self) -> str:
        """One line about the run so far."""
        hits = int(self.plant.limit_hits.sum())
        falls = "no fall" if not self.falls else _count(self.falls, "fall")
        dropped: Counter[str] = self.plant.drive.dropped
        reasons = f" ({', '.join(f'{kind}: {count}' for kind, count in sorted(dropped.items()))})" if dropped else ""
        return (
            f"{self.plant.time:.2f} s simulated, {falls}, {_count(hits, 'joint limit')} hit, "
            f"{_count(self.dropped_commands, 'command')} dropped{reasons}, digest {self.digest.hexdigest()[:16]}"
        )

    def _look_for_fall(self, reading: Reading) -> None:
        base = reading.base
        if base is None or self._suspended:
            return
        x, y = float(base.quat_xyzw[0]), float(base.quat_xyzw[1])
        # Of the rotation matrix, the z component of the base's z axis is the cosine of the tilt.
        upright = 1.0 - 2.0 * (x * x + y * y) >= FALL_COS_TILT
        fallen = not upright or base.pos[2] < FALL_HEIGHT * self.plant.standing_height
        if fallen and not self._fallen:
            self.falls += 1
            self._say(f"the robot fell at {self.plant.time:.2f} s")
            if self._fell_at is None:
                self._fell_at = self.plant.time
        self._fallen = bool(fallen)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
