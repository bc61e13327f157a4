# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""A course: velocity commands one after another, and pushes, read from YAML."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from policy_node.errors import SpecError
from policy_node.spec.files import build, line_of, parse_yaml, plain, read_text

Finite = Annotated[float, Field(allow_inf_nan=False)]
_STRICT = ConfigDict(extra="forbid", strict=True, frozen=True)
_KEYS = {"course": ("segments",), "segment": ("name", "duration", "command", "push"), "push": ("at", "velocity")}


class Push(BaseModel):
    """A shove.

    Attributes:
        at: seconds after the start of its segment.
        velocity: what it adds to the base's velocity, world frame, m/s.
    """

    model_config = _STRICT
    at: Annotated[Finite, Field(ge=0.0)]
    velocity: Annotated[list[Finite], Field(min_length=3, max_length=3)]


class Segment(BaseModel):
    """One leg of a course.

    Attributes:
        name: for people.
        duration: s.
        command: forward and left velocity (m/s) and yaw rate (rad/s), base frame.
        push: a shove within the segment, or none.
    """

    model_config = _STRICT
    name: Annotated[str, Field(min_length=1)]
    duration: Annotated[Finite, Field(gt=0.0)]
    command: Annotated[list[Finite], Field(min_length=3, max_length=3)]
    push: Push | None = None

    @model_validator(mode="after")
    def _push_within_segment(self) -> Segment:
        if self.push is not None and self.push.at >= self.duration:
            raise ValueError(f"push.at is {self.push.at:g} s, but the segment lasts {self.duration:g} s")
        return self


class _CourseFile(BaseModel):
    model_config = _STRICT
    segments: Annotated[list[Segment], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Course:
    """Segments one after another.

    Attributes:
        segments: in the order of their time.
        starts: course time at which each segment starts, s.
        duration: of all of them, s.
    """

    segments: tuple[Segment, ...]
    starts: tuple[float, ...]
    duration: float

    @classmethod
    def of(cls, segments: list[Segment]) -> Course:
        """Puts segments one after another."""
        ends = [math.fsum(segment.duration for segment in segments[: i + 1]) for i in range(len(segments))]
        return cls(tuple(segments), (0.0, *ends[:-1]), ends[-1])

    def segment_at(self, time: float) -> int:
        """Index of the segment at a course time (s); the last one after the end."""
        # Times are sums of time steps: a tick on the border must not fall short of it by a rounding error.
        started = [i for i, start in enumerate(self.starts) if time >= start - 1e-9]
        return started[-1] if started else 0

    def pushes(self) -> list[tuple[float, list[float]]]:
        """Course time (s) and velocity (m/s) of each push."""
        return [
            (start + segment.push.at, segment.push.velocity)
            for start, segment in zip(self.starts, self.segments, strict=True)
            if segment.push is not None
        ]


def load_course(path: Path) -> Course:
    """Reads a course.

    Args:
        path: YAML file: ``segments``, a list of maps with ``name``, ``duration``, ``command`` and, if wanted, ``push``.

    Raises:
        SpecError: the file is absent or no such course; every fault is named with its line and key.
    """
    data = parse_yaml(read_text(path), path.name)
    unknown = [
        f"line {line_of(data, key)}: {key[-1]} is not a key here. The keys are: {', '.join(known)}."
        for key, known in _unknown_keys(data)
    ]
    if unknown:
        raise SpecError(path.name, unknown)
    return Course.of(build(_CourseFile, plain(data), path.name, lines=data).segments)


def _unknown_keys(data: Any) -> Iterator[tuple[list[str | int], tuple[str, ...]]]:
    if not isinstance(data, dict):
        return
    yield from (([key], _KEYS["course"]) for key in data if key not in _KEYS["course"])
    segments = data.get("segments")
    for i, segment in enumerate(segments if isinstance(segments, list) else []):
        for kind, part, path in (
            ("segment", segment, ["segments", i]),
            ("push", segment.get("push") if isinstance(segment, dict) else None, ["segments", i, "push"]),
        ):
            if isinstance(part, dict):
                yield from (([*path, key], _KEYS[kind]) for key in part if key not in _KEYS[kind])
