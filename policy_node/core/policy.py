# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""What the runner needs of a policy, and policies that need no graph."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]


class Policy(Protocol):
    """A deterministic map from observation to action that may carry state.

    Attributes:
        obs_dim: width of the observation.
        action_dim: width of the action.
        provider: what computes it, for status.
    """

    obs_dim: int
    action_dim: int
    provider: str

    def reset(self) -> None:
        """Starts an episode: recurrent state is zero again."""

    def infer(self, obs: F32) -> F32:
        """Raw action, shape (action_dim,), float32, of an observation, shape (obs_dim,); valid until the next call."""


class ConstantPolicy:
    """Always the same action: with zeros, a robot that stands at its offsets. For first checks of a robot."""

    def __init__(self, obs_dim: int, action: npt.ArrayLike) -> None:
        self._action = np.array(action, dtype=np.float32)
        self.obs_dim = obs_dim
        self.action_dim = len(self._action)
        self.provider = "constant"

    def reset(self) -> None:
        """Nothing is carried."""

    def infer(self, obs: F32) -> F32:  # noqa: ARG002 (the protocol of a policy)
        """The constant action, shape (action_dim,)."""
        return self._action
