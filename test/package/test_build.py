# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""A plain ``colcon build`` in any workspace gives messages, Python, executables and shared files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from policy_node.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
# What is built or downloaded beside the sources, and would only slow the copy down.
NOT_SOURCES = shutil.ignore_patterns(".*", "build*", "install*", "log", "demo", "__pycache__", "*.egg-info", "test")


@dataclass(frozen=True)
class Workspace:
    """A built workspace."""

    path: Path

    @property
    def prefix(self) -> Path:
        """Where the package was installed to."""
        return self.path / "install" / "policy_node"

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Runs a bash command with an environment that holds only what the workspace's setup.bash gives.

        Args:
            command: bash text, run in the workspace's folder.

        Returns:
            The finished process with its output as text; it may have failed.
        """
        script = f". {self.path}/install/setup.bash; {command}"
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.path),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        }
        return subprocess.run(
            ["bash", "-c", script],
            cwd=self.path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )


def build_environment() -> dict[str, str]:
    """The environment of a person who activated these tests' virtual environment and runs colcon in it."""
    environment = dict(os.environ)
    environment["VIRTUAL_ENV"] = sys.prefix
    environment["PATH"] = f"{sys.prefix}/bin:{environment['PATH']}"
    if "ROS_DISTRO" not in environment:
        environment.pop("PYTHONPATH", None)
        environment["AMENT_PREFIX_PATH"] = environment["CMAKE_PREFIX_PATH"] = sys.prefix
    return environment


def colcon(path: Path, *arguments: str) -> str:
    """Runs colcon in a workspace and returns its output."""
    command = [sys.executable, "-m", "colcon", *arguments]
    done = subprocess.run(
        command,
        cwd=path,
        env=build_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stdout[-4000:]}"
    return done.stdout


@pytest.fixture(scope="session", params=["copied", "symlinked"])
def workspace(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """This package alone in a workspace, built with and without --symlink-install."""
    path = tmp_path_factory.mktemp(f"workspace_{request.param}")
    shutil.copytree(ROOT, path / "src" / "policy_node", ignore=NOT_SOURCES)
    colcon(path, "build", *(["--symlink-install"] if request.param == "symlinked" else []))
    return Workspace(path)


def test_colcon_takes_the_package_for_an_ament_cmake_one(workspace: Workspace) -> None:
    # An invalid package.xml silently makes it a plain Python package.
    done = subprocess.run(
        [sys.executable, "-m", "colcon", "list"],
        cwd=workspace.path / "src",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.split("\t") == ["policy_node", "policy_node", "(ros.ament_cmake)\n"]


def test_messages_and_python_are_imported_from_the_same_folder(workspace: Workspace) -> None:
    code = "import policy_node.msg, policy_node.core; print(policy_node.msg.__file__, policy_node.core.__file__)"
    done = workspace.run(f'{sys.executable} -c "{code}"')
    assert done.returncode == 0, done.stderr
    messages, python = map(Path, done.stdout.split())
    assert messages.parents[1] == python.parents[1]
    assert python.is_relative_to(workspace.prefix)


def test_every_source_file_is_installed(workspace: Workspace) -> None:
    (package,) = workspace.prefix.glob("lib/python*/site-packages/policy_node")
    copied = workspace.path / "src" / "policy_node" / "policy_node"
    sources = {path.relative_to(copied) for path in copied.rglob("*.py")}
    assert sources
    assert not [str(path) for path in sources if not (package / path).is_file()]


@pytest.mark.parametrize("folder", ["launch", "config", "examples", "resource", "msg"])
def test_shared_files_are_installed(workspace: Workspace, folder: str) -> None:
    files = [path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert files
    missing = [str(f) for f in files if not (workspace.prefix / "share/policy_node" / f.relative_to(ROOT)).is_file()]
    assert not missing


def test_package_is_in_the_ament_index(workspace: Workspace) -> None:
    assert (workspace.prefix / "share/ament_index/resource_index/packages/policy_node").is_file()


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_executable_names_the_interpreter_that_built_it(workspace: Workspace, name: str) -> None:
    first_line = (workspace.prefix / "lib/policy_node" / name).read_text().splitlines()[0]
    interpreter = Path(first_line.removeprefix("#!"))
    # The name in the virtual environment, not what it links to, or its packages would not be found.
    assert interpreter.parent == Path(sys.prefix) / "bin"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_executable_runs_outside_the_virtual_environment(workspace: Workspace, name: str) -> None:
    done = workspace.run(f"install/policy_node/lib/policy_node/{name} --help")
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout.lower()


def test_executables_are_the_commands_of_policy_node(workspace: Workspace) -> None:
    assert {path.name for path in (workspace.prefix / "lib/policy_node").iterdir()} == set(COMMANDS)


DRIVER = """
#include <cstdio>
#include "policy_node/msg/joint_command.hpp"
int main() {
  policy_node::msg::JointCommand command; command.name = {"knee"}; command.kp = {20.0}; command.sequence = 1;
  command.valid_for = 0.1; std::printf("%s %.1f %u %.1f\\n", command.name[0].c_str(), command.kp[0],
  command.sequence, command.valid_for);
}
"""
DRIVER_CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(driver CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(policy_node REQUIRED)
add_executable(driver driver.cpp)
target_link_libraries(driver ${policy_node_TARGETS})
"""


def test_cpp_driver_compiles_against_the_message(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "driver.cpp").write_text(DRIVER)
    (tmp_path / "CMakeLists.txt").write_text(DRIVER_CMAKE)
    build = "cmake -S . -B build && cmake --build build && build/driver"
    script = f". {workspace.path}/install/local_setup.bash && {build}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=build_environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert done.stdout.endswith("knee 20.0 1 0.1\n")


def test_build_needs_no_python_package_that_only_the_nodes_need() -> None:
    # A C++ driver depends on this package for its messages, and must not pull ONNX Runtime in for that.
    text = (ROOT / "package.xml").read_text()
    python_only = re.findall(r"<(\w+)>(?:python3-|rclpy|launch)", text)
    assert python_only
    assert set(python_only) == {"exec_depend"}
