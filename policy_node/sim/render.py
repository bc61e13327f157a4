# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Pictures of a recorded run: a contact sheet and an animation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Frame = npt.NDArray[np.uint8]


def render_frames(
    model_path: Path, qpos: npt.NDArray[np.float64], size: tuple[int, int], camera: str | None = "track"
) -> list[Frame]:
    """Renders positions of a model, without a display where there is none.

    Args:
        model_path: MJCF file.
        qpos: shape (num_frames, nq).
        size: width and height in pixels.
        camera: name of a camera of the model; the free camera where the model has none of that name.

    Returns:
        Frames of shape (height, width, 3).
    """
    if not os.environ.get("DISPLAY"):
        os.environ.setdefault("MUJOCO_GL", "egl")
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(model_path))
    data = mujoco.MjData(model)
    has_camera = camera is not None and mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, camera) >= 0
    frames = []
    with mujoco.Renderer(model, size[1], size[0]) as renderer:
        for position in qpos:
            data.qpos[:] = position
            mujoco.mj_forward(model, data)
            renderer.update_scene(data, camera if has_camera else -1)
            frames.append(renderer.render().copy())
    return frames


def contact_sheet(frames: list[Frame], labels: list[str], columns: int, path: Path) -> None:
    """Writes frames side by side, each with its label, as one PNG."""
    from PIL import Image, ImageDraw

    height, width = frames[0].shape[:2]
    rows = -(-len(frames) // columns)
    sheet = Image.new("RGB", (columns * width, rows * height), "white")
    draw = ImageDraw.Draw(sheet)
    for number, (frame, label) in enumerate(zip(frames, labels)):
        x, y = number % columns * width, number // columns * height
        sheet.paste(Image.fromarray(frame), (x, y))
        draw.text((x + 8, y + 6), label, fill="black", font_size=15)
    sheet.save(path)


def animation(frames: list[Frame], frame_seconds: float, path: Path) -> None:
    """Writes frames as an animated GIF that repeats."""
    from PIL import Image

    images: list[Any] = [Image.fromarray(frame).quantize(96) for frame in frames]
    images[0].save(path, save_all=True, append_images=images[1:], duration=round(frame_seconds * 1000), loop=0)
