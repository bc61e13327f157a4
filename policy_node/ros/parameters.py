# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Parameters of the deploy node: description, type, range and default in one place.

What the controller needs is declared from :class:`ControllerParams`; the rest stands in :data:`NODE_PARAMETERS`.
docs/parameters.md and the checks are made from the same two tables.
"""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass, fields
from typing import Any

from policy_node.core.params import ControllerParams

COMMAND_TYPES = ("joint_command", "joint_trajectory", "float64_multi_array", "joint_state")
PROVIDER_NAMES = ("auto", "cpu", "cuda", "tensorrt")


@dataclass(frozen=True, slots=True)
class ParameterRow:
    """One parameter.

    Attributes:
        name: as ROS knows it.
        default: its default; its type is the parameter's type.
        description: what it does, with its unit.
        low, high: allowed range of a number, in unit.
        choices: allowed values of a text.
        unit: SI unit of a number.
    """

    name: str
    default: bool | float | str
    description: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    unit: str = ""


NODE_PARAMETERS: tuple[ParameterRow, ...] = (
    ParameterRow("bundle", "", "Folder of the policy bundle. Required."),
    ParameterRow("robot_file", "", "Robot file: limits, damping gains, IMU mount and joint names of this robot."),
    ParameterRow(
        "provider", "cpu", "ONNX Runtime execution provider; auto measures what is there.", choices=PROVIDER_NAMES
    ),
    ParameterRow(
        "command_type",
        "joint_command",
        "Form of the command. Only joint_command carries gains, so only it can damp; see docs/commands.md.",
        choices=COMMAND_TYPES,
    ),
    ParameterRow(
        "enable_stamped_cmd_vel",
        "auto",
        "Whether cmd_vel is a TwistStamped (true), a Twist (false), or what its publisher sends (auto).",
        choices=("auto", "true", "false"),
    ),
    ParameterRow(
        "autostart", False, "Configure and activate at start, for starting the executable without a launch file."
    ),
    ParameterRow("auto_run", False, "Run the policy as soon as the entry pose is reached. Refused outside simulation."),
    ParameterRow("lockstep", False, "Tick when the simulator asks for it, instead of on a timer."),
    ParameterRow("publish_observation", False, "Publish ~/observation and ~/action at every tick."),
)


def controller_rows() -> tuple[ParameterRow, ...]:
    """The controller's parameters as rows."""
    rows = []
    for item in fields(ControllerParams):
        assert item.default is not MISSING
        meta = item.metadata
        rows.append(
            ParameterRow(
                item.name, float(item.default), meta["description"], meta["low"], meta["high"], unit=meta["unit"]
            )
        )
    return tuple(rows)


def all_rows() -> tuple[ParameterRow, ...]:
    """Every parameter of the deploy node."""
    return NODE_PARAMETERS + controller_rows()


def check_value(row: ParameterRow, value: Any) -> str | None:
    """Why a value is refused, or None when it is allowed.

    An integer is a number too: ``input_timeout: 1`` in a YAML file means 1.0.
    """
    if isinstance(row.default, bool):
        return None if isinstance(value, bool) else f"{row.name} is {value!r}; expected true or false."
    if isinstance(row.default, str):
        text = as_text(value)
        if text is None:
            return f"{row.name} is {value!r}; expected text."
        if row.choices and text not in row.choices:
            return f"{row.name} is '{text}'; expected one of: {', '.join(row.choices)}."
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"{row.name} is {value!r}; expected a number ({row.unit})."
    if not (math.isfinite(value) and row.low <= value <= row.high):
        return f"{row.name} is {value}; expected {row.low:g} to {row.high:g} {row.unit}."
    return None


def as_text(value: Any) -> str | None:
    """A text parameter's value; true and false, which YAML reads as booleans, are their own words."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else None
