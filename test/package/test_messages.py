# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Every field of every message says what it means, and in which unit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MESSAGES = sorted((ROOT / "msg").glob("*.msg"))
UNIT = re.compile(r"\((rad|rad/s|N m|N m/rad|N m s/rad|s|count)\b|\bSeconds\b|\ball in s\b")


def fields_with_comments(path: Path) -> dict[str, tuple[str, str]]:
    """Type and comment of each field; the comment stands above the block of fields that it stands in."""
    fields = {}
    comment: list[str] = []
    in_fields = False
    for line in path.read_text("utf-8").splitlines():
        if not line.strip():
            comment, in_fields = [], False
        elif line.startswith("#"):
            comment = [line] if in_fields else [*comment, line]
            in_fields = False
        else:
            in_fields = True
            if "=" not in line:
                type_name, name = line.split()
                fields[name] = (type_name, " ".join(comment))
    return fields


@pytest.mark.parametrize("path", MESSAGES, ids=lambda path: path.stem)
def test_every_field_has_a_comment(path: Path) -> None:
    fields = fields_with_comments(path)
    assert fields
    assert not [name for name, (_, comment) in fields.items() if len(comment) < 20]


@pytest.mark.parametrize("path", MESSAGES, ids=lambda path: path.stem)
def test_every_number_has_its_unit(path: Path) -> None:
    numbers = {n: c for n, (t, c) in fields_with_comments(path).items() if re.match(r"float|u?int", t)}
    # A sequence of commands counts by its nature; its comment says how.
    lacking = [name for name, comment in numbers.items() if not UNIT.search(comment) and name != "sequence"]
    assert not lacking


def test_a_field_without_a_comment_is_found(tmp_path: Path) -> None:
    path = tmp_path / "Bad.msg"
    path.write_text("# A joint's position (rad), measured.\nfloat64 q\n\nfloat64 v\n")
    assert fields_with_comments(path) == {
        "q": ("float64", "# A joint's position (rad), measured."),
        "v": ("float64", ""),
    }


def test_joint_command_has_the_fields_that_drivers_read() -> None:
    fields = fields_with_comments(ROOT / "msg" / "JointCommand.msg")
    assert {name: type_name for name, (type_name, _) in fields.items()} == {
        "header": "std_msgs/Header",
        "name": "string[]",
        "position": "float64[]",
        "velocity": "float64[]",
        "effort": "float64[]",
        "kp": "float64[]",
        "kd": "float64[]",
        "sequence": "uint32",
        "valid_for": "float64",
    }
