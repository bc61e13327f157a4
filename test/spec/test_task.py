# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest
from toy import toy_spec_data

from policy_node.errors import SpecError
from policy_node.spec.task import load_task


def task_data() -> dict:
    data = toy_spec_data()
    for key in ("schema_version", "model", "provenance"):
        del data[key]
    return data


def test_slices_and_widths_that_are_left_out_are_derived(tmp_path: Path) -> None:
    data = task_data()
    expected = json.loads(json.dumps(data))
    for term in data["observations"]["groups"][0]["terms"]:
        del term["slice"], term["frame_dim"]
    del data["observations"]["dim"], data["observations"]["groups"][0]["slice"]
    del data["actions"]["dim"], data["actions"]["terms"][0]["slice"]
    path = tmp_path / "task.json"
    path.write_text(json.dumps(data))
    task = load_task(path)
    assert task.observations.dim == 18
    assert [term.slice for term in task.observations.groups[0].terms] == [
        term["slice"] for term in expected["observations"]["groups"][0]["terms"]
    ]
    assert task.actions.terms[0].slice == [0, 3]


def test_a_wrong_value_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_text("rate:\n  control_dt: fast\nobservations: {}\nactions: {}\nentities: {}\n")
    with pytest.raises(SpecError) as error:
        load_task(path)
    assert "task.yaml: line 2: rate.control_dt: got 'fast'" in str(error.value)
