# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Everything about a contract that can be checked without a robot, found in one pass."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from policy_node.spec.model import (
    EXTENDED_SCHEMA_VERSION,
    KNOWN_SCHEMA_VERSIONS,
    PLAIN_SCHEMA_VERSION,
    ActionTermSpec,
    GroupSpec,
    PolicySpec,
    TaskSpec,
)

KNOWN_EXTENSIONS = frozenset({"target_clip", "imu_mount"})
"""Names that may stand in ``deployment.requires``: what a reader must understand to get the numbers right."""

COMMAND_WIDTHS = {"velocity_command": 3}
"""Commands that a topic feeds -> number of components."""

MIN_GAIN = 1e-6
"""Below this a gain is a mistake, and dividing by it would overflow."""

Contract = PolicySpec | TaskSpec


def find_faults(spec: Contract) -> list[str]:
    """Lists every fault of a contract, one sentence each, empty when it holds together."""
    faults: list[str] = []
    if isinstance(spec, PolicySpec):
        faults += _version_faults(spec)
    faults += _observation_faults(spec)
    faults += _entity_faults(spec)
    faults += _action_faults(spec)
    faults += _rate_faults(spec)
    faults += _deployment_faults(spec)
    return faults


def unknown_keys(spec: PolicySpec) -> list[str]:
    """Keys that are kept but mean nothing to this version."""
    keys = list(spec.model_extra or {})
    keys += [f"deployment.{key}" for key in spec.deployment.model_extra or {}]
    return keys


def _version_faults(spec: PolicySpec) -> list[str]:
    version, requires = spec.schema_version, spec.deployment.requires
    known = " and ".join(repr(v) for v in KNOWN_SCHEMA_VERSIONS)
    if version not in KNOWN_SCHEMA_VERSIONS:
        return [f"schema_version: got {version!r}; this version reads {known}. Export the checkpoint anew."]
    if requires and version == PLAIN_SCHEMA_VERSION:
        return [
            f"schema_version: got 1, but deployment.requires lists {', '.join(requires)}; such a file carries "
            f"{EXTENDED_SCHEMA_VERSION!r}, since a reader of the plain format would get it wrong."
        ]
    return []


def _observation_faults(spec: Contract) -> list[str]:
    faults: list[str] = []
    position = 0
    groups = spec.observations.groups
    faults += _duplicates("observations.groups", [group.name for group in groups])
    for index, group in enumerate(groups):
        where = f"observations.groups[{index}] ('{group.name}')"
        frame = sum(_term_width(term.frame_dim, term.history_length) for term in group.terms)
        width = frame * max(1, group.history_length)
        if group.slice != [position, position + width]:
            faults.append(
                f"{where}.slice: got {group.slice}; its terms need [{position}, {position + width}]"
                f" ({_width_list(group)})."
            )
        position += width
        faults += _group_faults(group, where)
    if spec.observations.dim != position:
        listed = ", ".join(_width_list(group) for group in groups)
        faults.append(f"observations.dim: got {spec.observations.dim}; the groups add up to {position}: {listed}.")
    return faults


def _group_faults(group: GroupSpec, where: str) -> list[str]:
    faults = _duplicates(f"{where}.terms", [term.name for term in group.terms])
    if (group.backfill is None) != (group.history_length == 0):
        faults.append(
            f"{where}.backfill: got {group.backfill} with history_length {group.history_length}; it is "
            "true or false with a history, and null without one."
        )
    position = 0
    for index, term in enumerate(group.terms):
        here = f"{where}.terms[{index}] ('{term.name}')"
        width = _term_width(term.frame_dim, term.history_length)
        if term.slice != [position, position + width]:
            faults.append(
                f"{here}.slice: got {term.slice}; in order and without a gap it is "
                f"[{position}, {position + width}] (frame_dim {term.frame_dim})."
            )
        position += width
        if (term.backfill is None) != (term.history_length == 0):
            faults.append(
                f"{here}.backfill: got {term.backfill} with history_length {term.history_length}; it is "
                "true or false with a history, and null without one."
            )
        if term.history_length and group.history_length:
            faults.append(
                f"{here}.history_length: got {term.history_length} inside a group that stacks whole frames "
                f"({group.history_length}). Use one of the two."
            )
        faults += _range_faults(f"{here}.clip", term.clip)
        faults += _factor_faults(f"{here}.scale", term.scale, term.frame_dim)
    return faults


