# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""``export``: make a bundle from a trained checkpoint and a task description."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="policy-node export",
        description="Makes a bundle (policy.onnx, policy_spec.json, golden.npz, policy.pt) from an rsl_rl checkpoint. "
        "The files on disk are compared with the trained policy before anything is moved into place: a failed export "
        "leaves what was there untouched.",
        epilog="example: policy-node export --checkpoint runs/walk/model_1500.pt --task task.yaml --out bundle",
    )
    parser.add_argument("--checkpoint", type=Path, required=True, help="rsl_rl checkpoint, model_<iteration>.pt")
    parser.add_argument(
        "--task",
        type=Path,
        required=True,
        help="task description, YAML or JSON: observations, actions, entities, rate, deployment",
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="folder of the bundle; an earlier bundle there is replaced"
    )
    parser.add_argument("--agent", type=Path, help="the trainer's config (default: agent.yaml beside the checkpoint)")
    parser.add_argument(
        "--golden",
        type=Path,
        help="recording by the training environment (default: golden.npz beside the "
        "checkpoint; a synthetic one is made where there is none)",
    )
    parser.add_argument("--format", default="onnx,jit", help="graphs to write, comma-separated (default: onnx,jit)")
    parser.add_argument("--no-verify", action="store_true", help="do not compare the files with the trained policy")
    args = parser.parse_args(argv)

    from rich.console import Console

    from policy_node.cli.tables import observation_table
    from policy_node.errors import ExportError

    console = Console(soft_wrap=True, highlight=False)
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        raise ExportError(
            "reading a checkpoint needs PyTorch: pip install 'policy_node[rsl_rl]' (a CPU build will do). "
            "The robot itself never needs it."
        ) from None
    from policy_node.export import export_checkpoint

    with console.status("exporting") as status:
        report = export_checkpoint(
            args.checkpoint,
            args.task,
            args.out,
            agent=args.agent,
            golden=args.golden,
            formats=tuple(name.strip() for name in args.format.split(",") if name.strip()),
            verify=not args.no_verify,
            progress=lambda step: status.update(step),
        )
    console.print(observation_table(report.loaded.runner))
    for parity in report.parity:
        console.print(
            f"{parity.file}: equal to the trained policy on {parity.observations} observations, "
            f"largest difference {parity.worst:.1e}"
        )
    if not report.parity:
        console.print("[yellow]The files were not compared with the trained policy (--no-verify).[/yellow]")
    golden = report.loaded.bundle.spec.deployment.golden
    if report.golden is not None and golden is not None:
        console.print(
            f"{golden.file}: {report.golden.ticks} ticks of the {golden.source} recording replayed, largest "
            f"differences: observation {report.golden.obs:.1e}, action {report.golden.action:.1e}, "
            f"target {report.golden.target:.1e} rad"
        )
    # What a robot file would add is not the export's business.
    for note in (note for note in report.loaded.notes if note not in report.loaded.runner.site.notes):
        console.print(f"[yellow]note:[/yellow] {note}")
    command = f"ros2 launch policy_node deploy.launch.py bundle:={report.out.resolve()}"
    console.print(f"\nWrote {report.out}. Next: {command}")
    return 0
