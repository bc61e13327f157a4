# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_the_schema_describes_the_keys_that_the_models_know(monkeypatch: pytest.MonkeyPatch) -> None:
    # Versions of pydantic word descriptions differently, so the keys are compared and not the text.
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    spec_schema = __import__("spec_schema")

    def keys(schema: dict) -> dict[str, list[str]]:
        models = {"PolicySpec": schema, **schema["$defs"]}
        return {name: sorted(model.get("properties", {})) for name, model in models.items()}

    written, made = json.loads(spec_schema.SCHEMA.read_text()), json.loads(spec_schema.schema_text())
    assert keys(written) == keys(made), "run: python tools/spec_schema.py"
    assert keys(written)["RateSpec"] == ["control_dt", "decimation", "sim_dt"]
