# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""``deploy``: run a bundle on a robot, as a lifecycle node."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

HELP = """usage: deploy [--help] [--ros-args -p NAME:=VALUE ...]

Runs a policy bundle on a robot, as the lifecycle node 'policy_node'. With a launch file: ros2 launch policy_node
deploy.launch.py bundle:=DIR. Alone: deploy --ros-args -p bundle:=DIR -p autostart:=true

parameters (default in brackets):"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the node until a signal; returns 0 after a clean stop, 1 when it could not run."""
    args = list(sys.argv[1:] if argv is None else argv)
    if "-h" in args or "--help" in args:
        print(HELP)
        _print_parameters()
        return 0
    try:
        import rclpy  # noqa: F401
    except ModuleNotFoundError:
        print(
            "deploy: there is no rclpy: source a ROS 2 workspace that holds policy_node (README, 'On a robot'), or run "
            "'make build'.",
            file=sys.stderr,
        )
        return 1
    import numpy as np

    from policy_node.errors import PolicyNodeError
    from policy_node.ros.deploy_node import DeployNode
    from policy_node.ros.process import NodeProcess

    # The tick tests what it computes for finiteness and answers; a warning about it would only be noise.
    np.seterr(invalid="ignore", over="ignore")
    if args and not args[0].startswith("--"):
        print(
            f"deploy: '{args[0]}' is not understood. Parameters follow --ros-args: --ros-args -p bundle:=DIR",
            file=sys.stderr,
        )
        return 2
    try:
        process = NodeProcess("deploy", args)
    except PolicyNodeError as error:
        print(f"deploy: {error}", file=sys.stderr)
        return 1
    try:
        node = DeployNode(on_failure=lambda: process.fail("a tick failed"))
    except PolicyNodeError as error:
        print(f"deploy: {error}", file=sys.stderr)
        process.close()
        return 1
    process.spin(node)
    if node.wants_autostart() and not node.autostart():
        process.fail("not started")
    process.wait()
    node.stop_safely(process.reason)
    if node.hung:
        # A thread that will not end would keep the process alive.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
    process.close()
    return 1 if process.failed or node.failed else 0


def _print_parameters() -> None:
    from policy_node.ros.parameters import all_rows

    for row in all_rows():
        unit = "" if row.unit == "1" else f" {row.unit}"
        default = f"{row.default:g}{unit}" if isinstance(row.default, float) else str(row.default).lower() or "''"
        print(f"  {row.name} [{default}]: {row.description}")
