# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Take over a checkpoint of a run as the example's policy: model.pt, agent.yaml, task.yaml and golden.npz.

python examples/quadruped/publish.py runs/quadruped/model_1499.pt
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from actor import load_policy
from record_golden import record
from task import write_task

POLICY_DIR = Path(__file__).resolve().parent / "policy"


def main(argv: Sequence[str] | None = None) -> int:
    """Write the four files.

    Args:
        argv: Arguments; None for those of the process.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(description="Take over a checkpoint as the example's policy.")
    parser.add_argument("checkpoint", type=Path, help="rsl_rl checkpoint, with agent.yaml beside it")
    parser.add_argument("--out", type=Path, default=POLICY_DIR, help="folder to write (default: policy/ here)")
    args = parser.parse_args(argv)

    torch.set_num_threads(1)
    golden = record(load_policy(args.checkpoint))
    args.out.mkdir(parents=True, exist_ok=True)
    checkpoint = torch.load(args.checkpoint, weights_only=True, map_location="cpu")
    # Whoever runs the policy does not need the state of the optimizer, two thirds of the file.
    del checkpoint["optimizer_state_dict"]
    torch.save(checkpoint, args.out / "model.pt")
    shutil.copyfile(args.checkpoint.parent / "agent.yaml", args.out / "agent.yaml")
    write_task(args.out / "task.yaml")
    np.savez_compressed(args.out / "golden.npz", **golden)
    for path in sorted(args.out.iterdir()):
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
