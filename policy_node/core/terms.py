# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Observation terms: what each registry key of the contract measures.

A term is a function from its description to the columns of the tick's buffer that it shows and the offset that
it subtracts. It runs when the bundle loads; a tick only gathers. The docstring of each function gives width,
unit, frame and source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from policy_node.core.sensors import SensorLayout
from policy_node.spec.model import EntitySpec, TermSpec


@dataclass(frozen=True, slots=True)
class TermContext:
    """What a term may look at while it is compiled."""

    layout: SensorLayout
    entities: Mapping[str, EntitySpec]
    inert_keys: frozenset[str]


@dataclass(frozen=True, slots=True)
class TermColumns:
    """A compiled term: frame = buffer[columns] - offset, both of shape (frame_dim,)."""

    columns: npt.NDArray[np.intp]
    offset: npt.NDArray[np.float64]


class TermError(ValueError):
    """Why a term cannot be built; the caller adds where it stands."""


TermFunction = Callable[[TermSpec, TermContext], TermColumns]
TERMS: dict[str, TermFunction] = {}


def observation_term(function: TermFunction) -> TermFunction:
    """Registers a term under the name of its function."""
    TERMS[function.__name__] = function
    return function


def compile_term(term: TermSpec, context: TermContext) -> TermColumns:
    """Builds one term.

    Raises:
        TermError: the term is unknown, its config holds unknown keys, or its width differs from frame_dim.
    """
    function = TERMS.get(term.term)
    if function is None:
        raise TermError(f"the term '{term.term}' is not known. Known terms: {', '.join(sorted(TERMS))}.")
    if term.modifiers:
        raise TermError(f"modifiers are not supported yet, and '{term.name}' has {len(term.modifiers)}.")
    compiled = function(term, context)
    if len(compiled.columns) != term.frame_dim:
        raise TermError(f"frame_dim is {term.frame_dim}, but the term '{term.term}' is {len(compiled.columns)} wide.")
    return compiled


@observation_term
def base_ang_vel(term: TermSpec, context: TermContext) -> TermColumns:
    """Angular velocity of the base, width 3, rad/s, base frame; from the IMU's gyroscope through its mount."""
    _check_config(term, context, ())
    return _whole("base_ang_vel", context)


@observation_term
def projected_gravity(term: TermSpec, context: TermContext) -> TermColumns:
    """Direction of gravity, width 3, unit vector, base frame; (0, 0, -1) when upright; from the IMU's orientation."""
    _check_config(term, context, ())
    return _whole("projected_gravity", context)


@observation_term
def velocity_command(term: TermSpec, context: TermContext) -> TermColumns:
    """Commanded velocity, width 3: forward and left m/s, yaw rate rad/s, base frame; from cmd_vel."""
    _check_config(term, context, ("command_name",))
    return _whole("velocity_command", context)


@observation_term
def joint_pos(term: TermSpec, context: TermContext) -> TermColumns:
    """Joint angles, one per joint of ``dofs_name`` in that order, rad; from joint_states."""
    columns, _ = _joints("joint_pos", term, context)
    return TermColumns(columns, np.zeros(len(columns)))


@observation_term
def joint_pos_rel(term: TermSpec, context: TermContext) -> TermColumns:
    """Joint angles minus the default pose, one per joint of ``dofs_name`` in that order, rad; from joint_states."""
    columns, default = _joints("joint_pos", term, context)
    return TermColumns(columns, default)


@observation_term
def joint_vel(term: TermSpec, context: TermContext) -> TermColumns:
    """Joint speeds, one per joint of ``dofs_name`` in that order, rad/s; from joint_states."""
    columns, _ = _joints("joint_vel", term, context)
    return TermColumns(columns, np.zeros(len(columns)))


@observation_term
def last_action(term: TermSpec, context: TermContext) -> TermColumns:
    """The action of the tick before, as wide as the action, raw: before clip and scale; zero after a reset."""
    _check_config(term, context, ())
    return _whole("last_action", context)


def _whole(name: str, context: TermContext) -> TermColumns:
    place = context.layout.columns.get(name)
    if place is None:
        raise TermError(f"nothing provides '{name}'. Declare it under deployment.commands, with its ranges.")
    columns = np.arange(place.start, place.stop, dtype=np.intp)
    return TermColumns(columns, np.zeros(len(columns)))


def _joints(
    quantity: str, term: TermSpec, context: TermContext
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    _check_config(term, context, ("entity_name", "dofs_name"))
    name = term.config.get("entity_name")
    if name is None and len(context.entities) == 1:
        name = next(iter(context.entities))
    entity = context.entities.get(name) if isinstance(name, str) else None
    if entity is None:
        raise TermError(f"config.entity_name is {name!r}; entities has: {', '.join(context.entities)}.")
    joints = term.config.get("dofs_name", entity.dofs_name)
    if not isinstance(joints, list) or not all(isinstance(joint, str) for joint in joints):
        raise TermError("config.dofs_name is not a list of joint names.")
    unknown = [joint for joint in joints if joint not in entity.dofs_name]
    if unknown:
        raise TermError(
            f"config.dofs_name has {', '.join(unknown)}; entity '{name}' has: {', '.join(entity.dofs_name)}."
        )
    if len(set(joints)) != len(joints):
        raise TermError("config.dofs_name lists a joint twice.")
    places = [entity.dofs_name.index(joint) for joint in joints]
    start = context.layout.columns[quantity].start
    default = np.array([entity.default_dofs_pos[place] for place in places])
    return np.array([start + place for place in places], dtype=np.intp), default


def _check_config(term: TermSpec, context: TermContext, known: Sequence[str]) -> None:
    unknown = [key for key in term.config if key not in known and key not in context.inert_keys]
    if unknown:
        raise TermError(
            f"config has the keys {', '.join(unknown)}, which the term '{term.term}' does not know "
            f"(it knows: {', '.join(known) or 'none'}). List a key that changes no number in deployment.inert_keys."
        )
