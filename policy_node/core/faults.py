# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The registry of faults: from it come status texts, diagnostics, documentation and tests."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Severity(IntEnum):
    """How the state machine answers; of two faults the more severe wins."""

    NOTE = 0
    """Told, and the run goes on."""
    DAMP = 1
    """The robot is damped until a person asks for more."""
    ESTOP = 2
    """The robot is damped until a person resets."""


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One way to fail.

    Attributes:
        name: stable name in status, diagnostics, logs and tests.
        cause: what happened, in words.
        remedy: what a person can do about it.
        severity: how the state machine answers.
    """

    name: str
    cause: str
    remedy: str
    severity: Severity


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that happened, with what was measured."""

    kind: FaultKind
    detail: str

    def __str__(self) -> str:
        return f"{self.kind.name}: {self.kind.cause} ({self.detail})"


FAULTS: dict[str, FaultKind] = {}


def _fault(name: str, cause: str, remedy: str, severity: Severity = Severity.DAMP) -> FaultKind:
    kind = FaultKind(name, cause, remedy, severity)
    FAULTS[name] = kind
    return kind


INPUT_STALE = _fault(
    "input_stale",
    "an input has stopped",
    "Look at the driver and the network of that topic; then ask for hold.",
)
INPUT_INVALID = _fault(
    "input_invalid",
    "an input holds values that cannot be right",
    "Look at the driver of that topic; then ask for hold.",
)
OBSERVATION_NOT_FINITE = _fault(
    "observation_not_finite",
    "the observation holds NaN or infinity",
    "Look at the source of the component that is named.",
)
ACTION_NOT_FINITE = _fault(
    "action_not_finite",
    "the policy's output holds NaN or infinity",
    "The checkpoint or its inputs are at fault; replay the run before trying again.",
)
INFERENCE_FAILED = _fault(
    "inference_failed",
    "running the graph raised an error",
    "Read the log; check the bundle and the provider.",
)
TILT = _fault(
    "tilt",
    "the base is tilted beyond the bound",
    "Stand the robot up, then ask for hold.",
)
ENTRY_TIMEOUT = _fault(
    "entry_timeout",
    "the entry pose was not reached in time",
    "Free the joint that is named, or allow more time with hold_timeout.",
)
TICK_GAP = _fault(
    "tick_gap",
    "no tick ran for too long",
    "The process was stopped or the machine is too busy; free it, then ask for hold.",
)
CLOCK_JUMPED = _fault(
    "clock_jumped",
    "time ran backwards",
    "The simulator was started again; ask for hold when it is ready.",
)
TICK_FAILED = _fault(
    "tick_failed",
    "the tick raised an error, which is a defect of this software",
    "Report the traceback in the log.",
)
SHUTDOWN = _fault("shutdown", "the node is stopping", "Start it again.")
ESTOP = _fault("estop", "an emergency stop was requested", "Clear the cause, then ask for reset.", Severity.ESTOP)
