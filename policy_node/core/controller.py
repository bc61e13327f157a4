# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""One robot under control: inputs, state machine, policy and damping, joined; free of ROS and of any clock.

The caller gives the time at each tick and publishes what comes back. Nothing here raises for bad data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from policy_node.core.faults import (
    CLOCK_JUMPED,
    ENTRY_TIMEOUT,
    ESTOP,
    INPUT_INVALID,
    INPUT_STALE,
    TICK_GAP,
    TILT,
    Fault,
)
from policy_node.core.inputs import Inputs, Stream
from policy_node.core.machine import Request, State, StateMachine
from policy_node.core.params import ControllerParams
from policy_node.core.runner import PolicyRunner

F64 = npt.NDArray[np.float64]

FIRST_GAIN = 0.1
"""Share of kp with which a limp robot begins to be held."""


@dataclass(slots=True)
class JointTargets:
    """One command to every joint, contract order, each of shape (num_joints,).

    A driver applies kp * (position - q) + kd * (velocity - qd) + effort.

    Attributes:
        position: rad; velocity: rad/s; effort: N m; kp: N m/rad; kd: N m s/rad.
    """

    position: F64
    velocity: F64
    effort: F64
    kp: F64
    kd: F64


class Controller:
    """Decides at each tick what the robot is told.

    Attributes:
        runner: the policy with its contract.
        inputs: what the sensors said.
        machine: the state and why.
        auto_run: run the policy as soon as the entry pose is reached. For simulation.
        now: time of the newest tick or request, s.
        clamp_count: per joint, how often the guard changed a target since activation.
    """

    def __init__(self, runner: PolicyRunner, params: ControllerParams, *, auto_run: bool = False) -> None:
        self.runner, self.params, self.auto_run = runner, params, auto_run
        site, spec = runner.site, runner.spec
        self.inputs = Inputs(
            runner.new_sensors(), site.joint_names, site.wire_names, site.imu, spec.deployment.commands
        )
        self.machine = StateMachine()
        count = len(site.joint_names)
        entry = next(iter(spec.deployment.entry_pose.joint_pos.values()), None)
        self._entry_pos = runner.default_pos if entry is None else np.array(entry)
        # A robot that is built tighter than the contract is held at the nearest pose that it can reach.
        self._entry_pos = np.clip(self._entry_pos, site.lower, site.upper)
        self._zeros = np.zeros(count)
        self._damping = JointTargets(runner.default_pos.copy(), self._zeros, self._zeros, self._zeros, site.damping_kd)
        self._command = JointTargets(runner.default_pos.copy(), self._zeros, self._zeros, runner.kp.copy(), runner.kd)
        self._held = runner.default_pos.copy()
        self._first_gain = FIRST_GAIN
        self._arrived = False
        self._taken_before = 0
        self.now = 0.0
        self._fresh_since = math.inf
        self._upright_at = 0.0
        self.clamp_count: npt.NDArray[np.int64] = np.zeros(count, dtype=np.int64)

    @property
    def state(self) -> State:
        """The present state."""
        return self.machine.state

    @property
    def has_measured(self) -> bool:
        """Whether joint states were taken since the activation, so that the measured pose is a fact."""
        return self.inputs.joint_states.accepted > self._taken_before

    def request(self, request: Request, now: float, who: str = "a person") -> str | None:
        """Follows a request, or says why not.

        Returns:
            None when it was followed, else the reason in words.
        """
        if request is Request.RUN and self.state is State.HOLDING:
            refusal = self.entry_refusal() or (None if self._arrived else "on the way to the entry pose")
            if refusal is not None:
                return f"not ready to run: {refusal}"
        if request in (Request.HOLD, Request.RUN) and self.state is not State.WAITING:
            stale = self._stale_stream(now)
            if stale is not None:
                return f"{stale.name} is stale: {self._describe(stale, now)}"
        if request is Request.ESTOP:
            if self.state in (State.INACTIVE, State.ESTOPPED):
                return f"nothing to stop in {self.state.value}."
            self.machine.fail(Fault(ESTOP, who), now)
            return None
        before = self.state
        refusal = self.machine.request(request, now, f"{who} asked for {request.value}")
        if refusal is None:
            self._entered(before, now)
        return refusal

    def fail(self, fault: Fault, now: float) -> None:
        """Follows a fault that was found outside of the tick."""
        self.machine.fail(fault, now)

    def tick(self, now: float) -> JointTargets | None:
        """One tick.

        Args:
            now: steady time, s (simulated time in lockstep).

        Returns:
            The command to publish, valid until the next call, or None in states that command nothing.
        """
        gap = now - self.now
        self.now = now
        machine = self.machine
        if machine.state is State.INACTIVE:
            return None
        if machine.state is State.WAITING:
            self._wait(now)
            return None
        if gap < 0.0:
            # What came before has no age any more: it counts as just arrived, and must go on arriving.
            for stream in self.inputs.streams():
                stream.arrival = min(stream.arrival, now)
        if machine.state in (State.HOLDING, State.RUNNING):
            if gap < 0.0:
                machine.fail(Fault(CLOCK_JUMPED, f"by {-gap:.3f} s"), now)
            elif gap > self.params.max_tick_gap:
                machine.fail(Fault(TICK_GAP, f"{gap:.3f} s; the bound is {self.params.max_tick_gap:g} s"), now)
            else:
                self._check_inputs(now)
        if machine.state is State.HOLDING:
            return self._hold(now)
        if machine.state is State.RUNNING:
            return self._run(now)
        return self.damping()

    def damping(self) -> JointTargets:
        """The safe command: kp 0, kd of the site, at the last good measurement. Finite whatever the sensors say."""
        if self.inputs.joint_states.accepted:
            self._damping.position[:] = self.inputs.sensors.joint_pos
        return self._damping

    def waiting_for(self, now: float) -> str:
        """What keeps the node in WAITING, in words."""
        return (
            "; ".join(
                f"{stream.name}: {self._describe(stream, now)}"
                for stream in self.inputs.needed()
                if self._is_stale(stream, now)
            )
            or "inputs are fresh"
        )

    def entry_refusal(self) -> str | None:
        """Why the policy may not start from the measured pose, or None when it may."""
        entry = self.runner.spec.deployment.entry_pose
        sensors, joints = self.inputs.sensors, self.runner.site.joint_names
        off = np.abs(sensors.joint_pos - self._entry_pos)
        worst = int(off.argmax())
        if off[worst] > entry.joint_pos_tolerance:
            return (
                f"{joints[worst]} is {off[worst]:.2f} rad from its entry pose "
                f"({sensors.joint_pos[worst]:.2f} instead of {self._entry_pos[worst]:.2f}); "
                f"{entry.joint_pos_tolerance:g} rad is allowed"
            )
        speed = np.abs(sensors.joint_vel)
        worst = int(speed.argmax())
        if speed[worst] > entry.joint_vel_tolerance:
            return f"{joints[worst]} moves at {speed[worst]:.2f} rad/s; {entry.joint_vel_tolerance:g} is allowed"
        self.runner.observe(sensors)
        tilt = math.acos(max(-1.0, min(1.0, self.runner.tilt_cos)))
        if tilt > entry.tilt_tolerance:
            return f"the base is tilted by {tilt:.2f} rad; {entry.tilt_tolerance:g} is allowed"
        return None

    def _wait(self, now: float) -> None:
        if self._stale_stream(now) is not None:
            self._fresh_since = math.inf
            self.machine.reason = f"waits for {self.waiting_for(now)}"
            return
        self._fresh_since = min(self._fresh_since, now)
        if now - self._fresh_since >= self.params.start_time:
            self.machine.request(Request.READY, now, "all inputs are fresh; moving to the entry pose")
            self._entered(State.WAITING, now)
        else:
            self.machine.reason = "all inputs are fresh; waits whether they stay so"

    def _entered(self, before: State, now: float) -> None:
        state, runner = self.state, self.runner
        if before is State.INACTIVE:
            self._fresh_since = math.inf
            self.clamp_count[:] = 0
            self._taken_before = self.inputs.joint_states.accepted
        elif state is State.HOLDING:
            if before is State.RUNNING:
                # A robot that stands on its gains would sink if they began anew, or if its targets were let go.
                self._held[:] = self._command.position
                self._first_gain = 1.0
            else:
                # The way to the entry pose starts where the joints are, inside their limits.
                self._held[:] = np.clip(self.inputs.sensors.joint_pos, runner.site.lower, runner.site.upper)
                self._first_gain = FIRST_GAIN
            self._arrived = False
            self._upright_at = now
            runner.hold_from(self._held)
        elif state is State.RUNNING:
            runner.reset(self._held)
            self._command.kp[:] = runner.kp
            self._upright_at = now

    def _hold(self, now: float) -> JointTargets:
        runner, params, command = self.runner, self.params, self._command
        step = params.hold_speed * runner.spec.rate.control_dt
        self._held += np.clip(self._entry_pos - self._held, -step, step)
        elapsed = now - self.machine.since
        risen = 1.0 if params.hold_gain_time <= 0.0 else min(1.0, elapsed / params.hold_gain_time)
        gain = self._first_gain + (1.0 - self._first_gain) * risen
        np.multiply(runner.kp, gain, command.kp)
        # A joint that does not follow is not pulled at ever harder: the way goes on from what the guard allows.
        self._held[:] = runner.guard(self._held, self.inputs.sensors)
        command.position[:] = self._held
        self._count_clamps()
        runner.observe(self.inputs.sensors)
        fault = self._tilt_fault(now)
        if fault is not None:
            self.machine.fail(fault, now)
            return self.damping()
        there = gain >= 1.0 and np.array_equal(self._held, self._entry_pos)
        refusal = self.entry_refusal() if there or self._arrived else "on the way to the entry pose"
        if refusal is None:
            self._arrived = True
            self.machine.reason = "at the entry pose; ask for run"
            if self.auto_run and self.request(Request.RUN, now, "auto_run") is None:
                return self._run(now)
        else:
            self.machine.reason = refusal
            # Who has been there may be moved away again: it is held, and stays.
            if not self._arrived and elapsed > params.hold_timeout:
                self.machine.fail(Fault(ENTRY_TIMEOUT, refusal), now)
                return self.damping()
        return command

    def _run(self, now: float) -> JointTargets:
        runner, command = self.runner, self._command
        self.inputs.latch_commands(now)
        target, fault = runner.step(self.inputs.sensors)
        fault = fault or self._tilt_fault(now)
        if fault is not None or target is None:
            if fault is not None:
                self.machine.fail(fault, now)
            return self.damping()
        command.position[:] = target
        self._count_clamps()
        return command

    def _tilt_fault(self, now: float) -> Fault | None:
        if self.runner.tilt_cos >= math.cos(self.params.max_tilt):
            self._upright_at = now
        elif now - self._upright_at > self.params.max_tilt_time:
            tilt = math.acos(max(-1.0, min(1.0, self.runner.tilt_cos)))
            return Fault(TILT, f"{tilt:.2f} rad; the bound is {self.params.max_tilt:g} rad")
        return None

    def _count_clamps(self) -> None:
        if self.runner.clamped.any():
            self.clamp_count += self.runner.clamped

    def _check_inputs(self, now: float) -> None:
        for stream in self.inputs.needed():
            # A sample that cannot be right ends the run at once: coasting is for samples that are merely late.
            if stream.rejection:
                self.machine.fail(Fault(INPUT_INVALID, f"{stream.name}: {stream.rejection}"), now)
            elif self._is_stale(stream, now):
                self.machine.fail(Fault(INPUT_STALE, f"{stream.name}: {self._describe(stream, now)}"), now)

    def _stale_stream(self, now: float) -> Stream | None:
        for stream in self.inputs.needed():
            if self._is_stale(stream, now):
                return stream
        return None

    def _is_stale(self, stream: Stream, now: float) -> bool:
        return now - stream.arrival > self.params.input_timeout

    def _describe(self, stream: Stream, now: float) -> str:
        if stream.rejection:
            return stream.rejection
        if not stream.accepted:
            return "no message has come"
        return f"the newest is {now - stream.arrival:.3f} s old; the bound is {self.params.input_timeout:g} s"
