# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Plots of a recorded run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MEASURED, COMMANDED = "#1f77b4", "#d62728"
DETAIL_SECONDS = 3.0


def plot_run(
    run: dict[str, npt.NDArray[Any]], leg_joints: list[str], tick_times: npt.NDArray[np.float64], control_dt: float,
    path: Path,
) -> None:
    """Draws body velocity against command, one leg's targets against positions, and tick times.

    Args:
        run: arrays of a recording.
        leg_joints: joints to show in detail.
        tick_times: shape (n, 3): course time, median and 99th percentile of the tick time, all in s.
        control_dt: control period, s.
        path: PNG file to write.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    time = run["course_time"]
    driven = run["segment"] >= 0
    end = float(run["segment_durations"].sum())
    figure, axes = plt.subplots(3 + 2, 1, figsize=(11, 12.5), layout="constrained",
                                gridspec_kw={"height_ratios": [1.0, 1.0, 1.0, 1.5, 0.9]})
    velocity = np.column_stack([run["base_lin_vel"][:, :2], run["base_ang_vel"][:, 2]])
    labels = ("forward (m/s)", "left (m/s)", "yaw rate (rad/s)")
    for column, (axis, label) in enumerate(zip(axes[:3], labels, strict=True)):
        axis.plot(time[driven], velocity[driven, column], color=MEASURED, linewidth=0.5, alpha=0.35)
        mean = _smooth(velocity[driven, column], 25)
        axis.plot(time[driven], mean, color=MEASURED, linewidth=1.4, label="body, mean of 0.5 s")
        axis.plot(time[driven], run["command"][driven, column], color=COMMANDED, linewidth=1.2, label="command")
        axis.set_ylabel(label)
        axis.set_xlim(0.0, end)
        axis.grid(alpha=0.3)
        edge = 0.0
        for name, duration in zip(run["segment_names"], run["segment_durations"], strict=True):
            axis.axvline(edge, color="black", linewidth=0.5, alpha=0.5)
            if column == 0:
                axis.text(edge + 0.2, 1.02, str(name), transform=axis.get_xaxis_transform(), fontsize=9)
            edge += float(duration)
        for push in run["push_times"]:
            axis.axvline(float(push), color="black", linestyle=":", linewidth=1.0)
    axes[0].legend(loc="lower left", fontsize=8, ncols=2)
    axes[2].set_xlabel("time (s); dotted: push")
    _plot_leg(axes[3], run, time, leg_joints)
    axis = axes[4]
    if len(tick_times):
        axis.plot(tick_times[:, 0], tick_times[:, 1] * 1e3, color=MEASURED, label="median")
        axis.plot(tick_times[:, 0], tick_times[:, 2] * 1e3, color=MEASURED, linestyle="--", label="99th percentile")
        axis.set_xlim(0.0, end)
        # Room for the legend above the highest value.
        axis.set_ylim(0.0, 1.3e3 * tick_times[:, 2].max())
        axis.legend(loc="upper right", fontsize=8, ncols=2)
    axis.set_ylabel(f"tick time (ms)\nof {control_dt * 1e3:.0f} ms")
    axis.set_xlabel("time (s)")
    axis.grid(alpha=0.3)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _plot_leg(axis: Any, run: dict[str, npt.NDArray[Any]], time: npt.NDArray[np.float64], joints: list[str]) -> None:
    moving = np.flatnonzero(np.abs(run["segment_commands"]).sum(axis=1) > 0.0)
    first = int(moving[0]) if len(moving) else 0
    rows = np.flatnonzero(run["segment"] == first)
    if not len(rows):
        return
    middle = float(time[rows[-1]]) - 1.0
    shown = (time > middle - DETAIL_SECONDS) & (time <= middle)
    names = [str(name) for name in run["joint_names"]]
    colors = ("#1f77b4", "#2ca02c", "#9467bd")
    for joint, color in zip(joints, colors, strict=False):
        place = names.index(joint)
        axis.plot(time[shown], run["joint_pos"][shown, place], color=color, label=f"{joint} position")
        axis.step(time[shown], run["target_pos"][shown, place], color=color, linestyle="--", linewidth=0.9,
                  where="post", label=f"{joint} target")
    axis.set_xlim(middle - DETAIL_SECONDS, middle)
    axis.set_ylabel("joint (rad)")
    axis.set_xlabel(f"time (s), part of '{run['segment_names'][first]}'")
    axis.grid(alpha=0.3)
    axis.legend(loc="upper center", fontsize=8, ncols=3, bbox_to_anchor=(0.5, 1.22))


def _smooth(values: npt.NDArray[np.float64], width: int) -> npt.NDArray[np.float64]:
    if len(values) < width:
        return values
    padded = np.pad(values, (width // 2, width - 1 - width // 2), mode="edge")
    return np.convolve(padded, np.full(width, 1.0 / width), mode="valid")
