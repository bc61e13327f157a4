# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""How well a recorded run followed its course."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

SETTLED_SECONDS = 2.0
"""The last seconds of a leg, over which its reached velocity is the mean."""


@dataclass(frozen=True, slots=True)
class LegResult:
    """One leg: commanded and reached (forward m/s, left m/s, yaw rate rad/s), means over its last two seconds."""

    name: str
    duration: float
    commanded: tuple[float, float, float]
    reached: tuple[float, float, float]
    finished: bool

    @property
    def error(self) -> tuple[float, float, float]:
        """Absolute differences of reached and commanded."""
        x, y, z = (abs(got - asked) for got, asked in zip(self.reached, self.commanded, strict=True))
        return x, y, z


def leg_results(run: dict[str, npt.NDArray[Any]]) -> list[LegResult]:
    """Results of every leg that the run reached, in order."""
    results = []
    velocity = np.column_stack([run["base_lin_vel"][:, :2], run["base_ang_vel"][:, 2]])
    for number, name in enumerate(run["segment_names"]):
        rows = np.flatnonzero(run["segment"] == number)
        if not len(rows):
            continue
        times = run["time"][rows]
        settled = rows[times > times[-1] - SETTLED_SECONDS]
        duration = float(run["segment_durations"][number])
        x, y, z = velocity[settled].mean(axis=0).tolist()
        cx, cy, cz = run["segment_commands"][number].tolist()
        lasted = float(times[-1] - times[0])
        finished = lasted > duration - 3.0 * float(run["tick_dt"])
        results.append(LegResult(str(name), duration, (cx, cy, cz), (x, y, z), finished))
    return results
