# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Small robots, and commands for them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

# MuJoCo reads this when it is imported, and one test draws.
os.environ.setdefault("MUJOCO_GL", "egl")

from policy_node.sim.joint_drive import DriveCommand
from policy_node.sim.plant import Plant

ARM = """
<mujoco model="arm">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="0.002" gravity="0 0 0"/>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0" range="-2 2"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="1" contype="0" conaffinity="0"/>
      <body name="lower" pos="0 0 -0.3">
        <joint name="elbow" axis="0 1 0" range="-1 2.5" actuatorfrcrange="-4 3"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.5" contype="0" conaffinity="0"/>
        <body name="hand" pos="0 0 -0.3">
          <joint name="slide" type="slide" axis="0 0 1"/>
          <geom type="sphere" size="0.03" mass="0.1" contype="0" conaffinity="0"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="elbow_servo" joint="elbow" kp="100" forcerange="-6 6"/>
    <motor name="shoulder_motor" joint="shoulder" ctrlrange="-2 2" gear="5"/>
  </actuator>
  <keyframe><key name="bent" qpos="0.4 -0.7 0.01" ctrl="0.1 0.2"/></keyframe>
</mujoco>
"""

# The IMU's site is turned by roll 0.3, pitch -0.2, yaw 1.1 rad: no axis of it lies along one of the base.
FLOATER = """
<mujoco model="floater">
  <compiler angle="radian" eulerseq="zyx"/>
  <option timestep="0.005"/>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 0.1"/>
    <body name="trunk" pos="0 0 0.1">
      <freejoint name="root"/>
      <geom type="box" size="0.2 0.15 0.1" mass="5"/>
      <site name="imu" pos="0.05 0.02 0.04" euler="1.1 -0.2 0.3"/>
      <body name="tail" pos="-0.2 0 0.05">
        <joint name="tail" axis="0 0 1" damping="0.1"/>
        <geom type="capsule" fromto="0 0 0 -0.1 0 0" size="0.01" mass="0.05" contype="0" conaffinity="0"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def arm_file(tmp_path: Path) -> Path:
    path = tmp_path / "arm.xml"
    path.write_text(ARM)
    return path


@pytest.fixture
def floater_file(tmp_path: Path) -> Path:
    path = tmp_path / "floater.xml"
    path.write_text(FLOATER)
    return path


@pytest.fixture
def arm(arm_file: Path) -> Plant:
    return Plant(arm_file, imu_site="")


@pytest.fixture
def floater(floater_file: Path) -> Plant:
    return Plant(floater_file)


@pytest.fixture
def command() -> Callable[..., DriveCommand]:
    """Makes a command for the arm, its joints in another order than the model's."""

    def make(sequence: int = 1, name: tuple[str, ...] = ("slide", "shoulder", "elbow"), valid_for: float = 0.1,
             **fields: Any) -> DriveCommand:
        n = len(name)
        arrays = {key: np.asarray(fields.get(key, np.zeros(n)), np.float64)
                  for key in ("position", "velocity", "effort", "kp", "kd")}
        return DriveCommand(name, sequence=sequence, valid_for=valid_for, **arrays)

    return make