def _entity_faults(spec: Contract) -> list[str]:
    faults: list[str] = []
    driven = _position_driven(spec)
    for name, entity in spec.entities.items():
        where = f"entities.{name}"
        joints = entity.dofs_name
        faults += _duplicates(f"{where}.dofs_name", joints)
        for key in ("default_dofs_pos", "kp", "kd"):
            faults += _length_faults(f"{where}.{key}", getattr(entity, key), len(joints), "dofs_name")
        for key in ("kp", "kd"):
            for joint, gain in zip(joints, getattr(entity, key)):
                if gain < 0.0 or math.copysign(1.0, gain) < 0.0:
                    faults.append(f"{where}.{key}: joint '{joint}' has {gain}; a gain is never negative, nor -0.0.")
                elif 0.0 < gain < MIN_GAIN:
                    faults.append(f"{where}.{key}: joint '{joint}' has {gain}, which is too small for a gain.")
                elif gain == 0.0 and (name, joint) in driven:
                    faults.append(
                        f"{where}.{key}: joint '{joint}' has 0, but a position term drives it. "
                        "Take the gains that it was trained with."
                    )
    return faults


def _action_faults(spec: Contract) -> list[str]:
    faults: list[str] = []
    position = 0
    drivers: dict[tuple[str, str], str] = {}
    faults += _duplicates("actions.terms", [term.name for term in spec.actions.terms])
    faults += _range_faults("actions.clip", spec.actions.clip)
    for index, term in enumerate(spec.actions.terms):
        where = f"actions.terms[{index}] ('{term.name}')"
        start, stop = term.slice
        if start != position or stop <= start:
            faults.append(f"{where}.slice: got {term.slice}; terms follow each other, so it starts at {position}.")
        position = stop
        if term.dofs_name is None:
            continue
        faults += _duplicates(f"{where}.dofs_name", term.dofs_name)
        columns = len(term.dofs_name) * (2 if term.velocity_feedforward else 1)
        if stop - start != columns:
            faults.append(f"{where}.slice: got {term.slice}, {stop - start} columns; dofs_name needs {columns}.")
        for key in ("scale", "offset"):
            value = getattr(term, key)
            if isinstance(value, list):
                faults += _length_faults(f"{where}.{key}", value, len(term.dofs_name), "dofs_name")
        faults += _factor_faults(f"{where}.scale", term.scale, len(term.dofs_name))
        entity = spec.entities.get(term.entity_name or "")
        if entity is None:
            faults.append(f"{where}.entity_name: got {term.entity_name!r}; entities has: {_listed(spec.entities)}.")
            continue
        for joint in term.dofs_name:
            if joint not in entity.dofs_name:
                faults.append(
                    f"{where}.dofs_name: '{joint}' is not a joint of entity '{term.entity_name}'. "
                    f"It has: {_listed(entity.dofs_name)}."
                )
            other = drivers.setdefault((term.entity_name or "", joint), term.name)
            if other != term.name:
                faults.append(f"{where}.dofs_name: '{joint}' is driven by '{other}' already. One term drives a joint.")
    if position != spec.actions.dim:
        faults.append(f"actions.dim: got {spec.actions.dim}; the terms' slices end at {position}.")
    return faults


def _rate_faults(spec: Contract) -> list[str]:
    rate = spec.rate
    if rate.decimation is None or rate.sim_dt is None:
        return []
    product = min(rate.decimation, 10**9) * rate.sim_dt
    if not math.isclose(product, rate.control_dt, rel_tol=1e-6):
        return [
            f"rate.control_dt: got {rate.control_dt}; decimation {rate.decimation} * sim_dt {rate.sim_dt} "
            f"is {product:.9g}. The robot would run at another rate than the training."
        ]
    return []


