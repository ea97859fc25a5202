"""Networks of torch, Stable-Baselines3 and ONNX written down again for JAX, where every layer in them is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np

from tightrope.agents.formats.onnx import OnnxNetwork
from tightrope.agents.formats.onnx_graph import OPERATORS, Graph, UnknownLayer, apply_graph, graph_of
from tightrope.agents.networks.action_heads import ActionHead
from tightrope.agents.networks.network_agent import NetworkAgent
from tightrope.errors import AgentError
from tightrope.tasks.jaxworlds.rows import import_jax

Layer: TypeAlias = tuple[Any, ...]
"""A kind and what is fixed about it; its weights are kept apart."""
LayerWeights: TypeAlias = tuple[Any, ...]

ACTIVATIONS = {
    "Tanh": "tanh",
    "ReLU": "relu",
    "Sigmoid": "sigmoid",
    "SiLU": "silu",
    "Identity": "identity",
    "Dropout": "identity",
}
"""Of torch, by the names that JAX has for them; dropout does nothing in a network that is only asked."""

FAR = 1000.0
"""A bound farther from zero is none: with numbers of that size the last digits are all there is."""


def converted(agent: Any) -> tuple[Callable[[Any, Any], Any], Any]:
    """The agent's network as a function for JAX, and its weights."""
    if not isinstance(agent, NetworkAgent):
        raise _refused(agent, f"it is a {type(agent).__name__}, and no network")
    parts = agent._parts
    if parts.prepare is not None or agent.recurrent:
        raise _refused(agent, "it normalises its observations, or remembers")
    if not isinstance(agent._spaces.action, gym.spaces.Discrete):
        raise _refused(
            agent, f"its actions are {agent._spaces.action}, and only those of a Discrete space can be converted"
        )
    network = parts.network
    try:
        if isinstance(network, OnnxNetwork):
            return _graph(agent, network)
        if hasattr(network, "policy"):
            found = list(_policy(network.policy, agent._spaces.observation))
        elif hasattr(network, "module"):
            found = list(_layers(network.module))
        else:
            raise UnknownLayer(type(network).__name__)
    except UnknownLayer as unknown:
        raise _refused(agent, f"{unknown} is not a layer that can be converted") from None
    kinds, weights = tuple(kind for kind, _ in found), tuple(weights for _, weights in found)
    return partial(apply, kinds), weights


def apply(kinds: tuple[Layer, ...], weights: tuple[LayerWeights, ...], observations: Any) -> Any:
    """What the layers make of observations, by the row."""
    for (kind, *fixed), own in zip(kinds, weights, strict=True):
        observations = _RULES[kind](observations, *own, *fixed)
    return observations


def _refused(agent: Any, why: str) -> AgentError:
    return AgentError(
        f"agent {agent.name!r} cannot be converted to JAX: {why}. Convertible: torch.nn.Sequential of Linear, "
        f"Conv2d, Flatten, {', '.join(ACTIVATIONS)}, the policies of PPO, A2C and DQN made of these and .onnx files of "
        f"{', '.join(OPERATORS)}; write its function yourself and give it as tr.JaxNetwork(function, parameters)"
    )


def _graph(agent: Any, network: OnnxNetwork) -> tuple[Callable[[Any, Any], Any], Any]:
    """The graph of an .onnx file, tried on some observations: what its operators do changed from version to version."""
    space = agent._spaces.observation
    if not isinstance(space, gym.spaces.Box):
        raise UnknownLayer(f"an input of {space}")
    if isinstance(agent._parts.head, ActionHead):
        raise _refused(agent, "it answers with actions, and not with a score for each")
    graph, weights = graph_of(network.path)
    [given] = network.inputs
    function = partial(fed, graph, given.shape, np.dtype(given.dtype).name)
    rows = _some_observations(space, 8 if agent._parts.any_size else agent._parts.sizes[0])
    expected = network((rows,))[0]
    try:
        found = np.asarray(function(weights, rows))
    except (TypeError, ValueError, LookupError, NotImplementedError) as error:
        raise _refused(agent, f"JAX cannot run its graph: {str(error).partition(chr(10))[0]}") from error
    if found.shape != expected.shape or not np.allclose(found, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max()):
        raise _refused(agent, "its graph gives different scores there")
    return function, weights


