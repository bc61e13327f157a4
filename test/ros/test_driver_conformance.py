# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""What docs/driver.md asks of a driver, tried on a running one. The robot must hang with its feet in the air.

The environment variables that docs/driver.md lists choose the driver; without them it is the simulated quadruped. One
joint, the probe, moves: its gains make it creep to a target over seconds, so that a driver that goes on with a command
and one that has let it go are told apart by where the joint is. Time here is the driver's: it must pass.
"""

from __future__ import annotations

import math
import os
import shlex
import signal
import subprocess
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import rclpy
from ament_index_python.packages import get_package_prefix, get_package_share_directory
from builtin_interfaces.msg import Time
from processes import fresh_domain
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from policy_node.msg import JointCommand

PERIOD = 0.02
"""Seconds between two commands of a stream, as from a policy at 50 Hz."""
REACH = 0.4
"""Where the probe is sent to, rad from its start."""
STILL = 0.05
"""Less than this is no motion, rad."""
VALID_FOR = 0.3
"""Seconds for which the commands hold whose end is watched."""


def simulated_quadruped() -> str:
    """Command of the driver that is tried by default."""
    model = Path(get_package_share_directory("policy_node")) / "examples" / "quadruped" / "quadruped.xml"
    sim = Path(get_package_prefix("policy_node")) / "lib" / "policy_node" / "sim"
    return f"{shlex.quote(str(sim))} --model {shlex.quote(str(model))} --suspend"


def setting(name: str, default: float) -> float:
    """A number from the environment."""
    return float(os.environ.get(name, default))


@dataclass
class Command:
    """What the probe is told; every other joint is held. Fields are those of JointCommand, in rad and N m."""

    position: float = 0.0
    velocity: float = 0.0
    effort: float = 0.0
    kp: float = field(default_factory=lambda: setting("DRIVER_PROBE_KP", 2.0))
    kd: float = field(default_factory=lambda: setting("DRIVER_PROBE_KD", 2.0))
    valid_for: float = 5.0 * PERIOD


class Commander:
    """Plays the deploy node, and watches what the driver makes of it.

    Attributes:
        sequence: of the newest command that was made.
        start: position of every joint when the driver was first heard, rad.
    """

    def __init__(self, domain: int) -> None:
        self.sequence = 0
        self.start: dict[str, float] = {}
        self.probe = os.environ.get("DRIVER_PROBE_JOINT", "head_pan_joint")
        self._newest: JointState | None = None
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        node = rclpy.create_node("driver_conformance", context=self._context)
        states = os.environ.get("DRIVER_JOINT_STATES", "joint_states")
        node.create_subscription(JointState, states, self._on_joint_states, qos_profile_sensor_data)
        self._publisher = node.create_publisher(
            JointCommand, os.environ.get("DRIVER_JOINT_COMMAND", "joint_command"), 10
        )
        self._node = node
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(node)

    def close(self) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)

    def connect(self, driver: subprocess.Popen[bytes] | None) -> None:
        """Waits until the driver is heard and hears."""
        deadline = time.monotonic() + setting("DRIVER_PATIENCE", 60.0)
        while self._newest is None or not self._publisher.get_subscription_count():
            assert driver is None or driver.poll() is None, f"the driver ended with exit code {driver.returncode}"
            assert time.monotonic() < deadline, "the driver publishes no joint states, or subscribes to no commands"
            self._executor.spin_once(timeout_sec=0.1)
        self.start = dict(zip(self._newest.name, self._newest.position, strict=True))
        assert self.probe in self.start, f"set DRIVER_PROBE_JOINT to one of: {', '.join(self.start)}"

    def message(self, command: Command) -> JointCommand:
        """The next command: holds every joint but the probe where it was at the start."""
        self.sequence += 1
        names = list(self.start)
        probe = names.index(self.probe)
        holds = {
            "position": list(self.start.values()),
            "velocity": [0.0] * len(names),
            "effort": [0.0] * len(names),
            "kp": [setting("DRIVER_HOLD_KP", 40.0)] * len(names),
            "kd": [setting("DRIVER_HOLD_KD", 1.0)] * len(names),
        }
        for key, values in holds.items():
            values[probe] = getattr(command, key)
        holds["position"][probe] += self.start[self.probe]
        arrays = {key: array("d", values) for key, values in holds.items()}
        message = JointCommand(name=names, sequence=self.sequence, valid_for=command.valid_for, **arrays)
        message.header.stamp = self._node.get_clock().now().to_msg()
        return message

    def send(self, message: JointCommand) -> None:
        self._publisher.publish(message)

    def send_alone(self, message: JointCommand) -> None:
        """Sends a command and lets a period pass, so that the next one does not take its place on the way."""
        self.send(message)
        self.watch(PERIOD)

    def watch(self, seconds: float, stream: Callable[[], JointCommand] | None = None) -> list[tuple[float, float]]:
        """Lets time pass, with a stream of commands or in silence.

        Args:
            seconds: how long.
            stream: makes each command of a stream; silence without one.

        Returns:
            Time (s, from the call) and position (rad, from the start) of the probe, for every sample that came.
        """
        begin, due, track = time.monotonic(), 0.0, []
        while (now := time.monotonic() - begin) < seconds:
            if stream is not None and now >= due:
                self.send(stream())
                due = now + PERIOD
            seen = self._newest
            self._executor.spin_once(timeout_sec=0.002)
            if self._newest is not seen:
                track.append((time.monotonic() - begin, self.moved))
        assert track, "joint_states fell silent"
        return track

    def stream(self, seconds: float, command: Command) -> list[tuple[float, float]]:
        """A stream of one command with counting sequences."""
        return self.watch(seconds, lambda: self.message(command))

    @property
    def moved(self) -> float:
        """How far the probe is from its start, rad."""
        return self.position_of(self.probe) - self.start[self.probe]

    def position_of(self, joint: str) -> float:
        """Newest position of a joint, rad."""
        assert self._newest is not None
        return float(self._newest.position[list(self._newest.name).index(joint)])

    def effort_of(self, joint: str) -> float | None:
        """Newest torque of a joint, N m; None from a driver that publishes none."""
        assert self._newest is not None
        return float(self._newest.effort[list(self._newest.name).index(joint)]) if self._newest.effort else None

    def go_home(self) -> None:
        """Starts anew with sequence 1 and brings every joint back to its start."""
        self.sequence = 0
        stiff = Command(kp=setting("DRIVER_HOLD_KP", 40.0), kd=setting("DRIVER_HOLD_KD", 1.0))
        deadline = time.monotonic() + 20.0
        while time.monotonic() < deadline:
            self.stream(0.2, stiff)
            if abs(self.moved) < 0.2 * STILL:
                return
        pytest.fail(f"{self.probe} did not come back to its start: it is {self.moved:.3f} rad away")

    def _on_joint_states(self, message: JointState) -> None:
        self._newest = message


@pytest.fixture(scope="module")
def connected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commander]:
    # Unset means the simulated quadruped, in a domain of its own; empty means a driver that runs already, and which
    # only the person's own domain reaches.
    given = os.environ.get("DRIVER_COMMAND")
    domain = fresh_domain() if given is None else int(os.environ.get("ROS_DOMAIN_ID", "0"))
    command = simulated_quadruped() if given is None else given
    driver = None
    if command.strip():
        log = tmp_path_factory.mktemp("driver") / "driver.log"
        with log.open("wb") as output:
            driver = subprocess.Popen(
                shlex.split(command),
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "ROS_DOMAIN_ID": str(domain)},
            )
    commander = Commander(domain)
    try:
        commander.connect(driver)
        yield commander
    finally:
        commander.close()
        if driver is not None:
            driver.send_signal(signal.SIGINT)
            try:
                driver.wait(20.0)
            except subprocess.TimeoutExpired:
                driver.kill()
                driver.wait()


@pytest.fixture
def commander(connected: Commander) -> Commander:
    """A commander whose robot is at its start, held by commands from sequence 1 on."""
    connected.go_home()
    return connected


def assert_ended_by_itself(track: list[tuple[float, float]]) -> None:
    """The probe moved while the command held, and stopped when it ended, VALID_FOR after the track began."""
    positions = [moved for _, moved in track]
    assert positions[-1] > STILL, "the command was not obeyed"
    # The last moment at which the probe still had a tenth of its way to go.
    stopped = max(t for t, moved in track if moved < positions[0] + 0.9 * (positions[-1] - positions[0]))
    assert 0.6 * VALID_FOR < stopped < VALID_FOR + 0.2, f"it went on for {stopped:.2f} s"


# The law


def test_a_stream_of_commands_is_followed(commander: Commander) -> None:
    commander.stream(1.0, Command(position=REACH))
    assert commander.moved > 0.4 * REACH


def test_effort_is_added_to_what_the_gains_give(commander: Commander) -> None:
    # At rest kp * displacement = effort.
    commander.stream(1.5, Command(kp=10.0, kd=1.0, effort=1.5))
    assert commander.moved == pytest.approx(0.15, abs=STILL)


def test_desired_velocity_acts_through_kd(commander: Commander) -> None:
    # At rest kp * displacement = kd * velocity.
    commander.stream(1.5, Command(kp=10.0, kd=1.0, velocity=-1.5))
    assert commander.moved == pytest.approx(-0.15, abs=STILL)


def test_joints_are_found_by_name_and_not_by_order(commander: Commander) -> None:
    def reversed_order() -> JointCommand:
        message = commander.message(Command(position=0.2, kp=20.0, kd=1.0))
        message.name = message.name[::-1]
        for key in ("position", "velocity", "effort", "kp", "kd"):
            setattr(message, key, getattr(message, key)[::-1])
        return message

    others = {joint: commander.position_of(joint) for joint in commander.start if joint != commander.probe}
    commander.watch(1.0, reversed_order)
    assert commander.moved == pytest.approx(0.2, abs=STILL)
    assert {joint: commander.position_of(joint) for joint in others} == pytest.approx(others, abs=STILL)


def test_torque_is_limited(commander: Commander) -> None:
    commander.send(commander.message(Command(position=REACH, kp=1000.0, kd=1.0, valid_for=2.0 * PERIOD)))
    efforts = []
    for _ in range(10):
        commander.watch(0.01)
        efforts.append(commander.effort_of(commander.probe))
    if None in efforts:
        pytest.skip("this driver publishes no torque")
    limit = setting("DRIVER_EFFORT_LIMIT", 5.0)
    assert 0.5 * limit < max(map(abs, efforts)) <= limit * 1.001


def test_a_damping_command_stops_the_joint_where_it_is(commander: Commander) -> None:
    commander.stream(0.5, Command(position=REACH))
    commander.stream(0.2, Command(position=REACH, kp=0.0))
    stopped_at = commander.moved
    assert STILL < stopped_at < 0.8 * REACH
    commander.stream(0.8, Command(position=REACH, kp=0.0))
    assert commander.moved == pytest.approx(stopped_at, abs=0.5 * STILL)


# When a command ends


def test_a_command_ends_when_valid_for_has_passed(commander: Commander) -> None:
    commander.send(commander.message(Command(position=REACH, valid_for=VALID_FOR)))
    assert_ended_by_itself(commander.watch(1.5))


@pytest.mark.parametrize(
    "stamp",
    [Time(), Time(sec=2_000_000_000), Time(sec=1_000_000_000)],
    ids=["zero", "years ahead", "years back"],
)
def test_a_command_holds_from_its_receipt_whatever_its_stamp_says(commander: Commander, stamp: Time) -> None:
    message = commander.message(Command(position=REACH, valid_for=VALID_FOR))
    message.header.stamp = stamp
    commander.send(message)
    assert_ended_by_itself(commander.watch(1.5))


def test_a_newer_command_starts_the_time_anew(commander: Commander) -> None:
    commander.stream(1.0, Command(position=REACH, valid_for=VALID_FOR))
    held = commander.moved
    assert held > 0.4 * REACH
    # The last one of the stream holds as long as each of them.
    assert commander.watch(1.0)[-1][1] > held + 0.2 * STILL


def test_the_driver_obeys_again_after_it_damped(commander: Commander) -> None:
    commander.send(commander.message(Command(valid_for=PERIOD)))
    commander.watch(0.3)
    commander.stream(1.0, Command(position=REACH))
    assert commander.moved > 0.4 * REACH


# Sequence


def test_the_same_command_again_is_stale_and_prolongs_nothing(commander: Commander) -> None:
    commander.message(Command())
    message = commander.message(Command(position=REACH, valid_for=VALID_FOR))
    assert message.sequence > 1
    assert_ended_by_itself(commander.watch(1.5, lambda: message))


def test_an_older_command_is_dropped(commander: Commander) -> None:
    commander.sequence = 100
    commander.send_alone(commander.message(Command(valid_for=2.0)))
    commander.sequence = 50
    commander.stream(0.8, Command(position=REACH))
    assert abs(commander.moved) < STILL


def test_a_gap_in_the_sequence_is_no_fault(commander: Commander) -> None:
    commander.sequence += 1000
    commander.stream(1.0, Command(position=REACH))
    assert commander.moved > 0.4 * REACH


def test_sequence_one_starts_anew(commander: Commander) -> None:
    commander.sequence = 100_000
    commander.send_alone(commander.message(Command(valid_for=2.0)))
    commander.sequence = 0
    commander.stream(1.0, Command(position=REACH))
    assert commander.moved > 0.4 * REACH


# Commands that must be dropped whole


@dataclass(frozen=True)
class Fault:
    """A way to spoil a command.

    Attributes:
        name: what is wrong, for the name of the test.
        spoil: changes a command; its second argument is the index of the probe in it.
    """

    name: str
    spoil: Callable[[JointCommand, int], None]


def number(key: str, value: float) -> Fault:
    """A number of the probe that no joint can take."""
    return Fault(f"{key} {value:g}", lambda message, probe: getattr(message, key).__setitem__(probe, value))


def short(key: str) -> Fault:
    """An array that lacks its last element."""
    return Fault(f"{key} too short", lambda message, _: setattr(message, key, getattr(message, key)[:-1]))


def field_of(key: str, value: float) -> Fault:
    """A field of the message itself."""
    return Fault(f"{key} {value:g}", lambda message, _: setattr(message, key, value))


def rename(message: JointCommand, probe: int, name: str) -> None:
    """Gives another joint's entry a name, so that the probe is still told to move."""
    other = (probe + 1) % len(message.name)
    message.name = [name if i == other else old for i, old in enumerate(message.name)]


