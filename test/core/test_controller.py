# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from toy import MOUNT_XYZW, WIRE_JOINTS

from policy_node.core.controller import Controller, JointTargets
from policy_node.core.machine import TRANSITIONS, Request, State
from policy_node.core.params import ControllerParams
from policy_node.core.policy import ConstantPolicy
from policy_node.core.runner import PolicyRunner

DT = 0.02
DEFAULT = np.array([0.1, 0.2, 0.3, 0.4])
# The base is level when the IMU is turned by its mount: the orientation of the IMU frame in the world.
LEVEL = np.array(MOUNT_XYZW) / np.linalg.norm(MOUNT_XYZW)


class Robot:
    """A plant that follows its targets, and the clock."""

    def __init__(
        self, make_runner: Callable[..., PolicyRunner], start: Any = (0.0, 0.0, 0.0, 0.0), **options: Any
    ) -> None:
        params = options.pop("params", ControllerParams())
        auto_run = options.pop("auto_run", False)
        self.controller = Controller(make_runner(params=params, **options), params, auto_run=auto_run)
        self.pos, self.vel, self.quat, self.now = np.array(start, float), np.zeros(4), LEVEL.copy(), 0.0
        self.sends = True
        self.commands: list[JointTargets] = []
        self.controller.request(Request.ACTIVATE, 0.0)

    def tick(self) -> JointTargets | None:
        self.now += DT
        if self.sends:
            order = [3, 1, 2, 0, 0]  # d, b, c, extra, a
            self.controller.inputs.set_joint_states(WIRE_JOINTS, self.pos[order], self.vel[order], self.now)
            self.controller.inputs.set_imu(self.quat.tolist(), (0.0, 0.0, 0.0), self.now, "imu_link")
        command = self.controller.tick(self.now)
        if command is not None:
            assert all(np.isfinite(getattr(command, name)).all() for name in ("position", "velocity", "kp", "kd"))
            self.commands.append(
                JointTargets(
                    *(getattr(command, name).copy() for name in ("position", "velocity", "effort", "kp", "kd"))
                )
            )
            self.pos = np.where(command.kp > 0.0, command.position, self.pos)
        return command

    def until(self, state: State, limit: int = 2000) -> None:
        for _ in range(limit):
            self.tick()
            if self.controller.state is state:
                return
        raise AssertionError(f"never {state}: {self.controller.machine.reason}")

    def run(self) -> None:
        self.until(State.HOLDING)
        for _ in range(200):
            self.tick()
        assert self.controller.request(Request.RUN, self.now) is None
        self.tick()
        assert self.controller.state is State.RUNNING


def test_nothing_is_commanded_until_all_inputs_are_fresh(make_runner: Callable[..., PolicyRunner]) -> None:
    robot = Robot(make_runner)
    robot.sends = False
    assert all(robot.tick() is None for _ in range(100))
    assert robot.controller.machine.reason == (
        "waits for joint_states: no message has come; imu/data: no message has come"
    )
    robot.sends = True
    robot.until(State.HOLDING)


def test_the_way_to_the_entry_pose_is_slow_and_starts_where_the_joints_are(
    make_runner: Callable[..., PolicyRunner],
) -> None:
    robot = Robot(make_runner, start=[-0.7, 0.9, -0.5, 0.4], params=ControllerParams(hold_speed=0.5))
    robot.until(State.HOLDING)
    for _ in range(300):
        robot.tick()
    path = np.array([[-0.7, 0.9, -0.5, 0.4], *(command.position for command in robot.commands)])
    assert np.abs(np.diff(path, axis=0)).max() <= 0.5 * DT + 1e-9
    assert path[-1].tolist() == DEFAULT.tolist()
    kp = np.array([command.kp for command in robot.commands])
    assert kp[0].max() < 0.15 * 40.0
    assert kp[-1].tolist() == [10.0, 20.0, 30.0, 40.0]


