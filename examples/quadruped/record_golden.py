# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Record raw sensor values, observations, actions and targets of a walk, with the environment's own code.

    python examples/quadruped/record_golden.py examples/quadruped/policy/model.pt --out golden.npz

Whoever turns raw values into observations can replay the file. It can only agree if joint orders, quaternion
order, the IMU's mount, scales and signs are right, because the environment computes its observations from the
simulator's true state in the base frame, while the raw values are those of the IMU's sensors.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt
import torch
from actor import Policy, load_policy
from env import QuadrupedEnv
from randomize import NONE
from robot import CONTROL_DT, LEG_JOINTS

TICKS = 100

COMMANDS = ((0.6, 0.15, 0.4), (0.3, -0.25, -0.7), (-0.4, 0.2, 0.5), (0.8, -0.1, -0.3))
"""Velocity commands of the four quarters of the recording; no component is ever zero."""

START = replace(NONE, joint_pos_reset=0.08, base_vel_reset=0.2)
"""The nominal model, off its default pose and at a random heading: a zero cannot show a wrong sign."""


def record(policy: Policy, *, seed: int = 1) -> dict[str, npt.NDArray[Any]]:
    """Drive one robot from a reset.

    Args:
        policy: From observations to raw actions.
        seed: Seed of the initial pose.

    Returns:
        The arrays of golden.npz, one row for each tick. Raw values are float64: `time` (s), `joint_pos` and
        `joint_vel` (rad, rad/s, order `joint_names`, the model's), `imu_quat_xyzw` (orientation of the IMU in
        the world), `imu_ang_vel` (rad/s) and `imu_lin_acc` (m/s^2, +g at rest) in the IMU's frame,
        `velocity_command`. `obs` and `action` (raw) are float32, as the network sees and says them.
        `target_pos` is in rad, in the order of `target_joint_names`.

    Raises:
        RuntimeError: If the robot falls, which makes the recording worthless.
    """
    env = QuadrupedEnv(1, randomization=START, seed=seed, num_threads=1, draw_commands=False)
    model, data = env.model, mujoco.MjData(env.model)
    joints = [j for j in range(model.njnt) if model.jnt_type[j] != mujoco.mjtJoint.mjJNT_FREE]
    rows: dict[str, list[npt.NDArray[Any]]] = {}

    def note(**values: npt.ArrayLike) -> None:
        for name, value in values.items():
            rows.setdefault(name, []).append(np.array(value))

    for tick in range(TICKS):
        command = COMMANDS[tick * len(COMMANDS) // TICKS]
        env.set_command(command)
        # Sensors are evaluated at the very state that the observation is built from.
        mujoco.mj_setState(model, data, env.state[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
        data.ctrl[:] = env.control[0, -1]
        mujoco.mj_forward(model, data)
        obs = env.get_observations()["policy"]
        action = policy(obs)
        note(
            time=tick * CONTROL_DT,
            joint_pos=data.qpos[model.jnt_qposadr[joints]],
            joint_vel=data.qvel[model.jnt_dofadr[joints]],
            imu_quat_xyzw=np.roll(data.sensor("imu_quat").data, -1),
            imu_ang_vel=data.sensor("imu_gyro").data,
            imu_lin_acc=data.sensor("imu_acc").data,
            velocity_command=command,
            obs=obs[0].numpy(),
            action=action[0].numpy(),
        )
        _, _, done, _ = env.step(action)
        if bool(done[0]):
            raise RuntimeError(f"the robot fell at tick {tick} of {TICKS}: record a policy that walks")
        note(target_pos=env.target[0])
    return {
        "format": np.array(1),
        "joint_names": np.array([model.joint(j).name for j in joints]),
        "target_joint_names": np.array(LEG_JOINTS),
        **{name: np.array(values) for name, values in rows.items()},
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Write the recording.

    Args:
        argv: Arguments; None for those of the process.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(description="Record 100 ticks of the quadruped's walk.")
    parser.add_argument("checkpoint", type=Path, help="rsl_rl checkpoint, with agent.yaml beside it")
    parser.add_argument("--out", type=Path, required=True, help="file to write (golden.npz)")
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    np.savez_compressed(args.out, **record(load_policy(args.checkpoint)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
