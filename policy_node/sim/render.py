# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Pictures of a recorded run: frames, a contact sheet, an animation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policy_node.errors import PolicyNodeError

if TYPE_CHECKING:
    from PIL.Image import Image

TRACKING_CAMERA = "track"
"""Camera of the model to look through where there is one; else one that keeps the robot in its middle."""


class RenderError(PolicyNodeError, RuntimeError):
    """This machine cannot draw."""


def render_frames(model_path: Path, qpos: npt.NDArray[np.float64], *, width: int, height: int) -> list[Image]:
    """Draws a model in one pose after another, without a display.

    Args:
        model_path: MJCF file.
        qpos: MuJoCo's positions, shape (num_frames, nq).
        width: of a frame, pixels.
        height: of a frame, pixels.

    Raises:
        RenderError: MuJoCo has no way to draw here.
    """
    # Read when mujoco is imported: whoever has imported it before must have set this itself.
    os.environ.setdefault("MUJOCO_GL", "egl")
    import mujoco
    from PIL import Image

    model = mujoco.MjModel.from_xml_path(str(model_path))
    # Shadows take most of the time where there is no graphics card.
    model.vis.quality.shadowsize = min(1024, model.vis.quality.shadowsize)
    # A renderer may not be larger than this.
    model.vis.global_.offwidth = max(width, model.vis.global_.offwidth)
    model.vis.global_.offheight = max(height, model.vis.global_.offheight)
    data = mujoco.MjData(model)
    try:
        renderer = mujoco.Renderer(model, height, width)
    except Exception as error:  # Each way to draw raises errors of its own.
        raise RenderError(
            f"MuJoCo cannot draw with MUJOCO_GL={os.environ['MUJOCO_GL']} ({type(error).__name__}: {error}). Install a "
            f"driver: on Debian and Ubuntu libegl1 and libgl1-mesa-dri, or libosmesa6 with MUJOCO_GL=osmesa."
        ) from error
    camera = _camera(mujoco, model)
    frames = []
    for row in qpos:
        data.qpos[:] = row
        mujoco.mj_forward(model, data)
        renderer.update_scene(data, camera)
        frames.append(Image.fromarray(renderer.render()))
    renderer.close()
    return frames


def caption(frame: Image, text: str) -> Image:
    """Writes a line over the bottom of a frame."""
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(size=max(11, frame.height // 18))
    band = Image.new("RGBA", frame.size)
    draw = ImageDraw.Draw(band)
    top = frame.height - round(1.8 * font.size)
    draw.rectangle((0, top, frame.width, frame.height), fill=(20, 24, 32, 170))
    draw.text((8, top + 4), text, font=font, fill="white")
    return Image.alpha_composite(frame.convert("RGBA"), band).convert("RGB")


def write_contact_sheet(path: Path, frames: Sequence[Image], *, columns: int, gap: int = 4) -> None:
    """Writes frames side by side, ``gap`` pixels apart, into one picture."""
    from PIL import Image

    width, height = frames[0].size
    rows = -(-len(frames) // columns)
    sheet = Image.new("RGB", (columns * (width + gap) + gap, rows * (height + gap) + gap), "white")
    for i, frame in enumerate(frames):
        sheet.paste(frame, (gap + i % columns * (width + gap), gap + i // columns * (height + gap)))
    sheet.save(path)


def write_animation(path: Path, frames: Sequence[Image], *, frame_dt: float) -> None:
    """Writes frames as a GIF that repeats; ``frame_dt``: seconds from one to the next."""
    from PIL import Image

    # One palette for all frames: colours do not flicker, and what does not change compresses well.
    samples = frames[:: max(1, len(frames) // 8)]
    strip = Image.new("RGB", (frames[0].width, frames[0].height * len(samples)))
    for i, frame in enumerate(samples):
        strip.paste(frame, (0, i * frames[0].height))
    palette = strip.quantize(96)
    reduced = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    reduced[0].save(path, save_all=True, append_images=reduced[1:], duration=round(frame_dt * 1000), loop=0)


def _camera(mujoco: Any, model: Any) -> Any:
    if any(model.camera(i).name == TRACKING_CAMERA for i in range(model.ncam)):
        return TRACKING_CAMERA
    camera = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(model, camera)
    floating = np.flatnonzero(model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE))
    if len(floating):
        camera.type = mujoco.mjtCamera.mjCAMERA_TRACKING
        camera.trackbodyid = int(model.jnt_bodyid[floating[0]])
    return camera
