# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from pathlib import Path

import pytest

from policy_node.ros.parameters import all_rows, check_value

ROOT = Path(__file__).resolve().parents[2]


def test_parameter_file_and_documentation_are_what_the_code_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    parameter_docs = __import__("parameter_docs")
    assert parameter_docs.YAML.read_text() == parameter_docs.yaml_text(), "run: python tools/parameter_docs.py"
    assert parameter_docs.MARKDOWN.read_text() == parameter_docs.markdown_text(), "run: python tools/parameter_docs.py"
    sys.modules.pop("parameter_docs")


@pytest.mark.parametrize(
    ("name", "value", "fine"),
    [
        ("input_timeout", 1, True),  # a YAML file without a point holds an integer
        ("input_timeout", 0, False),
        ("input_timeout", float("nan"), False),
        ("input_timeout", True, False),
        ("enable_stamped_cmd_vel", True, True),
        ("enable_stamped_cmd_vel", "maybe", False),
        ("lockstep", "true", False),
        ("bundle", 7, False),
    ],
)
def test_values_are_taken_as_a_person_means_them(name: str, value: object, fine: bool) -> None:
    row = next(row for row in all_rows() if row.name == name)
    assert (check_value(row, value) is None) == fine
