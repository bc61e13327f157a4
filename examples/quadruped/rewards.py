# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""What the quadruped is rewarded for: tracking its command with a level body, trotting, lifting its feet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

WEIGHTS: dict[str, float] = {
    "track_lin_vel": 2.0,
    "track_yaw_rate": 1.0,
    "vertical_velocity": -2.0,
    "roll_pitch_rate": -0.05,
    "tilt": -3.0,
    "height": -25.0,
    "torque": -4e-5,
    "power": -4e-4,
    "joint_acceleration": -2.5e-7,
    "action_rate": -0.01,
    "action_jerk": -0.005,
    "swing_time": 1.5,
    "swing_height": -2.0,
    "trot": 0.8,
    "slip": -0.15,
    "hip_deviation": -0.4,
    "pose_deviation": -0.05,
    "stand_deviation": -1.0,
    "stand_contact": -1.0,
    "alive": 0.2,
}
"""Weight of each term, per second of simulated time."""

STYLE = ("swing_time", "swing_height", "stand_deviation", "stand_contact")
"""Terms that count less at first: a robot that must step well before it may step at all learns to stand."""

STYLE_START = 0.2
"""Share of the weight of the `STYLE` terms at the start of the training."""

RAMP_STEPS = (4800, 10800)
"""Control steps of each robot at which the demands begin to rise, and at which they are full."""

FALL_PENALTY = 2.0
"""Subtracted once when the robot falls."""

TARGET_HEIGHT = 0.30
"""Height of the base over the floor, m."""

TARGET_SWING_TIME = 0.2
"""Time in the air above which a step is rewarded, s."""

TARGET_SWING_HEIGHT = 0.09
"""Highest position of a foot's centre during a swing, m (its radius is 0.023 m)."""


@dataclass(slots=True)
class Step:
    """What happened in one control step, for n environments.

    Attributes:
        command: Commanded vx, vy (m/s) and yaw rate (rad/s), base frame, shape (n, 3).
        lin_vel_b: Velocity of the base, base frame, m/s, shape (n, 3).
        ang_vel_b: Angular velocity of the base, base frame, rad/s, shape (n, 3).
        gravity_b: Unit vector of gravity, base frame, shape (n, 3).
        height: Height of the base over the floor, m, shape (n,).
        joint_deviation: Joint positions minus default pose, rad, shape (n, 12).
        joint_vel: Joint velocities, rad/s, shape (n, 12).
        joint_acc: Joint accelerations over the step, rad/s^2, shape (n, 12).
        torque: Joint torques at the end of the step, N m, shape (n, 12).
        action: Actions of this step, the one before and the one before that, each of shape (n, 12).
        contact: Whether each foot touches the floor, shape (n, 4).
        foot_height: Height of each foot's centre over the floor, m, shape (n, 4).
        touchdown: Whether each foot came down in this step, shape (n, 4).
        swing_time: Time that each foot has been in the air until now or until its touchdown, s, shape (n, 4).
        swing_peak: Highest position of each foot in that swing, m, shape (n, 4).
        foot_vel_w: Velocities of the feet, world frame, m/s, shape (n, 4, 3).
    """

    command: Array
    lin_vel_b: Array
    ang_vel_b: Array
    gravity_b: Array
    height: Array
    joint_deviation: Array
    joint_vel: Array
    joint_acc: Array
    torque: Array
    action: tuple[Array, Array, Array]
    contact: BoolArray
    foot_height: Array
    touchdown: BoolArray
    swing_time: Array
    swing_peak: Array
    foot_vel_w: Array


def is_moving(command: Array) -> BoolArray:
    """Tell commands to move from commands to stand.

    Args:
        command: Velocity commands, shape (n, 3).

    Returns:
        True where the command is not (nearly) zero, shape (n,).
    """
    return np.asarray(np.linalg.norm(command, axis=1) > 0.08)


def demand(steps: int) -> float:
    """Return how much is demanded of the gait: 0 until the robot may be expected to walk, 1 at the end.

    Args:
        steps: Control steps that each robot has made.
    """
    begin, end = RAMP_STEPS
    return min(max((steps - begin) / (end - begin), 0.0), 1.0)


def weights(steps: int) -> dict[str, float]:
    """Return the weight of each term after so many control steps of each robot."""
    style = STYLE_START + (1.0 - STYLE_START) * demand(steps)
    return {name: weight * (style if name in STYLE else 1.0) for name, weight in WEIGHTS.items()}


def reward_terms(step: Step, steps: int) -> dict[str, Array]:
    """Compute every term of `WEIGHTS`, unweighted, each of shape (n,), after so many control steps."""
    moving = is_moving(step.command).astype(np.float64)
    action, previous, before = step.action
    lin_error = np.sum((step.command[:, :2] - step.lin_vel_b[:, :2]) ** 2, axis=1)
    yaw_error = (step.command[:, 2] - step.ang_vel_b[:, 2]) ** 2
    front_left, front_right, rear_left, rear_right = step.contact.T
    diagonal = (front_left == rear_right) & (front_right == rear_left) & (front_left != front_right)
    swing_time = np.clip(step.swing_time, 0.0, 0.4) - TARGET_SWING_TIME
    # Contacts that merely chatter are no swings: punishing their height would teach to fall early.
    swing = step.touchdown & (step.swing_time > 0.1)
    swing_height = np.minimum(step.swing_peak / TARGET_SWING_HEIGHT - 1.0, 0.5) ** 2
    slip = np.sum(np.sum(step.foot_vel_w[:, :, :2] ** 2, axis=2) * step.contact, axis=1)
    return {
        # Wide kernels lead to the command from afar, narrow ones ask for precision.
        "track_lin_vel": np.exp(-lin_error / (0.12 - 0.06 * demand(steps))),
        "track_yaw_rate": np.exp(-yaw_error / (0.15 - 0.07 * demand(steps))),
        "vertical_velocity": step.lin_vel_b[:, 2] ** 2,
        "roll_pitch_rate": np.sum(step.ang_vel_b[:, :2] ** 2, axis=1),
        "tilt": np.sum(step.gravity_b[:, :2] ** 2, axis=1),
        "height": (step.height - TARGET_HEIGHT) ** 2,
        "torque": np.sum(step.torque**2, axis=1),
        "power": np.sum(np.abs(step.torque * step.joint_vel), axis=1),
        "joint_acceleration": np.sum(step.joint_acc**2, axis=1),
        "action_rate": np.sum((action - previous) ** 2, axis=1),
        "action_jerk": np.sum((action - 2.0 * previous + before) ** 2, axis=1),
        # Touchdowns happen in one step of many: 4 makes their weights comparable to the others.
        "swing_time": 4.0 * np.sum(swing_time * step.touchdown, axis=1) * moving,
        "swing_height": 4.0 * np.sum(swing_height * swing, axis=1) * moving,
        "trot": diagonal * moving,
        "slip": slip,
        "hip_deviation": np.sum(step.joint_deviation[:, ::3] ** 2, axis=1),
        "pose_deviation": np.sum(step.joint_deviation**2, axis=1),
        "stand_deviation": np.sum(np.abs(step.joint_deviation), axis=1) * (1.0 - moving),
        "stand_contact": np.sum(~step.contact, axis=1) * (1.0 - moving),
        "alive": np.ones(len(moving)),
    }
