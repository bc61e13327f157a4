# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from policy_node.errors import PolicyNodeError
from policy_node.sim.course import Course, Push, Segment
from policy_node.sim.plant import Plant
from policy_node.sim.recording import load_recording
from policy_node.sim.simulation import GANTRY_LIFT, Simulation

COURSE = Course.of([
    Segment(name="stand", duration=0.5, command=[0.0, 0.0, 0.0]),
    Segment(name="walk", duration=1.0, command=[0.6, 0.0, 0.2], push=Push(at=0.25, velocity=[0.0, 0.5, 0.0])),
])


def run(simulation: Simulation, states: dict[int, str], ticks: int = 1000) -> int:
    """Ticks until the end; ``states``: tick -> what the node says from then on. Returns the number of ticks."""
    state = ""
    for tick in range(ticks):
        if simulation.ended:
            return tick
        reading, command = simulation.begin_tick()
        state = states.get(tick, state)
        simulation.hear_state(state)
        simulation.note_tick(reading, command)
        simulation.plant.step(simulation.tick_dt)
    return ticks


def test_course_starts_when_the_policy_runs_and_ends_after_its_duration(floater: Plant) -> None:
    simulation = Simulation(floater, tick_dt=0.02, course=COURSE)
    assert run(simulation, {0: "WAITING", 5: "HOLDING", 10: "RUNNING"}) == 10 + 75
    assert simulation.started_at == 0.2
    assert simulation.completed
    assert simulation.falls == 0


def test_velocity_command_is_zero_before_the_course_and_then_the_segments(floater: Plant, tmp_path: Path) -> None:
    simulation = Simulation(floater, tick_dt=0.02, course=COURSE, record=True)
    run(simulation, {10: "RUNNING"})
    simulation.write(tmp_path / "run.npz")
    recording = load_recording(tmp_path / "run.npz")
    commands = recording["command"]
    assert not commands[:35].any()
    assert (commands[36:] == [0.6, 0.0, 0.2]).all()
    assert recording["segment"].tolist()[:10] == [-1] * 10
    assert recording["segment"].tolist()[10:35] == [0] * 25
    assert recording["segment_names"].tolist() == ["stand", "walk"]
    assert recording["push_times"].tolist() == [0.75]


def test_push_happens_once_at_its_time(floater: Plant, tmp_path: Path) -> None:
    # Nothing else shall move it: it floats.
    floater.model.opt.gravity[:] = 0.0
    floater.data.qpos[2] = 1.0
    simulation = Simulation(floater, tick_dt=0.02, course=COURSE, record=True)
    run(simulation, {0: "RUNNING"})
    simulation.write(tmp_path / "run.npz")
    sideways = load_recording(tmp_path / "run.npz")["base_lin_vel"][:, 1]
    assert np.abs(sideways[:38]).max() < 1e-6
    assert sideways[38:] == pytest.approx(0.5, abs=1e-3)


def test_gantry_holds_until_the_policy_runs(floater: Plant) -> None:
    simulation = Simulation(floater, tick_dt=0.02, course=COURSE, suspend=True)
    run(simulation, {0: "HOLDING"}, ticks=20)
    held = floater.read().base
    assert held is not None
    assert held.pos[2] == pytest.approx(0.1 + GANTRY_LIFT, abs=2e-3)
    run(simulation, {0: "RUNNING"}, ticks=20)
    released = floater.read().base
    assert released is not None
    assert released.pos[2] == pytest.approx(0.1, abs=5e-3)


@pytest.mark.parametrize("how", ["tilt", "height"])
def test_fall_is_counted_once_and_ends_the_course_a_second_later(floater: Plant, how: str) -> None:
    simulation = Simulation(floater, tick_dt=0.02, course=Course.of([Segment(name="a", duration=9, command=[0, 0, 0])]))
    run(simulation, {0: "RUNNING"}, ticks=10)
    if how == "tilt":
        floater.data.qpos[2:7] = [0.2, np.cos(0.75), np.sin(0.75), 0.0, 0.0]
    else:
        floater.model.geom("floor").contype = floater.model.geom("floor").conaffinity = 0
    ticks = run(simulation, {0: "RUNNING"})
    assert simulation.falls == 1
    assert not simulation.completed
    assert 50 <= ticks < 70
    assert "1 fall," in simulation.summary()


def test_duration_ends_a_simulation_without_a_course(floater: Plant) -> None:
    assert run(Simulation(floater, tick_dt=0.02, duration=0.5), {}) == 25


def test_tick_that_no_number_of_time_steps_fills_is_refused(floater: Plant) -> None:
    with pytest.raises(PolicyNodeError, match=r"0\.018 s is no multiple"):
        Simulation(floater, tick_dt=0.018)


def test_two_runs_give_the_same_digest_and_another_push_another_one(floater_file: Path) -> None:
    digests = []
    for sideways in (0.5, 0.5, 0.5000001):
        push = Push(at=0.1, velocity=[0.0, sideways, 0.0])
        course = Course.of([Segment(name="a", duration=0.5, command=[0, 0, 0], push=push)])
        simulation = Simulation(Plant(floater_file), tick_dt=0.02, course=course)
        run(simulation, {0: "RUNNING"})
        digests.append(simulation.digest.hexdigest())
    assert digests[0] == digests[1] != digests[2]