def leave_out(message: JointCommand, joint: int) -> None:
    """Takes one joint out of a command."""
    message.name = [name for i, name in enumerate(message.name) if i != joint]
    for key in ("position", "velocity", "effort", "kp", "kd"):
        getattr(message, key).pop(joint)


FAULTS = [
    *(number(key, math.nan) for key in ("position", "velocity", "effort", "kp", "kd")),
    number("position", math.inf),
    number("kp", -1.0),
    number("kd", -1.0),
    *(short(key) for key in ("position", "velocity", "effort", "kp", "kd")),
    *(field_of("valid_for", value) for value in (0.0, -1.0, math.nan, math.inf)),
    field_of("sequence", 0),
    Fault("an unknown joint", lambda message, probe: rename(message, probe, "no_such_joint")),
    Fault("a joint twice", lambda message, probe: rename(message, probe, message.name[probe])),
    Fault("a joint left out", lambda message, probe: leave_out(message, (probe + 1) % len(message.name))),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_bad_command_is_dropped_whole(commander: Commander, fault: Callable[[JointCommand, int], None]) -> None:
    probe = list(commander.start).index(commander.probe)

    def bad() -> JointCommand:
        message = commander.message(Command(position=REACH, kp=10.0, kd=1.0))
        fault.spoil(message, probe)
        return message

    commander.send_alone(commander.message(Command(valid_for=2.0)))
    commander.watch(0.3, bad)
    assert abs(commander.moved) < STILL
    # And what comes next is taken.
    commander.stream(0.3, Command(position=REACH, kp=10.0, kd=1.0))
    assert commander.moved > STILL


def test_a_bad_command_prolongs_nothing(commander: Commander) -> None:
    commander.send_alone(commander.message(Command(position=REACH, valid_for=VALID_FOR)))

    def bad() -> JointCommand:
        message = commander.message(Command(position=REACH))
        message.position[0] = math.nan
        return message

    assert_ended_by_itself(commander.watch(1.5, bad))
