# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""One node as a process: an executor in a thread, signals that end it in order, no traceback on the way out."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from policy_node.errors import PolicyNodeError

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class ArgumentError(PolicyNodeError, ValueError):
    """Arguments after --ros-args that ROS cannot parse."""


class NodeProcess:
    """Runs callbacks of a node beside the main thread.

    Attributes:
        stop: set by a signal, by a failed callback, or by whoever wants the process to end.
        failed: set when a callback raised: the process ends with exit code 1.
        reason: why the process ends, in words.
    """

    def __init__(self, name: str, args: list[str]) -> None:
        self.stop = threading.Event()
        self.failed = False
        self.reason = "the end"
        for number in STOP_SIGNALS:
            signal.signal(number, self._on_signal)
        # The default handlers shut the context down at once, and nothing could be published any more: no last command.
        try:
            rclpy.init(args=[name, *args], signal_handler_options=SignalHandlerOptions.NO)
        except Exception as error:  # rclpy raises several classes for arguments that it cannot parse
            raise ArgumentError(f"ROS does not understand the arguments {' '.join(args)}: {error}") from None
        # A shorter interval lets a thread with a deadline run soon after it while a callback is computing.
        sys.setswitchinterval(0.0005)
        self._executor: SingleThreadedExecutor | None = None
        self._thread: threading.Thread | None = None
        self._node: Node | None = None

    def spin(self, node: Node) -> None:
        """Starts to run the node's callbacks."""
        self._node = node
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(node)
        self._thread = threading.Thread(target=self._spin, name="executor", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Waits for the end. Only the main thread runs signal handlers, so it waits in short pieces."""
        while not self.stop.wait(0.1):
            pass

    def close(self) -> None:
        """Ends the executor, the node and ROS."""
        if self._executor is not None and self._thread is not None:
            self._executor.shutdown(timeout_sec=1.0)
            self._thread.join(timeout=1.0)
        if self._node is not None:
            self._node.destroy_node()
        rclpy.try_shutdown()

    def fail(self, reason: str) -> None:
        """Ends the process with exit code 1."""
        self.failed = True
        self.reason = reason
        self.stop.set()

    def _spin(self) -> None:
        assert self._executor is not None
        assert self._node is not None
        try:
            self._executor.spin()
        except ExternalShutdownException:
            pass
        except Exception as error:
            self._node.get_logger().fatal(f"a callback failed: {type(error).__name__}: {error}")
            self.fail("a callback failed")

    def _on_signal(self, number: int, _: FrameType | None) -> Any:
        self.reason = signal.Signals(number).name
        self.stop.set()
