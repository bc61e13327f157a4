# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""A course: scripted velocity commands and pushes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from policy_node.spec.files import build, plain, read_data
from policy_node.spec.model import Finite, Positive

Triple = Annotated[list[Finite], Field(min_length=3, max_length=3)]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Push(_Closed):
    """A shove: velocity (m/s, world frame) added to the base ``at`` seconds into the leg."""

    at: Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
    velocity: Triple


class Leg(_Closed):
    """A stretch with one command: forward and left m/s, yaw rate rad/s, for ``duration`` seconds."""

    name: Annotated[str, Field(min_length=1)]
    duration: Positive
    command: Triple
    push: Push | None = None


class CourseFile(_Closed):
    """Legs, one after the other."""

    segments: Annotated[list[Leg], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a course stands: number of the leg, its command, and a push that is due now or None."""

    leg: int
    command: tuple[float, float, float]
    push: tuple[float, float, float] | None


class Course:
    """Tells the command of each moment.

    Attributes:
        legs: the legs.
        duration: of all legs together, s.
    """

    def __init__(self, legs: list[Leg]) -> None:
        self.legs = legs
        self.duration = sum(leg.duration for leg in legs)

    def at(self, time: float, step: float) -> Moment:
        """The moment ``time`` seconds into the course; a push counts as due in the step of ``step`` s that it falls into."""
        start = 0.0
        for number, leg in enumerate(self.legs):
            last = number == len(self.legs) - 1
            if time < start + leg.duration - 1e-9 or last:
                vx, vy, wz = leg.command
                due = leg.push is not None and start + leg.push.at - 1e-9 <= time < start + leg.push.at + step - 1e-9
                push = leg.push.velocity if due and leg.push is not None else None
                return Moment(number, (vx, vy, wz), (push[0], push[1], push[2]) if push else None)
            start += leg.duration
        raise AssertionError("a course has at least one leg")


def load_course(path: Path) -> Course:
    """Reads a course.

    Raises:
        SpecError: the file is unreadable or holds a wrong key; faults name lines.
    """
    read = read_data(path)
    return Course(build(CourseFile, plain(read), path.name, lines=read).segments)
