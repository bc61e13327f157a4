# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "ros_from_pypi.py"
EXPORTED = (
    'INTERFACE_INCLUDE_DIRECTORIES "${_IMPORT_PREFIX}/include/x;/opt/python/cp311-cp311/include/python3.11;'
    '/opt/python/cp311-cp311/lib/python3.11/site-packages/numpy/_core/include"\n'
)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = spec_from_file_location("ros_from_pypi", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_both_paths_of_the_build_machine_are_replaced(script: ModuleType) -> None:
    assert script.mended(EXPORTED, python_include="/v/include", numpy_include="/v/numpy/core/include") == (
        'INTERFACE_INCLUDE_DIRECTORIES "${_IMPORT_PREFIX}/include/x;/v/include;/v/numpy/core/include"\n'
    )


def test_mending_changes_the_files_once(script: ModuleType, tmp_path: Path) -> None:
    exported = tmp_path / "share" / "std_msgs" / "cmake" / "export.cmake"
    exported.parent.mkdir(parents=True)
    exported.write_text(EXPORTED)
    other = exported.with_name("other.cmake")
    other.write_text("set(x 1)\n")
    assert script.mend(tmp_path, python_include="/v/i", numpy_include="/v/n") == [exported]
    assert "/opt/python" not in exported.read_text()
    assert script.mend(tmp_path, python_include="/v/i", numpy_include="/v/n") == []
    assert sorted(path.name for path in exported.parent.iterdir()) == ["export.cmake", "other.cmake"]


def test_file_linked_from_the_cache_of_pip_stays_as_it_was(script: ModuleType, tmp_path: Path) -> None:
    cached = tmp_path / "cached.cmake"
    cached.write_text(EXPORTED)
    exported = tmp_path / "share" / "std_msgs" / "cmake" / "export.cmake"
    exported.parent.mkdir(parents=True)
    exported.hardlink_to(cached)
    script.mend(tmp_path, python_include="/v/i", numpy_include="/v/n")
    assert cached.read_text() == EXPORTED


def test_a_sourced_ros_is_left_alone() -> None:
    environment = {**os.environ, "ROS_DISTRO": "jazzy"}
    done = subprocess.run([sys.executable, SCRIPT], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "ROS_DISTRO is 'jazzy'" in done.stderr


def test_interpreter_outside_a_virtual_environment_is_refused() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "ROS_DISTRO"}
    interpreter = Path(sys.base_prefix) / "bin" / "python3"
    done = subprocess.run([interpreter, SCRIPT], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "is not the interpreter of a virtual environment" in done.stderr
