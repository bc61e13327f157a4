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
    * torque: ``|kp * (target - q) - kd * qd|`` stays below ``effort * torque_factor`` by pulling the target back.
    * position: a target is inside the joint's limits, whatever the other two ask for.

    Attributes:
        clamped: which targets the last call changed, shape (num_joints,), bool.
    """

    def __init__(self, site: Site, kp: F64, kd: F64, control_dt: float, params: ControllerParams) -> None:
        count = len(site.joint_names)
        self._lower, self._upper = site.lower, site.upper
        self._step = site.velocity * (params.slew_factor * control_dt)
        has_torque = kp > 0.0
        safe_kp = np.where(has_torque, kp, 1.0)
        self._lag = np.where(has_torque, kd / safe_kp, 0.0)
        self._reach = np.where(has_torque, site.effort * params.torque_factor / safe_kp, np.inf)
        self._previous = np.zeros(count)
        self._low, self._high, self._center = np.empty(count), np.empty(count), np.empty(count)
        self._out = np.empty(count)
        self.clamped: npt.NDArray[np.bool_] = np.zeros(count, dtype=bool)

    def reset(self, position: F64) -> None:
        """Starts from ``position``, shape (num_joints,), rad: the first target may differ from it by one step."""
        self._previous[:] = position

    def bound(self, target: F64, joint_pos: F64, joint_vel: F64) -> F64:
        """Pulls targets into their bounds.

        Args:
            target: finite position targets, shape (num_joints,), rad.
            joint_pos: measured angles, shape (num_joints,), rad, finite.
            joint_vel: measured speeds, shape (num_joints,), rad/s, finite.

        Returns:
            The command, shape (num_joints,), rad; valid until the next call.
        """
        low, high, center, out = self._low, self._high, self._center, self._out
        previous = self._previous
        # Speed first: then torque, then position, each over what came before.
        np.subtract(previous, self._step, low)
        np.add(previous, self._step, high)
        np.maximum(target, low, out)
        np.minimum(out, high, out)
        np.multiply(joint_vel, self._lag, center)
        np.add(center, joint_pos, center)
        np.subtract(center, self._reach, low)
        np.add(center, self._reach, high)
        np.maximum(out, low, out)
        np.minimum(out, high, out)
        np.maximum(out, self._lower, out)
        np.minimum(out, self._upper, out)
        np.not_equal(out, target, self.clamped)
        previous[:] = out
        return out
