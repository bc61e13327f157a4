# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Drive one robot in closed loop over a list of commands and a push, and print what it does.

    python examples/quadruped/evaluate.py examples/quadruped/policy/model.pt

The model is the nominal one, there is no noise; `--delay` makes each action act that many control steps late.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from actor import Policy, load_policy
from env import QuadrupedEnv
from randomize import NONE
from robot import CONTROL_DT, LEGS

COMMANDS = (
    (0.0, 0.0, 0.0),
    (0.3, 0.0, 0.0),
    (0.6, 0.0, 0.0),
    (1.0, 0.0, 0.0),
    (-0.5, 0.0, 0.0),
    (0.0, 0.3, 0.0),
    (0.0, -0.3, 0.0),
    (0.0, 0.0, 0.8),
    (0.0, 0.0, -0.8),
    (0.5, 0.2, 0.5),
)
PUSHES = (((0.0, 0.0, 0.0), (0.0, 0.7)), ((0.6, 0.0, 0.0), (0.0, 0.8)), ((0.6, 0.0, 0.0), (-0.8, 0.0)))
SECONDS = 8.0
SETTLE_SECONDS = 3.0


@dataclass(slots=True)
class Recording:
    """One drive, a row for each control step after it settled."""

    velocity: list[npt.NDArray[np.float64]] = field(default_factory=list)
    contact: list[npt.NDArray[np.bool_]] = field(default_factory=list)
    foot_height: list[npt.NDArray[np.float64]] = field(default_factory=list)
    torque: list[npt.NDArray[np.float64]] = field(default_factory=list)
    joint_vel: list[npt.NDArray[np.float64]] = field(default_factory=list)
    tilt: list[float] = field(default_factory=list)
    height: list[float] = field(default_factory=list)
    fell_at: float | None = None


def drive(
    policy: Policy,
    command: tuple[float, float, float],
    *,
    push: tuple[float, float] | None = None,
    delay: float = 0.0,
) -> Recording:
    """Follow one command from standing for `SECONDS`.

    Args:
        policy: From observations to actions.
        command: vx, vy (m/s) and yaw rate (rad/s).
        push: Change of the base's velocity halfway, world frame, m/s.
        delay: Control steps from observation to actuation.

    Returns:
        What was measured; torques in N m, speeds in m/s and rad/s.
    """
    env = QuadrupedEnv(1, randomization=replace(NONE, delay=(delay, delay)), num_threads=1, draw_commands=False)
    env.set_command(command)
    recording = Recording()
    foot_radius = env.model.geom("FR_foot").size[0]
    for tick in range(round(SECONDS / CONTROL_DT)):
        _, _, done, _ = env.step(policy(env.get_observations()["policy"]))
        step = env.last_step
        if bool(done[0]):
            recording.fell_at = tick * CONTROL_DT
            break
        if push and tick == round(SECONDS / 2.0 / CONTROL_DT):
            env.shove(np.array([0]), np.array([push]))
            env.set_command(command)
        if tick * CONTROL_DT >= SETTLE_SECONDS:
            recording.velocity.append(np.append(step.lin_vel_b[0, :2], step.ang_vel_b[0, 2]))
            recording.contact.append(step.contact[0])
            recording.foot_height.append(step.foot_height[0] - foot_radius)
            recording.torque.append(np.abs(step.torque[0]))
            recording.joint_vel.append(np.abs(step.joint_vel[0]))
            recording.tilt.append(float(np.degrees(np.arccos(np.clip(-step.gravity_b[0, 2], -1.0, 1.0)))))
            recording.height.append(float(step.height[0]))
    return recording


def summarize(recording: Recording) -> str:
    """Format one drive as the right-hand columns of the table."""
    if recording.fell_at is not None:
        return f"fell after {recording.fell_at:.1f} s"
    velocity = np.array(recording.velocity)
    contact = np.array(recording.contact)
    lifts = np.sum(contact[:-1] & ~contact[1:], axis=0)
    steps_per_second = lifts.mean() / (len(contact) * CONTROL_DT)
    clearance = np.quantile(np.array(recording.foot_height), 0.99, axis=0)
    diagonal = np.mean((contact[:, 0] == contact[:, 3]) & (contact[:, 1] == contact[:, 2]))
    feet = "/".join(f"{1000.0 * value:3.0f}" for value in clearance)
    mean = velocity.mean(axis=0)
    return (
        f"{mean[0]:+.2f} {mean[1]:+.2f} {mean[2]:+.2f}  {steps_per_second:5.2f}  {contact.mean():5.2f}  "
        f"{diagonal:5.2f}  {feet}  {np.mean(recording.height):6.3f} {np.max(recording.tilt):5.1f}  "
        f"{np.quantile(recording.torque, 0.99):10.1f} {np.max(recording.torque):5.1f}  "
        f"{np.max(recording.joint_vel):5.1f}"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table.

    Args:
        argv: Arguments; None for those of the process.

    Returns:
        0, or 1 if the robot fell.
    """
    parser = argparse.ArgumentParser(description="Evaluate a walking policy of the quadruped in closed loop.")
    parser.add_argument("checkpoint", type=Path, help="rsl_rl checkpoint, with agent.yaml beside it")
    parser.add_argument(
        "--delay", type=float, default=0.0, help="control steps from observation to action (default: 0)"
    )
    args = parser.parse_args(argv)

    torch.set_num_threads(1)
    policy = load_policy(args.checkpoint)
    print(
        f"The last {SECONDS - SETTLE_SECONDS:.0f} s of {SECONDS:.0f} s. Command, reached: m/s, m/s, rad/s.\n"
        f"Steps per second and foot, share of the time on the floor, share of it in diagonal agreement,\n"
        f"foot clearance ({', '.join(LEGS)}) in mm, height in m, largest tilt in degrees, torque in N m,\n"
        f"fastest joint in rad/s.\n"
    )
    print(
        "command            push       reached            steps  duty   trot  clearance        height  tilt "
        "  torque p99, max  speed"
    )
    fell = False
    for command, push in [(command, None) for command in COMMANDS] + list(PUSHES):
        recording = drive(policy, command, push=push, delay=args.delay)
        fell = fell or recording.fell_at is not None
        vx, vy, wz = command
        shove = f"{push[0]:+.1f} {push[1]:+.1f}" if push else "        "
        print(f"{vx:+.2f} {vy:+.2f} {wz:+.2f}  {shove:9s}  {summarize(recording)}")
    return int(fell)


if __name__ == "__main__":
    raise SystemExit(main())
