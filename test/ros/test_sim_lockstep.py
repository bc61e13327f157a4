# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The simulator as a process in lockstep, with a deploy node of the test's own that holds a pose."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
from processes import EXAMPLE, Process, fresh_domain, running
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import Imu, JointState
from spinning import Spinner

from policy_node.msg import JointCommand, LockstepDone, LockstepTick
from policy_node.ros.sim_node import LOCKSTEP_QOS
from policy_node.sim.recording import load_recording

COURSE: list[dict[str, Any]] = [
    {"name": "stand", "duration": 0.4, "command": [0.0, 0.0, 0.0]},
    {"name": "forward", "duration": 0.6, "command": [0.6, 0.1, -0.3], "push": {"at": 0.2, "velocity": [0, 0.3, 0]}},
]
READY_TICK = 10


class HoldingNode:
    """Answers each tick once, with a command that holds the first pose; its joints are in reverse order.

    Attributes:
        ticks: every LockstepTick, oldest first.
        inputs: tick -> topic -> the message that carried the tick's stamp.
    """

    def __init__(self, domain: int) -> None:
        self.ticks: list[LockstepTick] = []
        self.inputs: list[dict[str, Any]] = []
        self.spoil: Callable[[int, JointCommand, LockstepDone], bool] = lambda *_: True
        self._newest: dict[str, Any] = {}
        self._pose: dict[str, float] = {}
        self._sequence = 0
        self._pending: LockstepTick | None = None
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = rclpy.create_node("holding", context=self._context)
        kinds = {"joint_states": JointState, "imu/data": Imu, "odom": Odometry, "cmd_vel": TwistStamped}
        for topic, kind in kinds.items():
            self._node.create_subscription(kind, topic, self._keeper(topic), LOCKSTEP_QOS)
        self._command = self._node.create_publisher(JointCommand, "joint_command", LOCKSTEP_QOS)
        self._done = self._node.create_publisher(LockstepDone, "lockstep/done", LOCKSTEP_QOS)
        self._node.create_subscription(LockstepTick, "lockstep/tick", self._on_tick, LOCKSTEP_QOS)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._spinner = Spinner(self._executor)

    def close(self) -> None:
        self._spinner.end()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)

    def _keeper(self, topic: str) -> Callable[[Any], None]:
        def keep(message: Any) -> None:
            self._newest[topic] = message
            self._answer()

        return keep

    def _on_tick(self, message: LockstepTick) -> None:
        self.ticks.append(message)
        self._pending = message
        self._answer()

    def _answer(self) -> None:
        asked = self._pending
        if asked is None:
            return
        held = {topic: self._newest.get(topic) for topic in asked.input}
        if not all(message is not None and message.header.stamp == asked.header.stamp for message in held.values()):
            return
        self._pending = None
        self.inputs.append(held)
        joints: JointState = held["joint_states"]
        if not self._pose:
            self._pose = dict(zip(joints.name, joints.position, strict=True))
        names = list(reversed(joints.name))
        self._sequence += 1
        n = len(names)
        command = JointCommand(
            name=names, position=array("d", [self._pose[name] for name in names]), velocity=array("d", [0.0] * n),
            effort=array("d", [0.0] * n), kp=array("d", [60.0] * n), kd=array("d", [2.0] * n),
            sequence=self._sequence, valid_for=0.1,
        )  # fmt: skip
        state = "RUNNING" if asked.tick >= READY_TICK else "HOLDING"
        done = LockstepDone(tick=asked.tick, sequence=self._sequence, state=state)
        done.header.stamp = asked.header.stamp
        if self.spoil(asked.tick, command, done):
            # The answer first: the simulator must wait for the command that it names.
            self._done.publish(done)
            self._command.publish(command)


@contextmanager
def lockstep(folder: Path, name: str = "run", *options: str) -> Iterator[tuple[Process, HoldingNode, Path]]:
    course, record, domain = folder / f"{name}.json", folder / f"{name}.npz", fresh_domain()
    course.write_text(json.dumps({"segments": COURSE}))
    node = HoldingNode(domain)
    arguments = ["--model", str(EXAMPLE / "quadruped.xml"), "--mode", "lockstep", "--course", str(course), "--record",
                 str(record), "--suspend", *options]
    try:
        with running("sim", arguments, domain, folder / f"{name}.log") as sim:
            yield sim, node, record
            assert "Traceback" not in sim.text, sim.text
    finally:
        node.close()


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> tuple[HoldingNode, dict[str, np.ndarray], str]:
    with lockstep(tmp_path_factory.mktemp("held")) as (sim, node, record):
        assert sim.wait() == 0, sim.text
        return node, load_recording(record), sim.text


Held = tuple[HoldingNode, dict[str, np.ndarray], str]


