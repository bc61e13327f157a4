# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The pip package, as a machine without ROS has it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from policy_node import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of this package, built with the setuptools that the tests have."""
    folder = tmp_path_factory.mktemp("wheel")
    # setuptools writes beside the sources, so it gets a copy.
    sources = folder / "sources"
    shutil.copytree(ROOT / "policy_node", sources / "policy_node", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.py", "setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        str(sources),
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-4000:]
    (path,) = folder.glob("*.whl")
    return path


def test_wheel_holds_every_module_and_nothing_else(wheel: Path) -> None:
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "policy_node").rglob("*.py")}
    assert packed == sources


def test_wheel_has_the_version_and_the_console_script(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    folder = f"policy_node-{__version__}.dist-info"
    assert "policy-node = policy_node.cli.main:main" in archive.read(f"{folder}/entry_points.txt").decode()
    assert f"Version: {__version__}\n" in archive.read(f"{folder}/METADATA").decode()


def test_every_command_but_the_nodes_answers_help_without_ros(wheel: Path) -> None:
    # None in sys.modules makes an import fail as if nothing of that name were installed.
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); "
        "sys.modules['rclpy'] = sys.modules['std_msgs'] = None; "
        "from policy_node.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    for name in ("export", "check", "bench"):
        command = [sys.executable, "-c", code, str(wheel), name, "--help"]
        done = subprocess.run(command, cwd=wheel.parent, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
