# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The deploy node as a process, with a robot in the test's own process."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import rclpy
from lifecycle_msgs.srv import ChangeState
from processes import EXAMPLE, Process, bundle, deploy_arguments, fresh_domain, running, variant, without_action
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from robot import FakeRobot
from sensor_msgs.msg import JointState
from spinning import Spinner
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from policy_node.msg import JointCommand
from policy_node.ros.deploy_node import SUCCESS, DeployNode
from policy_node.spec.bundle import read_bundle
from policy_node.spec.robot import load_robot

__all__ = ["bundle"]


@pytest.fixture(scope="module")
def still(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that asks for the default pose, so that a robot without physics may run it."""
    return variant(bundle, tmp_path_factory.mktemp("bundle") / "still", change_model=without_action)


@contextmanager
def deployed(
    still: Path, tmp_path: Path, robot: dict[str, Any] | None = None, **parameters: Any
) -> Iterator[tuple[Process, FakeRobot]]:
    domain = fresh_domain()
    # On a busy machine even a healthy robot's samples come late; what is tested here is not how late.
    parameters = {"input_timeout": 0.5, "max_tick_gap": 1.0, **parameters}
    with (
        FakeRobot(read_bundle(still).spec, domain, **(robot or {})) as fake,
        running("deploy", deploy_arguments(still, **parameters), domain, tmp_path / "deploy.log") as node,
    ):
        yield node, fake
        assert "Traceback" not in node.text, node.text


def holding(fake: FakeRobot) -> None:
    fake.wait_for(lambda: fake.state == "HOLDING" and "ask for run" in fake.status.reason)


def started(fake: FakeRobot) -> None:
    holding(fake)
    answer = fake.ask("run")
    assert answer.success, answer.message
    fake.wait_for(lambda: fake.state == "RUNNING")


def is_damping(command: JointCommand) -> bool:
    numbers = [*command.position, *command.velocity, *command.effort, *command.kd]
    assert all(math.isfinite(number) for number in numbers)
    return not any(command.kp) and not any(command.velocity) and all(kd > 0.0 for kd in command.kd)


def test_it_holds_then_runs_on_request_and_commands_every_joint(still: Path, tmp_path: Path) -> None:
    with deployed(still, tmp_path) as (_, fake):
        started(fake)
        count = len(fake.commands)
        fake.wait_for(lambda: len(fake.commands) > count + 50)
        assert fake.states[-3:] == ["WAITING", "HOLDING", "RUNNING"]
        spec = read_bundle(still).spec
        robot = load_robot(Path(__file__).resolve().parents[2] / "config" / "robots" / "quadruped.yaml")
        entity = spec.entities["robot"]
        for number, command in enumerate(fake.commands):
            assert command.name == robot.command_joints
            assert command.sequence == number + 1
            assert {len(getattr(command, key)) for key in ("position", "velocity", "effort", "kp", "kd")} == {14}
            assert command.valid_for == pytest.approx(0.1)
        last = fake.commands[-1]
        for joint, default, kp in zip(entity.dofs_name, entity.default_dofs_pos, entity.kp):
            place = last.name.index(joint)
            assert last.position[place] == pytest.approx(default, abs=1e-6)
            assert last.kp[place] == kp
        first = fake.commands[0]
        assert max(first.kp) < 0.2 * max(entity.kp)
        assert fake.status.golden_source == ""
        assert fake.status.provider == "cpu"
        assert list(fake.status.input)[:2] == ["joint_states", "imu/data"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_ends_in_a_damping_command_and_exit_code_0(still: Path, tmp_path: Path, number: int) -> None:
    with deployed(still, tmp_path) as (node, fake):
        started(fake)
        assert node.end(number) == 0, node.text
        fake.wait_for(lambda: is_damping(fake.commands[-1]))
        assert f"sent a damping command: {signal.Signals(number).name}" in node.text
        fake.wait_for(lambda: fake.state == "INACTIVE")
        assert signal.Signals(number).name in fake.status.reason


def test_silent_sensors_are_damped_and_stay_damped_until_hold_is_asked_for(still: Path, tmp_path: Path) -> None:
    with deployed(still, tmp_path, input_timeout=0.2) as (_, fake):
        started(fake)
        fake.send_imu = False
        fake.wait_for(lambda: is_damping(fake.commands[-1]) and fake.state == "DAMPING")
        assert "imu/data" in fake.status.reason
        assert "input_stale" in fake.status.reason
        refused = fake.ask("hold")
        assert not refused.success
        assert "imu/data is stale" in refused.message
        fake.send_imu = True
        count = len(fake.commands)
        fake.wait_for(lambda: len(fake.commands) > count + 30)
        assert all(is_damping(command) for command in fake.commands[count:])
        assert fake.ask("hold").success
        holding(fake)


def test_nan_in_a_sensor_is_damped_and_never_passed_on(still: Path, tmp_path: Path) -> None:
    with deployed(still, tmp_path) as (_, fake):
        started(fake)

        def spoil(message: JointState) -> None:
            message.velocity[3] = math.nan

        fake.spoil = spoil
        fake.wait_for(lambda: fake.state == "DAMPING")
        assert f"velocity of {fake.names[3]} is nan" in fake.status.reason
        fake.wait_for(lambda: is_damping(fake.commands[-1]))
        assert all(math.isfinite(value) for command in fake.commands for value in command.position)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda message: message.velocity.__delitem__(slice(None)), "0 velocities"),
        (lambda message: message.position.__delitem__(slice(None)), "0 positions"),
        (lambda message: message.position.pop(), "14 positions"),
        (lambda message: setattr(message, "name", []), "has 0 names"),
        (lambda message: setattr(message, "name", [*message.name[:-2], "a", "b"]), "lacks 1 of the 14 joints"),
        (lambda message: message.position.__setitem__(0, 1e308), ""),
    ],
    ids=["no velocities", "no positions", "one position short", "no names", "a joint gone", "an absurd position"],
)
def test_a_malformed_message_is_damped_and_does_not_end_the_node(
    still: Path, tmp_path: Path, spoil: Any, said: str
) -> None:
    with deployed(still, tmp_path) as (node, fake):
        started(fake)
        fake.spoil = spoil
        if said:
            fake.wait_for(lambda: fake.state == "DAMPING" and said in fake.status.reason)
        count = len(fake.commands)
        fake.wait_for(lambda: len(fake.commands) > count + 20)
        assert node.popen.poll() is None
        assert all(math.isfinite(value) for command in fake.commands for value in command.position)


def test_an_estop_is_left_only_by_reset(still: Path, tmp_path: Path) -> None:
    with deployed(still, tmp_path) as (_, fake):
        started(fake)
        assert fake.ask("estop").success
        fake.wait_for(lambda: fake.state == "ESTOPPED" and is_damping(fake.commands[-1]))
        assert not fake.ask("run").success
        assert not fake.ask("hold").success
        assert fake.ask("reset").success
        fake.wait_for(lambda: fake.state == "DAMPING")


def test_run_is_refused_far_from_the_entry_pose(still: Path, tmp_path: Path) -> None:
    with deployed(still, tmp_path, robot={"start": 0.45}, hold_speed=0.1) as (_, fake):
        fake.wait_for(lambda: fake.state == "HOLDING")
        answer = fake.ask("run")
        assert not answer.success
        assert "rad from its entry pose" in answer.message


def test_deactivation_damps_and_activation_counts_from_one_again(still: Path, tmp_path: Path) -> None:
    with deployed(still, tmp_path) as (_, fake):
        started(fake)
        client = fake.node.create_client(ChangeState, "policy_node/change_state")
        assert client.wait_for_service(timeout_sec=30.0)
        for transition in (4, 3):  # deactivate, activate
            request = ChangeState.Request()
            request.transition.id = transition
            future = client.call_async(request)
            fake.wait_for(future.done)
            assert future.result().success
            if transition == 4:
                fake.wait_for(lambda: is_damping(fake.commands[-1]))
                count = len(fake.commands)
        fake.wait_for(lambda: len(fake.commands) > count + 5)
        assert [command.sequence for command in fake.commands[count : count + 5]] == [1, 2, 3, 4, 5]


def test_a_stopped_process_damps_when_it_goes_on(still: Path, tmp_path: Path) -> None:
    with deployed(still, tmp_path, max_tick_gap=0.3) as (node, fake):
        started(fake)
        node.popen.send_signal(signal.SIGSTOP)
        time.sleep(1.0)  # the time for which the process is stopped: nothing can be waited for
        count = len(fake.commands)
        node.popen.send_signal(signal.SIGCONT)
        fake.wait_for(lambda: len(fake.commands) > count + 5)
        assert all(is_damping(command) for command in fake.commands[count + 1 :])
        fake.wait_for(lambda: fake.state == "DAMPING")
        assert "tick_gap" in fake.status.reason or "input_stale" in fake.status.reason


@pytest.mark.parametrize(
    ("kind", "message", "topic", "key"),
    [
        ("joint_trajectory", JointTrajectory, "joint_trajectory", lambda m: (m.joint_names, m.points[0].positions)),
        ("joint_state", JointState, "joint_command", lambda m: (m.name, m.position)),
        ("float64_multi_array", Float64MultiArray, "commands", lambda m: (None, m.data)),
    ],
)
def test_other_command_forms_move_the_robot_and_hold_in_place_of_damping(
    still: Path, tmp_path: Path, kind: str, message: type, topic: str, key: Any
) -> None:
    order = load_robot(Path(__file__).resolve().parents[2] / "config" / "robots" / "quadruped.yaml").command_joints

    def read(received: Any) -> dict[str, float]:
        names, values = key(received)
        return dict(zip(names or order, values))

    options = {"command_type": message, "command_topic": topic, "read": read}
    with deployed(still, tmp_path, robot=options, command_type=kind) as (node, fake):
        started(fake)
        entity = read_bundle(still).spec.entities["robot"]
        default = dict(zip(entity.dofs_name, entity.default_dofs_pos))
        assert read(fake.commands[-1]) == pytest.approx({name: default[name] for name in order}, abs=1e-6)
        assert "cannot damp: in place of damping it holds the joints" in node.text
        before = dict(fake.position)
        assert fake.ask("damp").success
        fake.wait_for(lambda: fake.state == "DAMPING")
        count = len(fake.commands)
        fake.wait_for(lambda: len(fake.commands) > count + 5)
        assert read(fake.commands[-1]) == pytest.approx({name: before[name] for name in order}, abs=1e-3)


def test_a_simulator_at_another_rate_is_refused(still: Path, tmp_path: Path) -> None:
    domain = fresh_domain()
    sim = ["--model", str(EXAMPLE / "quadruped.xml"), "--mode", "lockstep", "--tick-dt", "0.01"]
    with (
        running("deploy", deploy_arguments(still, lockstep=True), domain, tmp_path / "deploy.log") as node,
        running("sim", sim, domain, tmp_path / "sim.log"),
    ):
        assert node.wait() == 1
        assert "ticks every 0.01 s, but the policy was trained for every 0.02 s" in node.text


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"bundle": "/nowhere"}, "there is no such folder"),
        ({"bundle": "''"}, "the parameter 'bundle' is empty"),
        ({"auto_run": True}, "auto_run is for simulation"),
        ({"input_timeout": 0.02}, "but the policy ticks every 0.02 s: give it at least 0.04 s"),
        ({"input_timeout": -1.0}, "input_timeout is -1.0; expected 0.005 to 1 s"),
        ({"command_type": "torque"}, "command_type is 'torque'; expected one of: joint_command"),
        ({"provider": "tensorrt"}, "provider 'tensorrt' was asked for"),
        ({"valid_for": 0.01}, "valid_for is 0.01 s, but the policy ticks every 0.02 s"),
        ({"hold_sped": 9.0}, "there is no parameter hold_sped. Did you mean hold_speed?"),
        ({"lockstep": True, "enable_stamped_cmd_vel": False}, "lockstep needs stamped commands"),
        ({"robot_file": "/nowhere.yaml"}, "there is no such file"),
    ],
)
def test_what_cannot_be_run_ends_with_the_reason_and_exit_code_1(
    still: Path, tmp_path: Path, parameters: dict[str, Any], said: str
) -> None:
    arguments = deploy_arguments(still, **parameters)
    with running("deploy", arguments, fresh_domain(), tmp_path / "deploy.log") as node:
        assert node.wait() == 1
        assert said in node.text
        assert "Traceback" not in node.text


@contextmanager
def in_this_process(
    still: Path, robot: dict[str, Any] | None = None, **parameters: Any
) -> Iterator[tuple[DeployNode, FakeRobot, threading.Event]]:
    """The node in the test's process, so that a test can break it from the inside."""
    domain, ended, context = fresh_domain(), threading.Event(), Context()
    rclpy.init(context=context, domain_id=domain)
    values = {"bundle": str(still), "input_timeout": 0.5, "max_tick_gap": 1.0, **parameters}
    overrides = [Parameter(name, value=value) for name, value in values.items()]
    node = DeployNode(on_failure=ended.set, context=context, parameter_overrides=overrides)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    spinner = Spinner(executor)
    try:
        with FakeRobot(read_bundle(still).spec, domain, **(robot or {})) as fake:
            yield node, fake, ended
    finally:
        node.stop_safely("the end of the test")
        spinner.end()
        node.destroy_node()
        rclpy.shutdown(context=context)


def test_an_error_in_the_tick_is_damped_and_ends_the_process(still: Path) -> None:
    with in_this_process(still) as (node, fake, ended):
        assert node.autostart()
        started(fake)

        def broken(now: float) -> None:
            raise RuntimeError(f"a defect at {now}")

        node._controller.tick = broken
        assert ended.wait(30.0)
        fake.wait_for(lambda: is_damping(fake.commands[-1]))
        assert node.failed
        node.stop_safely("a failure")
        fake.wait_for(lambda: fake.state == "INACTIVE")


def test_a_tick_that_hangs_is_damped_all_the_same_when_the_process_is_stopped(still: Path) -> None:
    with in_this_process(still) as (node, fake, ended):
        assert node.autostart()
        started(fake)
        hanging, release = threading.Event(), threading.Event()

        def hung(_: float) -> None:
            hanging.set()
            release.wait(60.0)

        node._controller.tick = hung
        assert hanging.wait(30.0)
        assert not is_damping(fake.commands[-1])
        node.stop_safely("SIGTERM")
        fake.wait_for(lambda: is_damping(fake.commands[-1]))
        assert node.hung
        assert ended.is_set()
        release.set()


def test_nothing_starts_once_the_process_is_being_stopped(still: Path) -> None:
    with in_this_process(still) as (node, fake, _):
        assert node.trigger_configure() == SUCCESS
        node.stop_safely("SIGINT")
        assert node.trigger_activate() != SUCCESS
        assert fake.commands == []


def test_an_estop_outlives_cleanup(still: Path) -> None:
    with in_this_process(still) as (node, fake, _):
        assert node.autostart()
        started(fake)
        assert fake.ask("estop").success
        fake.wait_for(lambda: fake.state == "ESTOPPED")
        assert node.trigger_deactivate() == SUCCESS
        assert node.trigger_cleanup() == SUCCESS
        assert node.autostart()
        fake.wait_for(lambda: fake.state == "ESTOPPED")
        fake.wait_for(lambda: is_damping(fake.commands[-1]))
        assert fake.ask("reset").success
        fake.wait_for(lambda: fake.state == "DAMPING")


def test_a_form_without_gains_says_nothing_before_the_pose_is_known(still: Path) -> None:
    robot = {"command_type": JointState, "read": lambda _: {}}
    with in_this_process(still, robot, command_type="joint_state") as (node, fake, _):
        fake.send_joints = False
        assert node.autostart()
        fake.wait_for(lambda: fake.state == "WAITING")
        assert fake.ask("estop").success
        fake.wait_for(lambda: fake.state == "ESTOPPED")
        ticks = fake.status.ticks
        fake.wait_for(lambda: fake.status.ticks > ticks + 50)
        assert fake.commands == []
        fake.send_joints = True
        fake.wait_for(lambda: fake.commands)
        told = dict(zip(fake.commands[-1].name, fake.commands[-1].position))
        assert told == pytest.approx({name: fake.position[name] for name in told}, abs=1e-6)
