# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""Fixtures of all tests."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy import golden_by_hand, toy_spec_data

from policy_node.core.params import ControllerParams
from policy_node.core.policy import ConstantPolicy
from policy_node.core.runner import PolicyRunner
from policy_node.spec.bundle import parse_spec, sha256
from policy_node.spec.model import PolicySpec
from policy_node.spec.robot import join


@pytest.fixture
def spec_data() -> dict[str, Any]:
    return toy_spec_data()


@pytest.fixture
def toy_spec() -> PolicySpec:
    return parse_spec(json.dumps(toy_spec_data()))


@pytest.fixture
def make_runner() -> Callable[..., PolicyRunner]:
    """Makes a runner of the toy contract with a constant action."""

    def make(
        data: dict[str, Any] | None = None,
        action: Any = (0.0, 0.0, 0.0),
        policy: Any = None,
        params: ControllerParams | None = None,
    ) -> PolicyRunner:
        spec = parse_spec(json.dumps(data or toy_spec_data()))
        return PolicyRunner(spec, policy or ConstantPolicy(spec.observations.dim, action), join(spec, None), params)

    return make


@pytest.fixture
def write_bundle(tmp_path: Path) -> Callable[..., Path]:
    """Writes a bundle of the toy contract with a random network and a golden recording by a slow, separate hand."""

    def write(data: dict[str, Any] | None = None, golden: bool = True, name: str = "bundle") -> Path:
        from policy_node.export.mlp import mlp_graph

        data = copy.deepcopy(data or toy_spec_data())
        random = np.random.default_rng(3)
        layers = [
            (random.normal(0, 0.3, (16, 18)).astype(np.float32), random.normal(0, 0.1, 16).astype(np.float32)),
            (random.normal(0, 0.3, (3, 16)).astype(np.float32), random.normal(0, 0.1, 3).astype(np.float32)),
        ]
        folder = tmp_path / name
        folder.mkdir()
        model = mlp_graph(layers, "tanh").SerializeToString()
        (folder / "policy.onnx").write_bytes(model)
        checksums = {"policy.onnx": sha256(model)}
        if golden:
            content = golden_by_hand(layers)
            (folder / "golden.npz").write_bytes(content)
            checksums["golden.npz"] = sha256(content)
            data["deployment"]["golden"] = {"file": "golden.npz", "source": "environment"}
        data["deployment"]["checksums"] = checksums
        (folder / "policy_spec.json").write_text(json.dumps(data))
        return folder

    return write
