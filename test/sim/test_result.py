# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from policy_node.sim.plots import plot_run
from policy_node.sim.render import RenderError, caption, render_frames, write_animation, write_contact_sheet
from policy_node.sim.result import leg_results

QUADRUPED = Path(__file__).parents[2] / "examples" / "quadruped" / "quadruped.xml"


def run_of(ticks: int) -> dict[str, Any]:
    """A recording of a course of two legs, 0.5 s before it and then as many ticks as given."""
    time = 0.02 * np.arange(25 + ticks)
    course = np.where(time >= 0.5 - 1e-9, time - 0.5, np.nan)
    segment = np.where(np.isnan(course), -1, np.where(course < 3.0 - 1e-9, 0, 1))
    # In each leg the first second differs from the rest.
    settled = np.where(segment == 1, course - 3.0, course) >= 1.0 - 1e-9
    velocity = np.where(settled[:, np.newaxis], [0.55, 0.1, 0.0], [9.0, 9.0, 9.0])
    return {
        "time": time, "course_time": course, "segment": segment, "segment_names": np.array(["walk", "turn"]),
        "segment_durations": np.array([3.0, 4.0]), "segment_commands": np.array([[0.6, 0.1, 0.0], [0.5, 0.0, 0.5]]),
        "base_lin_vel": velocity, "base_ang_vel": np.where(segment[:, np.newaxis] == 1, [7, 7, 0.4], [7, 7, 0.0]),
        "command": np.zeros_like(velocity), "tick_dt": np.array(0.02), "push_times": np.array([4.0]),
        "joint_names": np.array(["hip", "knee"]), "joint_pos": np.zeros((len(time), 2)),
        "target_pos": np.zeros((len(time), 2)),
    }  # fmt: skip


def test_reached_velocity_is_the_mean_of_a_legs_last_two_seconds() -> None:
    walk, turn = leg_results(run_of(350))
    assert walk.reached == pytest.approx((0.55, 0.1, 0.0))
    assert walk.error == pytest.approx((0.05, 0.0, 0.0))
    assert turn.reached == pytest.approx((0.55, 0.1, 0.4))
    assert turn.error == pytest.approx((0.05, 0.1, 0.1))
    assert walk.finished
    assert turn.finished


def test_leg_that_was_cut_short_is_not_finished_and_one_never_reached_is_left_out() -> None:
    assert [(leg.name, leg.finished) for leg in leg_results(run_of(200))] == [("walk", True), ("turn", False)]
    assert [leg.name for leg in leg_results(run_of(100))] == ["walk"]


@pytest.mark.parametrize("ticks", [350, 80])
@pytest.mark.filterwarnings("error")
def test_plot_is_drawn_of_a_whole_course_and_of_a_piece(tmp_path: Path, ticks: int) -> None:
    path = tmp_path / "plot.png"
    plot_run(run_of(ticks), ["knee"], np.array([[0.0, 1e-4, 3e-4], [1.0, 1e-4, 2e-4]]), 0.02, path)
    with Image.open(path) as picture:
        assert min(picture.size) > 1000


def test_pictures_show_the_pose_that_was_recorded(tmp_path: Path) -> None:
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(QUADRUPED))
    poses = np.tile(model.key("home").qpos, (3, 1))
    poses[2, 3:7] = [0.7, 0.7, 0.0, 0.0]
    try:
        frames = render_frames(QUADRUPED, poses, width=160, height=120)
    except RenderError as error:
        pytest.skip(str(error))
    first, same, rolled = (np.asarray(frame, dtype=int) for frame in frames)
    assert (first == same).all()
    assert np.abs(first - rolled).max() > 50
    assert np.ptp(first) > 100
    titled = [caption(frame, "stand") for frame in frames]
    write_contact_sheet(tmp_path / "sheet.png", titled, columns=2, gap=4)
    write_animation(tmp_path / "walk.gif", titled, frame_dt=0.08)
    with Image.open(tmp_path / "sheet.png") as sheet, Image.open(tmp_path / "walk.gif") as film:
        assert sheet.size == (2 * 164 + 4, 2 * 124 + 4)
        # Two frames that show the same are joined to one that stands twice as long.
        assert film.n_frames == 2
        assert film.info["duration"] == 2 * 80
