"""Small networks as .onnx files, made without torch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


@cache
def scratch() -> Path:
    """A folder for the networks of contract tests, which cannot ask for fixtures."""
    return Path(mkdtemp())


class Graph:
    """Collects the nodes and weights of a network."""

    def __init__(self, seed: int = 0) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.rng = np.random.default_rng(seed)

    def node(self, kind: str, inputs: Sequence[str], **attributes: Any) -> str:
        name = f"{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def weight(self, *shape: int) -> str:
        name = f"w{len(self.weights)}"
        values = self.rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) if len(shape) > 1 else 1)
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def dense(self, given: str, width: int, out: int, *, relu: bool = True) -> str:
        answer = self.node("Gemm", [given, self.weight(out, width), self.weight(out)], transB=1)
        return self.node("Relu", [answer]) if relu else answer

    def conv(self, given: str, channels: int, out: int, size: int, stride: int) -> str:
        weights = [self.weight(out, channels, size, size), self.weight(out)]
        return self.node("Relu", [self.node("Conv", [given, *weights], kernel_shape=[size] * 2, strides=[stride] * 2)])

    def save(
        self,
        path: Path,
        outputs: dict[str, tuple[str, Sequence[Any]]],
        *,
        shape: Sequence[Any],
        dtype: int = TensorProto.FLOAT,
        output_dtype: int = TensorProto.FLOAT,
        metadata: dict[str, str] | None = None,
        inputs: Sequence[Any] | None = None,
    ) -> Path:
        for name, (source, _) in outputs.items():
            self.nodes.append(helper.make_node("Identity", [source], [name]))
        graph = helper.make_graph(
            self.nodes,
            "network",
            inputs or [helper.make_tensor_value_info("observation", dtype, list(shape))],
            [helper.make_tensor_value_info(name, output_dtype, list(form)) for name, (_, form) in outputs.items()],
            self.weights,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        helper.set_model_props(model, metadata or {})
        onnx.save(model, path)
        return path


def dense_network(path: Path, inputs: int, outputs: int, *, batch: Any = "n", seed: int = 0, **options: Any) -> Path:
    graph = Graph(seed)
    hidden = graph.dense(graph.dense("observation", inputs, 64), 64, 64)
    scores = graph.dense(hidden, 64, outputs, relu=False)
    return graph.save(path, {"scores": (scores, [batch, outputs])}, shape=[batch, inputs], **options)


def gaussian_network(path: Path, inputs: int, outputs: int, **options: Any) -> Path:
    graph = Graph()
    hidden = graph.dense("observation", inputs, 64)
    mean, log_std = (graph.dense(hidden, 64, outputs, relu=False) for _ in range(2))
    form = ["n", outputs]
    return graph.save(path, {"mean": (mean, form), "log_std": (log_std, form)}, shape=["n", inputs], **options)


def picture_network(path: Path, actions: int, **options: Any) -> Path:
    """The network of the case study: 4 frames of 84 × 84."""
    graph = Graph()
    numbers = graph.node("Cast", ["observation"], to=TensorProto.FLOAT)
    hidden = graph.conv(graph.conv(graph.conv(numbers, 4, 32, 8, 4), 32, 64, 4, 2), 64, 64, 3, 1)
    flat = graph.node("Flatten", [hidden])
    scores = graph.dense(graph.dense(flat, 3136, 512), 512, actions, relu=False)
    outputs = {"q": (scores, ["n", actions])}
    return graph.save(path, outputs, shape=["n", 4, 84, 84], dtype=TensorProto.UINT8, **options)


def deciding_network(path: Path, inputs: int, actions: int) -> Path:
    """Answers with the action itself."""
    graph = Graph()
    chosen = graph.node("ArgMax", [graph.dense("observation", inputs, actions, relu=False)], axis=1, keepdims=0)
    return graph.save(path, {"action": (chosen, ["n"])}, shape=["n", inputs], output_dtype=TensorProto.INT64)


def cell_network(path: Path, cells: int, actions: int, *, seed: int = 0, **options: Any) -> Path:
    """Takes the number of a cell; one beyond the last is a row of zeros, and no error."""
    graph = Graph(seed)
    graph.weights += [numpy_helper.from_array(np.array(cells), "cells")]
    graph.weights += [numpy_helper.from_array(np.array([0, 1], np.float32), "off_and_on")]
    hot = graph.node("OneHot", ["observation", "cells", "off_and_on"])
    scores = graph.dense(hot, cells, actions, relu=False)
    return graph.save(path, {"scores": (scores, ["n", actions])}, shape=["n"], dtype=TensorProto.INT64, **options)


def two_part_network(path: Path, parts: dict[str, int], actions: int) -> Path:
    graph = Graph()
    joined = graph.node("Concat", list(parts), axis=1)
    scores = graph.dense(joined, sum(parts.values()), actions, relu=False)
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size]) for name, size in parts.items()]
    return graph.save(path, {"scores": (scores, ["n", actions])}, shape=[], inputs=inputs)
