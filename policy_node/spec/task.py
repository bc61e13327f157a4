# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The task description: what the export needs to know and no checkpoint holds."""

from __future__ import annotations

import contextlib
import difflib
from pathlib import Path
from typing import Any

from policy_node.errors import SpecError
from policy_node.spec.files import build, dotted, line_of, plain, read_data
from policy_node.spec.model import TaskSpec
from policy_node.spec.validate import find_faults

FIXED_TERM_WIDTHS = {"base_ang_vel": 3, "projected_gravity": 3, "velocity_command": 3}
JOINT_TERMS = ("joint_pos", "joint_pos_rel", "joint_vel")
LAST_ACTION = "last_action"
KNOWN_TERMS = (*FIXED_TERM_WIDTHS, *JOINT_TERMS, LAST_ACTION)
"""Terms whose width follows from the rest of the description; a test compares them with what the run time knows."""


def load_task(path: Path) -> TaskSpec:
    """Reads a task description, YAML or JSON, and derives the slices and widths that it leaves out.

    Raises:
        SpecError: the file is unreadable or cannot be run right; faults name lines where the file is YAML.
    """
    read = read_data(path)
    if not isinstance(read, dict):
        raise SpecError(path.name, ["is not a map of observations, actions, entities and rate."])
    data = plain(read)
    unknown = [key for key in data if key not in TaskSpec.model_fields]
    if unknown:
        raise SpecError(
            path.name,
            [
                f"line {line_of(read, [key])}: '{key}' is no key of a task description; known: "
                f"{', '.join(TaskSpec.model_fields)}."
                for key in unknown
            ],
        )
    widthless: list[tuple[int, int]] = []
    # Where something is not even of the right kind, the models below say what.
    with contextlib.suppress(TypeError, ValueError, AttributeError, KeyError):
        widthless = fill_layout(data)
    if widthless:
        raise SpecError(path.name, [_unknown_width(read, *place) for place in widthless])
    task = build(TaskSpec, data, path.name, lines=read)
    faults = find_faults(task)
    if faults:
        raise SpecError(path.name, faults)
    return task


def _unknown_width(read: Any, group: int, term: int) -> str:
    keys: list[str | int] = ["observations", "groups", group, "terms", term, "term"]
    name = read["observations"]["groups"][group]["terms"][term].get("term")
    near = difflib.get_close_matches(str(name), KNOWN_TERMS, 1)
    return (
        f"line {line_of(read, keys)}: {dotted(keys)}: the width of '{name}' is not known. "
        + (f"Did you mean '{near[0]}'? " if near else f"Known terms: {', '.join(KNOWN_TERMS)}. ")
        + "A term of your own needs its frame_dim."
    )


def fill_layout(data: dict[str, Any]) -> list[tuple[int, int]]:
    """Fills ``dim``, ``slice`` and ``frame_dim`` where a person left them out, in place.

    What is not of the right kind stays as it is: the models then say what is wrong.

    Returns:
        Group and number of each term whose width nobody says.
    """
    widthless: list[tuple[int, int]] = []
    position = 0
    for term in data["actions"]["terms"]:
        width = len(term.get("dofs_name") or [])
        term.setdefault("slice", [position, position + width])
        position += width
    data["actions"].setdefault("dim", position)
    total = 0
    for group_number, group in enumerate(data["observations"]["groups"]):
        position = 0
        for number, term in enumerate(group["terms"]):
            frame_dim = term.get("frame_dim") or _width(term, data)
            if frame_dim is None:
                widthless.append((group_number, number))
                continue
            term.setdefault("frame_dim", frame_dim)
            stacked = frame_dim * max(1, int(term.get("history_length") or 0))
            term.setdefault("slice", [position, position + stacked])
            position += stacked
        span = position * max(1, int(group.get("history_length") or 0))
        group.setdefault("slice", [total, total + span])
        total += span
    data["observations"].setdefault("dim", total)
    return widthless


def _width(term: dict[str, Any], data: dict[str, Any]) -> int | None:
    name = term.get("term")
    if name == LAST_ACTION:
        return int(data["actions"]["dim"])
    if name in JOINT_TERMS:
        config = term.get("config") or {}
        joints = config.get("dofs_name")
        return len(joints if joints is not None else data["entities"][config["entity_name"]]["dofs_name"])
    return FIXED_TERM_WIDTHS.get(name) if isinstance(name, str) else None
