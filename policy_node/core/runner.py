# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The one implementation of the contract: observe, act, guard.

Node, replay, golden check, parity check and bench all call this class. It is numpy alone: no ROS, no torch, no ONNX.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from policy_node.core.action import ActionDecoder
from policy_node.core.faults import ACTION_NOT_FINITE, INFERENCE_FAILED, OBSERVATION_NOT_FINITE, Fault
from policy_node.core.guard import TargetGuard
from policy_node.core.observation import ObservationBuilder
from policy_node.core.params import ControllerParams
from policy_node.core.rotation import gravity_in_frame, matrix_from_quat
from policy_node.core.sensors import SensorLayout, Sensors
from policy_node.errors import ModelError, SpecError

if TYPE_CHECKING:
    from policy_node.core.policy import Policy
    from policy_node.spec.model import PolicySpec
    from policy_node.spec.robot import Site

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]


class PolicyRunner:
    """Runs a policy as its contract says.

    Attributes:
        spec: the contract.
        site: contract and robot file, joined.
        layout: what a :class:`Sensors` of this runner holds.
        observation: the compiled observation.
        decoder: the compiled action.
        kp, kd: gains of the contract, shape (num_joints,), N m/rad and N m s/rad.
        default_pos: default pose, shape (num_joints,), rad.
        obs: observation of the last tick, shape (obs_dim,), float32.
        action: raw action of the last tick, shape (num_actions,), float32.
        target: targets before safety of the last tick, shape (num_joints,), rad.
        tilt_cos: cosine of the angle between base z and vertical at the last tick.
    """

    def __init__(self, spec: PolicySpec, policy: Policy, site: Site, params: ControllerParams | None = None) -> None:
        """Compiles the contract.

        Raises:
            SpecError: the contract holds something that cannot be run right.
            ModelError: the graph's widths differ from the contract's.
        """
        params = params or ControllerParams()
        if len(spec.entities) != 1:
            raise SpecError("policy_spec.json", [f"entities: has {len(spec.entities)}; one is supported so far."])
        entity = next(iter(spec.entities.values()))
        self.spec, self.site, self._policy = spec, site, policy
        commands = {name: len(command.ranges) for name, command in spec.deployment.commands.items()}
        uses = {term.term for group in spec.observations.groups for term in group.terms}
        if "velocity_command" in uses:
            commands.setdefault("velocity_command", 3)
        self.layout = SensorLayout(len(entity.dofs_name), spec.actions.dim, commands)
        inert = frozenset(spec.deployment.inert_keys)
        faults: list[str] = []
        try:
            self.observation = ObservationBuilder(spec.observations, self.layout, dict(spec.entities), inert)
        except SpecError as error:
            faults += error.faults
        try:
            self.decoder = ActionDecoder(spec)
        except SpecError as error:
            faults += error.faults
        if faults:
            raise SpecError("policy_spec.json", faults)
        if policy.obs_dim != spec.observations.dim:
            table = ", ".join(f"{row.name} {row.stop - row.start}" for row in self.observation.table)
            raise ModelError(
                f"the graph takes an observation of width {policy.obs_dim}; the contract builds "
                f"{spec.observations.dim}: {table}. Graph and contract come from different exports."
            )
        if policy.action_dim != spec.actions.dim:
            raise ModelError(
                f"the graph gives an action of width {policy.action_dim}; the contract decodes {spec.actions.dim}. "
                "Graph and contract come from different exports."
            )
        self.kp, self.kd = np.array(entity.kp), np.array(entity.kd)
        self.default_pos = np.array(entity.default_dofs_pos)
        self._guard = TargetGuard(site, self.kp, self.kd, spec.rate.control_dt, params)
        self._buffer = np.zeros(self.layout.width)
        columns = self.layout.columns
        self._measured = self._buffer[: self.layout.num_measured]
        start, stop = columns["base_ang_vel"].start, columns["projected_gravity"].stop
        self._turned_b = self._buffer[start:stop].reshape(2, 3)
        self._turned_imu = np.zeros((2, 3))
        self._ang_vel_imu, self._gravity_imu = self._turned_imu
        self._mount_transposed = np.ascontiguousarray(matrix_from_quat(site.imu.mount_quat_xyzw).T)
        self._last_action = self._buffer[columns["last_action"]]
        self.obs: F32 = np.zeros(spec.observations.dim, dtype=np.float32)
        self.action: F32 = np.zeros(spec.actions.dim, dtype=np.float32)
        self._zeros = np.zeros(spec.actions.dim, dtype=np.float32)
        self.target: F64 = self.default_pos.copy()
        self.tilt_cos = 1.0
        self.reset(self.default_pos)

    def new_sensors(self) -> Sensors:
        """An empty sample for this runner."""
        return Sensors(self.layout)

    @property
    def clamped(self) -> npt.NDArray[np.bool_]:
        """Which joints' targets the guard changed at the last tick, shape (num_joints,)."""
        return self._guard.clamped

    def reset(self, position: F64) -> None:
        """Starts an episode: no history, no last action, recurrent state zero.

        Args:
            position: where the targets stand now, shape (num_joints,), rad, contract order.
        """
        self._policy.reset()
        self.observation.reset()
        self._last_action[:] = 0.0
        self._guard.reset(position)

    def hold_from(self, position: F64) -> None:
        """Bounds the next targets from ``position``, shape (num_joints,), rad, without a policy."""
        self._guard.reset(position, blend=False)

    def observe(self, sensors: Sensors) -> F32:
        """The observation of one sample, shape (obs_dim,), float32; valid until the next call."""
        self._measured[:] = sensors.flat
        # Four floats in Python are faster than any array operation of this size.
        x, y, z, w = sensors.imu_quat_xyzw.tolist()
        gravity = self._gravity_imu
        gravity[0], gravity[1], gravity[2] = gravity_in_frame(x, y, z, w)
        self._ang_vel_imu[:] = sensors.imu_ang_vel
        np.dot(self._turned_imu, self._mount_transposed, self._turned_b)
        self.tilt_cos = -self._turned_b.item(5)
        self.obs = self.observation.build(self._buffer)
        return self.obs

    def act(self, obs: F32) -> F64:
        """Runs the graph and decodes its action; the raw action becomes the next tick's last action.

        Args:
            obs: shape (obs_dim,), float32.

        Returns:
            Targets before safety, shape (num_joints,), rad; not finite where the action is not.
        """
        action = self.action = self._policy.infer(obs)
        self._last_action[:] = action
        self.target = self.decoder.decode(action)
        return self.target

    def set_last_action(self, action: F32) -> None:
        """Tells the next observation what the last raw action was, shape (num_actions,), for replays."""
        self._last_action[:] = action

    def guard(self, target: F64, sensors: Sensors) -> F64:
        """The command, shape (num_joints,), rad, for finite targets: inside every bound of the site."""
        return self._guard.bound(target, sensors.joint_pos, sensors.joint_vel)

    def step(self, sensors: Sensors) -> tuple[F64 | None, Fault | None]:
        """One tick: observe, act, guard.

        Never raises for bad data. After a fault nothing of the bad tick is carried on: the caller damps, and the next
        run begins with :meth:`reset`.

        Args:
            sensors: a sample of this runner.

        Returns:
            The command and no fault, or no command and the fault.
        """
        obs = self.observe(sensors)
        if not self.observation.finite:
            return None, Fault(OBSERVATION_NOT_FINITE, f"{self.observation.first_non_finite()}")
        try:
            target = self.act(obs)
        except Exception as error:  # an execution provider may raise anything
            return None, Fault(INFERENCE_FAILED, f"{type(error).__name__}: {error}")
        # A dot product with zeros is zero exactly when every component is finite.
        if self.action.dot(self._zeros) != 0.0:
            return None, Fault(ACTION_NOT_FINITE, self._name_non_finite())
        return self.guard(target, sensors), None

    def _name_non_finite(self) -> str:
        bad = np.flatnonzero(~np.isfinite(self.action))
        joints = self.decoder.driven_joints
        return ", ".join(f"{joints[i] if i < len(joints) else i} = {self.action[i]}" for i in bad[:4])
