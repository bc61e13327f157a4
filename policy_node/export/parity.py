# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Parity of the files on disk with the framework's own policy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from policy_node.errors import ExportError
from policy_node.export.sources.base import SourcePolicy
from policy_node.inference.session import session_options

F32 = npt.NDArray[np.float32]

TOLERANCE = 1e-4
RANDOM_OBSERVATIONS = 256


@dataclass(frozen=True, slots=True)
class Parity:
    """Largest absolute difference of an action over all observations of a check."""

    file: str
    observations: int
    worst: float


def parity_observations(source: SourcePolicy, recorded: F32 | None, seed: int = 0) -> F32:
    """Observations to compare on: around the training's statistics, extremes, and a recording.

    Args:
        source: the framework's policy.
        recorded: observations of a golden recording, shape (T, obs_dim), or None.
        seed: of the random ones.

    Returns:
        Shape (n, obs_dim), float32, none of them zero.
    """
    random = np.random.default_rng(seed)
    unit = random.normal(0.0, 1.0, (RANDOM_OBSERVATIONS, source.obs_dim)).astype(np.float32)
    around = source.obs_mean + source.obs_std * unit
    extremes = source.obs_mean + 8.0 * source.obs_std * np.sign(unit[:32])
    parts = [around, extremes] + ([recorded] if recorded is not None else [])
    return np.concatenate(parts).astype(np.float32)


def check_onnx(path: Path, source: SourcePolicy, observations: F32) -> Parity:
    """Compares the ONNX file on disk, at batches 1, 2, 7 and all.

    Raises:
        ExportError: an action differs by more than TOLERANCE, or a batch cannot be run.
    """
    session = ort.InferenceSession(str(path), session_options(), providers=["CPUExecutionProvider"])

    def run(obs: F32) -> F32:
        return np.asarray(session.run(["actions"], {"obs": obs})[0])

    expected = source.reference(observations)
    worst = 0.0
    for batch in (1, 2, 7, len(observations)):
        for start in range(0, len(observations) - batch + 1, batch):
            got = run(observations[start : start + batch])
            worst = max(worst, _compare(path.name, got, expected[start : start + batch]))
    return Parity(path.name, len(observations), worst)


def check_torchscript(path: Path, source: SourcePolicy, observations: F32) -> Parity:
    """Compares the TorchScript file on disk.

    Raises:
        ExportError: an action differs by more than TOLERANCE.
    """
    import torch

    with torch.no_grad():
        got = torch.jit.load(str(path), map_location="cpu")(torch.from_numpy(observations)).numpy()
    return Parity(path.name, len(observations), _compare(path.name, got, source.reference(observations)))


def _compare(name: str, got: F32, expected: F32) -> float:
    if got.shape != expected.shape:
        raise ExportError(f"{name}: gives actions of shape {got.shape}; the trained policy gives {expected.shape}.")
    difference = np.abs(got - expected)
    worst = float(difference.max())
    if not worst <= TOLERANCE:
        row, column = np.unravel_index(int(np.argmax(difference)), difference.shape)
        raise ExportError(
            f"{name}: action {column} is {got[row, column]:.7g} where the trained policy gives "
            f"{expected[row, column]:.7g}; {TOLERANCE:g} is allowed. The export was not finished, nothing was replaced."
        )
    return worst
