# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy_node.sim.joint_drive import DriveCommand
from policy_node.sim.recording import Digest, Recorder, load_recording
from policy_node.sim.sensors import BaseReading, ImuReading, Reading

Make = Callable[..., DriveCommand]


def reading() -> Reading:
    imu = ImuReading(np.array([0.1, 0.2, 0.3, 0.9]), np.full(3, 0.5), np.full(3, 9.0))
    base = BaseReading(np.zeros(3), np.array([0.1, 0.2, 0.3, 0.9]), np.full(3, 0.4), np.full(3, -0.5))
    return Reading(1000, np.arange(3.0), np.arange(3.0) + 0.5, np.full(3, 2.0), imu, base)


def digest_of(sample: Reading, velocity_command: Any, command: DriveCommand, time_ns: int = 20) -> str:
    digest = Digest()
    digest.add_input(sample, velocity_command)
    digest.add_command(command, time_ns)
    return digest.hexdigest()


def flip_last_bit(values: np.ndarray) -> np.ndarray:
    changed = values.copy()
    changed.view(np.uint64)[-1] ^= 1
    return changed


def test_digest_is_the_same_for_the_same_run(command: Make) -> None:
    assert digest_of(reading(), np.ones(3), command()) == digest_of(reading(), np.ones(3), command())


def test_one_bit_of_any_input_or_command_changes_the_digest(command: Make) -> None:
    sample, wanted, sent = reading(), np.ones(3), command()
    digests = [digest_of(sample, wanted, sent)]
    for name in ("joint_pos", "joint_vel", "joint_effort"):
        digests.append(digest_of(replace(sample, **{name: flip_last_bit(getattr(sample, name))}), wanted, sent))
    for part in ("imu", "base"):
        whole = getattr(sample, part)
        for field in fields(whole):
            changed = replace(whole, **{field.name: flip_last_bit(getattr(whole, field.name))})
            digests.append(digest_of(replace(sample, **{part: changed}), wanted, sent))
    digests.append(digest_of(replace(sample, time_ns=1001), wanted, sent))
    digests.append(digest_of(sample, flip_last_bit(wanted), sent))
    for name in ("position", "velocity", "effort", "kp", "kd"):
        digests.append(digest_of(sample, wanted, replace(sent, **{name: flip_last_bit(getattr(sent, name))})))
    digests.append(digest_of(sample, wanted, replace(sent, sequence=2)))
    digests.append(digest_of(sample, wanted, replace(sent, valid_for=0.2)))
    digests.append(digest_of(sample, wanted, replace(sent, name=("shoulder", "slide", "elbow"))))
    digests.append(digest_of(sample, wanted, sent, time_ns=21))
    assert len(set(digests)) == len(digests)


def test_recording_reads_back_as_it_was_added(tmp_path: Path) -> None:
    recorder = Recorder()
    values = np.zeros(2)
    for tick in range(3):
        values[:] = tick
        recorder.add(time=0.02 * tick, joint_pos=values, state="RUNNING" if tick else "HOLDING")
    recorder.write(tmp_path / "new" / "run.npz", joint_names=["a", "b"], falls=0)
    run = load_recording(tmp_path / "new" / "run.npz")
    assert run["joint_pos"].tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    assert run["state"].tolist() == ["HOLDING", "RUNNING", "RUNNING"]
    assert run["joint_names"].tolist() == ["a", "b"]


def test_recording_that_cannot_be_written_leaves_the_old_one_and_no_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.npz"
    recorder = Recorder()
    recorder.add(time=1.0)
    recorder.write(path)
    before = path.read_bytes()

    def no_move(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", no_move)
    recorder.add(time=2.0)
    with pytest.raises(OSError, match="disk full"):
        recorder.write(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
