# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""The export: stage every file, verify what lies on the disk, and only then move it into place."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from policy_node.core.golden import GoldenDifference, read_golden
from policy_node.core.policy import ConstantPolicy
from policy_node.core.runner import PolicyRunner
from policy_node.errors import ExportError
from policy_node.export.golden import synthetic_golden
from policy_node.export.parity import Parity, check_onnx, check_torchscript, parity_observations
from policy_node.export.sources.base import SourcePolicy
from policy_node.export.sources.rsl_rl import load_rsl_rl
from policy_node.inference.graph import SPEC_METADATA_KEY
from policy_node.inference.load import LoadedPolicy, load_policy
from policy_node.spec.bundle import SPEC_FILE, dump_spec, sha256, write_spec
from policy_node.spec.model import (
    EXTENDED_SCHEMA_VERSION,
    PLAIN_SCHEMA_VERSION,
    DeploymentSpec,
    GoldenSpec,
    JitSpec,
    ModelSpec,
    OnnxSpec,
    PolicySpec,
    TaskSpec,
    TensorSpec,
)
from policy_node.spec.robot import join
from policy_node.spec.task import load_task
from policy_node.version import __version__

FORMATS = ("onnx", "jit")
ONNX_FILE, JIT_FILE, GOLDEN_FILE = "policy.onnx", "policy.pt", "golden.npz"


@dataclass(frozen=True)
class ExportReport:
    """What an export wrote and how it was proven.

    Attributes:
        out: the bundle.
        loaded: the bundle as the run time loads it.
        parity: one entry per graph; empty when verification was switched off.
        golden: replay of the golden recording.
    """

    out: Path
    loaded: LoadedPolicy
    parity: tuple[Parity, ...]
    golden: GoldenDifference | None


def export_checkpoint(
    checkpoint: Path,
    task: Path,
    out: Path,
    *,
    agent: Path | None = None,
    golden: Path | None = None,
    formats: tuple[str, ...] = FORMATS,
    verify: bool = True,
    progress: Callable[[str], None] = lambda _: None,
) -> ExportReport:
    """Turns a checkpoint into a bundle.

    Args:
        checkpoint: an rsl_rl model_<iteration>.pt.
        task: the task description.
        out: folder of the bundle; an earlier bundle there is replaced as a whole.
        agent: the trainer's config; found beside the checkpoint if None.
        golden: recording by the training environment; golden.npz beside the checkpoint if None and there is one.
        formats: which graphs to write; "onnx" is always among them.
        verify: compare the files on disk with the framework's own policy.
        progress: told the name of each step.

    Returns:
        What was written, with the measured differences.

    Raises:
        PolicyNodeError: nothing was written; the text says why and how to mend it.
    """
    unknown = [name for name in formats if name not in FORMATS]
    if unknown or "onnx" not in formats:
        raise ExportError(f"formats are {', '.join(formats)}; known: {', '.join(FORMATS)}, and onnx is always needed.")
    _check_destination(out)
    progress("reading the task description")
    contract = load_task(task)
    progress("reading the checkpoint")
    source = load_rsl_rl(checkpoint, agent)
    _check_widths(contract, source, task.name)
    if golden is None and (checkpoint.parent / GOLDEN_FILE).is_file():
        golden = checkpoint.parent / GOLDEN_FILE
    if golden is not None and not golden.is_file():
        raise ExportError(f"{golden}: there is no such file. Give --golden a recording by the training environment.")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise ExportError(f"{out}: cannot be written ({error.strerror}). Give --out another folder.") from None
    try:
        staging.chmod(0o755)
        progress("writing the graphs")
        _write_files(staging, contract, source, golden, formats)
        progress("replaying the golden recording")
        loaded = load_policy(staging)
        parity = _verify(staging, loaded, source, formats, progress) if verify else ()
        progress("moving the bundle into place")
        _move(staging, out)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    return ExportReport(out, loaded, parity, loaded.golden)


def _write_files(
    staging: Path, contract: TaskSpec, source: SourcePolicy, golden: Path | None, formats: tuple[str, ...]
) -> None:
    graph = source.to_onnx()
    spec = _compose(contract, source, graph, formats)
    recording = golden.read_bytes() if golden is not None else None
    if recording is None:
        stand_in = ConstantPolicy(spec.observations.dim, [0.0] * spec.actions.dim)
        recording = synthetic_golden(PolicyRunner(spec, stand_in, join(spec, None)), source)
    _embed(graph, spec)
    onnx.save_model(graph, str(staging / ONNX_FILE))
    (staging / GOLDEN_FILE).write_bytes(recording)
    names = [ONNX_FILE, GOLDEN_FILE]
    if "jit" in formats:
        source.write_torchscript(staging / JIT_FILE)
        names.append(JIT_FILE)
    deployment = spec.deployment.model_copy(
        update={
            "golden": GoldenSpec(file=GOLDEN_FILE, source="synthetic" if golden is None else "environment"),
            "checksums": {name: sha256((staging / name).read_bytes()) for name in names},
        }
    )
    write_spec(staging / SPEC_FILE, spec.model_copy(update={"deployment": deployment}))


