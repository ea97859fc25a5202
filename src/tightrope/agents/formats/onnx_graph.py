"""The graph of an ``.onnx`` file as a function for JAX, where every operator on the way to its scores is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tightrope.agents.formats.onnx_files import external_files
from tightrope.errors import require_extra
from tightrope.tasks.jaxworlds.rows import import_jax


class UnknownLayer(Exception):
    """A layer that is not known, by its name."""


class Node(NamedTuple):
    """An operator, the names of what goes in and comes out, and what is fixed about it."""

    operator: str
    inputs: tuple[str, ...]
    output: str
    fixed: tuple[tuple[str, Any], ...]


Graph: TypeAlias = tuple[str, tuple[Node, ...], str]
"""The name of what goes in, the nodes in their order, the name of what comes out."""
FIXED = {
    "Reshape": ("shape",),
    "Unsqueeze": ("axes",),
    "Squeeze": ("axes",),
    "ReduceMean": ("axes",),
    "Slice": ("starts", "ends", "axes", "steps"),
}
"""Operators some of whose inputs, from the second on, set the shape of what comes out: these must be constants."""


def graph_of(path: Path) -> tuple[Graph, dict[str, Any]]:
    """What leads from a file's input to its first output, and the weights on the way.

    Args:
        path: A file that ONNX Runtime has opened, with one input.
    """
    onnx = require_extra("onnx", "jax", "Converting an .onnx file to JAX")
    external_files(path)  # refuses weights that are not in the file's folder
    graph = onnx.load(str(path)).graph
    constants = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    source = next(one for one in graph.input if one.name not in constants)
    target = graph.output[0].name
    wanted = _on_the_way(graph, target)
    for node in wanted:
        if node.op_type == "Constant":
            constants[node.output[0]] = _constant(onnx, node)
    batch = next((size.dim_value for size in source.type.tensor_type.shape.dim), 0)
    nodes = tuple(_read(onnx, node, constants, batch) for node in wanted if node.op_type != "Constant")
    used = {name for node in nodes for name in node.inputs}
    return (source.name, nodes, target), {name: np.array(constants[name]) for name in sorted(used & set(constants))}


def apply_graph(graph: Graph, weights: Mapping[str, Any], observations: Any) -> Any:
    """What the graph makes of observations, by the row."""
    source, nodes, target = graph
    known = {**weights, source: observations, "": None}
    for node in nodes:
        arguments = [known[name] for name in node.inputs]
        known[node.output] = OPERATORS[node.operator](*arguments, **dict(node.fixed))
    return known[target]


def _on_the_way(graph: Any, target: str) -> list[Any]:
    """The nodes that an output hangs on, in their order, which has each after those that it needs."""
    needed: set[str] = {target}
    found: list[Any] = []
    for node in reversed(graph.node):
        if needed & set(node.output):
            needed |= set(node.input)
            found.append(node)
    return found[::-1]


def _constant(onnx: Any, node: Any) -> Any:
    [attribute] = node.attribute
    value = onnx.helper.get_attribute_value(attribute)
    return onnx.numpy_helper.to_array(value) if attribute.name == "value" else np.array(value)


def _read(onnx: Any, node: Any, constants: Mapping[str, Any], batch: int) -> Node:
    kind = node.op_type
    draws = kind == "Dropout" and len(node.input) > 2
    if node.domain not in ("", "ai.onnx") or kind not in OPERATORS or draws:
        raise UnknownLayer(f"the operator {kind}{' in training' if draws else ''}")
    fixed = {one.name: _plain(onnx.helper.get_attribute_value(one)) for one in node.attribute}
    names = FIXED.get(kind, ())
    for name, given in zip(names, node.input[1:], strict=False):
        if given and given not in constants:
            raise UnknownLayer(f"the operator {kind} with computed {name}")
        if given:
            fixed[name] = tuple(np.asarray(constants[given]).ravel().tolist())
    if kind == "Cast":
        fixed["to"] = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(fixed["to"])).name
    if kind == "Reshape" and batch and fixed["shape"][0] == batch:
        # A file for so many rows: here there may be more of them, and 0 says as many as go in.
        fixed["shape"] = (0, *fixed["shape"][1:])
    return Node(kind, tuple(node.input[:1] if names else node.input), node.output[0], tuple(sorted(fixed.items())))


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return value if isinstance(value, int | float) else tuple(value)


def _gemm(rows: Any, weight: Any, bias: Any = None, **fixed: Any) -> Any:
    left, right = (rows.T if fixed.get("transA") else rows), (weight.T if fixed.get("transB") else weight)
    found = fixed.get("alpha", 1.0) * (left @ right)
    return found if bias is None else found + fixed.get("beta", 1.0) * bias


def _conv(rows: Any, weight: Any, bias: Any = None, **fixed: Any) -> Any:
    sides = weight.ndim - 2
    if fixed.get("auto_pad", "NOTSET") != "NOTSET":
        raise UnknownLayer(f"the operator Conv with auto_pad {fixed['auto_pad']}")
    pads = fixed.get("pads", (0,) * 2 * sides)
    found = import_jax().lax.conv_general_dilated(
        rows,
        weight,
        window_strides=fixed.get("strides", (1,) * sides),
        padding=list(zip(pads[:sides], pads[sides:], strict=True)),
        rhs_dilation=fixed.get("dilations", (1,) * sides),
        feature_group_count=fixed.get("group", 1),
    )
    return found if bias is None else found + bias.reshape(1, -1, *(1,) * sides)


def _reshape(rows: Any, shape: tuple[int, ...], allowzero: int = 0) -> Any:
    return rows.reshape(tuple(size or rows.shape[place] for place, size in enumerate(shape)))


def _clip(rows: Any, low: Any = None, high: Any = None, **fixed: Any) -> Any:
    return import_jax().numpy.clip(rows, fixed.get("min", low), fixed.get("max", high))


def _cast(rows: Any, to: str) -> Any:
    return rows.astype(import_jax().dtypes.canonicalize_dtype(to))


def _slice(rows: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    cut = [slice(None)] * rows.ndim
    for place, axis in enumerate(range(len(starts)) if axes is None else axes):
        cut[axis] = slice(starts[place], ends[place], 1 if steps is None else steps[place])
    return rows[tuple(cut)]


def _divided(rows: Any, by: Any) -> Any:
    whole = np.issubdtype(rows.dtype, np.integer)
    return import_jax().lax.div(*import_jax().numpy.broadcast_arrays(rows, by)) if whole else rows / by


def _activation(name: str) -> Callable[..., Any]:
    return partial(_activated, name)


def _activated(name: str, rows: Any, alpha: float | None = None, axis: int = -1) -> Any:
    function = getattr(import_jax().nn, name)
    if name in ("softmax", "log_softmax"):
        return function(rows, axis=axis)
    return function(rows) if alpha is None else function(rows, alpha)


OPERATORS: dict[str, Callable[..., Any]] = {
    "Gemm": _gemm,
    "MatMul": lambda left, right: left @ right,
    "Conv": _conv,
    "Relu": _activation("relu"),
    "Tanh": _activation("tanh"),
    "Sigmoid": _activation("sigmoid"),
    "Elu": _activation("elu"),
    "LeakyRelu": _activation("leaky_relu"),
    "Softplus": _activation("softplus"),
    "Softmax": _activation("softmax"),
    "LogSoftmax": _activation("log_softmax"),
    "Flatten": lambda rows, axis=1: rows.reshape(prod(rows.shape[:axis]), -1),
    "Reshape": _reshape,
    "Transpose": lambda rows, perm=None: rows.transpose(perm),
    "Unsqueeze": lambda rows, axes: import_jax().numpy.expand_dims(rows, axes),
    "Squeeze": lambda rows, axes: rows.squeeze(axes),
    "Slice": _slice,
    "Gather": lambda rows, indices, axis=0: import_jax().numpy.take(rows, indices, axis=axis),
    "Concat": lambda *parts, axis: import_jax().numpy.concatenate(parts, axis=axis),
    "ReduceMean": lambda rows, axes=None, keepdims=1: rows.mean(axes, keepdims=bool(keepdims)),
    "Add": lambda left, right: left + right,
    "Sub": lambda left, right: left - right,
    "Mul": lambda left, right: left * right,
    "Div": _divided,
    "Abs": abs,
    "Clip": _clip,
    "Equal": lambda left, right: left == right,
    "Cast": _cast,
    "Identity": lambda rows: rows,
    "Dropout": lambda rows, *_, **__: rows,
}
"""What the operators of ONNX do, on arrays of JAX."""
