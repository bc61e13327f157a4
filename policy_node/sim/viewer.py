# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""A window that shows the robot while it is simulated."""

from __future__ import annotations

import os
import sys
from typing import Any

from policy_node.sim.plant import Plant, PlantError


def open_viewer(plant: Plant) -> Any:
    """MuJoCo's viewer; call its ``sync()`` after steps and ``close()`` at the end.

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

    return mujoco.viewer.launch_passive(plant.model, plant.data)
