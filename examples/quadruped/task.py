# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The task description: what whoever runs the policy must know of observations, actions, joints and rate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from robot import (
    ACTION_CLIP,
    ACTION_SCALE,
    COMMAND_RANGES,
    CONTROL_DT,
    DECIMATION,
    JOINT_VELOCITY_LIMITS,
    LEG_JOINTS,
    OBSERVATION_TERMS,
    joint_addresses,
    load_model,
)
from ruamel.yaml import YAML

ROBOT_JOINTS = (
    "FL_hip_joint",
    "FR_hip_joint",
    "RL_hip_joint",
    "RR_hip_joint",
    "head_pan_joint",
    "FL_thigh_joint",
    "FR_thigh_joint",
    "RL_thigh_joint",
    "RR_thigh_joint",
    "head_tilt_joint",
    "FL_calf_joint",
    "FR_calf_joint",
    "RL_calf_joint",
    "RR_calf_joint",
)
"""All joints in the order of the description's lists: neither that of the model nor that of the action."""


def velocity_limit(joint_name: str) -> float:
    """Return the largest speed of a joint, rad/s, from the kind that its name tells."""
    return JOINT_VELOCITY_LIMITS[joint_name.split("_")[1]]


def imu_mount(model: mujoco.MjModel) -> list[float]:
    """Return the rotation from the IMU's frame to the base's as a quaternion x, y, z, w."""
    w, x, y, z = model.site("imu").quat.tolist()
    return [x, y, z, w]


def describe(model: mujoco.MjModel) -> dict[str, Any]:
    """Describe the task.

    Args:
        model: The nominal model; default pose, gains, limits and the IMU's mount are read from it.

    Returns:
        A dictionary laid out as policy_spec.json, without model file and provenance, which the export adds.
    """
    qpos, _, actuator = joint_addresses(model, ROBOT_JOINTS)
    default_pos = model.key("home").qpos[qpos]
    position_range = {name: model.joint(name).range for name in ROBOT_JOINTS}
    leg_default = [float(default_pos[ROBOT_JOINTS.index(name)]) for name in LEG_JOINTS]
    joints = {"entity_name": "robot", "dofs_name": list(LEG_JOINTS)}

    def term(name: str, scale: float | tuple[float, ...]) -> dict[str, Any]:
        return {
            "name": name,
            "term": name,
            "history_length": 0,
            "backfill": None,
            "clip": None,
            "scale": list(scale) if isinstance(scale, tuple) else scale,
            "modifiers": [],
            "config": joints if name.startswith("joint_") else {},
        }

    group = {
        "name": "policy",
        "history_length": 0,
        "backfill": None,
        "nan_policy": "disabled",
        "terms": [term(name, scale) for name, _, scale in OBSERVATION_TERMS],
    }
    action = {
        "name": "joint_pos",
        "term": "joint_position",
        "class": "JointPositionAction",
        "entity_name": "robot",
        "target": "position",
        "reference_source": "default",
        "dofs_name": list(LEG_JOINTS),
        "scale": ACTION_SCALE,
        "offset": leg_default,
        "mimic_dofs": {},
        "config": {},
    }
    robot = {
        "dofs_name": list(ROBOT_JOINTS),
        "default_dofs_pos": default_pos.tolist(),
        "kp": model.actuator_gainprm[actuator, 0].tolist(),
        "kd": (-model.actuator_biasprm[actuator, 2]).tolist(),
    }
    deployment = {
        "requires": ["target_clip", "imu_mount"],
        "joint_limits": {
            "robot": {
                "lower": [float(position_range[name][0]) for name in ROBOT_JOINTS],
                "upper": [float(position_range[name][1]) for name in ROBOT_JOINTS],
                "velocity": [velocity_limit(name) for name in ROBOT_JOINTS],
                "effort": model.actuator_forcerange[actuator, 1].tolist(),
            }
        },
        # The environment clips targets to the position limits, after scale and offset.
        "target_clip": {"joint_pos": np.array([position_range[name] for name in LEG_JOINTS]).T.tolist()},
        "imu": {"frame_id": "imu_link", "mount_quat_xyzw": imu_mount(model)},
        "commands": {"velocity_command": {"ranges": COMMAND_RANGES.tolist(), "timeout": 0.5}},
    }
    return {
        "observations": {"groups": [group]},
        "actions": {"clip": [-ACTION_CLIP, ACTION_CLIP], "terms": [action]},
        "entities": {"robot": robot},
        "rate": {"control_dt": CONTROL_DT, "decimation": DECIMATION, "sim_dt": float(model.opt.timestep)},
        "deployment": deployment,
    }


def write_task(path: Path) -> None:
    """Write the description of the nominal model as YAML.

    Args:
        path: File to write.
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.sort_base_mapping_type_on_output = False
    yaml.width = 110
    # Equal lists shall be written out: nobody who reads a contract should have to resolve an alias.
    yaml.representer.ignore_aliases = lambda _: True  # type: ignore[method-assign]
    with path.open("w", encoding="utf-8") as file:
        file.write(
            "# The contract of the quadruped's walking policy, written by examples/quadruped/publish.py.\n"
            "# Units: rad, m, s, N m. An entity's lists are in the order of its dofs_name, so are a term's.\n"
        )
        yaml.dump(describe(load_model()), file)