def test_the_policy_runs_only_on_request_after_the_entry_pose(make_runner: Callable[..., PolicyRunner]) -> None:
    robot = Robot(make_runner, start=[-0.7, 0.9, -0.5, 0.4])
    robot.until(State.HOLDING)
    refusal = robot.controller.request(Request.RUN, robot.now)
    assert refusal is not None
    assert "rad from its entry pose" in refusal
    for _ in range(300):
        robot.tick()
    assert robot.controller.state is State.HOLDING
    assert robot.controller.request(Request.RUN, robot.now) is None


def test_first_targets_are_blended_from_the_held_pose(make_runner: Callable[..., PolicyRunner]) -> None:
    # The constant action asks for a = 0.85, 0.75 away from where it is held.
    robot = Robot(make_runner, action=[0.0, 3.0, 0.0], params=ControllerParams(blend_time=0.2))
    robot.run()
    count = len(robot.commands)
    for _ in range(30):
        robot.tick()
    a = np.array([command.position[0] for command in robot.commands[count - 1 :]])
    assert a[:3].tolist() == pytest.approx([0.175, 0.25, 0.325])  # ten ticks of 0.075 rad
    assert a[-1] == pytest.approx(0.85)
    assert np.diff(a).max() <= 0.2


def test_holding_a_running_robot_keeps_its_gains_and_starts_from_its_targets(
    make_runner: Callable[..., PolicyRunner],
) -> None:
    robot = Robot(make_runner, action=[0.0, 3.0, 0.0])  # a is asked to 0.85, 0.75 from its entry pose
    robot.run()
    for _ in range(30):
        robot.tick()
    robot.pos[0] -= 0.3  # the joint sags under its load
    assert robot.controller.request(Request.HOLD, robot.now) is None
    command = robot.tick()
    assert command is not None
    assert command.kp.tolist() == [10.0, 20.0, 30.0, 40.0]
    assert command.position[0] == pytest.approx(0.85 - 0.8 * DT)  # hold_speed is 0.8 rad/s


def test_undriven_joints_stay_at_their_default_with_their_gains(make_runner: Callable[..., PolicyRunner]) -> None:
    robot = Robot(make_runner, action=[0.5, -0.5, 0.3])
    robot.run()
    count = len(robot.commands)
    for _ in range(50):
        robot.tick()
    for command in robot.commands[count:]:
        assert (command.position[3], command.kp[3], command.kd[3]) == (0.4, 40.0, 4.0)


def assert_damping(command: JointTargets | None) -> None:
    assert command is not None
    assert command.kp.tolist() == [0.0] * 4
    assert command.velocity.tolist() == [0.0] * 4
    assert (command.kd > 0.0).all()
    assert np.isfinite(command.position).all()


@pytest.mark.parametrize("state", [State.HOLDING, State.RUNNING])
def test_silence_is_coasted_and_then_damped(make_runner: Callable[..., PolicyRunner], state: State) -> None:
    robot = Robot(make_runner)
    robot.run() if state is State.RUNNING else robot.until(state)
    robot.sends = False
    coasted = 0
    while robot.controller.state is state:
        robot.tick()
        coasted += 1
    assert coasted in (5, 6)  # input_timeout 0.1 s is five ticks, and the sixth is beyond it
    assert_damping(robot.commands[-1])
    assert "input_stale" in robot.controller.machine.reason
    robot.sends = True
    for _ in range(100):
        assert_damping(robot.tick())
    assert robot.controller.request(Request.HOLD, robot.now) is None


@pytest.mark.parametrize("fault", ["nan", "zero_quaternion", "missing_joint"])
def test_a_sample_that_cannot_be_right_is_damped_at_once(make_runner: Callable[..., PolicyRunner], fault: str) -> None:
    robot = Robot(make_runner)
    robot.run()
    if fault == "nan":
        robot.vel[1] = np.nan
    elif fault == "zero_quaternion":
        robot.quat[:] = 0.0
    else:
        robot.controller.inputs.set_joint_states(["a", "b"], np.zeros(2), np.zeros(2), robot.now)
        robot.sends = False
    assert_damping(robot.tick())
    assert robot.controller.state is State.DAMPING
    assert "input_invalid" in robot.controller.machine.reason


