# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Writes the JSON Schema of policy_spec.json from the models; a test keeps it in step."""

from __future__ import annotations

import json
from pathlib import Path

from policy_node.spec.model import PolicySpec

SCHEMA = Path(__file__).resolve().parent.parent / "resource" / "policy_spec.schema.json"


def schema_text() -> str:
    """The schema, for editors and for readers in other languages."""
    schema = PolicySpec.model_json_schema(by_alias=True)
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=1) + "\n"


if __name__ == "__main__":
    SCHEMA.write_text(schema_text())
