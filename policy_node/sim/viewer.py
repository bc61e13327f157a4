# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""A window that shows the robot while it is simulated."""

from __future__ import annotations

import os
import sys
import threading

from policy_node.sim.plant import Plant, PlantError


class Viewer:
    """MuJoCo's passive viewer, which draws in a thread of its own."""

    def __init__(self, plant: Plant) -> None:
        """Opens the window.

        Raises:
            PlantError: there is no display.
        """
        has_display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        if sys.platform.startswith("linux") and not has_display:
            raise PlantError(
                "the viewer needs a display, and neither DISPLAY nor WAYLAND_DISPLAY is set. Run without --viewer; "
                "--record keeps everything for a later look."
            )
        import mujoco.viewer

        before = set(threading.enumerate())
        self._handle = mujoco.viewer.launch_passive(plant.model, plant.data)
        self._threads = [thread for thread in threading.enumerate() if thread not in before]

    def sync(self) -> None:
        """Shows the present state."""
        self._handle.sync()

    def close(self) -> None:
        """Closes the window and waits until it has gone: ending the process before would crash the drawing thread."""
        self._handle.close()
        for thread in self._threads:
            thread.join(timeout=5.0)
