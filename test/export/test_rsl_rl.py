# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from toy import toy_spec_data

from policy_node.errors import ExportError, PolicyNodeError
from policy_node.export import export_checkpoint
from policy_node.inference.graph import SPEC_METADATA_KEY
from policy_node.inference.load import load_policy
from policy_node.spec.bundle import parse_spec


def actor_state(normalized: bool = True, hidden: int = 18) -> dict[str, torch.Tensor]:
    """An actor of the toy contract; square layers, so that a transposed weight raises no shape error."""
    generator = torch.Generator().manual_seed(5)
    widths = [18, hidden, hidden, 3]
    state: dict[str, torch.Tensor] = {"distribution.std_param": torch.ones(3)}
    for number, (before, after) in enumerate(pairwise(widths)):
        state[f"mlp.{2 * number}.weight"] = torch.randn(after, before, generator=generator) / before**0.5
        state[f"mlp.{2 * number}.bias"] = torch.randn(after, generator=generator) * 0.1
    if normalized:
        state["obs_normalizer._mean"] = torch.randn(1, 18, generator=generator)
        state["obs_normalizer._std"] = torch.rand(1, 18, generator=generator) + 0.1
        state["obs_normalizer._var"] = state["obs_normalizer._std"] ** 2
        state["obs_normalizer.count"] = torch.tensor(1000)
    return state


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run folder: checkpoint, agent config and task description."""
    torch.save(
        {"actor_state_dict": actor_state(), "critic_state_dict": {}, "iter": 7, "infos": None}, tmp_path / "model_7.pt"
    )
    (tmp_path / "agent.yaml").write_text("actor:\n  class_name: MLPModel\n  activation: elu\n")
    data = toy_spec_data()
    for key in ("schema_version", "model", "provenance"):
        del data[key]
    (tmp_path / "task.json").write_text(json.dumps(data))
    return tmp_path


def export(run: Path, **options: Any) -> Any:
    return export_checkpoint(run / "model_7.pt", run / "task.json", run / "bundle", **options)


def by_hand(state: dict[str, torch.Tensor], obs: np.ndarray) -> np.ndarray:
    """The actor in float64, from rsl_rl's definition: (x - mean) / (std + 0.01), then ELU between linear layers."""
    x = obs.astype(np.float64)
    if "obs_normalizer._mean" in state:
        x = (x - state["obs_normalizer._mean"].numpy()) / (state["obs_normalizer._std"].numpy() + 0.01)
    for number in (0, 2, 4):
        x = x @ state[f"mlp.{number}.weight"].numpy().T.astype(np.float64) + state[f"mlp.{number}.bias"].numpy()
        if number < 4:
            x = np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
    return x


@pytest.mark.parametrize("normalized", [True, False])
def test_the_bundle_computes_what_the_checkpoint_does(run: Path, normalized: bool) -> None:
    state = actor_state(normalized)
    torch.save({"actor_state_dict": state, "iter": 7}, run / "model_7.pt")
    report = export(run)
    assert max(parity.worst for parity in report.parity) < 1e-5
    runner = load_policy(run / "bundle").runner
    obs = np.random.default_rng(0).normal(0, 2, (100, 18)).astype(np.float32)
    for row, expected in zip(obs, by_hand(state, obs)):
        runner.act(row)
        assert runner.action == pytest.approx(expected, abs=1e-4)


def test_the_graph_has_a_dynamic_batch_a_low_ir_version_and_the_contract_inside(run: Path) -> None:
    export(run)
    model = onnx.load(str(run / "bundle" / "policy.onnx"))
    assert model.ir_version <= 8
    assert [dim.dim_param or dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim] == ["batch", 18]
    metadata = {prop.key: prop.value for prop in model.metadata_props}
    assert parse_spec(metadata[SPEC_METADATA_KEY]).entities["robot"].kp == [10.0, 20.0, 30.0, 40.0]
    assert metadata["joint_names"] == "a,b,c,d"
    assert metadata["joint_stiffness"] == "10.0,20.0,30.0,40.0"
    assert metadata["action_scale"] == "0.5,0.25,0.2"


def test_a_synthetic_recording_says_so(run: Path) -> None:
    report = export(run)
    assert report.loaded.golden_source == "synthetic"
    assert report.golden is not None
    assert report.golden.ticks == 100
    assert any("synthetic" in note for note in report.loaded.notes)


