#!/usr/bin/env python3
# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Mends a virtual environment that holds ROS 2 from PyPI, so that colcon can build messages in it.

The wheels of ROS 2 on PyPI carry, in their exported CMake files, absolute paths of the machine that built
them: the headers of Python and of numpy, below ``/opt/python``. This script replaces both by the
environment's own, in that environment only. It is run by ``make`` where no ROS 2 is sourced, with the
interpreter of the environment to mend, and may be run again at any time.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from pathlib import Path

# The tag names the interpreter, such as cp311-cp311; the rest of the path follows the layout of a manylinux
# image.
_PYTHON_INCLUDE = re.compile(r"/opt/python/cp\d+-cp\d+t?/include/python3\.\d+t?")
_NUMPY_INCLUDE = re.compile(
    r"/opt/python/cp\d+-cp\d+t?/lib/python3\.\d+t?/site-packages/numpy/_?core/include"
)


def mended(text: str, *, python_include: str, numpy_include: str) -> str:
    """Replaces the build machine's paths in the text of one CMake file.

    Args:
        text: content of an exported CMake file.
        python_include: directory that holds Python.h.
        numpy_include: directory that holds numpy/ndarrayobject.h.

    Returns:
        The text with both kinds of path replaced; unchanged when it holds none.
    """
    # A function as replacement keeps backslashes in the paths literal.
    text = _PYTHON_INCLUDE.sub(lambda _: python_include, text)
    return _NUMPY_INCLUDE.sub(lambda _: numpy_include, text)


def mend(prefix: Path, *, python_include: str, numpy_include: str) -> list[Path]:
    """Mends every exported CMake file below ``prefix/share``.

    Args:
        prefix: root of the virtual environment.
        python_include: directory that holds Python.h.
        numpy_include: directory that holds numpy/ndarrayobject.h.

    Returns:
        The files that were changed.
    """
    changed = []
    for path in sorted((prefix / "share").glob("*/cmake/*.cmake")):
        before = path.read_text(encoding="utf-8")
        after = mended(before, python_include=python_include, numpy_include=numpy_include)
        if after != before:
            # pip may have hard-linked the file from its cache; a new file in its place leaves that one alone.
            replacement = path.with_suffix(".cmake.mended")
            replacement.write_text(after, encoding="utf-8")
            replacement.replace(path)
            changed.append(path)
    return changed


def main() -> int:
    """Mends the environment of the running interpreter. Returns 0, or 2 when it must not be mended."""
    if os.environ.get("ROS_DISTRO"):
        print(
            f"ros_from_pypi: ROS_DISTRO is '{os.environ['ROS_DISTRO']}', so a ROS 2 is sourced and this "
            "environment must not bring another one. Open a shell without it, or use the sourced one.",
            file=sys.stderr,
        )
        return 2
    if sys.prefix == sys.base_prefix:
        print(
            f"ros_from_pypi: {sys.executable} is not the interpreter of a virtual environment. Run this "
            "script with the bin/python of the environment that holds the ROS 2 wheels.",
            file=sys.stderr,
        )
        return 2
    include = sysconfig.get_paths()["include"]
    if not (Path(include) / "Python.h").is_file():
        print(
            f"ros_from_pypi: {include} lacks Python.h, which building messages needs. Install the headers of "
            "this Python (Debian and Ubuntu: apt install python3-dev).",
            file=sys.stderr,
        )
        return 2
    # Here, so that the messages above are seen where numpy is missing.
    import numpy

    mend(Path(sys.prefix), python_include=include, numpy_include=numpy.get_include())
    return 0


if __name__ == "__main__":
    sys.exit(main())
