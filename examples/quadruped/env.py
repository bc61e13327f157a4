# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Many quadrupeds that follow velocity commands, simulated together on the CPU with `mujoco.rollout`."""

from __future__ import annotations

from dataclasses import asdict

import mujoco
import numpy as np
import numpy.typing as npt
import torch
from mujoco import rollout
from randomize import Randomization, random_models, small_rotations
from rewards import FALL_PENALTY, WEIGHTS, Step, is_moving, reward_terms, weights
from robot import (
    ACTION_CLIP,
    ACTION_SCALE,
    COMMAND_RANGES,
    CONTROL_DT,
    DECIMATION,
    LEG_JOINTS,
    LEGS,
    OBSERVATION_SCALE,
    home_state,
    joint_addresses,
    load_model,
    rotate_inverse,
)
from rsl_rl.env import VecEnv
from tensordict import TensorDict

Array = npt.NDArray[np.float64]

EPISODE_SECONDS = 20.0
COMMAND_SECONDS = 4.0
STAND_FRACTION = 0.15
SINGLE_AXIS_FRACTION = 0.45
SLOW_FRACTION = 0.3
SLOW_SCALE = 0.35
MODEL_POOL = 64


class QuadrupedEnv(VecEnv):
    """Velocity tracking on flat ground as a vectorised environment of rsl_rl.

    All arrays of joints are in the order of `LEG_JOINTS`, arrays of feet in the order of `LEGS`.

    Attributes:
        state: Full physics states, shape (num_envs, state size): time, qpos, qvel.
        command: Commanded vx, vy (m/s) and yaw rate (rad/s), base frame, shape (num_envs, 3).
        target: Joint targets of the last action, rad, shape (num_envs, 12).
        last_step: What was measured in the last step, before any reset.
    """

    def __init__(
        self,
        num_envs: int = 512,
        *,
        randomization: Randomization | None = None,
        seed: int = 1,
        num_threads: int = 2,
        draw_commands: bool = True,
    ) -> None:
        """Build the environments and reset all of them.

        Args:
            num_envs: Number of robots.
            randomization: What to draw at random; None for the ranges that a robot needs.
            seed: Seed of everything random here.
            num_threads: Threads that step the physics.
            draw_commands: Whether commands are drawn at random; otherwise `set_command` says what to do.
        """
        self.randomization = randomization or Randomization()
        self.cfg = {"randomization": asdict(self.randomization), "reward_weights": WEIGHTS}
        self.num_envs = num_envs
        self.num_actions = len(LEG_JOINTS)
        self.device = "cpu"
        self.max_episode_length = int(EPISODE_SECONDS / CONTROL_DT)
        self.episode_length_buf = torch.zeros(num_envs, dtype=torch.long)
        self.draw_commands = draw_commands
        self._steps = 0
        self._rng = np.random.default_rng(seed)

        self.model = load_model()
        pool = random_models(min(MODEL_POOL, num_envs), self.randomization, self._rng)
        self.models = [pool[i % len(pool)] for i in range(num_envs)]
        self._rollout = rollout.Rollout(nthread=num_threads)
        self._datas = [mujoco.MjData(self.model) for _ in range(num_threads)]

        qpos, qvel, self._actuator = joint_addresses(self.model)
        # The full physics state is time, qpos, qvel.
        self._joint_pos_at = 1 + qpos
        self._joint_vel_at = 1 + self.model.nq + qvel
        self._base_vel_at = 1 + self.model.nq
        self._home = home_state(self.model)
        self.default_joint_pos = self._home[self._joint_pos_at]
        joint_range = np.array([self.model.joint(name).range for name in LEG_JOINTS])
        self.target_lower, self.target_upper = joint_range.T
        self._kp = np.array([m.actuator_gainprm[self._actuator, 0] for m in self.models])
        self._kd = -np.array([m.actuator_biasprm[self._actuator, 2] for m in self.models])
        self._torque_limit = self.model.actuator_forcerange[self._actuator, 1]
        self._touch_at = np.array([self.model.sensor(f"{leg}_touch").adr[0] for leg in LEGS])
        foot_pos = [self.model.sensor(f"{leg}_foot_pos").adr[0] for leg in LEGS]
        foot_vel = [self.model.sensor(f"{leg}_foot_vel").adr[0] for leg in LEGS]
        self._foot_pos_at = np.array(foot_pos)[:, None] + np.arange(3)
        self._foot_vel_at = np.array(foot_vel)[:, None] + np.arange(3)
        self._noise = np.zeros(33)
        terms = {
            "base_ang_vel": (0, 3),
            "projected_gravity": (3, 6),
            "joint_pos_rel": (9, 21),
            "joint_vel": (21, 33),
        }
        for name, width in self.randomization.noise:
            self._noise[slice(*terms[name])] = width

        n = num_envs
        self.state = np.tile(self._home, (n, 1))
        self.control = np.tile(self.model.key("home").ctrl, (n, DECIMATION, 1))
        self._states = np.zeros((n, DECIMATION, len(self._home)))
        self._sensors = np.zeros((n, DECIMATION, self.model.nsensordata))
        self.command = np.zeros((n, 3))
        self.target = np.zeros((n, 12))
        self._action = np.zeros((3, n, 12))  # This step's, the last one's, the one before.
        self._raw_action = np.zeros((n, 12))
        self._last_joint_vel = np.zeros((n, 12))
        self._contact = np.ones((n, 4), dtype=bool)
        self._swing_time = np.zeros((n, 4))
        self._swing_peak = np.zeros((n, 4))
        self._delay = np.zeros(n, dtype=int)
        self._imu_tilt = np.tile(np.eye(3), (n, 1, 1))
        self._metrics: dict[str, list[float]] = {}
        self._reset(np.arange(n))
        self._observe()

    def set_command(self, command: npt.ArrayLike) -> None:
        """Command all robots, and show it in the current observations.

        Args:
            command: vx, vy (m/s) and yaw rate (rad/s), shape (3,) or (num_envs, 3).
        """
        self.command[:] = command
        self._observe()

    def shove(self, idx: npt.NDArray[np.intp], velocity: Array) -> None:
        """Change the horizontal velocity of some robots' bases.

        Args:
            idx: Which robots.
            velocity: What to add to vx, vy, world frame, m/s, shape (len(idx), 2).
        """
        self.state[idx, self._base_vel_at : self._base_vel_at + 2] += velocity

    def get_observations(self) -> TensorDict:
        """Return groups `policy`, shape (num_envs, 45), and `privileged`, shape (num_envs, 58), float32."""
        return self._observations

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, object]]:
        """Advance every robot by one control step.

        Args:
            actions: Raw actions, shape (num_envs, 12). Clipped here, scaled, added to the default pose, and
                clipped to the joints' position limits.

        Returns:
            Observations, rewards and dones of shape (num_envs,), and extras with `time_outs`. Robots that are
            done are reset, and the observations are those after the reset.
        """
        self._raw_action = actions.numpy().astype(np.float64)
        action = np.clip(self._raw_action, -ACTION_CLIP, ACTION_CLIP)
        self._action = np.stack([action, self._action[0], self._action[1]])
        target = np.clip(self.default_joint_pos + ACTION_SCALE * action, self.target_lower, self.target_upper)
        # A delayed command means that the old target still acts in the first physics steps.
        late = np.arange(DECIMATION)[None, :, None] < self._delay[:, None, None]
        self.control[:, :, self._actuator] = np.where(late, self.target[:, None], target[:, None])
        self.target = target
        self._rollout.rollout(
            self.models, self._datas, self.state, self.control, state=self._states, sensordata=self._sensors
        )
        self.state = self._states[:, -1].copy()
        self.episode_length_buf += 1
        self._push_at_random()

        step = self.last_step = self._measure()
        fell = (step.gravity_b[:, 2] > -0.5) | (step.height < 0.15) | ~np.isfinite(self.state).all(axis=1)
        reward = -FALL_PENALTY * fell
        terms, weight = reward_terms(step, self._steps), weights(self._steps)
        self._steps += 1
        for name, value in terms.items():
            reward = reward + weight[name] * CONTROL_DT * value
        self._collect_metrics(step, fell)
        self._swing_time[step.contact] = 0.0
        self._swing_peak[step.contact] = 0.0
        self._contact = step.contact
        self._last_joint_vel = step.joint_vel

        episode_time = self.episode_length_buf.numpy()
        timed_out = (episode_time >= self.max_episode_length) & ~fell
        done = fell | timed_out
        if self.draw_commands:
            self._draw_commands(np.nonzero(episode_time % int(COMMAND_SECONDS / CONTROL_DT) == 0)[0])
        self._reset(np.nonzero(done)[0])
        self._observe()
        return (
            self._observations,
            torch.as_tensor(reward, dtype=torch.float32),
            torch.as_tensor(done, dtype=torch.long),
            {"time_outs": torch.as_tensor(timed_out)},
        )

    def pop_metrics(self) -> dict[str, float]:
        """Return what happened since the last call.

        Returns:
            `lin_vel_error` (m/s), `yaw_rate_error` (rad/s): mean absolute; `falls`: per robot and minute.
        """
        metrics = {name: float(np.mean(values)) for name, values in self._metrics.items()}
        self._metrics.clear()
        return metrics

    def _reset(self, idx: npt.NDArray[np.intp]) -> None:
        """Put some robots near the home pose, and draw anew what changes between episodes."""
        n, rng, ranges = len(idx), self._rng, self.randomization
        if n == 0:
            return
        state = np.tile(self._home, (n, 1))
        if ranges.base_vel_reset > 0.0:
            yaw = rng.uniform(-np.pi, np.pi, n)
            state[:, 4], state[:, 7] = np.cos(yaw / 2.0), np.sin(yaw / 2.0)
        state[:, 3] += rng.uniform(0.0, ranges.base_height_reset, n)
        state[:, self._joint_pos_at] += rng.uniform(-ranges.joint_pos_reset, ranges.joint_pos_reset, (n, 12))
        v = self._base_vel_at
        state[:, v : v + 6] = rng.uniform(-ranges.base_vel_reset, ranges.base_vel_reset, (n, 6))
        self.state[idx] = state
        self._action[:, idx] = 0.0
        self._raw_action[idx] = 0.0
        self.target[idx] = self.default_joint_pos
        self._last_joint_vel[idx] = 0.0
        self._contact[idx] = True
        self._swing_time[idx] = 0.0
        self._swing_peak[idx] = 0.0
        shortest, longest = (round(delay * DECIMATION) for delay in ranges.delay)
        self._delay[idx] = rng.integers(shortest, longest + 1, n)
        self._imu_tilt[idx] = small_rotations(n, ranges.imu_tilt, rng)
        self.episode_length_buf[torch.as_tensor(idx)] = 0
        if self.draw_commands:
            self._draw_commands(idx)

    def _draw_commands(self, idx: npt.NDArray[np.intp]) -> None:
        """Draw velocity commands: mixed ones, ones along a single axis, slow ones, and zero."""
        n, rng = len(idx), self._rng
        command = rng.uniform(COMMAND_RANGES[:, 0], COMMAND_RANGES[:, 1], (n, 3))
        kind = rng.random(n)
        single = kind < SINGLE_AXIS_FRACTION
        command[single] *= np.eye(3)[rng.integers(0, 3, n)][single]
        # Without them the robot learns to stand still when it is asked to walk slowly.
        command[rng.random(n) < SLOW_FRACTION] *= SLOW_SCALE
        stand = kind > 1.0 - STAND_FRACTION
        # Small commands mean standing: a robot that shuffles after a few mm/s looks broken.
        command[stand | ~is_moving(command)] = 0.0
        self.command[idx] = command

    def _push_at_random(self) -> None:
        """Change the base's horizontal velocity of a few robots, as a shove does."""
        ranges = self.randomization
        if ranges.push_velocity > 0.0:
            pushed = np.nonzero(self._rng.random(self.num_envs) < CONTROL_DT / ranges.push_interval)[0]
            most = ranges.push_velocity
            self.shove(pushed, self._rng.uniform(-most, most, (len(pushed), 2)))

    def _base(self) -> tuple[Array, Array, Array]:
        """Return linear and angular velocity and gravity's direction, base frame, each of shape (n, 3)."""
        quat, v = self.state[:, 4:8], self._base_vel_at
        down = np.tile([0.0, 0.0, -1.0], (self.num_envs, 1))
        # MuJoCo gives a free joint's linear velocity in the world and its angular velocity in the body.
        return (
            rotate_inverse(quat, self.state[:, v : v + 3]),
            self.state[:, v + 3 : v + 6],
            rotate_inverse(quat, down),
        )

    def _measure(self) -> Step:
        """Collect what the rewards need, and advance the clocks of the feet."""
        lin_vel_b, ang_vel_b, gravity_b = self._base()
        sensors = self._sensors[:, -1]
        contact = sensors[:, self._touch_at] > 1.0
        touchdown = contact & ~self._contact
        foot_height = sensors[:, self._foot_pos_at[:, 2]]
        self._swing_time += CONTROL_DT
        self._swing_peak = np.maximum(self._swing_peak, foot_height)
        joint_pos = self.state[:, self._joint_pos_at]
        joint_vel = self.state[:, self._joint_vel_at]
        torque = self._kp * (self.control[:, -1, self._actuator] - joint_pos) - self._kd * joint_vel
        return Step(
            command=self.command,
            lin_vel_b=lin_vel_b,
            ang_vel_b=ang_vel_b,
            gravity_b=gravity_b,
            height=self.state[:, 3],
            joint_deviation=joint_pos - self.default_joint_pos,
            joint_vel=joint_vel,
            joint_acc=(joint_vel - self._last_joint_vel) / CONTROL_DT,
            torque=np.clip(torque, -self._torque_limit, self._torque_limit),
            action=(self._action[0], self._action[1], self._action[2]),
            contact=contact,
            foot_height=foot_height,
            touchdown=touchdown,
            swing_time=self._swing_time,
            swing_peak=self._swing_peak,
            foot_vel_w=sensors[:, self._foot_vel_at],
        )

    def _observe(self) -> None:
        """Build the observations from the true state, the error of the IMU's mount, and noise."""
        lin_vel_b, ang_vel_b, gravity_b = self._base()
        frame = np.concatenate(
            [
                np.einsum("nij,nj->ni", self._imu_tilt, ang_vel_b),
                np.einsum("nij,nj->ni", self._imu_tilt, gravity_b),
                self.command,
                self.state[:, self._joint_pos_at] - self.default_joint_pos,
                self.state[:, self._joint_vel_at],
            ],
            axis=1,
        )
        noise = self._rng.uniform(-1.0, 1.0, frame.shape) * self._noise
        policy = np.concatenate([frame + noise, self._raw_action], axis=1) * OBSERVATION_SCALE
        exact = np.concatenate([frame, self._raw_action], axis=1) * OBSERVATION_SCALE
        # The critic sees the truth, and what no sensor tells.
        privileged = np.concatenate(
            [
                exact,
                lin_vel_b,
                self.state[:, 3:4],
                self._contact,
                self._swing_time,
                self._delay[:, None] / DECIMATION,
            ],
            axis=1,
        )
        groups = {"policy": policy, "privileged": privileged}
        self._observations = TensorDict(
            {name: torch.as_tensor(value, dtype=torch.float32) for name, value in groups.items()},
            batch_size=[self.num_envs],
        )

    def _collect_metrics(self, step: Step, fell: npt.NDArray[np.bool_]) -> None:
        """Note tracking errors and falls, from one second after a reset on."""
        settled = self.episode_length_buf.numpy() > 1.0 / CONTROL_DT
        if settled.any():
            velocity = np.column_stack([step.lin_vel_b[:, :2], step.ang_vel_b[:, 2]])
            error = np.abs(step.command - velocity)[settled]
            self._metrics.setdefault("lin_vel_error", []).append(float(error[:, :2].mean()))
            self._metrics.setdefault("yaw_rate_error", []).append(float(error[:, 2].mean()))
        self._metrics.setdefault("falls", []).append(float(fell.mean()) * 60.0 / CONTROL_DT)
