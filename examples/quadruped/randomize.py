# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Domain randomization: what differs between model and robot is drawn at random, so nothing relies on it."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
import numpy.typing as npt
from robot import load_model


@dataclass(frozen=True, slots=True)
class Randomization:
    """How much is drawn at random. The defaults suit a robot of 15 kg; `NONE` is the nominal model.

    Attributes:
        friction: Range of the friction of feet and body on the floor.
        mass_scale: Range of the factor on the mass of the trunk.
        com_offset: Largest offset of the trunk's centre of mass, along each axis, m.
        gain_scale: Half-width of the factor on kp, around 1.
        damping_scale: Half-width of the factor on kd, around 1.
        imu_tilt: Largest error of the IMU's mount, about each axis, rad: drawn anew with each episode.
        delay: Range of the time from observation to action, in control steps: drawn anew with each episode.
        push_velocity: Largest change of the base's velocity in a push, along x and y, m/s.
        push_interval: Mean time between pushes, s.
        joint_pos_reset: Largest offset of a joint from its default at reset, rad.
        base_height_reset: Largest extra height of the base at reset, m.
        base_vel_reset: Largest component of the base's velocity at reset, m/s and rad/s.
        noise: Half-widths of the uniform noise on each observation term, before its scale.
    """

    friction: tuple[float, float] = (0.4, 1.25)
    mass_scale: tuple[float, float] = (0.85, 1.3)
    com_offset: float = 0.03
    gain_scale: float = 0.15
    damping_scale: float = 0.25
    imu_tilt: float = 0.03
    delay: tuple[float, float] = (0.0, 1.0)
    push_velocity: float = 0.7
    push_interval: float = 6.0
    joint_pos_reset: float = 0.15
    base_height_reset: float = 0.03
    base_vel_reset: float = 0.3
    noise: tuple[tuple[str, float], ...] = (
        ("base_ang_vel", 0.15),
        ("projected_gravity", 0.03),
        ("joint_pos_rel", 0.01),
        ("joint_vel", 0.5),
    )


NONE = Randomization(
    friction=(0.8, 0.8),
    mass_scale=(1.0, 1.0),
    com_offset=0.0,
    gain_scale=0.0,
    damping_scale=0.0,
    imu_tilt=0.0,
    delay=(0.0, 0.0),
    push_velocity=0.0,
    joint_pos_reset=0.0,
    base_height_reset=0.0,
    base_vel_reset=0.0,
    noise=(),
)


def random_models(count: int, randomization: Randomization, rng: np.random.Generator) -> list[mujoco.MjModel]:
    """Compile models with friction, trunk mass, centre of mass and gains drawn at random.

    Args:
        count: Number of models; environments share them, since each takes memory.
        randomization: The ranges.
        rng: Source of randomness.

    Returns:
        The models, all of the same sizes.
    """
    models = []
    for _ in range(count):
        model = load_model()
        trunk = model.body("base").id
        scale = rng.uniform(*randomization.mass_scale)
        model.geom_friction[:, 0] = rng.uniform(*randomization.friction)
        model.body_mass[trunk] *= scale
        model.body_inertia[trunk] *= scale
        model.body_ipos[trunk] += rng.uniform(-randomization.com_offset, randomization.com_offset, 3)
        kp_scale = 1.0 + rng.uniform(-randomization.gain_scale, randomization.gain_scale, model.nu)
        kd_scale = 1.0 + rng.uniform(-randomization.damping_scale, randomization.damping_scale, model.nu)
        model.actuator_gainprm[:, 0] *= kp_scale
        model.actuator_biasprm[:, 1] *= kp_scale
        model.actuator_biasprm[:, 2] *= kd_scale
        models.append(model)
    return models


def small_rotations(count: int, largest: float, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Draw rotations by small angles about each axis.

    Args:
        count: Number of rotations.
        largest: Largest rotation about each axis, rad.
        rng: Source of randomness.

    Returns:
        Rotation matrices, shape (count, 3, 3), from Rodrigues' formula.
    """
    vector = rng.uniform(-largest, largest, (count, 3))
    angle = np.linalg.norm(vector, axis=1)[:, None, None]
    x, y, z = vector.T
    zero = np.zeros(count)
    skew = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=1).reshape(count, 3, 3)
    sine = np.sinc(angle / np.pi)
    versine = 0.5 * np.sinc(angle / (2.0 * np.pi)) ** 2
    return np.asarray(np.eye(3) + sine * skew + versine * (skew @ skew))
