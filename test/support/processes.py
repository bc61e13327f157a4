# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Processes of this package as a person starts them, and bundles that are wrong on purpose."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "quadruped"
ROBOT_FILE = ROOT / "config" / "robots" / "quadruped.yaml"
BUNDLE = ROOT / "demo" / "bundle"
PATIENCE = 60.0
"""Seconds to wait for what should take one: machines are shared."""

_domains = count(1 + os.getpid() % 50)


def fresh_domain() -> int:
    """A ROS domain that no other test of this run uses at the same time."""
    return 1 + next(_domains) % 100


def executable(name: str) -> Path:
    """An executable of the installed package, where `ros2 run` finds it."""
    from ament_index_python.packages import get_package_prefix

    return Path(get_package_prefix("policy_node")) / "lib" / "policy_node" / name


class Process:
    """A running executable with its log."""

    def __init__(self, name: str, arguments: list[str], domain: int, log: Path) -> None:
        self.log = log
        environment = {**os.environ, "ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        with log.open("wb") as stream:
            self.popen = subprocess.Popen(
                [str(executable(name)), *arguments],
                stdout=stream,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )

    def wait(self, timeout: float = PATIENCE) -> int:
        """Exit code."""
        return self.popen.wait(timeout)

    def end(self, number: int = signal.SIGINT, timeout: float = PATIENCE) -> int:
        """Sends a signal and waits; returns the exit code."""
        if self.popen.poll() is None:
            self.popen.send_signal(number)
        return self.wait(timeout)

    @property
    def text(self) -> str:
        """What it printed so far."""
        return self.log.read_text(errors="replace")


@contextmanager
def running(name: str, arguments: list[str], domain: int, log: Path) -> Iterator[Process]:
    """A process that is gone afterwards, whatever happens."""
    process = Process(name, arguments, domain, log)
    try:
        yield process
    finally:
        if process.popen.poll() is None:
            process.popen.kill()
            process.popen.wait()


def deploy_arguments(path: Path, /, **parameters: Any) -> list[str]:
    """Arguments that start the deploy node with parameters."""
    values = {"bundle": path, "robot_file": ROBOT_FILE, "autostart": True, **parameters}
    arguments = ["--ros-args"]
    for key, value in values.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        arguments += ["-p", f"{key}:={text}"]
    return arguments


def walk_in_lockstep(
    folder: Path, bundle: Path, course: list[dict[str, Any]], name: str = "run"
) -> tuple[int, dict[str, np.ndarray]]:
    """Runs sim and deploy as processes over DDS through a course.

    Returns:
        The exit code of the sim, which is 1 after a fall, and the recording.
    """
    from policy_node.sim.recording import load_recording

    course_file, record, domain = folder / f"{name}.json", folder / f"{name}.npz", fresh_domain()
    course_file.write_text(json.dumps({"segments": course}))
    sim = [
        "--model", str(EXAMPLE / "quadruped.xml"), "--mode", "lockstep", "--suspend", "--course", str(course_file),
        "--record", str(record),
    ]  # fmt: skip
    arguments = deploy_arguments(bundle, auto_run=True, lockstep=True)
    with (
        running("deploy", arguments, domain, folder / f"{name}_deploy.log") as node,
        running("sim", sim, domain, folder / f"{name}_sim.log") as plant,
    ):
        code = plant.wait(300.0)
        assert record.is_file(), f"the simulation failed:\n{plant.text}\n{node.text}"
        assert node.end() == 0, node.text
    return code, load_recording(record)


@pytest.fixture(scope="session")
def bundle() -> Path:
    """The exported bundle of the example; `make test-ros` exports it first."""
    if not (BUNDLE / "policy_spec.json").is_file():
        pytest.fail(f"{BUNDLE} is missing: run `make demo` or `make test-ros`, which export it.")
    return BUNDLE


def variant(
    source: Path,
    folder: Path,
    change_spec: Callable[[dict[str, Any]], None] = lambda _: None,
    change_model: Callable[[onnx.ModelProto], None] = lambda _: None,
) -> Path:
    """A copy of a bundle without the proofs that would refuse what is changed in it."""
    shutil.copytree(source, folder)
    (folder / "golden.npz").unlink()
    spec = json.loads((folder / "policy_spec.json").read_text())
    spec["deployment"]["golden"] = None
    spec["deployment"]["checksums"] = {}
    change_spec(spec)
    model = onnx.load(str(folder / "policy.onnx"))
    del model.metadata_props[:]
    change_model(model)
    onnx.save(model, str(folder / "policy.onnx"))
    (folder / "policy_spec.json").write_text(json.dumps(spec))
    return folder


def without_action(model: onnx.ModelProto) -> None:
    """Makes the last layer zero, so that the policy always asks for the default pose."""
    last = max(int(item.name.removeprefix("weight_")) for item in model.graph.initializer if "weight_" in item.name)
    for item in model.graph.initializer:
        if item.name in (f"weight_{last}", f"bias_{last}"):
            zeros = np.zeros_like(onnx.numpy_helper.to_array(item))
            item.CopyFrom(onnx.numpy_helper.from_array(zeros, item.name))


def legs_swapped(spec: dict[str, Any]) -> None:
    """Sends the targets of the front left leg to the rear right one and the other way round."""
    term = spec["actions"]["terms"][0]
    swap = {"FL": "RR", "RR": "FL"}
    term["dofs_name"] = [swap.get(name[:2], name[:2]) + name[2:] for name in term["dofs_name"]]
