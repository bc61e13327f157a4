# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from toy import toy_spec_data

from policy_node.errors import ModelError
from policy_node.inference.session import OnnxPolicy
from policy_node.spec.bundle import parse_spec
from policy_node.spec.model import PolicySpec


def recurrent_graph() -> bytes:
    """Actions = h_out[0, :, :3]; h_out = h_in + sum of obs: a state that only threading can carry."""
    nodes = [
        helper.make_node("ReduceSum", ["obs"], ["sum"], keepdims=1),
        helper.make_node("Add", ["h_in", "sum"], ["h_out"]),
        helper.make_node("Slice", ["h_out", "start", "stop", "axis"], ["part"]),
        helper.make_node("Squeeze", ["part", "zero"], ["actions"]),
    ]
    constants = {"start": [0], "stop": [3], "axis": [2], "zero": [0]}
    graph = helper.make_graph(
        nodes,
        "recurrent",
        [
            helper.make_tensor_value_info("obs", TensorProto.FLOAT, ["batch", 18]),
            helper.make_tensor_value_info("h_in", TensorProto.FLOAT, [1, "batch", 4]),
        ],
        [
            helper.make_tensor_value_info("actions", TensorProto.FLOAT, ["batch", 3]),
            helper.make_tensor_value_info("h_out", TensorProto.FLOAT, [1, "batch", 4]),
        ],
        [onnx.numpy_helper.from_array(np.array(value, np.int64), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return bytes(model.SerializeToString())


def spec(inputs: list[str], outputs: list[str]) -> PolicySpec:
    data = toy_spec_data()
    data["model"]["onnx"] = {
        "file": "policy.onnx",
        "inputs": [{"name": name, "shape": ["batch", 1]} for name in inputs],
        "outputs": [{"name": name, "shape": ["batch", 1]} for name in outputs],
    }
    return parse_spec(json.dumps(data))


def test_recurrent_state_starts_at_zero_and_is_threaded() -> None:
    policy = OnnxPolicy(recurrent_graph(), spec(["obs", "h_in"], ["actions", "h_out"]))
    obs = np.full(18, 0.5, np.float32)
    assert [policy.infer(obs).tolist() for _ in range(3)] == [[9.0] * 3, [18.0] * 3, [27.0] * 3]
    policy.reset()
    assert policy.infer(obs).tolist() == [9.0] * 3


def test_names_that_differ_from_the_contract_are_refused() -> None:
    with pytest.raises(ModelError, match="has the inputs obs, h_in; the contract names obs"):
        OnnxPolicy(recurrent_graph(), spec(["obs"], ["actions", "h_out"]))


def test_a_graph_that_draws_random_numbers_is_refused() -> None:
    graph = helper.make_graph(
        [helper.make_node("RandomNormalLike", ["obs"], ["actions"])],
        "random",
        [helper.make_tensor_value_info("obs", TensorProto.FLOAT, ["batch", 18])],
        [helper.make_tensor_value_info("actions", TensorProto.FLOAT, ["batch", 18])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    with pytest.raises(ModelError, match="draws random numbers"):
        OnnxPolicy(model.SerializeToString(), spec(["obs"], ["actions"]))


def test_what_is_no_graph_is_refused() -> None:
    with pytest.raises(ModelError, match="is not an ONNX file"):
        OnnxPolicy(b"\x01not a model", spec(["obs"], ["actions"]))
