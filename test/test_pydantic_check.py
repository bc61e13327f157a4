# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from policy_node import pydantic_check
from policy_node.errors import PolicyNodeError
from policy_node.pydantic_check import require_pydantic_2

ROOT = Path(__file__).parents[1]


def test_pydantic_1_is_refused_with_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pydantic_check, "version", lambda _: "1.10.14")
    with pytest.raises(ImportError) as caught:
        require_pydantic_2()
    assert isinstance(caught.value, PolicyNodeError)
    text = str(caught.value)
    assert "policy_node needs pydantic 2, and found pydantic 1.10.14" in text
    assert "python3 -m venv --system-site-packages" in text
    assert "requirements/robot.txt" in text
    assert (ROOT / "requirements" / "robot.txt").is_file()


def test_missing_pydantic_is_refused_with_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(pydantic_check, "version", missing)
    with pytest.raises(ImportError, match=r"there is none\.\nMake a virtual environment"):
        require_pydantic_2()


def test_installed_pydantic_is_accepted() -> None:
    require_pydantic_2()


def test_executable_meets_pydantic_1_with_the_recipe_and_no_traceback(tmp_path: Path) -> None:
    # What apt installs, as far as an import can tell.
    (tmp_path / "pydantic").mkdir()
    (tmp_path / "pydantic" / "__init__.py").write_text('VERSION = "1.10.14"\n')
    metadata = tmp_path / "pydantic-1.10.14.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: pydantic\nVersion: 1.10.14\n")
    code = "import sys; from policy_node.cli.main import main; sys.exit(main(['check', 'no_bundle']))"
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "policy_node needs pydantic 2, and found pydantic 1.10.14" in done.stderr
    assert "Traceback" not in done.stderr
