# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""An executor in a thread of a test."""

from __future__ import annotations

import threading

from rclpy.executors import Executor


class Spinner(threading.Thread):
    """Runs callbacks until ended."""

    def __init__(self, executor: Executor) -> None:
        super().__init__(daemon=True)
        self._executor = executor
        self._ending = False
        self.start()

    def run(self) -> None:
        """Spins. An executor that is shut down while it waits may raise what it likes; before that it may not."""
        try:
            self._executor.spin()
        except Exception:
            if not self._ending:
                raise

    def end(self) -> None:
        """Ends the executor and the thread."""
        self._ending = True
        self._executor.shutdown(timeout_sec=2.0)
        self.join(timeout=5.0)
