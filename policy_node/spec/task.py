# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The task description: what the export needs to know and no checkpoint holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from policy_node.errors import SpecError
from policy_node.spec.files import build, plain, read_data
from policy_node.spec.model import TaskSpec
from policy_node.spec.validate import find_faults

FIXED_TERM_WIDTHS = {"base_ang_vel": 3, "projected_gravity": 3, "velocity_command": 3}


def load_task(path: Path) -> TaskSpec:
    """Reads a task description, YAML or JSON, and derives the slices and widths that it leaves out.

    Raises:
        SpecError: the file is unreadable or cannot be run right; faults name lines where the file is YAML.
    """
    read = read_data(path)
    if not isinstance(read, dict):
        raise SpecError(path.name, ["is not a map of observations, actions, entities and rate."])
    data = plain(read)
    fill_layout(data)
    task = build(TaskSpec, data, path.name, lines=read)
    faults = find_faults(task)
    if faults:
        raise SpecError(path.name, faults)
    return task


def fill_layout(data: dict[str, Any]) -> None:
    """Fills ``dim``, ``slice`` and ``frame_dim`` where a person left them out, in place.

    What cannot be derived, or is not even of the right kind, stays as it is: the models then say what is wrong.
    """
    actions = data.get("actions")
    if isinstance(actions, dict) and isinstance(actions.get("terms"), list):
        position = 0
        for term in actions["terms"]:
            if not isinstance(term, dict):
                return
            width = len(term.get("dofs_name") or [])
            term.setdefault("slice", [position, position + width])
            position += width
        actions.setdefault("dim", position)
    observations = data.get("observations")
    if not isinstance(observations, dict) or not isinstance(observations.get("groups"), list):
        return
    total = 0
    for group in observations["groups"]:
        if not isinstance(group, dict) or not isinstance(group.get("terms"), list):
            return
        position = 0
        for term in group["terms"]:
            if not isinstance(term, dict):
                return
            frame_dim = term.get("frame_dim") or _width(term, data)
            if not isinstance(frame_dim, int):
                return
            term.setdefault("frame_dim", frame_dim)
            stacked = frame_dim * max(1, int(term.get("history_length") or 0))
            term.setdefault("slice", [position, position + stacked])
            position += stacked
        span = position * max(1, int(group.get("history_length") or 0))
        group.setdefault("slice", [total, total + span])
        total += span
    observations.setdefault("dim", total)


def _width(term: dict[str, Any], data: dict[str, Any]) -> int | None:
    name = term.get("term")
    if name in FIXED_TERM_WIDTHS:
        return FIXED_TERM_WIDTHS[str(name)]
    if name == "last_action":
        dim = data.get("actions", {}).get("dim")
        return dim if isinstance(dim, int) else None
    config = term.get("config") or {}
    joints = config.get("dofs_name") if isinstance(config, dict) else None
    if isinstance(joints, list):
        return len(joints)
    entities = data.get("entities") or {}
    entity = entities.get(config.get("entity_name")) if isinstance(config, dict) else None
    return len(entity.get("dofs_name", [])) if isinstance(entity, dict) else None
