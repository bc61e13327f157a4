# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""What a driver does with the commands that it receives: which it takes, which it drops, and when they expire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DriveCommand:
    """One command for every joint, in the model's order, each of shape (num_joints,).

    The law is kp * (position - q) + kd * (velocity - qd) + effort.

    Attributes:
        position: rad; velocity: rad/s; effort: N m; kp: N m/rad; kd: N m s/rad.
    """

    position: F64
    velocity: F64
    effort: F64
    kp: F64
    kd: F64


class CommandReceiver:
    """Takes whole commands or nothing, in the order in which they were made, for as long as they are valid.

    Attributes:
        taken, dropped: how many commands.
        refusal: why the newest dropped command was dropped.
        expired: how many times a command ran out and none had come.
    """

    def __init__(self, joint_names: Sequence[str], damping_kd: F64) -> None:
        """Starts without a command: the robot is damped.

        Args:
            joint_names: joints of the model, in its order.
            damping_kd: what the driver damps with by itself, shape (num_joints,), N m s/rad.
        """
        self.joint_names = tuple(joint_names)
        zeros = np.zeros(len(self.joint_names))
        self._damping = DriveCommand(zeros, zeros, zeros, zeros, damping_kd)
        self._command = self._damping
        self._sequence = 0
        self._expires = -np.inf
        self._expiry_counted = True
        self.taken = self.dropped = self.expired = 0
        self.refusal = ""

    def receive(
        self, names: Sequence[str], arrays: Sequence[F64], sequence: int, valid_for: float, now: float
    ) -> bool:
        """Takes a command or drops it as a whole.

        Args:
            names: joints of the command, in the sender's order.
            arrays: position, velocity, effort, kp, kd, each as long as names.
            sequence: higher than the last one taken, or 1 for a sender that started anew.
            valid_for: seconds from now.
            now: the driver's own steady time of receipt, s.

        Returns:
            True when it was taken.
        """
        why = self._fault(names, arrays, sequence, valid_for)
        if why:
            self.dropped += 1
            self.refusal = why
            return False
        places = {name: place for place, name in enumerate(names)}
        order = np.array([places[name] for name in self.joint_names], dtype=np.intp)
        self._command = DriveCommand(*(np.asarray(array, np.float64)[order] for array in arrays))
        self._sequence = sequence
        self._expires = now + valid_for
        self._expiry_counted = False
        self.taken += 1
        return True

    def current(self, now: float) -> DriveCommand:
        """The command in force: the newest one while it is valid, then damping."""
        if now <= self._expires:
            return self._command
        if not self._expiry_counted:
            self._expiry_counted = True
            self.expired += 1
        return self._damping

    def _fault(self, names: Sequence[str], arrays: Sequence[F64], sequence: int, valid_for: float) -> str:
        if sequence != 1 and sequence <= self._sequence:
            return f"sequence {sequence} is not newer than {self._sequence}"
        if not (np.isfinite(valid_for) and valid_for > 0.0):
            return f"valid_for is {valid_for}; expected a finite time above 0"
        if sorted(names) != sorted(self.joint_names):
            missing = sorted(set(self.joint_names) - set(names))
            unknown = sorted(set(names) - set(self.joint_names))
            return f"joints differ from the robot's: lacks {missing or 'none'}, does not know {unknown or 'none'}"
        labels = ("position", "velocity", "effort", "kp", "kd")
        for label, array in zip(labels, arrays):
            if len(array) != len(names):
                return f"{label} has {len(array)} elements for {len(names)} joints"
            if not np.isfinite(array).all():
                return f"{label} of {names[int(np.argmin(np.isfinite(array)))]} is not finite"
        if (np.asarray(arrays[3]) < 0.0).any() or (np.asarray(arrays[4]) < 0.0).any():
            return "a gain is negative"
        return ""