def _deployment_faults(spec: Contract) -> list[str]:
    faults: list[str] = []
    deployment = spec.deployment
    for name in deployment.requires:
        if name not in KNOWN_EXTENSIONS:
            faults.append(
                f"deployment.requires: '{name}' is not known to this version, which knows: "
                f"{_listed(sorted(KNOWN_EXTENSIONS))}. Use a newer policy_node."
            )
    norm = math.sqrt(sum(value * value for value in deployment.imu.mount_quat_xyzw))
    if abs(norm - 1.0) > 1e-3:
        faults.append(f"deployment.imu.mount_quat_xyzw: has norm {norm:.6g}; a rotation has norm 1.")
    if deployment.imu.mount_quat_xyzw != [0.0, 0.0, 0.0, 1.0] and "imu_mount" not in deployment.requires:
        faults.append("deployment.requires: lacks 'imu_mount', but deployment.imu mounts the IMU turned. Add it.")
    if deployment.target_clip and "target_clip" not in deployment.requires:
        faults.append("deployment.requires: lacks 'target_clip', but deployment.target_clip is set. Add it.")
    for name, limits in deployment.joint_limits.items():
        entity = spec.entities.get(name)
        where = f"deployment.joint_limits.{name}"
        if entity is None:
            faults.append(f"{where}: there is no such entity. entities has: {_listed(spec.entities)}.")
            continue
        for key in ("lower", "upper", "velocity", "effort"):
            faults += _length_faults(f"{where}.{key}", getattr(limits, key), len(entity.dofs_name), "dofs_name")
        for joint, lower, upper, default in zip(entity.dofs_name, limits.lower, limits.upper, entity.default_dofs_pos):
            if lower >= upper:
                faults.append(f"{where}: joint '{joint}' has lower {lower} and upper {upper}; lower comes first.")
            elif not lower <= default <= upper:
                faults.append(f"{where}: joint '{joint}' has its default {default} outside [{lower}, {upper}].")
    faults += _target_clip_faults(spec)
    for name, command in deployment.commands.items():
        width = COMMAND_WIDTHS.get(name)
        if width is None:
            faults.append(
                f"deployment.commands.{name}: nothing feeds a command of that name; known: {_listed(COMMAND_WIDTHS)}."
            )
        elif len(command.ranges) != width:
            faults.append(f"deployment.commands.{name}.ranges: has {len(command.ranges)} entries; expected {width}.")
        for pair in command.ranges:
            faults += _range_faults(f"deployment.commands.{name}.ranges", pair)
    for name, pose in deployment.entry_pose.joint_pos.items():
        entity = spec.entities.get(name)
        if entity is None:
            faults.append(f"deployment.entry_pose.joint_pos.{name}: there is no such entity.")
        else:
            faults += _length_faults(
                f"deployment.entry_pose.joint_pos.{name}", pose, len(entity.dofs_name), "dofs_name"
            )
    return faults


def _target_clip_faults(spec: Contract) -> list[str]:
    faults: list[str] = []
    terms: dict[str, ActionTermSpec] = {term.name: term for term in spec.actions.terms}
    for name, bounds in spec.deployment.target_clip.items():
        where = f"deployment.target_clip.{name}"
        term = terms.get(name)
        if term is None:
            faults.append(f"{where}: there is no such action term. actions has: {_listed(terms)}.")
            continue
        if len(bounds) != 2:
            faults.append(f"{where}: has {len(bounds)} entries; expected [lower, upper].")
            continue
        width = len(term.dofs_name or [])
        sides: list[list[float]] = []
        for side in bounds:
            values = side if isinstance(side, list) else [side] * width
            if len(values) != width or not all(_is_finite_number(value) for value in values):
                faults.append(f"{where}: each bound is one finite number, or {width} of them (dofs_name).")
                break
            sides.append(values)
        if len(sides) == 2 and any(lo >= hi for lo, hi in zip(*sides)):
            faults.append(f"{where}: a lower bound is not below its upper bound.")
    return faults


def _position_driven(spec: Contract) -> set[tuple[str, str]]:
    return {
        (term.entity_name or "", joint)
        for term in spec.actions.terms
        if term.target == "position"
        for joint in term.dofs_name or []
    }


def _is_finite_number(value: object) -> bool:
    # A Python integer may be larger than any float.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def _term_width(frame_dim: int, history_length: int) -> int:
    return frame_dim * max(1, history_length)


def _width_list(group: GroupSpec) -> str:
    text = ", ".join(f"{term.name} {_term_width(term.frame_dim, term.history_length)}" for term in group.terms)
    return f"({text}) x {group.history_length}" if group.history_length else text


def _range_faults(where: str, pair: Sequence[float] | None) -> list[str]:
    if pair is None or pair[0] < pair[1]:
        return []
    return [f"{where}: got {list(pair)}; the lower bound comes first and is smaller."]


def _factor_faults(where: str, scale: float | Sequence[float] | None, width: int) -> list[str]:
    if scale is None:
        return []
    if isinstance(scale, (int, float)):
        return [f"{where}: got 0, which erases the value."] if scale == 0 else []
    if len(scale) != width:
        return [f"{where}: has {len(scale)} entries; the width is {width}."]
    # A single zero entry is how some trainers mute one component (a heading command, say), so only a list that
    # erases everything is refused.
    return [f"{where}: is 0 throughout, which erases the value."] if not any(scale) else []


def _length_faults(where: str, values: Sequence[float], expected: int, of: str) -> list[str]:
    if len(values) == expected:
        return []
    return [f"{where}: has {len(values)} entries; {of} lists {expected} joints."]


def _duplicates(where: str, names: Sequence[str]) -> list[str]:
    return [
        f"{where}: '{name}' stands there {count} times; names are unique."
        for name, count in Counter(names).items()
        if count > 1
    ]


def _listed(names: object) -> str:
    items = list(names)  # type: ignore[call-overload]
    return ", ".join(str(name) for name in items) if items else "nothing"
