"""Agents written in JAX: an apply function and its parameters. In a world written in JAX they are asked by the row."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import gymnasium as gym
import numpy as np

from tightrope.agents.agent import Agent
from tightrope.agents.formats.jax_conversion import converted
from tightrope.agents.networks.action_heads import head_for
from tightrope.agents.networks.batch_invariance import Arrays
from tightrope.agents.networks.network_agent import NetworkAgent, NetworkParts
from tightrope.agents.objects.fingerprints import object_fingerprint
from tightrope.agents.sources.loaders import AgentLoader, AgentRequest
from tightrope.display import Shown
from tightrope.errors import AgentError
from tightrope.tasks.jaxworlds.rows import WIDTH, import_jax
from tightrope.tasks.jaxworlds.world import World


class JaxNetwork(Shown):
    """A policy written in JAX: ``function(parameters, observations)`` gives a row of scores for each observation.

    For discrete actions the scores are logits or action values, for continuous ones the actions themselves.

    Args:
        function: Such as ``model.apply`` of flax or haiku; JAX must be able to compile it.
        parameters: What it gets first: any pytree of arrays.
        name: What to call the agent.
    """

    _shown = ("name",)

    def __init__(self, function: Callable[[Any, Any], Any], parameters: Any, name: str | None = None) -> None:
        self.function, self.parameters = function, parameters
        self.name = str(name or getattr(function, "__name__", "jax network"))

    @classmethod
    def converted(cls, agent: Agent) -> JaxNetwork:
        """The network of a loaded agent of torch, Stable-Baselines3 or ONNX, written down for JAX.

        Its scores are the same but for rounding, so that an action differs only where two are all but equal.

        Args:
            agent: For numbered actions, of layers that are known; AgentError names one that is not.
        """
        return cls(*converted(agent), name=agent.name)

    @cached_property
    def compiled(self) -> Callable[[Any], Any]:
        """``compiled(observations)``, of as many rows as a world has; arrays of JAX go in and come out."""
        jax = import_jax()
        parameters = jax.device_put(self.parameters)
        run = jax.jit(self.function)
        return lambda observations: run(parameters, observations)

    @cached_property
    def loops(self) -> WeakKeyDictionary[World, Any]:
        """By world, what was compiled of both together; kept here because it lives as long as the network."""
        return WeakKeyDictionary()

    def __call__(self, arrays: Arrays) -> Arrays:
        """As networks are asked elsewhere, with arrays of NumPy."""
        (observations,) = arrays
        return (np.asarray(self.compiled(observations)),)

    def __getstate__(self) -> dict[str, Any]:
        return {"function": self.function, "parameters": _as_numpy(self.parameters), "name": self.name}


def _as_numpy(parameters: Any) -> Any:
    """Arrays that belong to no device travel to other processes, and are the same in each of them."""
    return import_jax().tree.map(np.asarray, parameters)


def _load(request: AgentRequest) -> Agent:
    network: JaxNetwork = request.source
    if not isinstance(request.spaces.observation, gym.spaces.Box):
        raise AgentError(
            f"a JAX network is given arrays, and the observations of task {request.task.label} are "
            f"{request.spaces.observation}; give it as a function of an observation"
        )
    return NetworkAgent(
        NetworkParts(network=network, head=head_for(request.spaces.action), sizes=(WIDTH,), any_size=False),
        request.spaces,
        request.behaviour,
        name=request.name or network.name,
        fingerprint=object_fingerprint((network.function, _as_numpy(network.parameters)), request.behaviour),
    )


NETWORKS = AgentLoader(accepts=lambda source: isinstance(source, JaxNetwork), load=_load)
