# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The observation: term, clip, scale, nan_policy, history, all compiled into a few array operations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from policy_node.core.sensors import SensorLayout
from policy_node.core.terms import TermColumns, TermContext, TermError, compile_term
from policy_node.errors import SpecError
from policy_node.spec.model import EntitySpec, ObservationsSpec

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ObservedTerm:
    """One row of the observation table, for people: where a term's newest frame stands in the observation."""

    group: str
    name: str
    term: str
    start: int
    stop: int
    history_length: int


class ObservationBuilder:
    """Builds the observation of one tick from the tick's flat buffer.

    Order per component: frame = buffer[column] - offset, clip, scale, nan_policy, history. Frames are oldest first.

    Attributes:
        dim: width of the observation.
        finite: whether every component of the newest frame is finite.
        table: one row per term, in order.
    """

    def __init__(
        self,
        spec: ObservationsSpec,
        layout: SensorLayout,
        entities: dict[str, EntitySpec],
        inert_keys: frozenset[str] = frozenset(),
        source: str = "policy_spec.json",
    ) -> None:
        context = TermContext(layout, entities, inert_keys)
        compiled: list[TermColumns] = []
        faults: list[str] = []
        for group in spec.groups:
            for term in group.terms:
                try:
                    compiled.append(compile_term(term, context))
                except TermError as fault:
                    faults.append(f"observation term '{term.name}' of group '{group.name}': {fault}")
        if faults:
            raise SpecError(source, faults)
        terms = [(group, term) for group in spec.groups for term in group.terms]
        self.dim = spec.dim
        self._columns = np.concatenate([term.columns for term in compiled])
        self._offset = np.concatenate([term.offset for term in compiled])
        self._scale = np.concatenate([np.broadcast_to(np.asarray(t.scale, float), t.frame_dim) for _, t in terms])
        low = np.concatenate([np.full(t.frame_dim, t.clip[0] if t.clip else -np.inf) for _, t in terms])
        high = np.concatenate([np.full(t.frame_dim, t.clip[1] if t.clip else np.inf) for _, t in terms])
        self._clip = (low, high) if any(t.clip for _, t in terms) else None
        self._policy_of = [group.nan_policy for group, term in terms for _ in range(term.frame_dim)]
        self.table = _table(spec)
        width = len(self._columns)
        self._frame64 = np.empty(width)
        self._frame32 = np.empty(width, dtype=np.float32)
        self._frame_zeros = np.zeros(width, dtype=np.float32)
        self.finite = True
        self._history = _History(spec) if any(row.history_length for row in self.table) else None
        self._names = [f"{t.name}[{i}]" for _, t in terms for i in range(t.frame_dim)]

    def reset(self) -> None:
        """Forgets the history: the next frame is the first of an episode."""
        if self._history is not None:
            self._history.reset()

    def build(self, buffer: F64) -> F32:
        """Observation of one tick.

        Args:
            buffer: the tick's flat buffer, shape (layout.width,).

        Returns:
            The observation, shape (dim,), float32; valid until the next call.
        """
        frame = self._frame64
        buffer.take(self._columns, out=frame, mode="clip")
        np.subtract(frame, self._offset, frame)
        if self._clip is not None:
            np.maximum(frame, self._clip[0], out=frame)
            np.minimum(frame, self._clip[1], out=frame)
        np.multiply(frame, self._scale, frame)
        self._frame32[:] = frame
        # A dot product with zeros is zero exactly when every component is finite.
        self.finite = self._frame32.dot(self._frame_zeros) == 0.0
        if not self.finite:
            self._apply_nan_policy()
        return self._frame32 if self._history is None else self._history.push(self._frame32)

    def first_non_finite(self) -> str | None:
        """Name of the first component of the newest frame that is not finite, such as 'joint_vel[3]'."""
        bad = np.flatnonzero(~np.isfinite(self._frame32))
        return self._names[int(bad[0])] if len(bad) else None

    def _apply_nan_policy(self) -> None:
        for i in np.flatnonzero(~np.isfinite(self._frame32)):
            if self._policy_of[i] in ("sanitize", "warn"):
                self._frame32[i] = 0.0
        self.finite = self._frame32.dot(self._frame_zeros) == 0.0


class _History:
    """Stacked frames, oldest first, as one gather from a window of the newest frames."""

    def __init__(self, spec: ObservationsSpec) -> None:
        terms = [(group, term) for group in spec.groups for term in group.terms]
        depth = max(max(1, group.history_length, term.history_length) for group, term in terms)
        width = sum(term.frame_dim for _, term in terms)
        backfill = [bool(group.backfill if group.history_length else term.backfill) for group, term in terms]
        self._fill = np.concatenate(
            [np.full(term.frame_dim, float(fill), np.float32) for (_, term), fill in zip(terms, backfill)]
        )
        gather: list[int] = []
        start = 0
        for group in spec.groups:
            frame = sum(term.frame_dim for term in group.terms)
            if group.history_length:
                for age in range(depth - group.history_length, depth):
                    gather += range(age * width + start, age * width + start + frame)
                start += frame
                continue
            for term in group.terms:
                for age in range(depth - max(1, term.history_length), depth):
                    gather += range(age * width + start, age * width + start + term.frame_dim)
                start += term.frame_dim
        self._gather = np.array(gather, dtype=np.intp)
        self._window = np.zeros((depth, width), dtype=np.float32)
        self._out = np.empty(len(gather), dtype=np.float32)
        self._empty = True

    def reset(self) -> None:
        self._empty = True

    def push(self, frame: F32) -> F32:
        window = self._window
        if self._empty:
            np.multiply(self._fill, frame, window[:-1])
            self._empty = False
        else:
            window[:-1] = window[1:]
        window[-1] = frame
        window.take(self._gather, out=self._out, mode="clip")
        return self._out


def _table(spec: ObservationsSpec) -> list[ObservedTerm]:
    rows: list[ObservedTerm] = []
    for group in spec.groups:
        frame = sum(term.frame_dim for term in group.terms)
        # A group's stacked frames end with the newest one, so its last frame begins here.
        newest = group.slice[0] + frame * (max(1, group.history_length) - 1)
        for term in group.terms:
            length = group.history_length or term.history_length
            stop = newest + term.slice[1] if group.history_length else group.slice[0] + term.slice[1]
            rows.append(ObservedTerm(group.name, term.name, term.term, stop - term.frame_dim, stop, length))
    return rows
