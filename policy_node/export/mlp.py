# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""A multilayer perceptron as an ONNX graph, written operator by operator.

No tracer is involved, so the file is the same on every version of every framework: opset 17, IR version 8, a
dynamic batch axis, weights inside the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 8

ACTIVATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "elu": ("Elu", {"alpha": 1.0}),
    "relu": ("Relu", {}),
    "tanh": ("Tanh", {}),
    "sigmoid": ("Sigmoid", {}),
    "selu": ("Selu", {}),
    "lrelu": ("LeakyRelu", {"alpha": 0.01}),
    "leaky_relu": ("LeakyRelu", {"alpha": 0.01}),
    "softplus": ("Softplus", {}),
    "identity": ("Identity", {}),
}
"""Names of activations as trainers write them -> ONNX operator and its attributes."""

Layer = tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]


def mlp_graph(
    layers: Sequence[Layer],
    activation: str,
    mean: npt.NDArray[np.float32] | None = None,
    divisor: npt.NDArray[np.float32] | None = None,
) -> onnx.ModelProto:
    """Builds actions = layers((obs - mean) / divisor) with ``activation`` between the layers.

    Args:
        layers: (weight, bias) of each linear layer in PyTorch's layout: weight of shape (out, in), bias (out,).
        activation: a key of ACTIVATIONS.
        mean: subtracted from the observation, shape (obs_dim,), or None.
        divisor: what the difference is divided by, shape (obs_dim,), or None.

    Returns:
        A checked model with input obs [batch, obs_dim] and output actions [batch, action_dim], float32.

    Raises:
        KeyError: the activation is unknown.
    """
    operator, attributes = ACTIVATIONS[activation]
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    value = "obs"

    def constant(name: str, array: npt.NDArray[np.float32]) -> str:
        weights.append(numpy_helper.from_array(np.ascontiguousarray(array, np.float32), name))
        return name

    def node(kind: str, inputs: list[str], output: str, **options: Any) -> str:
        nodes.append(helper.make_node(kind, inputs, [output], name=f"make_{output}", **options))
        return output

    if mean is not None:
        value = node("Sub", [value, constant("obs_mean", mean)], "centered")
    if divisor is not None:
        value = node("Div", [value, constant("obs_divisor", divisor)], "normalized")
    for number, (weight, bias) in enumerate(layers):
        last = number == len(layers) - 1
        inputs = [value, constant(f"weight_{number}", weight), constant(f"bias_{number}", bias)]
        value = node("Gemm", inputs, "actions" if last else f"linear_{number}", transB=1)
        if not last:
            value = node(operator, [value], f"hidden_{number}", **attributes)
    graph = helper.make_graph(
        nodes,
        "policy",
        [helper.make_tensor_value_info("obs", TensorProto.FLOAT, ["batch", layers[0][0].shape[1]])],
        [helper.make_tensor_value_info("actions", TensorProto.FLOAT, ["batch", layers[-1][0].shape[0]])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="policy_node")
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model, full_check=True)
    return model
