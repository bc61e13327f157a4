# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Train the quadruped's walking policy with PPO (rsl_rl) on the CPU.

    python examples/quadruped/train.py --out runs/quadruped --seed 1

The folder of the run gets model_*.pt (rsl_rl checkpoints), agent.yaml (rsl_rl's configuration), curve.csv and
curve.png.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from curve import LearningCurve
from env import QuadrupedEnv
from rsl_rl.runners import OnPolicyRunner
from ruamel.yaml import YAML

AGENT: dict[str, Any] = {
    "seed": 1,
    "num_steps_per_env": 24,
    "save_interval": 50,
    "obs_groups": {"actor": ["policy"], "critic": ["privileged"]},
    "run_name": "",
    "experiment_name": "quadruped",
    "actor": {
        "class_name": "MLPModel",
        "hidden_dims": [128, 128],
        "activation": "elu",
        "obs_normalization": True,
        "distribution_cfg": {"class_name": "GaussianDistribution", "init_std": 1.0, "std_type": "scalar"},
    },
    "critic": {
        "class_name": "MLPModel",
        "hidden_dims": [128, 128],
        "activation": "elu",
        "obs_normalization": True,
    },
    "algorithm": {
        "class_name": "PPO",
        "value_loss_coef": 1.0,
        "use_clipped_value_loss": True,
        "clip_param": 0.2,
        "entropy_coef": 0.005,
        "num_learning_epochs": 4,
        "num_mini_batches": 4,
        "learning_rate": 1.0e-3,
        "schedule": "adaptive",
        "gamma": 0.99,
        "lam": 0.95,
        "desired_kl": 0.01,
        "max_grad_norm": 1.0,
        "symmetry_cfg": {
            "data_augmentation_func": "symmetry:with_mirror_images",
            "use_data_augmentation": True,
        },
    },
}
"""rsl_rl's configuration of the training; every run writes it to agent.yaml."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the training.

    Args:
        argv: Arguments; None for those of the process.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(description="Train the quadruped's walking policy with PPO on the CPU.")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs/quadruped"),
        metavar="RUN_DIR",
        help="folder to write (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of environment and learner (default: 1)")
    parser.add_argument("--iterations", type=int, default=1500, help="updates of the policy (default: 1500)")
    parser.add_argument("--envs", type=int, default=512, help="robots simulated together (default: 512)")
    parser.add_argument("--threads", type=int, default=2, help="threads that step the physics (default: 2)")
    args = parser.parse_args(argv)

    args.out.mkdir(parents=True, exist_ok=True)
    agent = copy.deepcopy(AGENT)
    agent["seed"] = args.seed
    YAML(typ="safe", pure=True).dump(agent, args.out / "agent.yaml")

    # The networks are too small to gain from more threads, and with one the same seed gives the same weights.
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    env = QuadrupedEnv(args.envs, seed=args.seed, num_threads=args.threads)
    runner = OnPolicyRunner(env, agent, log_dir=str(args.out), device="cpu")
    runner.logger = LearningCurve(env, run_dir=args.out, cfg=agent)
    runner.logger.git_status_repos = []
    runner.learn(args.iterations, init_at_random_ep_len=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
