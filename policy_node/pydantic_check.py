# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Meets a pydantic that is too old, or missing, with the way to mend it.

The distributions that ROS 2 runs on ship pydantic 1 as python3-pydantic (Ubuntu 22.04 and 24.04, Debian 12),
so this is the first thing that goes wrong on a robot computer. Whatever needs pydantic calls
:func:`require_pydantic_2` before it imports it.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from policy_node.errors import PolicyNodeError

RECIPE = """\
Make a virtual environment beside the sourced ROS 2, and build from it:
  python3 -m venv --system-site-packages ~/policy_node_venv
  . ~/policy_node_venv/bin/activate
  pip install "numpy==$(/usr/bin/python3 -c 'import numpy; print(numpy.__version__)')" \\
      -r src/policy_node/requirements/robot.txt
  python -m colcon build --packages-select policy_node
  . install/setup.bash
Afterwards `ros2 run policy_node ...` works in any shell that sources the workspace, without the virtual
environment. Without ROS, on a training machine: pip install --upgrade 'pydantic>=2'."""


class PydanticVersionError(PolicyNodeError, ImportError):
    """The pydantic of this interpreter is missing or older than 2."""


def require_pydantic_2() -> None:
    """Checks the installed pydantic without importing it.

    Raises:
        PydanticVersionError: when it is missing or older than 2; the text holds the recipe.
    """
    try:
        found = version("pydantic")
    except PackageNotFoundError:
        raise PydanticVersionError(f"policy_node needs pydantic 2, and there is none.\n{RECIPE}") from None
    if int(found.split(".")[0]) < 2:
        raise PydanticVersionError(
            f"policy_node needs pydantic 2, and found pydantic {found}, which is what python3-pydantic of "
            f"Ubuntu 22.04 and 24.04 and of Debian 12 installs.\n{RECIPE}"
        )
