# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from toy import toy_spec_data

from policy_node.core.golden import GoldenRecording, read_golden
from policy_node.errors import BundleError, GoldenError, ModelError, ProviderError
from policy_node.inference.graph import SPEC_METADATA_KEY
from policy_node.inference.load import load_policy
from policy_node.spec.bundle import sha256

Writer = Callable[..., Path]


def rehash(folder: Path) -> None:
    """Makes the checksums true again after a file was changed, as somebody would who wants the bundle to load."""
    spec = json.loads((folder / "policy_spec.json").read_text())
    for name in spec["deployment"]["checksums"]:
        spec["deployment"]["checksums"][name] = sha256((folder / name).read_bytes())
    (folder / "policy_spec.json").write_text(json.dumps(spec))


def change_spec(folder: Path, change: Callable[[dict], object]) -> None:
    spec = json.loads((folder / "policy_spec.json").read_text())
    change(spec)
    (folder / "policy_spec.json").write_text(json.dumps(spec))


def test_a_bundle_whose_recording_was_made_by_another_hand_loads(write_bundle: Writer) -> None:
    loaded = load_policy(write_bundle())
    assert loaded.golden is not None
    assert loaded.golden.ticks == 50
    assert loaded.golden.obs < 1e-6
    assert loaded.golden.action < 1e-5


def test_a_bundle_without_a_recording_loads_with_a_warning(write_bundle: Writer) -> None:
    loaded = load_policy(write_bundle(golden=False))
    assert any("no golden recording" in note for note in loaded.notes)


def two_terms_exchanged(spec: dict) -> None:
    # joint_pos and joint_vel have the same width: no check of dimensions can see this.
    terms = spec["observations"]["groups"][0]["terms"]
    terms[3], terms[4] = {**terms[4], "slice": [9, 12]}, {**terms[3], "slice": [12, 15]}


def mount_inverted(spec: dict) -> None:
    x, y, z, w = spec["deployment"]["imu"]["mount_quat_xyzw"]
    spec["deployment"]["imu"]["mount_quat_xyzw"] = [-x, -y, -z, w]


def quaternion_scalar_first(spec: dict) -> None:
    x, y, z, w = spec["deployment"]["imu"]["mount_quat_xyzw"]
    spec["deployment"]["imu"]["mount_quat_xyzw"] = [w, x, y, z]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (two_terms_exchanged, "observation term 'joint_"),
        (mount_inverted, "observation term '"),
        (quaternion_scalar_first, "observation term '"),
        (
            lambda s: s["observations"]["groups"][0]["terms"][3]["config"].update(dofs_name=["c", "a", "b"]),
            "'joint_pos'",
        ),
        (lambda s: s["actions"]["terms"][0].update(dofs_name=["a", "b", "c"]), "target of '"),
        (lambda s: s["actions"]["terms"][0].update(scale=0.5), "target of '"),
        (
            lambda s: s["entities"]["robot"].update(default_dofs_pos=[0.1, 0.2, 0.31, 0.4]),
            "term 'joint_pos', component 1",
        ),
    ],
)
def test_a_contract_that_says_something_else_than_the_training_did_is_refused(
    write_bundle: Writer, change: Callable[[dict], object], said: str
) -> None:
    folder = write_bundle()
    change_spec(folder, change)
    with pytest.raises(GoldenError) as error:
        load_policy(folder)
    assert "golden.npz: at tick " in str(error.value)
    assert said in str(error.value)


def test_a_swapped_graph_is_noticed_by_its_checksum(write_bundle: Writer) -> None:
    folder = write_bundle()
    model = onnx.load(str(folder / "policy.onnx"))
    model.producer_version = "another"
    onnx.save(model, str(folder / "policy.onnx"))
    with pytest.raises(BundleError, match=r"One of the two was replaced; export the checkpoint anew"):
        load_policy(folder)


def test_other_weights_are_noticed_even_with_true_checksums(write_bundle: Writer) -> None:
    folder = write_bundle()
    model = onnx.load(str(folder / "policy.onnx"))
    bias = next(item for item in model.graph.initializer if item.name == "bias_1")
    bias.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(bias) + np.float32(0.01), "bias_1"))
    onnx.save(model, str(folder / "policy.onnx"))
    rehash(folder)
    with pytest.raises(GoldenError, match="at tick 0 the action component"):
        load_policy(folder)


def test_an_embedded_contract_that_differs_is_refused(write_bundle: Writer) -> None:
    folder = write_bundle(golden=False)
    model = onnx.load(str(folder / "policy.onnx"))
    entry = model.metadata_props.add()
    data = toy_spec_data()
    data["entities"]["robot"]["kp"][0] = 11.0
    entry.key, entry.value = SPEC_METADATA_KEY, json.dumps(data)
    onnx.save(model, str(folder / "policy.onnx"))
    rehash(folder)
    with pytest.raises(BundleError, match=r"the copy of the contract inside policy.onnx differ"):
        load_policy(folder)


def test_a_graph_of_another_width_is_refused_with_both_widths(write_bundle: Writer) -> None:
    folder = write_bundle(golden=False)

    def drop_last_action(spec: dict) -> None:
        spec["observations"]["groups"][0]["terms"].pop()
        spec["observations"]["groups"][0]["slice"] = [0, 15]
        spec["observations"]["dim"] = 15

    change_spec(folder, drop_last_action)
    with pytest.raises(ModelError, match=r"'obs' is 18 wide; the contract's observation is 15"):
        load_policy(folder)


