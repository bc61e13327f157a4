# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The golden recording of an export without a training environment: random inputs, the framework's own actions."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from policy_node.core.runner import PolicyRunner
from policy_node.core.sensors import Sensors
from policy_node.export.sources.base import SourcePolicy

TICKS = 100


def synthetic_golden(runner: PolicyRunner, source: SourcePolicy, seed: int = 0) -> bytes:
    """Records random, plausible inputs and what the framework answers to them.

    It proves that export and run time agree. It cannot prove that the contract says what the training did: only a
    recording by the training environment can.

    Args:
        runner: compiled from the contract; only its observation and its decoding are used.
        source: the framework's policy, which gives the actions.
        seed: of the random inputs.

    Returns:
        The bytes of the npz file.
    """
    random = np.random.default_rng(seed)
    sensors: Sensors = runner.new_sensors()
    joints = runner.site.joint_names
    rows: dict[str, list[np.ndarray]] = {}
    runner.reset(runner.default_pos)
    for tick in range(TICKS):
        sensors.joint_pos[:] = runner.default_pos + random.normal(0.0, 0.2, len(joints))
        sensors.joint_vel[:] = random.normal(0.0, 1.0, len(joints))
        quat = np.array([0.0, 0.0, 0.0, 1.0]) + random.normal(0.0, 0.3, 4)
        sensors.imu_quat_xyzw[:] = quat / np.linalg.norm(quat)
        sensors.imu_ang_vel[:] = random.normal(0.0, 0.5, 3)
        for values in sensors.commands.values():
            values[:] = random.normal(0.0, 0.5, len(values))
        obs = runner.observe(sensors).copy()
        action = source.reference(obs[np.newaxis])[0]
        target = runner.decoder.decode(action)[runner.decoder.driven_index]
        runner.set_last_action(action)
        row = {
            "time": np.array(tick * runner.spec.rate.control_dt),
            "joint_pos": sensors.joint_pos,
            "joint_vel": sensors.joint_vel,
            "imu_quat_xyzw": sensors.imu_quat_xyzw,
            "imu_ang_vel": sensors.imu_ang_vel,
            "obs": obs,
            "action": action,
            "target_pos": target,
            **sensors.commands,
        }
        for name, value in row.items():
            rows.setdefault(name, []).append(np.array(value))
    stream = io.BytesIO()
    arrays: dict[str, Any] = {name: np.stack(values) for name, values in rows.items()}
    arrays["format"] = np.array(1)
    arrays["joint_names"] = np.array(joints)
    arrays["target_joint_names"] = np.array(runner.decoder.driven_joints)
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()
