# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""What every source framework gives to the export."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import onnx

F32 = npt.NDArray[np.float32]


class SourcePolicy(Protocol):
    """A trained, deterministic policy as its framework computes it.

    Attributes:
        obs_dim: width of the observation; action_dim: width of the action.
        provenance: what the contract's provenance says about the checkpoint.
        obs_mean, obs_std: statistics of the training's observations, shape (obs_dim,), around which parity is checked;
            zeros and ones where the checkpoint keeps none.
    """

    obs_dim: int
    action_dim: int
    provenance: dict[str, Any]
    obs_mean: F32
    obs_std: F32

    def reference(self, obs: F32) -> F32:
        """The framework's own deterministic actions, shape (batch, action_dim), of observations (batch, obs_dim)."""

    def to_onnx(self) -> onnx.ModelProto:
        """The graph: input obs [batch, obs_dim], output actions [batch, action_dim], raw observation in, mean out."""

    def write_torchscript(self, path: Path) -> None:
        """Writes the same policy as a TorchScript module."""
