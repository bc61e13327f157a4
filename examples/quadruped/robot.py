# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The quadruped as its training sees it: model, joint orders and scales of the policy's interface."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import numpy.typing as npt

MODEL_PATH = Path(__file__).resolve().parent / "quadruped.xml"

LEGS = ("FL", "FR", "RL", "RR")
"""Legs in the order of every per-foot array here."""

LEG_JOINTS = tuple(f"{leg}_{part}_joint" for leg in LEGS for part in ("hip", "thigh", "calf"))
"""The twelve joints that the policy drives, in the order of actions and joint observations.

The order of the model differs (its tree starts with the head, then FR, FL, RR, RL)."""

CONTROL_DT = 0.02
"""Seconds between two actions."""

DECIMATION = 4
"""Physics steps for each action."""

ACTION_SCALE = 0.25
"""Radians of joint target for one unit of action."""

ACTION_CLIP = 10.0
"""Bound on the absolute value of a raw action, before it is scaled."""

COMMAND_RANGES = np.array([[-0.6, 1.0], [-0.4, 0.4], [-1.0, 1.0]])
"""Ranges of the velocity command: forward and left (m/s), yaw rate (rad/s), all in the base frame."""

OBSERVATION_TERMS = (
    ("base_ang_vel", 3, 0.25),
    ("projected_gravity", 3, 1.0),
    ("velocity_command", 3, (2.0, 2.0, 0.25)),
    ("joint_pos_rel", 12, 1.0),
    ("joint_vel", 12, 0.05),
    ("last_action", 12, 1.0),
)
"""Name, width and scale of each term of the policy's observation, in order: 45 numbers."""

JOINT_VELOCITY_LIMITS = {"hip": 25.0, "thigh": 25.0, "calf": 30.0, "pan": 8.0, "tilt": 8.0}
"""Largest speed of each kind of joint, rad/s. MJCF has no attribute for it."""

OBSERVATION_SCALE = np.concatenate(
    [np.broadcast_to(np.asarray(scale, dtype=np.float64), (width,)) for _, width, scale in OBSERVATION_TERMS]
)


def load_model() -> mujoco.MjModel:
    """Compile the MJCF file beside this module."""
    return mujoco.MjModel.from_xml_path(str(MODEL_PATH))


def joint_addresses(
    model: mujoco.MjModel, joint_names: tuple[str, ...] = LEG_JOINTS
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Find where named joints live in the arrays of a model.

    Args:
        model: The compiled model.
        joint_names: Names of hinge joints, each with a position actuator of its own.

    Returns:
        Addresses in `qpos` and in `qvel` and actuator ids, each of shape (len(joint_names),), in that order.

    Raises:
        KeyError: If the model lacks one of the joints.
    """
    joint_ids = [model.joint(name).id for name in joint_names]
    actuator_of_joint = {int(model.actuator_trnid[a, 0]): a for a in range(model.nu)}
    return (
        np.array([model.jnt_qposadr[j] for j in joint_ids]),
        np.array([model.jnt_dofadr[j] for j in joint_ids]),
        np.array([actuator_of_joint[j] for j in joint_ids]),
    )


def rotate_inverse(quat_wxyz: npt.NDArray[np.float64], vector: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Rotate vectors by the inverse of unit quaternions: from the world into the frame that each one orients.

    Args:
        quat_wxyz: Unit quaternions, w first (MuJoCo's order), shape (n, 4).
        vector: Vectors, shape (n, 3).

    Returns:
        v + 2 w (u x v) + 2 u x (u x v) with u the negated vector part, shape (n, 3).
    """
    w, u = quat_wxyz[:, :1], -quat_wxyz[:, 1:]
    t = 2.0 * np.cross(u, vector)
    return vector + w * t + np.cross(u, t)


def home_state(model: mujoco.MjModel) -> npt.NDArray[np.float64]:
    """Return the full physics state of the keyframe `home`: standing in the default pose.

    Returns:
        State vector as `mj_getState` lays it out: time, qpos, qvel, ...; shape (state size,).
    """
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    state = np.zeros(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    return state
