# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The last step before a command: targets are kept finite, inside limits, slow enough, and weak enough."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from policy_node.core.params import ControllerParams
from policy_node.spec.robot import Site

F64 = npt.NDArray[np.float64]


class TargetGuard:
    """Bounds on position targets, in the order of their priority: position, torque, speed.

    * speed: a target moves at most ``velocity * slew_factor * control_dt`` per tick.
    * torque: ``|kp * (target - q) - kd * qd|`` stays below ``effort * torque_factor`` by pulling the target back,
      at most to the measured angle.
    * position: a target is inside the joint's limits, whatever the other two ask for.

    Over the first ticks the policy's targets are blended in from where they stood, before the bounds apply.

    Attributes:
        clamped: which targets the last call changed, shape (num_joints,), bool.
    """

    def __init__(self, site: Site, kp: F64, kd: F64, control_dt: float, params: ControllerParams) -> None:
        count = len(site.joint_names)
        self._lower, self._upper = site.lower, site.upper
        step = site.velocity * (params.slew_factor * control_dt)
        self._step = step
        has_torque = kp > 0.0
        safe_kp = np.where(has_torque, kp, 1.0)
        self._lag = np.where(has_torque, kd / safe_kp, 0.0)
        reach = np.where(has_torque, site.effort * params.torque_factor / safe_kp, np.inf)
        self._reach, self._behind = reach, -reach
        self._previous, self._out, self._center = np.zeros(count), np.zeros(count), np.zeros(count)
        self._low, self._high = np.zeros(count), np.zeros(count)
        self._blend_ticks = round(params.blend_time / control_dt)
        self._tick = 0
        self._start = np.zeros(count)
        self.clamped: npt.NDArray[np.bool_] = np.zeros(count, dtype=bool)
        self._none_clamped = np.zeros(count, dtype=bool)
        self._some_clamped = np.zeros(count, dtype=bool)

    def reset(self, position: F64, *, blend: bool = True) -> None:
        """Starts from ``position``, shape (num_joints,), rad: the first target may differ from it by one step.

        Args:
            position: where the targets stand now.
            blend: whether the next targets are blended in.
        """
        self._out[:] = position
        self._start[:] = position
        self._tick = 0 if blend else self._blend_ticks

    def bound(self, target: F64, joint_pos: F64, joint_vel: F64) -> F64:
        """Pulls targets into their bounds.

        Args:
            target: finite position targets, shape (num_joints,), rad.
            joint_pos: measured angles, shape (num_joints,), rad, finite.
            joint_vel: measured speeds, shape (num_joints,), rad/s, finite.

        Returns:
            The command, shape (num_joints,), rad; valid until the call after the next.
        """
        if self._tick < self._blend_ticks:
            self._tick += 1
            target = self._start + (self._tick / self._blend_ticks) * (target - self._start)
        low, high, center = self._low, self._high, self._center
        # The two buffers change places, so that the last command stays at hand without a copy.
        previous, out = self._out, self._previous
        self._previous, self._out = previous, out
        # Speed first, then torque, then position, each over what came before.
        np.subtract(previous, self._step, low)
        np.add(previous, self._step, high)
        np.maximum(target, low, out=out)
        np.minimum(out, high, out=out)
        # The bound always holds the measured angle itself: a speed that cannot be true must not push the target away.
        np.multiply(joint_vel, self._lag, center)
        np.maximum(center, self._behind, out=center)
        np.minimum(center, self._reach, out=center)
        np.add(center, joint_pos, center)
        np.subtract(center, self._reach, low)
        np.add(center, self._reach, high)
        np.maximum(out, low, out=out)
        np.minimum(out, high, out=out)
        np.maximum(out, self._lower, out=out)
        np.minimum(out, self._upper, out=out)
        if out.tobytes() == target.tobytes():
            self.clamped = self._none_clamped
        else:
            self.clamped = np.not_equal(out, target, self._some_clamped)
        return out