def fed(graph: Graph, shape: tuple[int, ...], dtype: str, weights: Any, observations: Any) -> Any:
    """What a graph makes of observations, handed to it in the form that it takes."""
    jax = import_jax()
    rows = jax.numpy.asarray(observations).reshape(len(observations), *shape)
    return apply_graph(graph, weights, rows.astype(jax.dtypes.canonicalize_dtype(dtype)))


def _some_observations(space: gym.spaces.Box, number: int) -> Any:
    """Observations within the bounds, always the same; between -3 and 3 where there are none."""
    rng, shape = np.random.default_rng(0), (number, *space.shape)
    low, high = (np.where(abs(side) <= FAR, side, usual) for side, usual in ((space.low, -3.0), (space.high, 3.0)))
    drawn = rng.uniform(np.minimum(low, high), high, shape)
    return drawn.astype(space.dtype)


def _policy(policy: Any, space: gym.Space[Any]) -> Iterator[tuple[Layer, LayerWeights]]:
    """The way from an observation to the scores in a policy of Stable-Baselines3."""
    scored = getattr(policy, "q_net", policy)
    extractor = getattr(scored, "pi_features_extractor", None) or scored.features_extractor
    yield from _preprocessed(policy, space)
    yield from _extractor(extractor)
    if scored is not policy:
        yield from _layers(scored.q_net)
    elif type(getattr(policy, "mlp_extractor", None)).__name__ == "MlpExtractor":
        yield from _layers(policy.mlp_extractor.policy_net)
        yield from _layers(policy.action_net)
    else:
        raise UnknownLayer(type(policy).__name__)


def _preprocessed(policy: Any, space: gym.Space[Any]) -> Iterator[tuple[Layer, LayerWeights]]:
    if not isinstance(space, gym.spaces.Box):
        raise UnknownLayer(f"an input of {space}")
    if len(space.shape) != 3:
        return
    if policy.observation_space.shape != space.shape:
        yield ("channels first",), ()
    if policy.normalize_images and space.dtype == np.uint8:
        yield ("scaled", 255.0), ()


def _extractor(extractor: Any) -> Iterator[tuple[Layer, LayerWeights]]:
    kind = type(extractor).__name__
    if kind == "FlattenExtractor":
        yield ("flat", 1), ()
    elif kind == "NatureCNN":
        yield from _layers(extractor.cnn)
        yield from _layers(extractor.linear)
    else:
        raise UnknownLayer(kind)


def _layers(module: Any) -> Iterator[tuple[Layer, LayerWeights]]:
    """A module of torch, if it and all in it are what their names say."""
    kind = type(module).__name__
    if not type(module).__module__.startswith("torch.nn.modules."):
        raise UnknownLayer(kind)
    if kind == "Sequential":
        for inner in module:
            yield from _layers(inner)
    elif kind == "Linear":
        yield ("linear",), _numbers(module)
    elif kind == "Flatten" and module.end_dim == -1:
        yield ("flat", module.start_dim), ()
    elif kind == "Conv2d" and module.groups == 1 and module.padding_mode == "zeros" and module.padding != "same":
        padding = (0, 0) if module.padding == "valid" else tuple(module.padding)
        yield ("convolved", tuple(module.stride), padding, tuple(module.dilation)), _numbers(module)
    elif kind in ACTIVATIONS:
        yield ("activated", ACTIVATIONS[kind]), ()
    else:
        raise UnknownLayer(kind)


def _numbers(module: Any) -> LayerWeights:
    weight = module.weight.detach().cpu().numpy()
    bias = np.zeros(len(weight), weight.dtype) if module.bias is None else module.bias.detach().cpu().numpy()
    return weight.copy(), bias.copy()


def _linear(rows: Any, weight: Any, bias: Any) -> Any:
    return rows.astype(weight.dtype) @ weight.T + bias


def _convolved(rows: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    found = import_jax().lax.conv_general_dilated(
        rows.astype(weight.dtype),
        weight,
        window_strides=stride,
        padding=[(side, side) for side in padding],
        rhs_dilation=dilation,
        dimension_numbers=("NCHW", "OIHW", "NCHW"),
    )
    return found + bias[None, :, None, None]


def _activated(rows: Any, name: str) -> Any:
    return getattr(import_jax().nn, name)(rows)


_RULES: dict[str, Callable[..., Any]] = {
    "linear": _linear,
    "convolved": _convolved,
    "activated": _activated,
    "flat": lambda rows, first: rows.reshape(*rows.shape[:first], -1),
    "scaled": lambda rows, most: rows.astype(np.float32) / most,
    "channels first": lambda rows: rows.transpose(0, 3, 1, 2),
}
