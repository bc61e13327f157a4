# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Tables of a contract for the terminal."""

from __future__ import annotations

import numpy as np
from rich.box import SIMPLE
from rich.table import Table

from policy_node.core.runner import PolicyRunner


def observation_table(runner: PolicyRunner) -> Table:
    """What stands where in the observation."""
    table = Table(title="Observation", title_justify="left", box=SIMPLE, pad_edge=False)
    for column, justify in (
        ("term", "left"),
        ("columns", "right"),
        ("width", "right"),
        ("scale", "right"),
        ("clip", "right"),
        ("history", "right"),
    ):
        table.add_column(column, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    specs = {(group.name, term.name): term for group in runner.spec.observations.groups for term in group.terms}
    for row in runner.observation.table:
        term = specs[row.group, row.name]
        scale = f"{term.scale:g}" if isinstance(term.scale, (int, float)) else ", ".join(f"{x:g}" for x in term.scale)
        clip = f"{term.clip[0]:g} .. {term.clip[1]:g}" if term.clip else "-"
        table.add_row(
            row.name, f"{row.start}:{row.stop}", str(row.stop - row.start), scale, clip, str(row.history_length or "-")
        )
    return table


def joint_orders(runner: PolicyRunner) -> list[str]:
    """The joints of each joint term in the order of its columns, terms of the same order together."""
    orders: dict[tuple[str, ...], list[str]] = {}
    for group in runner.spec.observations.groups:
        for term in group.terms:
            if term.term.startswith("joint_"):
                joints = term.config.get("dofs_name", runner.site.joint_names)
                orders.setdefault(tuple(joints), []).append(term.name)
    orders.setdefault(runner.decoder.driven_joints, []).append("the action")
    return [f"columns of {', '.join(names)}: {', '.join(joints)}" for joints, names in orders.items()]


def joint_table(runner: PolicyRunner) -> Table:
    """Who drives which joint (- for a joint that is held at its default), with its gains and limits."""
    table = Table(title="Joints (rad; - is held at its default)", title_justify="left", box=SIMPLE, pad_edge=False)
    for column, justify in (
        ("joint", "left"),
        ("driver", "left"),
        ("default", "right"),
        ("kp", "right"),
        ("kd", "right"),
        ("limits", "right"),
        ("rad/s", "right"),
        ("N m", "right"),
    ):
        table.add_column(column, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    drivers = {joint: term.name for term in runner.spec.actions.terms for joint in term.dofs_name or []}
    site = runner.site
    for i, joint in enumerate(site.joint_names):
        table.add_row(
            joint,
            drivers.get(joint, "-"),
            f"{runner.default_pos[i]:g}",
            f"{runner.kp[i]:g}",
            f"{runner.kd[i]:g}",
            f"{site.lower[i]:g} .. {site.upper[i]:g}",
            _or_none(site.velocity[i]),
            _or_none(site.effort[i]),
        )
    return table


def _or_none(value: float) -> str:
    return f"{value:g}" if np.isfinite(value) else "none"
