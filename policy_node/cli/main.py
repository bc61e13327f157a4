# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The command ``policy-node NAME``, and what every executable of the ROS package starts with."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from policy_node.errors import PolicyNodeError
from policy_node.version import __version__

# One line for each, as the help shows it.
COMMANDS = {
    "export": "make a bundle from a trained checkpoint and a task description",
    "check": "validate a bundle and say what it needs",
    "bench": "measure the time of one tick against the bare network",
    "sim": "simulate a robot with MuJoCo on ROS topics (needs ROS)",
    "deploy": "run a bundle on a robot, as a lifecycle node (needs ROS)",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command that the first argument names, with the rest of the arguments.

    Errors that policy_node raises on purpose say by themselves what to do, so they are shown without a
    traceback.

    Args:
        argv: arguments without the program's name; those of the process when None.

    Returns:
        The exit code of the command: 1 after such an error, 2 when the command does not exist.
    """
    args = list(sys.argv[1:] if argv is None else argv)
    if args in ([], ["-h"], ["--help"]):
        print(_help())
        return 0 if args else 2
    if args == ["--version"]:
        print(__version__)
        return 0
    name, *rest = args
    if name not in COMMANDS:
        print(f"policy-node: no command '{name}'. There are: {', '.join(COMMANDS)}.", file=sys.stderr)
        return 2
    try:
        return int(import_module(f"policy_node.cli.{name}").main(rest))
    except PolicyNodeError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _help() -> str:
    """Text of ``policy-node --help``."""
    width = max(len(name) for name in COMMANDS)
    lines = [f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items()]
    return "\n".join(
        [
            "usage: policy-node [--help] [--version] COMMAND ...",
            "",
            "Takes a trained reinforcement-learning policy to a robot.",
            "",
            *lines,
            "",
            "policy-node COMMAND --help describes one. With ROS: ros2 run policy_node COMMAND.",
        ]
    )
