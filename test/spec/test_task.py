# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from toy import toy_spec_data

from policy_node.core.terms import TERMS
from policy_node.errors import SpecError
from policy_node.spec.task import KNOWN_TERMS, load_task


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


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["observations"]["groups"][0]["terms"][1].update(term="projected_gravty"),
         "the width of 'projected_gravty' is not known. Did you mean 'projected_gravity'?"),
        (lambda d: d.update(action=d.pop("actions")), "'action' is no key of a task description; known: observations"),
        (lambda d: d["observations"]["groups"][0].update(history_length="two"), "got 'two'"),
        (lambda d: d.update(actions=[]), "actions: is a list of 0; expected a map"),
        (lambda d: d.update(entities=[]), "entities"),
        (lambda d: d["observations"]["groups"][0]["terms"][0].update(term=[1]), "terms[0].term"),
        (lambda d: d["actions"]["terms"][0].update(dofs_name=5), "dofs_name"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_where_it_is_and_no_consequence_of_it(tmp_path: Path, change: Any, said: str) -> None:
    data = task_data()
    for term in data["observations"]["groups"][0]["terms"]:
        del term["slice"], term["frame_dim"]
    del data["observations"]["dim"], data["observations"]["groups"][0]["slice"]
    change(data)
    path = tmp_path / "task.json"
    path.write_text(json.dumps(data))
    with pytest.raises(SpecError) as error:
        load_task(path)
    assert said in str(error.value)


def test_the_terms_of_known_width_are_those_that_the_run_time_knows() -> None:
    assert set(KNOWN_TERMS) == set(TERMS)