def test_weights_outside_of_the_file_are_refused(write_bundle: Writer) -> None:
    folder = write_bundle(golden=False)
    model = onnx.load(str(folder / "policy.onnx"))
    onnx.save_model(
        model, str(folder / "policy.onnx"), save_as_external_data=True, location="weights.bin", size_threshold=0
    )
    rehash(folder)
    with pytest.raises(ModelError, match=r"keeps the tensor .* in another file"):
        load_policy(folder)


def test_a_file_outside_of_the_bundle_is_refused(write_bundle: Writer) -> None:
    folder = write_bundle(golden=False)
    change_spec(folder, lambda spec: spec["model"]["onnx"].update(file="../policy.onnx"))
    with pytest.raises(BundleError, match="a bundle's files stand beside its contract"):
        load_policy(folder)


def test_an_ir_version_that_is_too_new_is_refused(write_bundle: Writer) -> None:
    folder = write_bundle(golden=False)
    model = onnx.load(str(folder / "policy.onnx"))
    model.ir_version = 99
    (folder / "policy.onnx").write_bytes(model.SerializeToString())
    rehash(folder)
    with pytest.raises(ModelError, match=r"onnxruntime [0-9.]+ cannot load it.*99"):
        load_policy(folder)


def test_a_provider_that_is_not_there_is_refused_with_what_is_missing(write_bundle: Writer) -> None:
    import onnxruntime

    if "TensorrtExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this machine has TensorRT")
    with pytest.raises(ProviderError, match="Install onnxruntime-gpu"):
        load_policy(write_bundle(golden=False), provider="tensorrt")
    with pytest.raises(ProviderError, match="known: auto, cpu, cuda, tensorrt"):
        load_policy(write_bundle(golden=False, name="second"), provider="gpu")


def test_auto_takes_a_provider_that_runs(write_bundle: Writer) -> None:
    assert load_policy(write_bundle(), provider="auto").provider in ("cpu", "cuda", "tensorrt")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PK nothing", "is not a readable npz file"),
        (b"", "is not a readable npz file"),
    ],
)
def test_a_broken_recording_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(GoldenError, match=said):
        read_golden(content, [])


def test_a_recording_with_nan_is_refused(write_bundle: Writer) -> None:
    import io

    content = (write_bundle() / "golden.npz").read_bytes()
    with np.load(io.BytesIO(content)) as data:
        arrays = {name: data[name].copy() for name in data.files}
    assert isinstance(read_golden(content, ["velocity_command"]), GoldenRecording)
    arrays["joint_pos"][3, 1] = np.nan
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    with pytest.raises(GoldenError, match="joint_pos holds values that are not finite"):
        read_golden(stream.getvalue(), ["velocity_command"])


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("action", lambda array: array[:30], r"action has shape \(30, 3\); expected \(50, width\)"),
        ("action", lambda array: array[:, 0], "action has shape"),
        ("velocity_command", lambda array: array[:, :2], "velocity_command is 2 wide; the contract says 3"),
        ("joint_names", lambda array: array[0], "joint_pos has shape"),
        ("imu_quat_xyzw", lambda array: array[:, :3], "imu_quat_xyzw has shape"),
    ],
)
def test_a_malformed_recording_is_refused(
    write_bundle: Writer, name: str, change: Callable[[np.ndarray], np.ndarray], said: str
) -> None:
    import io

    folder = write_bundle()
    with np.load(io.BytesIO((folder / "golden.npz").read_bytes())) as data:
        arrays = {key: data[key].copy() for key in data.files}
    arrays[name] = np.array(change(arrays[name]))
    np.savez(folder / "golden.npz", **arrays)
    rehash(folder)
    with pytest.raises(GoldenError, match=said):
        load_policy(folder)


def test_a_damaged_recording_is_refused_wherever_the_damage_is(write_bundle: Writer) -> None:
    content = bytearray((write_bundle() / "golden.npz").read_bytes())
    random = np.random.default_rng(0)
    for _ in range(200):
        damaged = bytearray(content)
        for place in random.integers(0, len(content), 3):
            damaged[place] ^= 0xFF
        # It may be readable all the same; what must not happen is another error than ours.
        with contextlib.suppress(GoldenError):
            read_golden(bytes(damaged), ["velocity_command"])


def test_a_graph_that_fails_when_it_runs_is_refused(write_bundle: Writer) -> None:
    folder = write_bundle(golden=False)
    model = onnx.load(str(folder / "policy.onnx"))
    index = onnx.numpy_helper.from_array(np.array([99], np.int64), "index")
    model.graph.initializer.append(index)
    model.graph.node[-1].output[0] = "before"
    model.graph.node.append(onnx.helper.make_node("Gather", ["before", "index"], ["actions"], axis=1))
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    for size in (1, 3):
        model.graph.output[0].type.tensor_type.shape.dim.add().dim_value = size
    onnx.save(model, str(folder / "policy.onnx"))
    rehash(folder)
    with pytest.raises(ModelError, match=r"policy\.onnx"):
        load_policy(folder)
