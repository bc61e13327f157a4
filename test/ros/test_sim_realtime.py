# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The simulator as a process in real time, with a commander and a listener of the test's own."""

from __future__ import annotations

import signal
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from processes import EXAMPLE, Process, fresh_domain, running
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState
from spinning import Spinner

from policy_node.msg import JointCommand, PolicyStatus
from policy_node.ros.status import STATUS_QOS
from policy_node.sim.recording import load_recording

MODEL = EXAMPLE / "quadruped.xml"


class Commander:
    """Listens to the simulated robot and sends it commands when told to.

    Attributes:
        joints: newest joint states.
        clock: newest simulated time, s.
        counts: messages per topic.
    """

    def __init__(self, domain: int) -> None:
        self.joints: JointState | None = None
        self.clock = 0.0
        self.counts = {"joint_states": 0, "imu/data": 0}
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = rclpy.create_node("commander", context=self._context)
        self._node.create_subscription(JointState, "joint_states", self._on_joints, qos_profile_sensor_data)
        self._node.create_subscription(Imu, "imu/data", self._on_imu, qos_profile_sensor_data)
        self._node.create_subscription(Clock, "/clock", self._on_clock, qos_profile_sensor_data)
        self._command = self._node.create_publisher(JointCommand, "joint_command", 10)
        self._status = self._node.create_publisher(PolicyStatus, "policy_node/status", STATUS_QOS)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._spinner = Spinner(self._executor)

    def close(self) -> None:
        self._spinner.end()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)

    def wait_for(self, what: Callable[[], Any]) -> None:
        deadline = time.monotonic() + 60.0
        while not what():
            assert time.monotonic() < deadline, "it never came about"
            time.sleep(0.01)

    def ready(self) -> None:
        """Waits until the robot speaks and hears."""
        self.wait_for(lambda: self.joints is not None and self._command.get_subscription_count())

    def hold(self, sequence: int, valid_for: float, kp: float = 60.0) -> None:
        assert self.joints is not None
        n = len(self.joints.name)
        self._command.publish(JointCommand(
            name=self.joints.name, position=self.joints.position, velocity=array("d", [0.0] * n),
            effort=array("d", [0.0] * n), kp=array("d", [kp] * n), kd=array("d", [2.0] * n), sequence=sequence,
            valid_for=valid_for,
        ))  # fmt: skip

    def say(self, state: str) -> None:
        self._status.publish(PolicyStatus(state=state))

    def _on_joints(self, message: JointState) -> None:
        self.joints = message
        self.counts["joint_states"] += 1

    def _on_imu(self, _: Imu) -> None:
        self.counts["imu/data"] += 1

    def _on_clock(self, message: Clock) -> None:
        self.clock = message.clock.sec + message.clock.nanosec * 1e-9


@contextmanager
def simulated(folder: Path, *options: str) -> Iterator[tuple[Process, Commander, Path]]:
    domain, record = fresh_domain(), folder / "run.npz"
    commander = Commander(domain)
    arguments = ["--model", str(MODEL), "--record", str(record), *options]
    try:
        with running("sim", arguments, domain, folder / "sim.log") as sim:
            yield sim, commander, record
            assert "Traceback" not in sim.text, sim.text
    finally:
        commander.close()


def test_command_that_expires_leaves_the_robot_damped(tmp_path: Path) -> None:
    with simulated(tmp_path) as (sim, commander, record):
        commander.ready()
        commander.hold(1, valid_for=0.3)
        sent = commander.clock
        commander.wait_for(lambda: commander.clock > sent + 1.0)
        assert sim.end() == 0
        run = load_recording(record)
    held = np.flatnonzero((run["kp"] == 60.0).all(axis=1))
    assert len(held)
    assert run["time"][held[-1]] - run["time"][held[0]] == pytest.approx(0.3, abs=0.03)
    after = held[-1] + 1
    assert (run["kp"][after:] == 0.0).all()
    assert (run["kd"][after:] > 0.0).all()
    assert run["expired"] == 1


def test_sensors_come_at_their_rate_and_time_keeps_pace_with_the_clock(tmp_path: Path) -> None:
    with simulated(tmp_path, "--suspend", "--publish-dt", "0.01") as (sim, commander, _):
        commander.ready()
        counts, clock, start = dict(commander.counts), commander.clock, time.monotonic()
        time.sleep(3.0)
        heard = {topic: commander.counts[topic] - counts[topic] for topic in counts}
        simulated_seconds, seconds = commander.clock - clock, time.monotonic() - start
        assert sim.end(signal.SIGTERM) == 0
    # A busy machine makes it slower, never faster.
    assert 0.5 * seconds < simulated_seconds < seconds + 0.1
    for count in heard.values():
        assert count == pytest.approx(simulated_seconds / 0.01, rel=0.15)


def test_gantry_lets_go_when_the_status_says_running(tmp_path: Path) -> None:
    with simulated(tmp_path, "--suspend") as (sim, commander, record):
        commander.ready()
        commander.say("HOLDING")
        clock = commander.clock
        commander.wait_for(lambda: commander.clock > clock + 0.5)
        commander.say("RUNNING")
        commander.wait_for(lambda: "the policy runs" in sim.text)
        clock = commander.clock
        commander.wait_for(lambda: commander.clock > clock + 0.5)
        sim.end()
        run = load_recording(record)
    started = int(np.flatnonzero(np.isfinite(run["course_time"]))[0])
    assert started > 20
    assert np.ptp(run["base_pos"][:started, 2]) < 5e-3
    assert run["base_pos"][-1, 2] < run["base_pos"][started, 2] - 0.05


def test_faulty_command_is_dropped_with_its_reason_in_the_log(tmp_path: Path) -> None:
    with simulated(tmp_path) as (sim, commander, record):
        commander.ready()
        commander.hold(1, valid_for=5.0)
        time.sleep(0.3)
        commander.hold(2, valid_for=5.0, kp=float("nan"))
        commander.wait_for(lambda: "command 2 dropped: 'kp' of head_pan_joint is not finite" in sim.text)
        assert sim.end() == 0
        run = load_recording(record)
    assert run["dropped"] == 1
    assert (run["kp"][-1] == 60.0).all()
    assert "1 command dropped (not finite: 1)" in sim.text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--model", "nothing.xml"], "there is no model file nothing.xml"),
        (["--model", str(MODEL), "--imu-site", "nose"], "no site 'nose'"),
        (["--model", str(MODEL), "--tick-dt", "0.012"], "0.012 s is no multiple"),
        (["--model", str(MODEL), "--course", "none.yaml"], "none.yaml: there is no such file"),
    ],
)
def test_what_cannot_be_simulated_ends_at_once_with_one_line(options: list[str], words: str, tmp_path: Path) -> None:
    with running("sim", options, fresh_domain(), tmp_path / "sim.log") as sim:
        assert sim.wait() == 1
        assert words in sim.text
        assert len(sim.text.strip().splitlines()) == 1, sim.text


def test_viewer_without_a_display_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with running("sim", ["--model", str(MODEL), "--viewer"], fresh_domain(), tmp_path / "sim.log") as sim:
        assert sim.wait() == 1
        assert "the viewer needs a display" in sim.text
