# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""What a site decides: every parameter of the controller with unit, range, default and description, in one place.

The ROS parameters, their documentation and the checks are all made from these fields.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any


def _parameter(default: float, low: float, high: float, unit: str, description: str) -> Any:
    return field(default=default, metadata={"low": low, "high": high, "unit": unit, "description": description})


@dataclass(frozen=True, slots=True)
class ControllerParams:
    """Parameters of the controller. Everything here is checked when it is made.

    Raises:
        ValueError: a value is not finite or outside its range; the text names it.
    """

    input_timeout: float = _parameter(
        0.1,
        0.005,
        1.0,
        "s",
        "Age of the newest valid joint states or IMU sample beyond which the robot is damped. Up to this age the "
        "policy coasts on the last sample.",
    )
    start_time: float = _parameter(
        0.3,
        0.0,
        10.0,
        "s",
        "How long all inputs must have been fresh before the robot is moved to its entry pose.",
    )
    hold_speed: float = _parameter(
        0.8,
        0.05,
        5.0,
        "rad/s",
        "Largest joint speed on the way to the entry pose.",
    )
    hold_gain_time: float = _parameter(
        1.0,
        0.0,
        10.0,
        "s",
        "Time over which kp rises from a tenth to its full value when holding starts.",
    )
    hold_timeout: float = _parameter(
        20.0,
        1.0,
        120.0,
        "s",
        "Time after which a robot that has not yet reached its entry pose is damped.",
    )
    blend_time: float = _parameter(
        0.3,
        0.0,
        5.0,
        "s",
        "Time over which the first targets of the policy are blended from the held pose.",
    )
    max_tilt: float = _parameter(
        1.0,
        0.1,
        math.pi,
        "rad",
        "Angle between base z and vertical beyond which a held or running robot is damped.",
    )
    max_tilt_time: float = _parameter(
        0.1,
        0.0,
        1.0,
        "s",
        "How long the tilt must last before it counts.",
    )
    max_tick_gap: float = _parameter(
        0.2,
        0.01,
        2.0,
        "s",
        "Time between two ticks beyond which the robot is damped instead of going on.",
    )
    slew_factor: float = _parameter(
        1.0,
        0.05,
        2.0,
        "1",
        "Largest speed of a target, as a multiple of the joint's velocity limit.",
    )
    torque_factor: float = _parameter(
        1.0,
        0.05,
        2.0,
        "1",
        "Largest torque that kp, kd and the present error may imply, as a multiple of the joint's effort limit.",
    )
    valid_for: float = _parameter(
        0.1,
        0.01,
        1.0,
        "s",
        "Time from receipt after which a driver damps the robot if no newer command has come.",
    )

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            low, high = item.metadata["low"], item.metadata["high"]
            if not (math.isfinite(value) and low <= value <= high):
                raise ValueError(
                    f"parameter {item.name} is {value}; expected {low:g} to {high:g} {item.metadata['unit']}."
                )
