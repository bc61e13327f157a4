# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""From a bundle on disk to a runner that is proven to compute what was trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from policy_node.core.golden import GoldenDifference, read_golden, replay
from policy_node.core.params import ControllerParams
from policy_node.core.runner import PolicyRunner
from policy_node.errors import BundleError
from policy_node.inference.graph import SPEC_METADATA_KEY, inspect_graph
from policy_node.inference.session import OnnxPolicy
from policy_node.spec.bundle import SPEC_FILE, Bundle, parse_spec, read_bundle
from policy_node.spec.model import PolicySpec
from policy_node.spec.robot import RobotFile, join


@dataclass(frozen=True)
class LoadedPolicy:
    """A bundle that passed every check.

    Attributes:
        bundle: its files.
        runner: ready to step.
        golden: how far the replay was from the recording, or None without a recording.
        provider: execution provider that the session runs on.
        notes: what a person should know, for the log.
    """

    bundle: Bundle
    runner: PolicyRunner
    golden: GoldenDifference | None
    provider: str
    notes: tuple[str, ...]

    @property
    def golden_source(self) -> str:
        """Who made the golden recording: environment, synthetic, or empty where there is none."""
        golden = self.bundle.spec.deployment.golden
        return golden.source if golden is not None else ""


def load_policy(
    path: Path,
    robot: RobotFile | None = None,
    params: ControllerParams | None = None,
    provider: str = "cpu",
    robot_source: str = "robot file",
) -> LoadedPolicy:
    """Loads a bundle folder: checks, opens, replays its golden recording.

    Args:
        path: the folder.
        robot: the site's robot file, which can only tighten what the contract says.
        params: parameters of the controller.
        provider: execution provider, see :class:`OnnxPolicy`.
        robot_source: name of the robot file for messages.

    Raises:
        PolicyNodeError: the bundle cannot be run right; the text says why and how to mend it.
    """
    bundle = read_bundle(path)
    spec = bundle.spec
    notes = list(bundle.notes)
    embedded = inspect_graph(bundle.onnx, "policy.onnx").metadata.get(SPEC_METADATA_KEY)
    if embedded is None:
        notes.append("policy.onnx: carries no copy of the contract, so the two cannot be compared.")
    elif _comparable(parse_spec(embedded, "the contract inside policy.onnx")) != _comparable(spec):
        raise BundleError(
            f"{path}: {SPEC_FILE} and the copy of the contract inside policy.onnx differ. One of the two was edited or "
            "replaced; export the checkpoint anew."
        )
    site = join(spec, robot, robot_source)
    notes += site.notes
    policy = OnnxPolicy(bundle.onnx, spec, provider)
    difference = None
    if bundle.golden is None:
        notes.append(f"{path}: has no golden recording: that graph and contract belong together is not proven.")
    else:
        # The contract's own mount counts here: the recording was made on the robot that was trained.
        proof = PolicyRunner(spec, policy, replace(site, imu=spec.deployment.imu))
        difference = replay(proof, read_golden(bundle.golden, list(spec.deployment.commands)))
        if spec.deployment.golden is not None and spec.deployment.golden.source == "synthetic":
            notes.append(
                "the golden recording is synthetic: it proves that export and run time agree, not that they "
                "agree with the training."
            )
    runner = PolicyRunner(spec, policy, site, params)
    return LoadedPolicy(bundle, runner, difference, policy.provider, tuple(notes))


def _comparable(spec: PolicySpec) -> dict[str, object]:
    data = spec.model_dump(by_alias=True)
    deployment = dict(data["deployment"])
    deployment.pop("checksums", None)
    deployment.pop("golden", None)
    return {**data, "deployment": deployment}
