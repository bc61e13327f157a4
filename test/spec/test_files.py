# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import pytest

from policy_node.errors import SpecError
from policy_node.spec.files import line_of, parse_json, parse_yaml, write_whole


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"kp": NaN}', "holds NaN, which is no JSON number"),
        ('{"kp": -Infinity}', "holds -Infinity"),
        ('{"kp": 1e999}', "holds 1e999, which is too large"),
        ('{"kp": 1, "kp": 2}', "holds the key 'kp' twice"),
        ('{"kp": 1,\n "kd": }', "line 2, column 8"),
        ("[" * 5000 + "]" * 5000, "nests deeper than 64 levels"),
        ("[" * 70 + "]" * 70, "nests deeper than 64 levels"),
        ('{"kp": ' + "9" * 5000 + "}", "cannot be read"),
    ],
)
def test_json_that_could_be_misread_is_refused(text: str, said: str) -> None:
    with pytest.raises(SpecError) as error:
        parse_json(text, "policy_spec.json")
    assert str(error.value).startswith("policy_spec.json: ")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &x [1]\nb: *x\n", "line 2: aliases"),
        ("a: !!python/object/apply:os.system ['true']\n", "line 1: the tag tag:yaml.org,2002:python"),
        ("a: !thing 1\n", "line 1: the tag !thing is not read"),
        ("a: 1\na: 2\n", "duplicate key"),
        ("a: [1\n", "is not valid YAML"),
    ],
)
def test_yaml_that_is_more_than_data_is_refused(text: str, said: str) -> None:
    with pytest.raises(SpecError) as error:
        parse_yaml(text, "task.yaml")
    assert said in str(error.value)


def test_yaml_numbers_and_words_mean_what_a_person_reads() -> None:
    data = parse_yaml("kp: 1e3\njoint: no\nratio: 1:30\nmode: 010\n", "task.yaml")
    assert data["kp"] == 1000.0
    assert data["joint"] == "no"
    assert data["ratio"] == "1:30"
    assert data["mode"] == 10


def test_yaml_keeps_the_lines_of_its_values() -> None:
    data = parse_yaml("a:\n  - x: 1\n  - x: 2\n    y: 3\n", "task.yaml")
    assert line_of(data, ["a", 1, "y"]) == 4


def test_a_write_that_fails_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["file"]
