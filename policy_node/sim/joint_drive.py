# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""What a driver does with commands: which it takes, how long they hold, and what torque they ask for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DriveCommand:
    """One command for many joints: torque = kp (position - q) + kd (velocity - qd) + effort.

    Attributes:
        name: joints, each once; all arrays are in this order and as long.
        position: desired positions, rad (m for a slide joint).
        velocity: desired velocities, rad/s (m/s).
        effort: feed-forward torques, N m (N).
        kp: stiffnesses, N m/rad (N/m), not negative.
        kd: dampings, N m s/rad (N s/m), not negative.
        sequence: counts up by one; 1 starts anew.
        valid_for: seconds from receipt for which the command holds.
    """

    name: tuple[str, ...]
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray
    kp: FloatArray
    kd: FloatArray
    sequence: int
    valid_for: float


class JointDrive:
    """Keeps the command that holds now; without one it damps every joint.

    All arrays have shape (num_joints,), in the order of ``joint_names``.

    Attributes:
        joint_names: joints of the robot.
        damping_kd: damping without a command that holds, N m s/rad.
        target_pos: desired positions, rad; NaN where a joint is only damped.
        kp: stiffnesses that hold now, N m/rad.
        kd: dampings that hold now, N m s/rad.
        ctrl: torque at q = 0 and qd = 0, N m: kp position + kd velocity + effort.
        sequence: of the last command that was taken; 0 before the first.
        holds: whether a command holds; False while the drive damps by itself.
        expired: how often a command ran out.
        dropped: how many commands were dropped, by kind of reason.
    """

    def __init__(self, joint_names: Sequence[str], damping_kd: FloatArray) -> None:
        self.joint_names = tuple(joint_names)
        self.damping_kd = damping_kd
        self.sequence = 0
        self.expired = 0
        self.dropped: Counter[str] = Counter()
        self._index = {name: i for i, name in enumerate(self.joint_names)}
        self._damp()

    def receive(self, command: DriveCommand, now: float) -> str | None:
        """Takes a command, or drops it whole.

        Args:
            command: what came.
            now: time of receipt on the drive's own clock, s.

        Returns:
            Why the command was dropped, or None when it was taken.
        """
        fault = self._fault_of(command, now)
        if fault is not None:
            kind, reason = fault
            self.dropped[kind] += 1
            return f"command {command.sequence} dropped: {reason}"
        index = [self._index[name] for name in command.name]
        self.target_pos[index] = command.position
        self.kp[index] = command.kp
        self.kd[index] = command.kd
        self.ctrl[index] = command.kp * command.position + command.kd * command.velocity + command.effort
        self.sequence = command.sequence
        self._holds_until = now + command.valid_for
        self.holds = True
        return None

    def expire(self, now: float) -> bool:
        """Damps every joint once the command has run out; True when that happens in this call."""
        if not self.holds or now <= self._holds_until:
            return False
        self._damp()
        self.expired += 1
        return True

    def reset(self) -> None:
        """Forgets every command."""
        self.sequence = 0
        self._damp()

    def _damp(self) -> None:
        n = len(self.joint_names)
        self.target_pos, self.ctrl, self.kp = np.full(n, np.nan), np.zeros(n), np.zeros(n)
        self.kd = self.damping_kd.copy()
        self._holds_until = -math.inf
        self.holds = False

    def _fault_of(self, command: DriveCommand, now: float) -> tuple[str, str] | None:
        """Kind and sentence of the first fault."""
        names = command.name
        unknown = [name for name in names if name not in self._index]
        if unknown:
            return "unknown joint", (
                f"this robot has no joint {', '.join(unknown)}. It has: {', '.join(self.joint_names)}."
            )
        missing = [name for name in self.joint_names if name not in names]
        if missing:
            # What a joint does that nobody speaks for would be a guess.
            return "missing joint", f"it says nothing about {', '.join(missing)}. Name every joint of the robot."
        if len(set(names)) != len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            return "joint named twice", f"it names {', '.join(twice)} more than once. Name each once."
        for field in ("position", "velocity", "effort", "kp", "kd"):
            values = getattr(command, field)
            if values.shape != (len(names),):
                return "length", f"'{field}' has {values.size} elements, 'name' has {len(names)}. Make them equal."
            if not np.isfinite(values).all():
                joint = names[int(np.flatnonzero(~np.isfinite(values))[0])]
                return "not finite", f"'{field}' of {joint} is not finite. Send finite numbers only."
            if field in ("kp", "kd") and (values < 0.0).any():
                joint = names[int(np.flatnonzero(values < 0.0)[0])]
                return "negative gain", f"'{field}' of {joint} is negative, which would drive it away. Send 0 or more."
        if not (math.isfinite(command.valid_for) and command.valid_for > 0.0):
            return "valid_for", f"valid_for is {command.valid_for:g} s; expected a finite number above 0."
        if command.sequence < 1:
            return "sequence", "its sequence is 0; sequences start at 1."
        # Once a command has run out, the count may begin anywhere: a late message of a sender that has been started
        # anew would otherwise shut out its successor for as long as that needs to count so far.
        expired = now > self._holds_until
        newer = command.sequence > self.sequence or (expired and command.sequence != self.sequence)
        if command.sequence != 1 and not newer:
            return "stale", f"it is not newer than command {self.sequence}."
        return None
