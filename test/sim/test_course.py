# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from policy_node.errors import SpecError
from policy_node.sim.course import load_course

EXAMPLE = Path(__file__).parents[2] / "examples" / "quadruped" / "course.yaml"
TWO = """\
segments:
  - {name: stand, duration: 0.3, command: [0, 0, 0]}
  - name: walk
    duration: 2
    command: [0.6, 0.0, -0.1]
    push: {at: 1.5, velocity: [0, 0.5, 0]}
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "course.yaml"
    path.write_text(text)
    return path


def test_segments_follow_each_other(tmp_path: Path) -> None:
    course = load_course(write(tmp_path, TWO))
    assert course.duration == 2.3
    assert [course.segment_at(time) for time in (0.0, 0.28, 0.1 + 0.2, 2.2, 9.0)] == [0, 0, 1, 1, 1]
    assert course.pushes() == [(1.8, [0.0, 0.5, 0.0])]


def test_course_of_the_example_lasts_a_minute_and_each_leg_at_least_six_seconds() -> None:
    course = load_course(EXAMPLE)
    assert course.duration == 60.0
    assert min(segment.duration for segment in course.segments) >= 6.0
    assert course.pushes()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("name: walk", "nmae: walk", ["line 3: nmae", "name, duration, command, push"]),
        ("segments:", "legs:", ["line 1: legs", "segments"]),
        ("{at: 1.5,", "{when: 1.5,", ["line 6: when", "at, velocity"]),
        ("duration: 2", "duration: 0", ["line 4: segments[1].duration", "greater than 0"]),
        ("duration: 2", "duration: .inf", ["line 4: segments[1].duration", "finite"]),
        ("duration: 2", "duration: two", ["line 4: segments[1].duration", "'two'"]),
        ("[0.6, 0.0, -0.1]", "[0.6, 0.0]", ["line 5: segments[1].command"]),
        ("at: 1.5", "at: 2.5", ["segments[1]", "push.at is 2.5 s, but the segment lasts 2 s"]),
        ("    command: [0.6, 0.0, -0.1]\n", "", ["segments[1].command: is missing"]),
    ],
)
def test_fault_is_named_with_file_line_and_key(tmp_path: Path, old: str, new: str, words: list[str]) -> None:
    assert old in TWO
    with pytest.raises(SpecError) as caught:
        load_course(write(tmp_path, TWO.replace(old, new)))
    for word in ["course.yaml: ", *words]:
        assert word in str(caught.value)


def test_empty_course_and_absent_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="segments"):
        load_course(write(tmp_path, "segments: []"))
    with pytest.raises(SpecError, match="no such file"):
        load_course(tmp_path / "none.yaml")