def _compose(contract: TaskSpec, source: SourcePolicy, graph: onnx.ModelProto, formats: tuple[str, ...]) -> PolicySpec:
    deployment: DeploymentSpec = contract.deployment.model_copy(update={"golden": None, "checksums": {}})
    return PolicySpec(
        schema_version=EXTENDED_SCHEMA_VERSION if deployment.requires else PLAIN_SCHEMA_VERSION,
        model=ModelSpec(
            onnx=OnnxSpec(
                file=ONNX_FILE,
                inputs=[_tensor(item) for item in graph.graph.input],
                outputs=[_tensor(item) for item in graph.graph.output],
            ),
            jit=JitSpec(file=JIT_FILE) if "jit" in formats else None,
        ),
        observations=contract.observations,
        actions=contract.actions,
        entities=contract.entities,
        rate=contract.rate,
        provenance={**source.provenance, "exporter": f"policy_node {__version__}"},
        deployment=deployment,
    )


def _embed(graph: onnx.ModelProto, spec: PolicySpec) -> None:
    entity = next(iter(spec.entities.values()))
    scales: list[float] = []
    for term in spec.actions.terms:
        scales += np.broadcast_to(1.0 if term.scale is None else term.scale, len(term.dofs_name or [])).tolist()
    metadata = {
        SPEC_METADATA_KEY: dump_spec(spec),
        "joint_names": _csv(entity.dofs_name),
        "joint_stiffness": _csv(entity.kp),
        "joint_damping": _csv(entity.kd),
        "default_joint_pos": _csv(entity.default_dofs_pos),
        "command_names": _csv(spec.deployment.commands),
        "observation_names": _csv(term.name for group in spec.observations.groups for term in group.terms),
        "action_scale": _csv(scales),
    }
    for key, value in metadata.items():
        entry = graph.metadata_props.add()
        entry.key, entry.value = key, value


def _verify(
    staging: Path, loaded: LoadedPolicy, source: SourcePolicy, formats: tuple[str, ...], progress: Callable[[str], None]
) -> tuple[Parity, ...]:
    golden = loaded.bundle.golden
    recorded = read_golden(golden, list(loaded.bundle.spec.deployment.commands)).obs if golden is not None else None
    observations = parity_observations(source, recorded)
    progress(f"comparing {ONNX_FILE} with the trained policy")
    results = [check_onnx(staging / ONNX_FILE, source, observations)]
    if "jit" in formats:
        progress(f"comparing {JIT_FILE} with the trained policy")
        results.append(check_torchscript(staging / JIT_FILE, source, observations))
    return tuple(results)


def _check_destination(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise ExportError(f"{out}: is a file; a bundle is a folder. Give --out another name.")
    if out.is_dir() and any(out.iterdir()) and not (out / SPEC_FILE).is_file():
        raise ExportError(
            f"{out}: is not empty and holds no {SPEC_FILE}, so it is no earlier bundle. It is left as it "
            "is; give --out another folder."
        )


def _check_widths(contract: TaskSpec, source: SourcePolicy, name: str) -> None:
    if source.obs_dim != contract.observations.dim:
        table = ", ".join(
            f"{term.name} {term.frame_dim * max(1, term.history_length)}"
            for group in contract.observations.groups
            for term in group.terms
        )
        raise ExportError(
            f"the checkpoint takes an observation of width {source.obs_dim}; {name} describes "
            f"{contract.observations.dim}: {table}. The task description is not the trained one."
        )
    if source.action_dim != contract.actions.dim:
        raise ExportError(f"the checkpoint gives {source.action_dim} actions; {name} describes {contract.actions.dim}.")


def _move(staging: Path, out: Path) -> None:
    if not out.exists():
        staging.rename(out)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{out.name}.old.", dir=out.parent)) / "bundle"
    out.rename(old)
    try:
        staging.rename(out)
    except OSError:
        old.rename(out)
        raise
    finally:
        shutil.rmtree(old.parent, ignore_errors=True)


def _tensor(item: onnx.ValueInfoProto) -> TensorSpec:
    shape: list[Any] = [dim.dim_param or dim.dim_value for dim in item.type.tensor_type.shape.dim]
    return TensorSpec(name=item.name, shape=shape)


def _csv(values: Any) -> str:
    return ",".join(value if isinstance(value, str) else repr(value) for value in values)
