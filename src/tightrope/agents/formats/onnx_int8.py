"""Networks in ``.onnx`` files with their layers in 8 bits: another file, made from one and from what its agent sees.

The ranges that 8 bits have to cover are measured beforehand and written down (static quantisation). Measured at each
question instead, as ONNX Runtime can, they would hang on the batch, and so would the answers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tightrope.agents.formats.onnx import OnnxNetwork
from tightrope.agents.networks.batch_invariance import Arrays
from tightrope.errors import AgentError, require_extra

LAYERS = ("Conv", "Gemm", "MatMul")
"""What 8 bits make faster."""
BATCH = 32


MADE_READY = {"onnx.quant.pre_process": "onnxruntime.quant"}
"""Says to ONNX Runtime that constants are folded; without it, it advises to do so."""


def require_writing() -> tuple[Any, Any]:
    """The two libraries that it takes, or the error that names the extra; asked for before anything is played."""
    what = "Writing a network in 8 bits"
    return require_extra("onnx", "int8", what), require_extra("onnxruntime", "onnx", what)


def write_int8(network: OnnxNetwork, out: Path, observed: Arrays) -> None:
    """Write the network with all layers but the last in 8 bits.

    Args:
        network: From the file that is to be written anew.
        out: The file to write.
        observed: What the agent sees in use, stacked: it sets the ranges.
    """
    onnx, runtime = require_writing()
    from onnxruntime import quantization

    with TemporaryDirectory() as folder:
        plain, written = Path(folder, "plain.onnx"), Path(folder, "int8.onnx")
        _fold_constants(runtime, network.path, plain)
        model = onnx.load(str(plain))
        for number, node in enumerate(model.graph.node):
            node.name = f"{node.op_type}_{number}"  # they are chosen by name, and may have none
        last = _last_layers(model.graph.node, network.path)
        onnx.helper.set_model_props(model, MADE_READY)
        onnx.save(model, str(plain))
        quantization.quantize_static(
            str(plain),
            str(written),
            _Feeds(network, observed),
            quant_format=quantization.QuantFormat.QDQ,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
            per_channel=True,
            # Its numbers are compared with one another, and it is small.
            nodes_to_exclude=last,
        )
        model, original = onnx.load(str(written)), onnx.load(str(network.path), load_external_data=False)
    _save(onnx, model, {entry.key: entry.value for entry in original.metadata_props}, out)


def add_metadata(path: Path, said: Mapping[str, str]) -> None:
    """Let a file say more about itself."""
    onnx, _ = require_writing()
    model = onnx.load(str(path))
    _save(onnx, model, {**{entry.key: entry.value for entry in model.metadata_props}, **said}, path)


def _save(onnx: Any, model: Any, metadata: Mapping[str, str], out: Path) -> None:
    onnx.helper.set_model_props(model, dict(metadata))
    partial = out.with_suffix(".partial")
    onnx.save(model, str(partial))
    os.replace(partial, out)


def _fold_constants(runtime: Any, path: Path, out: Path) -> None:
    """What is the same for every observation done beforehand, so that weights stand in the file as numbers."""
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(out)
    options.log_severity_level = 4
    runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _last_layers(nodes: Sequence[Any], path: Path) -> list[str]:
    """The names of the layers whose numbers go into no other layer."""
    leads_on: set[str] = set()
    last = []
    for node in reversed(nodes):
        layer = node.op_type in LAYERS
        onward = bool(leads_on & set(node.output))
        if layer and not onward:
            last.append(node.name)
        if layer or onward:
            leads_on |= set(node.input)
    if len(last) == sum(node.op_type in LAYERS for node in nodes):
        raise AgentError(
            f"{path} has no layer ({', '.join(LAYERS)}) before the one that gives the scores, and that one stays as it "
            f"is: there is nothing to put into 8 bits"
        )
    return last


class _Feeds:
    """What the agent saw, in the form in which it is measured."""

    def __init__(self, network: OnnxNetwork, observed: Arrays) -> None:
        self._batches = _batches(network, observed)

    def get_next(self) -> Mapping[str, Any] | None:
        """The next batch; None: that was all."""
        return next(self._batches, None)


def _batches(network: OnnxNetwork, observed: Arrays) -> Iterator[Mapping[str, Any]]:
    for at in range(0, len(observed[0]), BATCH):
        yield network.feeds(tuple(part[at : at + BATCH] for part in observed))
