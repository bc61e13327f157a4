# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""What happened in a simulation, tick by tick, and a digest that proves that two runs were the same."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from policy_node.sim.joint_drive import DriveCommand, FloatArray
from policy_node.sim.sensors import Reading
from policy_node.spec.files import write_whole

FORMAT = 1


class Digest:
    """sha256 over all inputs that were published and all commands that were applied, in their order."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add_input(self, reading: Reading, velocity_command: FloatArray | None) -> None:
        """Adds what one tick published."""
        self._numbers("input", [reading.time_ns], np.int64)
        self._numbers("joint_pos", reading.joint_pos)
        self._numbers("joint_vel", reading.joint_vel)
        self._numbers("joint_effort", reading.joint_effort)
        if reading.imu is not None:
            self._numbers("imu", np.concatenate([reading.imu.quat_xyzw, reading.imu.ang_vel, reading.imu.lin_acc]))
        if reading.base is not None:
            base = reading.base
            self._numbers("base", np.concatenate([base.pos, base.quat_xyzw, base.lin_vel, base.ang_vel]))
        if velocity_command is not None:
            self._numbers("velocity_command", velocity_command)

    def add_command(self, command: DriveCommand, time_ns: int) -> None:
        """Adds a command that was applied at a simulated time (ns)."""
        self._numbers("command", [time_ns, command.sequence], np.int64)
        self._hash.update("\0".join(command.name).encode())
        for values in (command.position, command.velocity, command.effort, command.kp, command.kd):
            self._numbers("", values)
        self._numbers("valid_for", [command.valid_for])

    def hexdigest(self) -> str:
        """The digest so far, 64 hexadecimal digits."""
        return self._hash.hexdigest()

    def _numbers(self, label: str, values: npt.ArrayLike, kind: type[np.generic] = np.float64) -> None:
        array = np.asarray(values, dtype=np.dtype(kind).newbyteorder("<"))
        self._hash.update(f"{label}:{array.size};".encode())
        self._hash.update(array.tobytes())


class Recorder:
    """Collects one row per tick and writes them as one npz file."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, **row: Any) -> None:
        """Adds a tick: the same names each time, numbers, texts or arrays, which are copied."""
        self._rows.append({name: np.array(value) for name, value in row.items()})

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Name -> values of all ticks, the tick first."""
        return {name: np.stack([row[name] for row in self._rows]) for name in (self._rows[0] if self._rows else {})}

    def write(self, path: Path, **facts: Any) -> None:
        """Writes the ticks, and facts about the whole run; a reader sees the whole file or none."""
        arrays: dict[str, Any] = {"format": FORMAT, **self.columns(), **facts}
        content = io.BytesIO()
        np.savez_compressed(content, **arrays)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content.getvalue())


def load_recording(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Reads what :meth:`Recorder.write` wrote: name -> array."""
    with np.load(path, allow_pickle=False) as data:
        return {name: data[name] for name in data.files}
