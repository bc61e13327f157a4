# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Tick times and periods over the last ticks."""

from __future__ import annotations

import numpy as np


class Window:
    """The newest values of one quantity, for percentiles.

    Attributes:
        count: how many values were ever added.
    """

    def __init__(self, size: int = 500) -> None:
        self._values = np.zeros(size)
        self.count = 0

    def add(self, value: float) -> None:
        """Adds a value; the oldest gives way."""
        self._values[self.count % len(self._values)] = value
        self.count += 1

    def summary(self) -> tuple[float, float, float]:
        """Median, 99th percentile and largest; zeros before the first value."""
        values = self._values[: min(self.count, len(self._values))]
        if not len(values):
            return 0.0, 0.0, 0.0
        median, high = np.percentile(values, (50.0, 99.0))
        return float(median), float(high), float(values.max())