def test_after_a_bad_sample_the_policy_starts_fresh(make_runner: Callable[..., PolicyRunner]) -> None:
    robot = Robot(make_runner, action=[0.1, 0.2, 0.3])
    robot.run()
    robot.vel[:] = np.nan
    robot.tick()
    robot.vel[:] = 0.0
    robot.tick()
    assert robot.controller.request(Request.HOLD, robot.now) is None
    for _ in range(300):
        robot.tick()
    assert robot.controller.request(Request.RUN, robot.now) is None
    robot.tick()
    assert robot.controller.runner.obs[15:].tolist() == [0.0, 0.0, 0.0]
    assert np.isfinite(robot.controller.runner.obs).all()


class Failing(ConstantPolicy):
    """A policy that goes wrong at one tick."""

    def __init__(self, at: int, how: str) -> None:
        super().__init__(18, [0.0, 0.0, 0.0])
        self.left, self.how = at, how

    def infer(self, obs: Any) -> Any:
        self.left -= 1
        if self.left == 0 and self.how == "raise":
            raise RuntimeError("no device")
        return np.array([np.nan, 0.0, np.inf], np.float32) if self.left == 0 else super().infer(obs)


@pytest.mark.filterwarnings("ignore:invalid value encountered in dot")
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("nan", "action_not_finite: the policy's output holds NaN or infinity (c = nan, b = inf)"),
        ("raise", "inference_failed: running the graph raised an error (RuntimeError: no device)"),
    ],
)
def test_a_policy_that_goes_wrong_is_damped_in_the_same_tick(
    make_runner: Callable[..., PolicyRunner], how: str, said: str
) -> None:
    robot = Robot(make_runner, policy=Failing(5, how))
    robot.run()
    for _ in range(5):
        robot.tick()
    assert robot.controller.state is State.DAMPING
    assert said in robot.controller.machine.reason
    assert_damping(robot.commands[-1])


def test_a_tilted_robot_is_damped_after_the_hold_time(make_runner: Callable[..., PolicyRunner]) -> None:
    robot = Robot(make_runner)
    robot.run()
    robot.quat[:] = [0.0, 0.0, 0.0, 1.0]  # the IMU level: the base, turned by the inverse mount, is tilted by 0.36 rad
    for _ in range(20):
        robot.tick()
    assert robot.controller.state is State.RUNNING
    robot.quat[:] = [1.0, 0.0, 0.0, 0.0]  # upside down
    ticks = 0
    while robot.controller.state is State.RUNNING:
        robot.tick()
        ticks += 1
    assert ticks == pytest.approx(0.1 / DT, abs=1)
    assert "tilt" in robot.controller.machine.reason


def test_a_long_gap_between_ticks_is_damped(make_runner: Callable[..., PolicyRunner]) -> None:
    robot = Robot(make_runner)
    robot.run()
    robot.now += 1.0
    assert_damping(robot.tick())
    assert "tick_gap" in robot.controller.machine.reason


def test_an_estop_is_latched_until_a_reset(make_runner: Callable[..., PolicyRunner]) -> None:
    robot = Robot(make_runner)
    robot.run()
    assert robot.controller.request(Request.ESTOP, robot.now) is None
    assert_damping(robot.tick())
    for request in (Request.HOLD, Request.RUN, Request.DAMP):
        refusal = robot.controller.request(request, robot.now)
        assert refusal is not None
        assert "possible: deactivate, reset" in refusal
    assert robot.controller.request(Request.RESET, robot.now) is None
    assert robot.controller.state is State.DAMPING


def test_deactivating_does_not_get_round_an_estop(make_runner: Callable[..., PolicyRunner]) -> None:
    robot = Robot(make_runner)
    robot.run()
    assert robot.controller.request(Request.ESTOP, robot.now) is None
    assert robot.controller.request(Request.DEACTIVATE, robot.now) is None
    assert robot.controller.request(Request.ACTIVATE, robot.now) is None
    for _ in range(50):
        assert_damping(robot.tick())
    assert robot.controller.state is State.ESTOPPED
    assert robot.controller.request(Request.RESET, robot.now) is None
    assert robot.controller.request(Request.HOLD, robot.now) is None


