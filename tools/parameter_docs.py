# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Writes config/deploy.yaml and docs/parameters.md from the table of parameters; a test keeps them in step."""

from __future__ import annotations

import textwrap
from pathlib import Path

from policy_node.ros.parameters import ParameterRow, all_rows

ROOT = Path(__file__).resolve().parent.parent
YAML, MARKDOWN = ROOT / "config" / "deploy.yaml", ROOT / "docs" / "parameters.md"


def yaml_text() -> str:
    """The commented parameter file that the launch file loads."""
    lines = [
        "# Parameters of the deploy node with their defaults. Copy this file, change what your robot needs,",
        "# and give it to the launch file: params_file:=my_parameters.yaml. An argument of the launch file wins.",
        "# Everything is checked when the node is configured, and can be set only while it is unconfigured.",
        "/**:",
        "  ros__parameters:",
    ]
    for row in all_rows():
        lines += textwrap.wrap(_sentence(row), 116, initial_indent="    # ", subsequent_indent="    # ")
        lines.append(f"    {row.name}: {_yaml_value(row)}")
    return "\n".join(lines) + "\n"


def markdown_text() -> str:
    """The same as a table."""
    lines = [
        "# Parameters of the deploy node",
        "",
        "Set them in a file (`params_file:=FILE`, see `config/deploy.yaml`), with `-p NAME:=VALUE`, or with",
        "`ros2 param set` while the node is unconfigured. A value outside of its range is refused, never rounded.",
        "",
        "| parameter | default | range | unit | what it does |",
        "|---|---|---|---|---|",
    ]
    for row in all_rows():
        allowed = ", ".join(row.choices) or (f"{row.low:g} to {row.high:g}" if isinstance(row.default, float) else "")
        lines.append(f"| `{row.name}` | {_yaml_value(row)} | {allowed} | {row.unit} | {row.description} |")
    return "\n".join(lines) + "\n"


def _sentence(row: ParameterRow) -> str:
    if isinstance(row.default, float):
        return f"{row.description} {row.unit}, {row.low:g} to {row.high:g}."
    return f"{row.description} One of: {', '.join(row.choices)}." if row.choices else row.description


def _yaml_value(row: ParameterRow) -> str:
    if isinstance(row.default, bool):
        return "true" if row.default else "false"
    if isinstance(row.default, float):
        return f"{row.default!r}"
    return f'"{row.default}"' if row.default in ("", "true", "false") else row.default


if __name__ == "__main__":
    YAML.write_text(yaml_text())
    MARKDOWN.write_text(markdown_text())
    print(f"wrote {YAML.relative_to(ROOT)} and {MARKDOWN.relative_to(ROOT)}")
