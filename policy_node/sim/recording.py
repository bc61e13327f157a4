# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""What a simulated run did, tick by tick, and a digest by which two runs can be compared."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np

from policy_node.sim.command import DriveCommand
from policy_node.sim.plant import Readings
from policy_node.spec.files import write_whole


class Recording:
    """One row per tick; kept in memory and written whole at the end."""

    def __init__(self, joint_names: tuple[str, ...]) -> None:
        self._joint_names = joint_names
        self._rows: dict[str, list[Any]] = {}
        self._digest = hashlib.sha256()

    @property
    def digest(self) -> str:
        """SHA-256 over all readings, velocity commands and joint commands so far, hexadecimal."""
        return self._digest.hexdigest()

    def add(
        self, time: float, readings: Readings, velocity_command: tuple[float, float, float], leg: int, state: str,
        command: DriveCommand, qpos: Any,
    ) -> None:
        """Adds a tick: what was published, and what came back for it.

        Args:
            time: simulated time, s.
            readings: what the sensors said.
            velocity_command: what was commanded.
            leg: number of the course's leg; -1 before and without a course.
            state: state of the node.
            command: what the joints were told.
            qpos: MuJoCo's position vector, for rendering.
        """
        row = {
            "time": time, "leg": leg, "state": state, "velocity_command": velocity_command, "qpos": qpos,
            **{name: getattr(readings, name) for name in Readings.__slots__},
            "target_pos": command.position, "kp": command.kp, "kd": command.kd,
        }
        for name, value in row.items():
            array = np.array(value)
            self._rows.setdefault(name, []).append(array)
            if array.dtype.kind == "f":
                self._digest.update(array.tobytes())
        for array in (command.velocity, command.effort):
            self._digest.update(array.tobytes())

    def save(self, path: Path, **facts: Any) -> None:
        """Writes the recording as an npz file, with ``facts`` as further arrays, so that it is whole or not there."""
        stream = io.BytesIO()
        np.savez_compressed(
            stream, joint_names=np.array(self._joint_names), digest=np.array(self.digest),
            **{name: np.stack(rows) for name, rows in self._rows.items()},
            **{name: np.array(fact) for name, fact in facts.items()},
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, stream.getvalue())