def test_auto_run_starts_the_policy_at_the_entry_pose(make_runner: Callable[..., PolicyRunner]) -> None:
    robot = Robot(make_runner, auto_run=True)
    robot.until(State.RUNNING)


def test_a_robot_that_reached_its_entry_pose_is_held_through_a_bump(make_runner: Callable[..., PolicyRunner]) -> None:
    robot = Robot(make_runner, params=ControllerParams(hold_timeout=5.0))
    robot.until(State.HOLDING)
    for _ in range(500):
        robot.tick()
    robot.vel[1] = 3.0
    robot.pos[2] += 0.5
    robot.tick()
    assert robot.controller.state is State.HOLDING
    assert robot.controller.request(Request.RUN, robot.now) is not None
    robot.vel[1] = 0.0
    for _ in range(100):
        robot.tick()
    assert robot.controller.request(Request.RUN, robot.now) is None


def test_run_is_refused_while_the_gains_still_rise(make_runner: Callable[..., PolicyRunner]) -> None:
    robot = Robot(make_runner, start=DEFAULT, params=ControllerParams(hold_gain_time=2.0))
    robot.until(State.HOLDING)
    robot.tick()
    assert robot.controller.request(Request.RUN, robot.now) == "not ready to run: on the way to the entry pose"


def test_holding_is_bounded_like_running(make_runner: Callable[..., PolicyRunner]) -> None:
    # Joint a has kp 10 and effort 100: a twentieth of it is 5 N m, half a radian of kp.
    robot = Robot(make_runner, start=[-0.9, 0.2, 0.3, 0.4], params=ControllerParams(torque_factor=0.05))
    robot.until(State.HOLDING)
    for _ in range(200):
        robot.pos[0] = -0.9
        command = robot.tick()
        assert command is not None
        assert abs(10.0 * (command.position[0] + 0.9)) <= 5.0 + 1e-9
    assert robot.controller.clamp_count[0] > 0


def test_a_tilted_robot_is_not_held(make_runner: Callable[..., PolicyRunner]) -> None:
    robot = Robot(make_runner)
    robot.until(State.HOLDING)
    robot.quat[:] = [1.0, 0.0, 0.0, 0.0]
    for _ in range(20):
        robot.tick()
    assert robot.controller.state is State.DAMPING
    assert "tilt" in robot.controller.machine.reason


@pytest.mark.parametrize("state", [State.HOLDING, State.RUNNING])
def test_time_that_runs_backwards_is_damped(make_runner: Callable[..., PolicyRunner], state: State) -> None:
    robot = Robot(make_runner)
    robot.run() if state is State.RUNNING else robot.until(state)
    robot.now -= 0.5
    assert_damping(robot.tick())
    assert "clock_jumped" in robot.controller.machine.reason
    robot.sends = False
    for _ in range(20):
        robot.tick()
    refusal = robot.controller.request(Request.HOLD, robot.now)
    assert refusal is not None
    assert "is stale" in refusal


def test_a_blocked_joint_is_named_and_damped(make_runner: Callable[..., PolicyRunner]) -> None:
    robot = Robot(make_runner, start=[-0.9, 0.2, 0.3, 0.4], params=ControllerParams(hold_timeout=5.0))
    robot.until(State.HOLDING)
    while robot.controller.state is State.HOLDING:
        robot.pos[0] = -0.9
        robot.tick()
    assert "entry_timeout" in robot.controller.machine.reason
    assert "a is 1.00 rad from its entry pose" in robot.controller.machine.reason


@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("request_", list(Request))
def test_every_state_follows_the_table_or_refuses_with_what_is_possible(state: State, request_: Request) -> None:
    from policy_node.core.machine import StateMachine

    machine = StateMachine(state=state)
    refusal = machine.request(request_, 1.0, "test")
    expected = TRANSITIONS.get((state, request_))
    assert machine.state is (expected or state)
    assert (refusal is None) == (expected is not None)
    if refusal is not None:
        assert all(asked.value in refusal for (known, asked) in TRANSITIONS if known is state)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), 5.0])
def test_a_timeout_that_guards_nothing_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="parameter input_timeout is"):
        ControllerParams(input_timeout=value)
