# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The deploy node: connects a :class:`Controller` to ROS topics, services and the lifecycle."""

from __future__ import annotations

import difflib
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from builtin_interfaces.msg import Time
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float32MultiArray
from std_srvs.srv import Trigger

from policy_node.core.controller import Controller, JointTargets
from policy_node.core.faults import INPUT_STALE, SHUTDOWN, TICK_FAILED, Fault
from policy_node.core.machine import Request, State
from policy_node.core.params import ControllerParams
from policy_node.errors import PolicyNodeError
from policy_node.inference.load import LoadedPolicy, load_policy
from policy_node.msg import LockstepDone, LockstepTick
from policy_node.ros.commands import CommandOutput, JointStateOutput, make_output
from policy_node.ros.parameters import ParameterRow, all_rows, as_text, check_value, controller_rows
from policy_node.ros.status import StatusPublisher
from policy_node.ros.subscriptions import LOCKSTEP_QOS, InputTopics
from policy_node.ros.ticker import PARTNER_TIMEOUT, DeadlineTicker, LockstepTicker
from policy_node.ros.timing import Window
from policy_node.spec.robot import load_robot

TICK_PATIENCE = 0.5
"""Seconds to wait for a tick that is running before it counts as hung."""

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
REQUESTS = {
    "run": Request.RUN,
    "hold": Request.HOLD,
    "damp": Request.DAMP,
    "estop": Request.ESTOP,
    "reset": Request.RESET,
}

