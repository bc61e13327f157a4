# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""``check``: validate a bundle and say what it needs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns 0 for a bundle that can be run right, 1 for any other."""
    parser = argparse.ArgumentParser(
        prog="policy-node check",
        description="Loads a bundle exactly as the node does, replays its golden recording, and prints what it "
        "observes and drives. Exit code 1, with every fault, where it cannot be run right.",
    )
    parser.add_argument("bundle", type=Path, help="folder with policy_spec.json and policy.onnx")
    parser.add_argument("--robot", type=Path, help="robot file that the node will be given")
    parser.add_argument("--provider", default="cpu", help="cpu, cuda, tensorrt or auto (default: cpu)")
    args = parser.parse_args(argv)

    from rich.console import Console

    from policy_node.cli.tables import joint_orders, joint_table, observation_table
    from policy_node.errors import PolicyNodeError
    from policy_node.inference.load import load_policy
    from policy_node.spec.robot import load_robot

    console = Console(highlight=False)
    try:
        robot = load_robot(args.robot) if args.robot else None
        loaded = load_policy(
            args.bundle, robot, provider=args.provider, robot_source=str(args.robot) if args.robot else "the contract"
        )
    except PolicyNodeError as error:
        console.print(f"[red]refused[/red]\n{error}", soft_wrap=True)
        return 1
    console.print(observation_table(loaded.runner))
    for line in joint_orders(loaded.runner):
        console.print(line, soft_wrap=True)
    console.print()
    console.print(joint_table(loaded.runner))
    if loaded.golden is not None:
        console.print(
            f"golden recording: {loaded.golden.ticks} ticks replayed, largest differences: observation "
            f"{loaded.golden.obs:.1e}, action {loaded.golden.action:.1e}, target {loaded.golden.target:.1e} rad"
        )
    for note in loaded.notes:
        console.print(f"[yellow]note:[/yellow] {note}", soft_wrap=True)
    rate = loaded.bundle.spec.rate
    console.print(
        f"[green]good[/green]: {args.bundle} runs at {1.0 / rate.control_dt:g} Hz on "
        f"{loaded.provider}, hash {loaded.bundle.digest[:12]}"
    )
    return 0