def test_every_tick_is_asked_once_in_order_and_names_its_inputs(held: Held) -> None:
    node, _, _ = held
    assert [tick.tick for tick in node.ticks] == list(range(READY_TICK + 50))
    assert all(tick.input == ["joint_states", "imu/data", "odom", "cmd_vel"] for tick in node.ticks)
    assert {tick.dt for tick in node.ticks} == {0.02}
    stamps = [tick.header.stamp.sec * 1_000_000_000 + tick.header.stamp.nanosec for tick in node.ticks]
    assert stamps == [20_000_000 * tick for tick in range(len(stamps))]


def test_course_starts_with_the_first_running_tick_and_commands_the_next_one(held: Held) -> None:
    node, run, log = held
    twists = [inputs["cmd_vel"].twist for inputs in node.inputs]
    sent = [(twist.linear.x, twist.linear.y, twist.angular.z) for twist in twists]
    forward = READY_TICK + 20
    assert set(sent[:forward]) == {(0.0, 0.0, 0.0)}
    assert set(sent[forward:]) == {(0.6, 0.1, -0.3)}
    assert run["completed"]
    assert run["course_time"][READY_TICK] == 0.0
    assert run["state"].tolist() == ["HOLDING"] * READY_TICK + ["RUNNING"] * 50
    assert "no fall" in log


def test_messages_carry_what_the_recording_holds(held: Held) -> None:
    node, run, _ = held
    for tick in (0, 5, 40):
        joints, imu, odom = (node.inputs[tick][topic] for topic in ("joint_states", "imu/data", "odom"))
        assert joints.name == run["joint_names"].tolist()
        assert joints.position.tolist() == run["joint_pos"][tick].tolist()
        assert joints.velocity.tolist() == run["joint_vel"][tick].tolist()
        assert imu.header.frame_id == "imu_link"
        pose, twist = odom.pose.pose, odom.twist.twist
        assert [pose.position.x, pose.position.y, pose.position.z] == run["base_pos"][tick].tolist()
        assert [twist.linear.x, twist.linear.y, twist.linear.z] == run["base_lin_vel"][tick].tolist()
        assert [twist.angular.x, twist.angular.y, twist.angular.z] == run["base_ang_vel"][tick].tolist()
        quat = pose.orientation
        assert [quat.x, quat.y, quat.z, quat.w] == run["base_quat_xyzw"][tick].tolist()
    # On the gantry the robot is at rest: the accelerometer feels gravity upwards.
    acc = node.inputs[READY_TICK - 1]["imu/data"].linear_acceleration
    assert np.linalg.norm([acc.x, acc.y, acc.z]) == pytest.approx(9.81, abs=0.3)


def test_command_is_applied_by_name_in_the_tick_that_it_answers(held: Held) -> None:
    node, run, _ = held
    first = node.inputs[0]["joint_states"].position.tolist()
    assert (run["target_pos"] == first).all()
    assert (run["kp"] == 60.0).all()
    assert run["dropped"] == 0
    assert run["expired"] == 0


def test_gantry_holds_the_base_until_the_node_runs(held: Held) -> None:
    _, run, _ = held
    height = run["base_pos"][:, 2]
    assert np.ptp(height[: READY_TICK + 1]) < 5e-3
    assert height[READY_TICK + 15] < height[READY_TICK] - 0.01


def test_two_runs_give_the_same_digest_and_one_bit_of_a_command_another(tmp_path: Path) -> None:
    digests = []

    def one_bit(tick: int, command: JointCommand, _: LockstepDone) -> bool:
        if tick == 30:
            values = np.frombuffer(command.effort)
            command.effort = array("d", [np.nextafter(0.0, 1.0), *values[1:].tolist()])
        return True

    for name in ("first", "second", "changed"):
        with lockstep(tmp_path, name) as (sim, node, record):
            if name == "changed":
                node.spoil = one_bit
            assert sim.wait() == 0, sim.text
            digests.append(str(load_recording(record)["digest"]))
    assert digests[0] == digests[1]
    assert digests[2] != digests[0]


def test_partner_that_falls_silent_ends_the_simulation_with_an_error(tmp_path: Path) -> None:
    with lockstep(tmp_path, "run", "--partner-timeout", "0.5") as (sim, node, record):
        node.spoil = lambda tick, *_: tick < 20
        assert sim.wait() == 1
        assert "the deploy node did not answer tick 20 within 0.5 s" in sim.text
        assert len(load_recording(record)["time"]) == 20


def test_answer_without_a_command_lets_time_pass_until_the_last_command_expires(tmp_path: Path) -> None:
    def silent(tick: int, command: JointCommand, done: LockstepDone) -> bool:
        if tick >= 20:
            done.sequence, command.sequence = 0, 1000 + tick
            command.valid_for = -1.0
        return True

    with lockstep(tmp_path) as (sim, node, record):
        node.spoil = silent
        sim.wait()
        run = load_recording(record)
    # Command 20 came at tick 19; 0.1 s later nothing holds any more.
    assert (run["kp"][:25] == 60.0).all()
    assert (run["kp"][26:] == 0.0).all()
    assert (run["kd"][26:] > 0.0).all()
    assert run["expired"] == 1