def test_torchscript_gives_the_same_actions(run: Path) -> None:
    export(run)
    obs = np.random.default_rng(1).normal(0, 2, (4, 18)).astype(np.float32)
    got = torch.jit.load(str(run / "bundle" / "policy.pt"))(torch.from_numpy(obs)).detach().numpy()
    assert got == pytest.approx(by_hand(actor_state(), obs), abs=1e-4)


def test_a_failed_export_leaves_the_earlier_bundle_untouched(run: Path) -> None:
    export(run)
    before = {path.name: path.read_bytes() for path in (run / "bundle").iterdir()}
    state = actor_state()
    state["mlp.4.weight"] = torch.zeros(5, 18)
    state["mlp.4.bias"] = torch.zeros(5)
    torch.save({"actor_state_dict": state, "iter": 8}, run / "model_7.pt")
    with pytest.raises(ExportError, match=r"the checkpoint gives 5 actions; task\.json describes 3"):
        export(run)
    assert {path.name: path.read_bytes() for path in (run / "bundle").iterdir()} == before
    assert not [path for path in run.iterdir() if path.name.startswith(".")]


def test_a_second_export_replaces_the_first_as_a_whole(run: Path) -> None:
    export(run)
    export(run, formats=("onnx",))
    assert sorted(path.name for path in (run / "bundle").iterdir()) == ["golden.npz", "policy.onnx", "policy_spec.json"]


def test_a_folder_that_is_no_bundle_is_never_replaced(run: Path) -> None:
    (run / "bundle").mkdir()
    (run / "bundle" / "thesis.tex").write_text("years of work")
    with pytest.raises(ExportError, match="it is no earlier bundle"):
        export(run)
    assert (run / "bundle" / "thesis.tex").read_text() == "years of work"


class Payload:
    """What a hostile checkpoint would run."""

    def __reduce__(self) -> Any:
        return (Path("pwned").touch, ())


def hostile_checkpoint(run: Path) -> None:
    torch.save({"actor_state_dict": Payload()}, run / "model_7.pt")


def old_pickle(run: Path) -> None:
    (run / "model_7.pt").write_bytes(pickle.dumps({"actor_state_dict": Payload()}))


def no_activation(run: Path) -> None:
    (run / "agent.yaml").write_text("actor:\n  class_name: MLPModel\n")


def lost_module(run: Path) -> None:
    torch.save({"actor_state_dict": {**actor_state(), "rnn.weight_ih_l0": torch.zeros(4, 4)}}, run / "model_7.pt")


def half_a_normalizer(run: Path) -> None:
    state = actor_state()
    del state["obs_normalizer._std"]
    torch.save({"actor_state_dict": state}, run / "model_7.pt")


def old_layout(run: Path) -> None:
    torch.save({"model_state_dict": {"actor.0.weight": torch.zeros(3, 18)}}, run / "model_7.pt")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (old_pickle, "is no PyTorch checkpoint"),
        (lambda run: (run / "model_7.pt").write_text("hello"), "a file of 5 bytes that is not a zip archive"),
        (hostile_checkpoint, "cannot be read as a checkpoint without running code in it"),
        (lambda run: (run / "agent.yaml").unlink(), "Give --agent the trainer's config"),
        (no_activation, "has no 'activation'"),
        (lost_module, "the actor holds rnn.weight_ih_l0, which an MLP with a normalizer does not explain"),
        (half_a_normalizer, "has obs_normalizer._mean but no obs_normalizer._std"),
        (old_layout, "expected the key actor_state_dict"),
        (lambda run: (run / "task.json").write_text("{}"), "observations: is missing"),
    ],
)
def test_what_cannot_be_proven_equal_is_refused(
    run: Path, monkeypatch: pytest.MonkeyPatch, change: Any, said: str
) -> None:
    monkeypatch.chdir(run)
    change(run)
    with pytest.raises(PolicyNodeError) as error:
        export(run)
    assert said in str(error.value)
    assert not (run / "pwned").exists()
    assert not (run / "bundle").exists()


def test_a_graph_that_differs_from_the_checkpoint_is_caught(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from policy_node.export.sources import rsl_rl

    real = rsl_rl.mlp_graph
    monkeypatch.setattr(
        rsl_rl,
        "mlp_graph",
        lambda layers, activation, mean, divisor: real(
            [(layers[0][0].T.copy(), layers[0][1]), *layers[1:]], activation, mean, divisor
        ),
    )
    with pytest.raises(PolicyNodeError):
        export(run)
    assert not (run / "bundle").exists()


def test_a_golden_recording_that_is_not_there_is_named(run: Path) -> None:
    with pytest.raises(ExportError, match=r"nope\.npz: there is no such file"):
        export(run, golden=run / "nope.npz")
