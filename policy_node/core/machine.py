# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The state machine: which state follows which, and on whose word."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from policy_node.core.faults import Fault, Severity


class State(str, Enum):
    """What the node does with the robot."""

    INACTIVE = "INACTIVE"
    """The lifecycle node is not active: nothing is commanded."""
    WAITING = "WAITING"
    """Waits for its inputs: nothing is commanded."""
    HOLDING = "HOLDING"
    """Moves slowly to the entry pose and holds it."""
    RUNNING = "RUNNING"
    """The policy drives."""
    DAMPING = "DAMPING"
    """kp 0, kd only, until a person asks for more."""
    ESTOPPED = "ESTOPPED"
    """Damping, latched until a person resets."""


class Request(str, Enum):
    """What a person, or the node on its own behalf, may ask for."""

    ACTIVATE = "activate"
    DEACTIVATE = "deactivate"
    READY = "ready"
    HOLD = "hold"
    RUN = "run"
    DAMP = "damp"
    ESTOP = "estop"
    RESET = "reset"


TRANSITIONS: dict[tuple[State, Request], State] = {
    (State.INACTIVE, Request.ACTIVATE): State.WAITING,
    (State.WAITING, Request.READY): State.HOLDING,
    (State.HOLDING, Request.RUN): State.RUNNING,
    (State.RUNNING, Request.HOLD): State.HOLDING,
    (State.DAMPING, Request.HOLD): State.HOLDING,
    (State.HOLDING, Request.DAMP): State.DAMPING,
    (State.RUNNING, Request.DAMP): State.DAMPING,
    (State.ESTOPPED, Request.RESET): State.DAMPING,
    (State.WAITING, Request.ESTOP): State.ESTOPPED,
    (State.HOLDING, Request.ESTOP): State.ESTOPPED,
    (State.RUNNING, Request.ESTOP): State.ESTOPPED,
    (State.DAMPING, Request.ESTOP): State.ESTOPPED,
    (State.WAITING, Request.DEACTIVATE): State.INACTIVE,
    (State.HOLDING, Request.DEACTIVATE): State.INACTIVE,
    (State.RUNNING, Request.DEACTIVATE): State.INACTIVE,
    (State.DAMPING, Request.DEACTIVATE): State.INACTIVE,
    (State.ESTOPPED, Request.DEACTIVATE): State.INACTIVE,
}
"""Every transition on request. What a fault does is in :meth:`StateMachine.fail`."""


@dataclass(slots=True)
class StateMachine:
    """The present state and why it is so.

    Attributes:
        state: the present state.
        reason: why, in words, for status and log.
        remedy: what a person can do about it; empty where nothing is wrong.
        since: steady time of the last change, s.
        latched: an emergency stop that nobody has reset yet; activating again leads back into it.
    """

    state: State = State.INACTIVE
    reason: str = "not activated"
    remedy: str = ""
    since: float = 0.0
    latched: bool = False

    def request(self, request: Request, now: float, reason: str) -> str | None:
        """Follows a request.

        Args:
            request: what is asked for.
            now: steady time, s.
            reason: who asks and why, for the status.

        Returns:
            None when the state changed, else the reason for the refusal.
        """
        target = TRANSITIONS.get((self.state, request))
        if target is None:
            allowed = sorted(asked.value for state, asked in TRANSITIONS if state is self.state)
            return f"'{request.value}' is not possible in {self.state.value}; possible: {', '.join(allowed)}."
        if request is Request.RESET:
            self.latched = False
        if request is Request.ACTIVATE and self.latched:
            target, reason = State.ESTOPPED, "the emergency stop from before was never reset"
        self._enter(target, now, reason, "")
        return None

    def fail(self, fault: Fault, now: float) -> bool:
        """Follows a fault: damping or emergency stop; what is already as severe stays.

        Returns:
            True when the state changed.
        """
        severity = fault.kind.severity
        target = State.ESTOPPED if severity is Severity.ESTOP else State.DAMPING
        if severity is Severity.NOTE or self.state is State.INACTIVE or self.state is target:
            return False
        if self.state is State.ESTOPPED or (self.state is State.WAITING and target is State.DAMPING):
            return False
        self._enter(target, now, str(fault), fault.kind.remedy)
        return True

    def _enter(self, state: State, now: float, reason: str, remedy: str) -> None:
        self.state, self.reason, self.remedy, self.since = state, reason, remedy, now
        self.latched |= state is State.ESTOPPED
