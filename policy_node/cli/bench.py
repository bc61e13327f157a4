# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""``bench``: measure the time of one tick against the bare network."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from policy_node.inference.load import LoadedPolicy

HOT_TICKS = 20_000
CONTROL_DT = 0.02
NETWORKS = {12: (256, 128, 64), 29: (512, 256, 128)}
"""Hidden layers that are usual for that many joints."""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of a bare network run and of a whole tick, one value per sample."""

    bare: npt.NDArray[np.float64]
    step: npt.NDArray[np.float64]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="policy-node bench",
        description="Measures PolicyRunner.step(), every check on, beside a bare session.run of the same file: in a "
        "hot loop, and paced at the control rate, where caches are cold. Without a bundle it makes networks for 12 and "
        "29 joints. Compare ratios: absolute times belong to a machine and to its mood.",
    )
    parser.add_argument("bundle", type=Path, nargs="?", help="bundle to measure instead")
    parser.add_argument("--paced-seconds", type=float, default=20.0, help="length of each paced run (default: 20)")
    args = parser.parse_args(argv)
    if not args.paced_seconds >= 0.1:
        parser.error("--paced-seconds must be at least 0.1")

    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    from policy_node.inference.load import load_policy

    table = Table(title="One tick (us)", title_justify="left", box=SIMPLE, pad_edge=False)
    for column in ("policy", "loop", "bare p50", "bare p99", "step p50", "step p99", "ratio p50"):
        table.add_column(column, justify="left" if column in ("policy", "loop") else "right", no_wrap=True)
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        bundles = (
            {args.bundle.resolve().name: args.bundle}
            if args.bundle
            else {f"{joints} joints": make_bundle(Path(folder) / str(joints), joints) for joints in NETWORKS}
        )
        for name, path in bundles.items():
            loaded = load_policy(path)
            with console.status(f"measuring {name}"):
                for loop, times in (("hot", hot(loaded)), ("paced", paced(loaded, args.paced_seconds))):
                    row = [
                        np.percentile(values, share) * 1e6 for values in (times.bare, times.step) for share in (50, 99)
                    ]
                    control_dt = loaded.bundle.spec.rate.control_dt
                    table.add_row(
                        name,
                        loop if loop == "hot" else f"{1.0 / control_dt:g} Hz",
                        *(f"{value:.1f}" for value in row),
                        f"{row[2] / row[0]:.2f}",
                    )
    console.print(table)
    console.print("bare: session.run of the same ONNX file. step: observe, run, act and guard with every check.")
    return 0


def hot(loaded: LoadedPolicy) -> Times:
    """Bare run and tick in alternating batches, as fast as they go."""
    bare, step = _subjects(loaded)
    batch = 50
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(HOT_TICKS // batch):
        for subject, kept in ((bare, times[0]), (step, times[1])):
            for tick in range(batch):
                start = time.perf_counter()
                subject(tick)
                elapsed = time.perf_counter() - start
                # The first runs of a batch still find the other subject's data in the caches.
                if tick >= batch // 5 and number:
                    kept.append(elapsed)
    return Times(np.array(times[0]), np.array(times[1]))


def paced(loaded: LoadedPolicy, seconds: float) -> Times:
    """Bare run and tick in turn, one of them each control_dt."""
    bare, step = _subjects(loaded)
    period = loaded.bundle.spec.rate.control_dt
    times: tuple[list[float], list[float]] = ([], [])
    deadline = time.perf_counter()
    for tick in range(int(2 * seconds / period) // 2):
        deadline += period
        time.sleep(max(0.0, deadline - time.perf_counter()))
        start = time.perf_counter()
        (bare if tick % 2 else step)(tick)
        times[0 if tick % 2 else 1].append(time.perf_counter() - start)
    return Times(np.array(times[0]), np.array(times[1]))


def make_bundle(path: Path, joints: int) -> Path:
    """Writes a bundle with random weights for a robot of that many joints, all of them driven, in a mixed order."""
    from policy_node.export.mlp import mlp_graph
    from policy_node.spec.bundle import dump_spec, parse_spec, write_spec
    from policy_node.spec.task import fill_layout

    random = np.random.default_rng(joints)
    names = [f"joint_{number}" for number in range(joints)]
    order = [names[place] for place in random.permutation(joints)]
    terms: list[dict[str, Any]] = [
        {"term": "base_ang_vel", "scale": 0.25},
        {"term": "projected_gravity"},
        {"term": "velocity_command"},
    ]
    terms += [
        {"term": term, "config": {"entity_name": "robot", "dofs_name": order}}
        for term in ("joint_pos_rel", "joint_vel")
    ]
    terms.append({"term": "last_action"})
    data: dict[str, Any] = {
        "schema_version": "policy_node/1",
        "observations": {"groups": [{"name": "policy", "terms": [{"name": term["term"], **term} for term in terms]}]},
        "actions": {
            "clip": [-10.0, 10.0],
            "terms": [
                {
                    "name": "joint_pos",
                    "entity_name": "robot",
                    "target": "position",
                    "reference_source": "default",
                    "dofs_name": order,
                    "scale": 0.25,
                    "offset": 0.1,
                }
            ],
        },
        "entities": {
            "robot": {
                "dofs_name": names,
                "default_dofs_pos": [0.1] * joints,
                "kp": [40.0] * joints,
                "kd": [1.0] * joints,
            }
        },
        "rate": {"control_dt": CONTROL_DT},
        "deployment": {
            "requires": ["imu_mount"],
            "imu": {"mount_quat_xyzw": [0.5, 0.5, 0.5, 0.5]},
            "joint_limits": {
                "robot": {
                    "lower": [-2.0] * joints,
                    "upper": [2.0] * joints,
                    "velocity": [20.0] * joints,
                    "effort": [30.0] * joints,
                }
            },
            "commands": {"velocity_command": {"ranges": [[-1.0, 1.0]] * 3}},
        },
    }
    fill_layout(data)
    widths = [data["observations"]["dim"], *NETWORKS[joints], joints]
    layers = [
        (random.normal(0.0, 1.0 / np.sqrt(before), (after, before)).astype(np.float32), np.zeros(after, np.float32))
        for before, after in pairwise(widths)
    ]
    data["model"] = {
        "onnx": {
            "file": "policy.onnx",
            "inputs": [{"name": "obs", "shape": ["batch", widths[0]]}],
            "outputs": [{"name": "actions", "shape": ["batch", joints]}],
        }
    }
    path.mkdir(parents=True)
    graph = mlp_graph(layers, "elu", np.zeros(widths[0], np.float32), np.ones(widths[0], np.float32))
    (path / "policy.onnx").write_bytes(graph.SerializeToString())
    spec = parse_spec(json.dumps(data))
    write_spec(path / "policy_spec.json", spec)
    assert parse_spec(dump_spec(spec)) == spec
    return path


def _subjects(loaded: LoadedPolicy) -> tuple[Callable[[int], object], Callable[[int], object]]:
    import onnxruntime as ort

    from policy_node.inference.session import session_options

    session = ort.InferenceSession(loaded.bundle.onnx, session_options(), providers=["CPUExecutionProvider"])
    runner = loaded.runner
    random = np.random.default_rng(0)
    samples = []
    for _ in range(16):
        sensors = runner.new_sensors()
        sensors.joint_pos[:] = runner.default_pos + random.normal(0.0, 0.1, len(runner.default_pos))
        sensors.joint_vel[:] = random.normal(0.0, 1.0, len(runner.default_pos))
        quat = np.array([0.1, -0.2, 0.3, 0.9]) + random.normal(0.0, 0.05, 4)
        sensors.imu_quat_xyzw[:] = quat / np.linalg.norm(quat)
        samples.append(sensors)
    feeds = [{session.get_inputs()[0].name: runner.observe(sensors)[np.newaxis].copy()} for sensors in samples]
    return lambda tick: session.run(None, feeds[tick % 16]), lambda tick: runner.step(samples[tick % 16])
