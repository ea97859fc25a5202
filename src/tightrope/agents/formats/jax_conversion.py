"""Networks of torch and Stable-Baselines3 written down again for JAX, layer by layer, where every layer is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np

from tightrope.agents.networks.network_agent import NetworkAgent
from tightrope.errors import AgentError
from tightrope.tasks.jaxworlds.rows import import_jax

Layer: TypeAlias = tuple[Any, ...]
"""A kind and what is fixed about it; its weights are kept apart."""
Weights: TypeAlias = tuple[Any, ...]

ACTIVATIONS = {
    "Tanh": "tanh",
    "ReLU": "relu",
    "Sigmoid": "sigmoid",
    "SiLU": "silu",
    "Identity": "identity",
    "Dropout": "identity",
}
"""Of torch, by the names that JAX has for them; dropout does nothing in a network that is only asked."""


def converted(agent: Any) -> tuple[Callable[[Any, Any], Any], tuple[Weights, ...]]:
    """The agent's network as a function for JAX, and its weights."""
    if not isinstance(agent, NetworkAgent):
        raise _refused(agent, f"it is a {type(agent).__name__}, and no network")
    parts = agent._parts
    if parts.prepare is not None or agent.recurrent:
        raise _refused(agent, "it normalises its observations, or remembers")
    if not isinstance(agent._spaces.action, gym.spaces.Discrete):
        raise _refused(agent, f"its actions are {agent._spaces.action}, and only those of a Discrete space are known")
    network = parts.network
    try:
        if hasattr(network, "policy"):
            found = list(_policy(network.policy, agent._spaces.observation))
        elif hasattr(network, "module"):
            found = list(_layers(network.module))
        else:
            raise _Unknown(type(network).__name__)
    except _Unknown as unknown:
        raise _refused(agent, f"{unknown} is no layer that is known") from None
    kinds, weights = tuple(kind for kind, _ in found), tuple(weights for _, weights in found)
    return partial(apply, kinds), weights


def apply(kinds: tuple[Layer, ...], weights: tuple[Weights, ...], observations: Any) -> Any:
    """What the layers make of observations, by the row."""
    for (kind, *fixed), own in zip(kinds, weights, strict=True):
        observations = _RULES[kind](observations, *own, *fixed)
    return observations


class _Unknown(Exception):
    """A layer that is not known, by its name."""


def _refused(agent: Any, why: str) -> AgentError:
    return AgentError(
        f"agent {agent.name!r} cannot be written down for JAX: {why}. Known are torch.nn.Sequential of Linear, Conv2d, "
        f"Flatten, {', '.join(ACTIVATIONS)}, and the policies of PPO, A2C and DQN that are made of these; write its "
        f"function yourself and give it as tr.JaxNetwork(function, parameters)"
    )


def _policy(policy: Any, space: gym.Space[Any]) -> Iterator[tuple[Layer, Weights]]:
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
        raise _Unknown(type(policy).__name__)


def _preprocessed(policy: Any, space: gym.Space[Any]) -> Iterator[tuple[Layer, Weights]]:
    if not isinstance(space, gym.spaces.Box):
        raise _Unknown(f"an input of {space}")
    if len(space.shape) != 3:
        return
    if policy.observation_space.shape != space.shape:
        yield ("channels first",), ()
    if policy.normalize_images and space.dtype == np.uint8:
        yield ("scaled", 255.0), ()


def _extractor(extractor: Any) -> Iterator[tuple[Layer, Weights]]:
    kind = type(extractor).__name__
    if kind == "FlattenExtractor":
        yield ("flat", 1), ()
    elif kind == "NatureCNN":
        yield from _layers(extractor.cnn)
        yield from _layers(extractor.linear)
    else:
        raise _Unknown(kind)


def _layers(module: Any) -> Iterator[tuple[Layer, Weights]]:
    """A module of torch, if it and all in it are what their names say."""
    kind = type(module).__name__
    if not type(module).__module__.startswith("torch.nn.modules."):
        raise _Unknown(kind)
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
        raise _Unknown(kind)


def _numbers(module: Any) -> Weights:
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
