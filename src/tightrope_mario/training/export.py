"""Write a trained network as ONNX: pictures in (uint8), values of the actions out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import require_extra
from tightrope_mario.game.pictures import SHAPE

INPUT, OUTPUT = "observation", "q_values"
OPSET = 17
IR_VERSION = 9
"""Old enough for every ONNX Runtime since 2023."""
STRIDES = {"0": 4, "2": 2, "4": 1}
"""Of the convolutions, by their place in the network."""


def write_onnx(
    path: Path, weights: Mapping[str, NDArray[np.float32]], metadata: Mapping[str, str], *, half: bool = True
) -> None:
    """Store the paper's network; ``half`` keeps the weights in 16 bits, the arithmetic stays in 32."""
    onnx = require_extra("onnx", "torch", "exporting an agent")
    helper = onnx.helper
    graph = _Graph(helper, weights, np.float16 if half else np.float32)
    value = graph.add("Cast", [INPUT], to=onnx.TensorProto.FLOAT)
    value = graph.add("Div", [value, graph.constant("largest_grey", np.array(255, np.float32))])
    for layer, stride in STRIDES.items():
        value = graph.add("Conv", [value, *graph.parameters(layer)], strides=[stride, stride])
        value = graph.add("Relu", [value])
    value = graph.add("Flatten", [value])
    value = graph.add("Relu", [graph.add("Gemm", [value, *graph.parameters("7")], transB=1)])
    graph.add("Gemm", [value, *graph.parameters("9")], output=OUTPUT, transB=1)
    actions = len(weights["9.bias"])
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "double-dqn",
            [helper.make_tensor_value_info(INPUT, onnx.TensorProto.UINT8, ["n", *SHAPE])],
            [helper.make_tensor_value_info(OUTPUT, onnx.TensorProto.FLOAT, ["n", actions])],
            graph.initialisers,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="tightrope",
    )
    helper.set_model_props(model, dict(metadata))
    onnx.checker.check_model(model)
    partial = path.with_suffix(".partial")
    onnx.save(model, partial)
    os.replace(partial, path)


def read_onnx(path: Path) -> tuple[dict[str, NDArray[np.float32]], dict[str, str]]:
    """The weights and the metadata of a file that `write_onnx` wrote."""
    onnx = require_extra("onnx", "torch", "reading an exported agent")
    model = onnx.load(path)
    arrays = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    weights = {name: array.astype(np.float32) for name, array in arrays.items() if name.count(".") == 1}
    return weights, {entry.key: entry.value for entry in model.metadata_props}


class _Graph:
    """Nodes and constants, each value named after the node that makes it."""

    def __init__(self, helper: Any, weights: Mapping[str, NDArray[np.float32]], kind: Any) -> None:
        self._helper = helper
        self._weights = weights
        self._kind = kind
        self.nodes: list[Any] = []
        self.initialisers: list[Any] = []

    def add(self, kind: str, inputs: list[str], *, output: str | None = None, **attributes: Any) -> str:
        output = output or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(kind, inputs, [output], **attributes))
        return output

    def constant(self, name: str, value: NDArray[Any]) -> str:
        import onnx

        self.initialisers.append(onnx.numpy_helper.from_array(value, name))
        return name

    def parameters(self, layer: str) -> list[str]:
        import onnx

        names = []
        for part in ("weight", "bias"):
            stored = self.constant(f"{layer}.{part}", self._weights[f"{layer}.{part}"].astype(self._kind))
            half = self._kind is np.float16
            names.append(self.add("Cast", [stored], to=onnx.TensorProto.FLOAT) if half else stored)
        return names
