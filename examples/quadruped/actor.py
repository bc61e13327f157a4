# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The trained policy as rsl_rl itself runs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from robot import LEG_JOINTS, OBSERVATION_SCALE
from rsl_rl.models import MLPModel
from ruamel.yaml import YAML
from tensordict import TensorDict

Policy = Callable[[torch.Tensor], torch.Tensor]


def load_policy(checkpoint: Path, agent: Path | None = None) -> Policy:
    """Load the actor of a checkpoint.

    Args:
        checkpoint: A model_*.pt of rsl_rl 5.
        agent: The run's agent.yaml; None for the one beside the checkpoint.

    Returns:
        A function from observations, shape (n, 45), to the mean actions, shape (n, 12), both float32.
    """
    cfg = YAML(typ="safe", pure=True).load(agent or checkpoint.parent / "agent.yaml")
    model_cfg = {key: value for key, value in cfg["actor"].items() if key != "class_name"}
    example = TensorDict({"policy": torch.zeros(1, len(OBSERVATION_SCALE))}, batch_size=[1])
    actor = MLPModel(example, cfg["obs_groups"], "actor", len(LEG_JOINTS), **model_cfg)
    actor.load_state_dict(torch.load(checkpoint, weights_only=True, map_location="cpu")["actor_state_dict"])
    actor.eval()

    @torch.inference_mode()
    def policy(obs: torch.Tensor) -> torch.Tensor:
        return actor(TensorDict({"policy": obs}, batch_size=[obs.shape[0]]))

    return policy
