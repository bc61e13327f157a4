# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The launch files, run by the real ``ros2 launch``: it comes with a ROS 2 installation, and not from PyPI."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rclpy
from lifecycle_msgs.srv import GetState
from processes import ROBOT_FILE, bundle, fresh_domain
from rcl_interfaces.srv import GetParameters
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor

__all__ = ["bundle"]

pytestmark = pytest.mark.skipif(shutil.which("ros2") is None, reason="there is no ros2 command on this machine")


class Launch:
    """A running ``ros2 launch``, and a client that asks the launched node.

    Attributes:
        process: ros2 launch.
        log: what it and its nodes print.
    """

    def __init__(self, arguments: list[str], log: Path) -> None:
        domain = fresh_domain()
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                ["ros2", "launch", "policy_node", *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "ROS_DOMAIN_ID": str(domain)},
                start_new_session=True,
            )
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = rclpy.create_node("asker", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)

    def ask(self, service_type: Any, service: str, request: Any) -> Any:
        """Calls a service, waiting for it as long as it takes a busy machine to start the node."""
        client = self._node.create_client(service_type, service)
        assert client.wait_for_service(60.0), f"no {service}:\n{self.log.read_text()}"
        future = client.call_async(request)
        self._executor.spin_until_future_complete(future, 30.0)
        assert future.done(), f"no answer from {service}:\n{self.log.read_text()}"
        return future.result()

    def parameters(self, node: str, *names: str) -> list[Any]:
        """Values of text and boolean parameters."""
        values = self.ask(GetParameters, f"{node}/get_parameters", GetParameters.Request(names=names)).values
        return [value.string_value if value.type == 4 else value.bool_value for value in values]

    def wait_for_state(self, node: str, label: str) -> None:
        """Waits until the lifecycle of the node is in a state."""
        deadline = time.monotonic() + 60.0
        while self.ask(GetState, f"{node}/get_state", GetState.Request()).current_state.label != label:
            assert time.monotonic() < deadline, f"{node} is not {label}:\n{self.log.read_text()}"

    def interrupt(self) -> None:
        """Ctrl-C, as a person would, and the end of the whole process group if that does not help."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(30.0)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def close(self) -> None:
        """Ends everything."""
        self.interrupt()
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[..., Launch]]:
    """Starts ``ros2 launch policy_node`` with arguments, and ends it."""
    running: list[Launch] = []

    def start(*arguments: str) -> Launch:
        running.append(Launch(list(arguments), tmp_path / f"launch_{len(running)}.log"))
        return running[-1]

    yield start
    for each in running:
        each.close()


@pytest.fixture
def stubborn_parameters(tmp_path: Path) -> Path:
    """A parameter file that names the node by its full name as well as by a wildcard."""
    path = tmp_path / "parameters.yaml"
    blocks = {"/**": "wildcard", "/policy_node": "name", "/robot1/policy_node": "namespace"}
    path.write_text("".join(f"{node}:\n  ros__parameters:\n    bundle: from_{text}\n" for node, text in blocks.items()))
    return path


@pytest.mark.parametrize(("namespace", "node"), [("/", "/policy_node"), ("robot1", "/robot1/policy_node")])
def test_a_launch_argument_beats_the_parameter_file(
    launch: Callable[..., Launch], stubborn_parameters: Path, namespace: str, node: str
) -> None:
    running = launch(
        "deploy.launch.py",
        f"params_file:={stubborn_parameters}",
        f"namespace:={namespace}",
        "bundle:=from_argument",
        "use_sim_time:=true",
        "autostart:=false",
    )
    assert running.parameters(node, "bundle", "use_sim_time") == ["from_argument", True]


def test_the_parameter_file_counts_where_no_argument_is_given(
    launch: Callable[..., Launch], stubborn_parameters: Path
) -> None:
    running = launch("deploy.launch.py", f"params_file:={stubborn_parameters}", "namespace:=robot1", "autostart:=false")
    assert running.parameters("/robot1/policy_node", "bundle", "lockstep") == ["from_namespace", False]


def test_autostart_activates_the_node_beside_the_simulated_robot_in_a_namespace(
    launch: Callable[..., Launch], bundle: Path
) -> None:
    running = launch("sim.launch.py", f"bundle:={bundle}", f"robot:={ROBOT_FILE}", "namespace:=robot1")
    running.wait_for_state("/robot1/policy_node", "active")
    assert running.parameters("/robot1/policy_node", "use_sim_time", "auto_run", "lockstep") == [True, True, False]
    running.interrupt()
    text = running.log.read_text()
    assert "sent a damping command: SIGINT" in text
    assert "Traceback" not in text


def test_launch_ends_with_its_node(launch: Callable[..., Launch], tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("/**:\n  ros__parameters:\n    provider: abacus\n")
    running = launch("deploy.launch.py", f"params_file:={bad}")
    assert running.process.wait(60.0) != 0
    assert "provider is 'abacus'" in running.log.read_text()


@pytest.mark.parametrize("file", ["deploy.launch.py", "sim.launch.py"])
def test_every_launch_argument_has_a_description(file: str) -> None:
    command = ["ros2", "launch", "policy_node", file, "--show-args"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    arguments = [block for block in done.stdout.split("\n\n") if ":\n" in block and "'" in block]
    assert len(arguments) > 10
    assert "No description given" not in done.stdout
