# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""What tests share: a toy robot whose joint orders are neither the identity nor their own inverse."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

CONTRACT_JOINTS = ["a", "b", "c", "d"]
ACTION_JOINTS = ["c", "a", "b"]  # a -> 1, b -> 2, c -> 0: a cycle of three; d is driven by nobody
WIRE_JOINTS = ["d", "b", "c", "extra", "a"]
# Roll 0.3, pitch -0.2, yaw 1.1: a mount that is not its own inverse, as (x, y, z, w).
MOUNT_XYZW = [0.17571960, -0.00656937, 0.52788260, 0.83092020]
# Roll 30, pitch 20, yaw 70 degrees, as (x, y, z, w).
TILTED_XYZW = [0.1126, 0.2836, 0.5088, 0.8050]


def toy_spec_data() -> dict[str, Any]:
    """The toy contract as plain data; tests change it and see what is said."""
    mount = np.array(MOUNT_XYZW) / np.linalg.norm(MOUNT_XYZW)
    return {
        "schema_version": "policy_node/1",
        "model": {
            "onnx": {
                "file": "policy.onnx",
                "inputs": [{"name": "obs", "shape": ["batch", 18]}],
                "outputs": [{"name": "actions", "shape": ["batch", 3]}],
            }
        },
        "observations": {
            "dim": 18,
            "groups": [
                {
                    "name": "policy",
                    "slice": [0, 18],
                    "history_length": 0,
                    "backfill": None,
                    "nan_policy": "disabled",
                    "terms": [
                        {
                            "name": "base_ang_vel",
                            "term": "base_ang_vel",
                            "slice": [0, 3],
                            "frame_dim": 3,
                            "scale": 0.25,
                        },
                        {"name": "gravity", "term": "projected_gravity", "slice": [3, 6], "frame_dim": 3},
                        {
                            "name": "command",
                            "term": "velocity_command",
                            "slice": [6, 9],
                            "frame_dim": 3,
                            "scale": [2.0, 2.0, 0.25],
                        },
                        {
                            "name": "joint_pos",
                            "term": "joint_pos_rel",
                            "slice": [9, 12],
                            "frame_dim": 3,
                            "config": {"entity_name": "robot", "dofs_name": ["b", "c", "a"]},
                        },
                        {
                            "name": "joint_vel",
                            "term": "joint_vel",
                            "slice": [12, 15],
                            "frame_dim": 3,
                            "clip": [-2.0, 2.0],
                            "scale": 0.5,
                            "config": {"entity_name": "robot", "dofs_name": ["c", "a", "b"]},
                        },
                        {"name": "last_action", "term": "last_action", "slice": [15, 18], "frame_dim": 3},
                    ],
                }
            ],
        },
        "actions": {
            "dim": 3,
            "clip": [-10.0, 10.0],
            "terms": [
                {
                    "name": "legs",
                    "class": "JointPositionAction",
                    "slice": [0, 3],
                    "entity_name": "robot",
                    "target": "position",
                    "reference_source": "default",
                    "dofs_name": ACTION_JOINTS,
                    "scale": [0.5, 0.25, 0.2],
                    "offset": [0.3, 0.1, 0.2],
                }
            ],
        },
        "entities": {
            "robot": {
                "dofs_name": CONTRACT_JOINTS,
                "default_dofs_pos": [0.1, 0.2, 0.3, 0.4],
                "kp": [10.0, 20.0, 30.0, 40.0],
                "kd": [1.0, 2.0, 3.0, 4.0],
            }
        },
        "rate": {"control_dt": 0.02, "decimation": 4, "sim_dt": 0.005},
        "provenance": {},
        "deployment": {
            "requires": ["imu_mount"],
            "imu": {"frame_id": "imu_link", "mount_quat_xyzw": mount.tolist()},
            "joint_limits": {
                "robot": {"lower": [-1.0] * 4, "upper": [1.0] * 4, "velocity": [10.0] * 4, "effort": [100.0] * 4}
            },
            "commands": {"velocity_command": {"ranges": [[-1.0, 1.0], [-0.5, 0.5], [-2.0, 2.0]], "timeout": 0.5}},
        },
    }


def golden_by_hand(layers: list[Any], ticks: int = 50) -> bytes:
    """A recording of the toy contract, written term by term from its text, without the code under test."""
    random = np.random.default_rng(11)
    mount = rotation(np.array(MOUNT_XYZW) / np.linalg.norm(MOUNT_XYZW))
    default = {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}
    scale, offset = dict(zip("cab", (0.5, 0.25, 0.2))), dict(zip("cab", (0.3, 0.1, 0.2)))
    last = np.zeros(3)
    rows: dict[str, list[Any]] = {}
    for tick in range(ticks):
        pos = {name: default.get(name, 0.0) + random.normal(0, 0.2) for name in WIRE_JOINTS}
        vel = {name: random.normal(0, 2.0) for name in WIRE_JOINTS}
        quat = random.normal(0, 1, 4)
        quat /= np.linalg.norm(quat)
        rate, command = random.normal(0, 1, 3), random.uniform(-0.4, 0.4, 3)
        obs = np.concatenate(
            [
                0.25 * (mount @ rate),
                mount @ (rotation(quat).T @ [0, 0, -1]),
                command * [2.0, 2.0, 0.25],
                [pos[name] - default[name] for name in "bca"],
                [0.5 * min(2.0, max(-2.0, vel[name])) for name in "cab"],
                last,
            ]
        ).astype(np.float32)
        hidden = np.tanh(layers[0][0] @ obs + layers[0][1])
        action = (layers[1][0] @ hidden + layers[1][1]).astype(np.float32)
        last = action
        row = {
            "time": tick * 0.02,
            "joint_pos": list(pos.values()),
            "joint_vel": list(vel.values()),
            "imu_quat_xyzw": quat,
            "imu_ang_vel": rate,
            "velocity_command": command,
            "obs": obs,
            "action": action,
            "target_pos": [action[i] * scale[name] + offset[name] for i, name in enumerate("cab")],
        }
        for key, value in row.items():
            rows.setdefault(key, []).append(value)
    stream = io.BytesIO()
    np.savez(
        stream,
        joint_names=np.array(WIRE_JOINTS),
        target_joint_names=np.array(ACTION_JOINTS),
        **{key: np.array(value) for key, value in rows.items()},
    )
    return stream.getvalue()


def rotation(quat_xyzw: Any) -> np.ndarray:
    """Rotation matrix by rotating the three axes with the sandwich product q v q*."""
    x, y, z, w = quat_xyzw

    def product(p: Any, q: Any) -> np.ndarray:
        return np.array(
            [
                p[3] * q[0] + p[0] * q[3] + p[1] * q[2] - p[2] * q[1],
                p[3] * q[1] - p[0] * q[2] + p[1] * q[3] + p[2] * q[0],
                p[3] * q[2] + p[0] * q[1] - p[1] * q[0] + p[2] * q[3],
                p[3] * q[3] - p[0] * q[0] - p[1] * q[1] - p[2] * q[2],
            ]
        )

    columns = [product(product((x, y, z, w), (*axis, 0.0)), (-x, -y, -z, w))[:3] for axis in np.eye(3)]
    return np.stack(columns, axis=1)