TARGETS_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Best effort: whoever plots may lose a sample, and must never hold up a tick."""


class DeployNode(LifecycleNode):
    """Runs one policy on one robot.

    Callbacks only keep messages; everything that decides runs in the tick's thread or under its lock.

    Attributes:
        failed: set when a tick raised an error: the process ends with exit code 1.
        hung: set when a tick did not end: the process must be ended without waiting for its thread.
    """

    def __init__(self, on_failure: Callable[[], None] = lambda: None, **options: Any) -> None:
        super().__init__("policy_node", **options)
        self.failed = self.hung = False
        self._stopping = False
        self._latched = False
        self._on_failure = on_failure
        self._lock = threading.RLock()
        self._rows: dict[str, ParameterRow] = {row.name: row for row in all_rows()}
        for row in self._rows.values():
            self._declare(row)
        self._refuse_unknown_parameters()
        self.add_on_set_parameters_callback(self._on_set_parameters)
        self._controller: Controller | None = None
        self._loaded: LoadedPolicy | None = None
        self._topics: InputTopics | None = None
        self._output: CommandOutput | None = None
        self._ticker: DeadlineTicker | LockstepTicker | None = None
        self._lockstep_tick: LockstepTick | None = None
        self._sequence = self._sent = 0
        self._overruns = 0
        self._told_state = State.INACTIVE
        self._tick_times, self._periods = Window(), Window()
        self._last_start = 0.0
        self._entities: list[tuple[Callable[[Any], Any], Any]] = []
        self._status = StatusPublisher(self)
        for name, request in REQUESTS.items():
            self.create_service(Trigger, f"~/{name}", self._service(request))

    # Lifecycle

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Loads the bundle and proves it; refuses with the reason in the log."""
        try:
            self._configure()
        except (PolicyNodeError, ValueError, OSError) as error:
            self.get_logger().error(f"not configured: {error}")
            self._release()
            return FAILURE
        except Exception:
            # rclpy would go back to unconfigured without a word.
            self.get_logger().error(f"not configured, by a defect of this software:\n{traceback.format_exc()}")
            self._release()
            return FAILURE
        return SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Starts ticking: WAITING until all inputs are there."""
        with self._lock:
            controller = self._controller
            if controller is None or self._stopping:
                return FAILURE
            self._sequence = self._overruns = 0
            self._tick_times, self._periods = Window(), Window()
            now = 0.0 if self._flag("lockstep") else time.monotonic()
            controller.request(Request.ACTIVATE, now, "the lifecycle")
            self._ticker = self._make_ticker(controller)
            self._ticker.start()
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Damps the robot, then stops ticking."""
        self._stop_ticking("deactivation")
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Lets go of the bundle."""
        self._release()
        return SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Damps the robot, whatever state it is in."""
        self._stop_ticking("shutdown")
        self._release()
        return SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Damps the robot and goes back to unconfigured."""
        self._stop_ticking("an error in a transition")
        self._release()
        return SUCCESS

    def wants_autostart(self) -> bool:
        """Whether the parameter autostart asks to configure and activate without a launch file."""
        return self._flag("autostart")

    def autostart(self) -> bool:
        """Configures and activates; False where one of the two was refused."""
        return self.trigger_configure() == SUCCESS and self.trigger_activate() == SUCCESS

    def stop_safely(self, why: str) -> None:
        """Sends a last damping command and ends the tick's thread. For signals: it needs no executor."""
        self._stopping = True
        self._stop_ticking(why)

    # Set-up

    def _configure(self) -> None:
        bundle = self._text("bundle")
        if not bundle:
            raise ValueError(
                "the parameter 'bundle' is empty. Give it the folder of a bundle, such as bundle:=DIR on the "
                "command line of the launch file."
            )
        if self._flag("auto_run") and not (self._flag("use_sim_time") or self._flag("lockstep")):
            raise ValueError("auto_run is for simulation: it needs use_sim_time or lockstep. On a robot, call ~/run.")
        values = {row.name: float(self.get_parameter(row.name).value) for row in controller_rows()}
        params = ControllerParams(**values)
        robot_file = self._text("robot_file")
        robot = load_robot(Path(robot_file)) if robot_file else None
        loaded = load_policy(Path(bundle), robot, params, self._text("provider"), robot_file or "the contract")
        site, control_dt = loaded.runner.site, loaded.bundle.spec.rate.control_dt
        for name in ("input_timeout", "max_tick_gap", "valid_for"):
            value = getattr(params, name)
            if value < 2.0 * control_dt:
                raise ValueError(
                    f"{name} is {value:g} s, but the policy ticks every {control_dt:g} s: give it at least "
                    f"{2.0 * control_dt:g} s."
                )
        if self._flag("lockstep") and self._text("enable_stamped_cmd_vel") == "false":
            raise ValueError("lockstep needs stamped commands: set enable_stamped_cmd_vel to auto or true.")
        for note in loaded.notes:
            self.get_logger().warning(note)
        self._output = make_output(self._text("command_type"), self, site, control_dt, params.valid_for)
        self._entities.append((self.destroy_publisher, self._output.publisher))
        if self._output.in_place_of_damping:
            self.get_logger().warning(
                f"command_type {self._text('command_type')} cannot damp: in place of damping it "
                f"{self._output.in_place_of_damping}."
            )
        self._controller = Controller(loaded.runner, params, auto_run=self._flag("auto_run"))
        # An emergency stop is left by a reset alone, not by configuring anew.
        self._controller.machine.latched = self._latched
        self._loaded = loaded
        self._targets = JointStateOutput(self, site, "~/joint_targets", TARGETS_QOS)
        self._entities.append((self.destroy_publisher, self._targets.publisher))
        self._shows_observation = self._flag("publish_observation")
        if self._shows_observation:
            for name in ("observation", "action"):
                publisher = self.create_publisher(Float32MultiArray, f"~/{name}", TARGETS_QOS)
                setattr(self, f"_{name}_publisher", publisher)
                self._entities.append((self.destroy_publisher, publisher))
        self._topics = InputTopics(
            self, self._controller.inputs, lockstep=self._flag("lockstep"), stamped=self._text("enable_stamped_cmd_vel")
        )
        if self._flag("lockstep"):
            self._done = self.create_publisher(LockstepDone, "lockstep/done", LOCKSTEP_QOS)
            subscription = self.create_subscription(LockstepTick, "lockstep/tick", self._on_lockstep_tick, LOCKSTEP_QOS)
            self._entities += [(self.destroy_publisher, self._done), (self.destroy_subscription, subscription)]
        changed = [
            f"{name} {self.get_parameter(name).value}"
            for name, row in self._rows.items()
            if name not in ("bundle", "robot_file") and self.get_parameter(name).value != row.default
        ]
        self.get_logger().info(f"parameters other than their default: {', '.join(changed) or 'none'}")
        golden = loaded.golden
        proof = f"golden recording replayed over {golden.ticks} ticks" if golden else "no golden recording"
        self.get_logger().info(
            f"{bundle}: {loaded.runner.spec.observations.dim} observations -> {loaded.runner.spec.actions.dim} actions "
            f"for {len(loaded.runner.decoder.driven_joints)} of {len(site.joint_names)} joints at {1.0 / control_dt:g} "
            f"Hz on {loaded.provider}; {proof}; hash {loaded.bundle.digest[:12]}"
        )

    def _release(self) -> None:
        if self._controller is not None:
            self._latched = self._controller.machine.latched
        if self._topics is not None:
            self._topics.destroy()
        for destroy, entity in self._entities:
            destroy(entity)
        self._entities.clear()
        self._controller = self._loaded = self._topics = self._output = None

    def _make_ticker(self, controller: Controller) -> DeadlineTicker | LockstepTicker:
        if not self._flag("lockstep"):
            return DeadlineTicker(controller.runner.spec.rate.control_dt, self._tick_on_time)
        ticker = LockstepTicker(self._lockstep_ready, self._tick_in_lockstep, self._partner_gone)
        assert self._topics is not None
        self._topics.arrived = ticker.wake
        return ticker

    # Ticks

    def _tick_on_time(self, now: float) -> None:
        # The clock is read here once; the stamp is ROS time, which nothing is judged by.
        self._tick(now, None, self.get_clock().now().to_msg())

    def _tick_in_lockstep(self) -> None:
        asked = self._lockstep_tick
        assert asked is not None
        self._lockstep_tick = None
        now = asked.header.stamp.sec + asked.header.stamp.nanosec * 1e-9
        self._tick(now, now, asked.header.stamp)
        with self._lock:
            if self._controller is None:
                return
            done = LockstepDone(tick=asked.tick, sequence=self._sent, state=self._controller.state.value)
            done.header.stamp = asked.header.stamp
            self._done.publish(done)

    def _tick(self, now: float, arrival: float | None, stamp: Time) -> None:
        start = time.monotonic()
        try:
            with self._lock:
                self._sent = 0
                controller, topics = self._controller, self._topics
                if controller is None or topics is None or controller.state is State.INACTIVE:
                    return
                topics.take(arrival)
                targets = controller.tick(now)
                if targets is not None:
                    self._publish(targets, stamp)
                ended = time.monotonic()
                self._measure(start, ended)
                self._tell(controller, ended)
        except Exception:
            self._fail(traceback.format_exc())

    def _publish(self, targets: JointTargets, stamp: Time) -> None:
        controller = self._controller
        assert controller is not None
        assert self._output is not None
        if self._output.in_place_of_damping and not controller.has_measured:
            # Such a form can only say where to be, and nobody knows yet where the robot is.
            return
        self._sequence += 1
        self._sent = self._sequence
        damping = controller.state in (State.DAMPING, State.ESTOPPED)
        self._output.publish(targets, stamp, self._sequence, damping=damping)
        self._targets.publish(targets, stamp, self._sequence, damping=damping)
        if self._shows_observation and controller.state is State.RUNNING:
            self._observation_publisher.publish(Float32MultiArray(data=controller.runner.obs.tolist()))
            self._action_publisher.publish(Float32MultiArray(data=controller.runner.action.tolist()))

    def _measure(self, start: float, end: float) -> None:
        assert self._loaded is not None
        self._tick_times.add(end - start)
        if end - start > self._loaded.bundle.spec.rate.control_dt:
            self._overruns += 1
        if self._tick_times.count > 1:
            self._periods.add(start - self._last_start)
        self._last_start = start

    def _tell(self, controller: Controller, now: float) -> None:
        machine = controller.machine
        if machine.state is not self._told_state:
            text = f"{self._told_state.value} -> {machine.state.value}: {machine.reason}"
            # Two calls, because rclpy refuses another severity from a line that has logged before.
            if machine.remedy:
                self.get_logger().warning(f"{text}. {machine.remedy}")
            else:
                self.get_logger().info(text)
            self._told_state = machine.state
            self._status.due_at = now
        if self._status.due(now):
            self._publish_status(controller, now)
            if machine.state is State.WAITING:
                self.get_logger().info(machine.reason, throttle_duration_sec=3.0)

    def _publish_status(self, controller: Controller, now: float) -> None:
        assert self._loaded is not None
        self._status.publish(
            controller,
            self._loaded,
            ticks=self._tick_times.count,
            missed=self._ticker.missed if self._ticker is not None else 0,
            overruns=self._overruns,
            sequence=self._sequence,
            tick_times=self._tick_times,
            periods=self._periods,
            now=controller.now,
            steady=now,
        )

    # Lockstep

    def _on_lockstep_tick(self, message: LockstepTick) -> None:
        loaded = self._loaded
        if loaded is not None and abs(message.dt - loaded.bundle.spec.rate.control_dt) > 1e-9:
            self.get_logger().fatal(
                f"the simulator ticks every {message.dt:g} s, but the policy was trained for every "
                f"{loaded.bundle.spec.rate.control_dt:g} s. Start it with --tick-dt "
                f"{loaded.bundle.spec.rate.control_dt:g}."
            )
            self.failed = True
            self._on_failure()
            return
        self._lockstep_tick = message
        if isinstance(self._ticker, LockstepTicker):
            self._ticker.wake()

    def _lockstep_ready(self) -> bool:
        asked, topics = self._lockstep_tick, self._topics
        return asked is not None and topics is not None and topics.has(list(asked.input), asked.header.stamp)

    def _partner_gone(self) -> None:
        with self._lock:
            controller = self._controller
            if controller is not None and controller.state in (State.HOLDING, State.RUNNING):
                fault = Fault(INPUT_STALE, f"the simulator sent no tick for {PARTNER_TIMEOUT:g} s")
                controller.fail(fault, controller.now)
                self._damp_now(controller)
                self._tell(controller, time.monotonic())

    # Stopping

    def _stop_ticking(self, why: str) -> None:
        if not self._lock.acquire(timeout=TICK_PATIENCE):
            self._stop_hung_tick(why)
            return
        try:
            controller = self._controller
            if controller is not None and controller.state not in (State.INACTIVE, State.WAITING):
                controller.fail(Fault(SHUTDOWN, why), controller.now)
                if self._damp_now(controller):
                    self.get_logger().info(f"sent a damping command: {why}")
            if controller is not None and controller.state is not State.INACTIVE:
                controller.request(Request.DEACTIVATE, controller.now, why)
                self._told_state = State.INACTIVE
                self._last_word(controller)
            ticker, self._ticker = self._ticker, None
        finally:
            self._lock.release()
        if ticker is not None:
            ticker.stop()

    def _stop_hung_tick(self, why: str) -> None:
        # The tick's thread holds the lock and will not give it back, so what is published here is only what it
        # cannot be writing to: the damping command.
        self.hung = self.failed = True
        controller = self._controller
        if controller is not None and self._damp_now(controller):
            self.get_logger().fatal(f"a tick did not end within {TICK_PATIENCE:g} s; sent a damping command: {why}")
        self._on_failure()

    def _fail(self, text: str) -> None:
        self.failed = True
        # First of all: whatever fails below, the process ends.
        self._on_failure()
        with self._lock:
            controller = self._controller
            if controller is not None:
                controller.fail(Fault(TICK_FAILED, text.strip().splitlines()[-1]), controller.now)
                if controller.state in (State.DAMPING, State.ESTOPPED):
                    self._damp_now(controller)
        self.get_logger().fatal(f"a tick failed; the robot is damped and the node ends\n{text}")

    def _damp_now(self, controller: Controller) -> bool:
        """Publishes a damping command. Never raises, for it is called where something has failed already."""
        try:
            self._publish(controller.damping(), self.get_clock().now().to_msg())
        except Exception as error:
            self.failed = True
            self.get_logger().fatal(f"the damping command could not be published: {type(error).__name__}: {error}")
            return False
        return True

    def _last_word(self, controller: Controller) -> None:
        # The status is kept for late listeners, so it must not go on saying that the policy runs.
        try:
            self._publish_status(controller, time.monotonic())
        except Exception as error:
            self.get_logger().error(f"the last status could not be published: {type(error).__name__}: {error}")

    # Requests and parameters

    def _service(self, request: Request) -> Callable[[Trigger.Request, Trigger.Response], Trigger.Response]:
        def answer(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            with self._lock:
                controller = self._controller
                if controller is None:
                    refusal: str | None = "the node is not configured."
                else:
                    refusal = controller.request(request, controller.now, f"~/{request.value}")
                response.success = refusal is None
                response.message = refusal or (f"now {controller.state.value}" if controller else "")
            return response

        return answer

    def _on_set_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            row = self._rows.get(parameter.name)
            if row is None:
                continue
            fault = check_value(row, parameter.value)
            if fault is None and self._controller is not None:
                fault = f"{row.name} can be set while the node is unconfigured; clean it up first."
            if fault is not None:
                return SetParametersResult(successful=False, reason=fault)
        return SetParametersResult(successful=True)

    def _declare(self, row: ParameterRow) -> None:
        value = self.declare_parameter(row.name, row.default, ParameterDescriptor(dynamic_typing=True)).value
        # Checked before ROS knows the range, so that the message is ours, with unit and what is expected.
        fault = check_value(row, value)
        if fault is not None:
            raise ParameterError(fault)
        self.set_descriptor(row.name, _descriptor(row))

    def _refuse_unknown_parameters(self) -> None:
        # A mistyped name would leave the default in force, without a word.
        known = [*self._rows, "use_sim_time"]
        unknown = [name for name in self._parameter_overrides if not self.has_parameter(name) and "." not in name]
        if unknown:
            near = [match for name in unknown for match in difflib.get_close_matches(name, known, 1)]
            raise ParameterError(
                f"there is no parameter {', '.join(unknown)}. "
                + (f"Did you mean {', '.join(near)}? " if near else "")
                + "In a file that other nodes read too, put those of this node under its own name."
            )

    def _text(self, name: str) -> str:
        return as_text(self.get_parameter(name).value) or ""

    def _flag(self, name: str) -> bool:
        return bool(self.get_parameter(name).value)


class ParameterError(PolicyNodeError, ValueError):
    """A parameter that was given at start has a value that is refused."""


def _descriptor(row: ParameterRow) -> ParameterDescriptor:
    # The type is left open because ROS reads 1 as an integer and true as a boolean; check_value decides.
    description = row.description if not row.choices else f"{row.description} One of: {', '.join(row.choices)}."
    descriptor = ParameterDescriptor(description=description, dynamic_typing=True)
    if isinstance(row.default, float):
        descriptor.description = f"{row.description} Unit: {row.unit}."
        descriptor.floating_point_range = [FloatingPointRange(from_value=row.low, to_value=row.high)]
    return descriptor
