# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""``deploy``: run a bundle on a robot, as a lifecycle node."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Sequence

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

HELP = """usage: deploy [--help] [--ros-args -p NAME:=VALUE ...]

Runs a policy bundle on a robot, as the lifecycle node 'policy_node'. With a launch file: ros2 launch policy_node
deploy.launch.py bundle:=DIR. Alone: deploy --ros-args -p bundle:=DIR -p autostart:=true

parameters (default in brackets):"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the node until a signal; returns 0 after a clean stop, 1 when it could not run."""
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        import rclpy
    except ModuleNotFoundError:
        print("deploy: there is no rclpy: source a ROS 2 workspace that holds policy_node, or build one with "
              "'make build'.", file=sys.stderr)
        return 1
    if "-h" in args or "--help" in args:
        print(HELP)
        _print_parameters()
        return 0
    import numpy as np
    from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
    from rclpy.signals import SignalHandlerOptions

    from policy_node.errors import PolicyNodeError
    from policy_node.ros.deploy_node import DeployNode

    stop = threading.Event()
    caught: list[int] = []

    def on_signal(number: int, _: object) -> None:
        caught.append(number)
        stop.set()

    for number in STOP_SIGNALS:
        signal.signal(number, on_signal)
    # The default handlers shut the context down at once, and nothing could be published any more: no last command.
    rclpy.init(args=["deploy", *args], signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = DeployNode(on_failure=stop.set)
    except PolicyNodeError as error:
        print(f"deploy: {error}", file=sys.stderr)
        rclpy.shutdown()
        return 1
    # The tick tests what it computes for finiteness and answers; a warning about it would only be noise.
    np.seterr(invalid="ignore", over="ignore")
    # A shorter interval lets the tick's thread run soon after its deadline while a callback is computing.
    sys.setswitchinterval(0.0005)
    executor = SingleThreadedExecutor()
    executor.add_node(node)

    def spin() -> None:
        try:
            executor.spin()
        except ExternalShutdownException:
            pass
        except Exception as error:
            node.get_logger().fatal(f"a callback failed: {type(error).__name__}: {error}")
            node.failed = True
            stop.set()

    spinner = threading.Thread(target=spin, name="executor", daemon=True)
    spinner.start()
    if node.wants_autostart() and not node.autostart():
        node.failed = True
        stop.set()
    # Only the main thread runs signal handlers, and it must not be inside of a C call for long: so it waits here.
    while not stop.wait(0.1):
        pass
    node.stop_safely(signal.Signals(caught[0]).name if caught else "a failure")
    executor.shutdown(timeout_sec=1.0)
    spinner.join(timeout=1.0)
    node.destroy_node()
    rclpy.shutdown()
    return 1 if node.failed else 0


def _print_parameters() -> None:
    from policy_node.ros.parameters import all_rows

    for row in all_rows():
        default = f"{row.default:g} {row.unit}" if isinstance(row.default, float) else str(row.default).lower() or "''"
        print(f"  {row.name} [{default}]: {row.description}")
