# Copyright 2026 The policy_node authors. SPDX-License-Identifier: Apache-2.0
"""What a graph declares about itself, read before it runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import onnx
from google.protobuf.message import DecodeError

from policy_node.errors import ModelError

SPEC_METADATA_KEY = "policy_node.spec"
"""Metadata key under which the export embeds the contract."""

RANDOM_OPERATORS = frozenset(
    {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"}
)


@dataclass(frozen=True, slots=True)
class GraphInfo:
    """Metadata of a graph, and its inputs and outputs as (name, shape); a dynamic axis is a string."""

    metadata: dict[str, str]
    inputs: tuple[tuple[str, tuple[int | str, ...]], ...]
    outputs: tuple[tuple[str, tuple[int | str, ...]], ...]


def inspect_graph(content: bytes, source: str = "policy.onnx") -> GraphInfo:
    """Parses a graph and refuses what no policy needs.

    Args:
        content: the ONNX file.
        source: name for messages.

    Raises:
        ModelError: the file is no ONNX model, keeps weights outside of itself, or draws random numbers.
    """
    try:
        model = onnx.load_model_from_string(content)
    except (DecodeError, ValueError) as error:
        raise ModelError(f"{source}: is not an ONNX file ({error}).") from None
    for tensor in _tensors(model.graph):
        if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
            raise ModelError(
                f"{source}: keeps the tensor '{tensor.name}' in another file. A bundle is one ONNX file: export it "
                "anew, or inline the weights."
            )
    for node in _nodes(model.graph):
        if node.op_type in RANDOM_OPERATORS:
            raise ModelError(f"{source}: draws random numbers ({node.op_type}). Export the deterministic policy.")
    initializers = {tensor.name for tensor in model.graph.initializer}
    inputs = tuple((item.name, _shape(item)) for item in model.graph.input if item.name not in initializers)
    outputs = tuple((item.name, _shape(item)) for item in model.graph.output)
    return GraphInfo({prop.key: prop.value for prop in model.metadata_props}, inputs, outputs)


def _shape(item: onnx.ValueInfoProto) -> tuple[int | str, ...]:
    return tuple(dim.dim_param or dim.dim_value for dim in item.type.tensor_type.shape.dim)


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _graphs(attribute.g)
            for inner in attribute.graphs:
                yield from _graphs(inner)


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for inner in _graphs(graph):
        yield from inner.node


def _tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    for inner in _graphs(graph):
        yield from inner.initializer
        for node in inner.node:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield attribute.t
                yield from attribute.tensors
