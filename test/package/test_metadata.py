# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The ROS package, the pip package and the requirement files say the same."""

from __future__ import annotations

import ast
import configparser
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from policy_node import __version__
from policy_node.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]


def setup_cfg() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def requirements(text: str) -> set[str]:
    """The requirements in a text that has one on each line."""
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return {line for line in lines if line}


def requirement_file(name: str) -> set[str]:
    return requirements((ROOT / "requirements" / name).read_text("utf-8"))


def package_xml() -> ET.Element:
    return ET.parse(ROOT / "package.xml").getroot()


def test_package_xml_states_the_version() -> None:
    assert package_xml().findtext("version") == __version__


def test_newest_entry_of_the_changelog_is_the_version() -> None:
    found = re.search(r"^(\d+\.\d+\.\d+)\b", (ROOT / "CHANGELOG.rst").read_text("utf-8"), re.MULTILINE)
    assert found
    assert found[1] == __version__


def test_pip_package_has_the_name_of_the_ros_package_and_reads_its_version() -> None:
    metadata = setup_cfg()["metadata"]
    assert metadata["name"] == package_xml().findtext("name")
    assert metadata["version"] == "attr: policy_node.version.__version__"


def test_robot_requirements_are_those_of_the_pip_package_with_cpu() -> None:
    options = setup_cfg()
    pip = requirements(options["options"]["install_requires"]) | requirements(options["options.extras_require"]["cpu"])
    without_numpy = {line for line in pip if not line.startswith("numpy")}
    assert requirement_file("robot.txt") == without_numpy


def test_simulation_and_development_requirements_are_those_of_the_extras() -> None:
    extras = setup_cfg()["options.extras_require"]
    assert requirement_file("sim.txt") == requirements(extras["sim"])
    assert requirement_file("dev.txt") == requirements(extras["test"]) | requirements(extras["lint"])


def test_onnxruntime_comes_with_exactly_one_of_the_extras_cpu_and_gpu() -> None:
    options = setup_cfg()
    naming = {
        name: {line for line in requirements(text) if line.startswith("onnxruntime")}
        for name, text in [
            ("base", options["options"]["install_requires"]),
            *options["options.extras_require"].items(),
        ]
    }
    assert {name for name, lines in naming.items() if lines} == {"cpu", "gpu"}
    assert len(naming["cpu"]) == len(naming["gpu"]) == 1


def test_robot_side_never_gets_pytorch() -> None:
    for name in ("robot.txt", "sim.txt", "dev.txt", "build.txt", "ros-kilted.txt", "ros-jazzy.txt"):
        assert not [line for line in requirement_file(name) if line.startswith("torch")]


@pytest.mark.parametrize("distribution", ["kilted", "jazzy"])
def test_every_ros_wheel_is_pinned(distribution: str) -> None:
    wheels = [line for line in requirement_file(f"ros-{distribution}.txt") if line.startswith("ros-")]
    assert len(wheels) > 50
    assert not [line for line in wheels if not re.fullmatch(r"ros-[a-z0-9-]+==[0-9.]+", line)]


def test_every_ros_package_that_the_nodes_import_is_in_package_xml() -> None:
    listed = {element.text for tag in ("depend", "exec_depend") for element in package_xml().iter(tag)}
    third_party = {
        "numpy",
        "onnx",
        "onnxruntime",
        "pydantic",
        "rich",
        "mujoco",
        "ruamel",
        "policy_node",
        "yaml",
    }
    for path in [*(ROOT / "policy_node" / "ros").rglob("*.py"), *(ROOT / "launch").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for package in {name.split(".")[0] for name in names} - third_party - sys.stdlib_module_names:
                assert package in listed, f"{path.name} imports {package}: name it in package.xml."


def test_python_only_dependencies_are_needed_to_run_and_not_to_build() -> None:
    # A C++ driver depends on this package for its messages, and must not pull ONNX Runtime in for that.
    build_tags = ("depend", "build_depend", "build_export_depend", "buildtool_export_depend")
    for tag in build_tags:
        for element in package_xml().iter(tag):
            assert not re.match(r"python3-|rclpy|launch", element.text or ""), f"{tag} {element.text}"


def test_executables_are_the_commands_of_policy_node_each_with_a_module() -> None:
    text = (ROOT / "CMakeLists.txt").read_text("utf-8")
    listed = re.search(r"foreach\(POLICY_NODE_EXECUTABLE IN ITEMS ([a-z ]+)\)", text)
    assert listed
    assert set(listed[1].split()) == set(COMMANDS)
    assert not [name for name in COMMANDS if not (ROOT / "policy_node" / "cli" / f"{name}.py").is_file()]
