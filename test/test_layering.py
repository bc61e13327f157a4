# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Who may import whom. The run time stays free of ROS and of training frameworks, or it runs nowhere else."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


# The messages and libraries that only a ROS 2 installation brings.
ROS = _set(
    "ament_index_python builtin_interfaces diagnostic_msgs geometry_msgs lifecycle_msgs nav_msgs "
    "rcl_interfaces rclpy rosgraph_msgs sensor_msgs std_msgs std_srvs trajectory_msgs"
)
# Modules directly in policy_node/: every layer may import them; they import the standard library alone.
ROOT_MODULES = frozenset({"errors", "pydantic_check", "version"})


@dataclass(frozen=True)
class Layer:
    """What one folder may import, beside the standard library, itself and the root modules."""

    layers: frozenset[str]
    """Other folders of policy_node."""
    packages: frozenset[str]
    """Other people's packages, anywhere."""
    inside_functions: frozenset[str] = frozenset()
    """Other people's packages, inside functions only: whoever does not call those need not have them."""


LAYERS = {
    "spec": Layer(_set(""), _set("numpy pydantic ruamel")),
    "core": Layer(_set("spec"), _set("numpy")),
    # google is protobuf, whose errors onnx raises.
    "inference": Layer(_set("core spec"), _set("google numpy onnx onnxruntime")),
    "export": Layer(_set("core inference spec"), _set("numpy onnx onnxruntime"), _set("onnxscript torch")),
    "sim": Layer(_set("core spec"), _set("mujoco numpy pydantic"), _set("matplotlib PIL")),
    "ros": Layer(_set("core inference sim spec"), ROS | _set("numpy")),
    # An executable answers --help without whatever it needs to work.
    "cli": Layer(
        _set("core export inference ros sim spec"),
        _set("numpy rich"),
        ROS | _set("matplotlib mujoco onnxruntime torch"),
    ),
}


@dataclass(frozen=True)
class Import:
    """One import statement's module, and where it stands."""

    path: str
    line: int
    module: str
    inside_function: bool

    def __str__(self) -> str:
        return f"{self.path}:{self.line} imports {self.module}"


def imports_of(source: str, path: str) -> Iterator[Import]:
    """Every absolute import in a source text, those inside functions too."""

    def walk(node: ast.AST, inside_function: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(path, child.lineno, alias.name, inside_function)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, (
                    f"{path}:{child.lineno}: a relative import hides which layer it reaches into."
                )
                module = child.module or ""
                # `from policy_node import ros` reaches into a layer too.
                names = (
                    [f"policy_node.{a.name}" for a in child.names] if module == "policy_node" else [module]
                )
                for name in names:
                    yield Import(path, child.lineno, name, inside_function)
            is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            # What is imported for type hints alone is never run.
            is_for_types = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
            yield from walk(child, inside_function or is_function or is_for_types)

    yield from walk(ast.parse(source), False)


def faults_of(layer_name: str, imports: Iterator[Import]) -> list[str]:
    """One sentence for each import that the layer may not have."""
    layer = LAYERS[layer_name]
    faults = []
    for found in imports:
        package, *rest = found.module.split(".")
        if package == "policy_node":
            part = rest[0] if rest else "__init__"
            if part == "msg":
                if layer_name != "ros":
                    faults.append(f"{found}: only policy_node.ros may use messages.")
            elif part not in ROOT_MODULES | layer.layers | {layer_name, "__version__"}:
                faults.append(f"{found}: {layer_name} may use {sorted(layer.layers)}.")
        elif package in layer.inside_functions:
            if not found.inside_function:
                faults.append(f"{found} at module level: {layer_name} may do so inside functions only.")
        elif package not in layer.packages | sys.stdlib_module_names:
            allowed = sorted(layer.packages | layer.inside_functions)
            faults.append(f"{found}: {layer_name} may use {allowed}.")
    return faults


def sources(folder: str) -> list[Path]:
    return sorted((ROOT / "policy_node" / folder).rglob("*.py"))


@pytest.mark.parametrize("layer", sorted(LAYERS))
def test_layer_imports_only_what_it_may(layer: str) -> None:
    faults = []
    for path in sources(layer):
        faults += faults_of(layer, imports_of(path.read_text("utf-8"), str(path.relative_to(ROOT))))
    assert sources(layer), (
        f"policy_node/{layer} holds no Python file: the table names a folder that is not there."
    )
    assert not faults, "\n".join(faults)


def test_every_folder_of_the_package_is_a_layer_of_the_table() -> None:
    folders = {path.parent.name for path in (ROOT / "policy_node").glob("*/*.py")}
    assert folders == set(LAYERS)


def test_root_modules_import_only_the_standard_library_and_each_other() -> None:
    for path in sorted((ROOT / "policy_node").glob("*.py")):
        for found in imports_of(path.read_text("utf-8"), path.name):
            package, *rest = found.module.split(".")
            allowed = (
                rest[0] in ROOT_MODULES if package == "policy_node" else package in sys.stdlib_module_names
            )
            assert allowed, f"{found}: root modules may use the standard library and {sorted(ROOT_MODULES)}."


@pytest.mark.parametrize(
    ("layer", "source"),
    [
        ("core", "import rclpy"),
        ("core", "def f():\n    import torch"),
        ("core", "from policy_node.ros import node"),
        ("spec", "from policy_node import ros"),
        ("sim", "from policy_node.msg import JointCommand"),
        ("ros", "def f():\n    from policy_node.export import bundle"),
        ("ros", "class A:\n    def f(self):\n        import torch"),
        ("export", "import torch"),
        ("export", "if True:\n    from torch import nn"),
        ("cli", "import torch"),
    ],
)
def test_forbidden_import_is_found(layer: str, source: str) -> None:
    assert faults_of(layer, imports_of(source, "example.py"))


@pytest.mark.parametrize(
    ("layer", "source"),
    [
        ("export", "def f():\n    import torch.nn"),
        ("ros", "from policy_node.msg import JointCommand\nimport rclpy.node"),
        ("core", "from policy_node.spec.model import TermSpec\nimport numpy as np\nimport math"),
    ],
)
def test_allowed_import_is_not_a_fault(layer: str, source: str) -> None:
    assert not faults_of(layer, imports_of(source, "example.py"))
