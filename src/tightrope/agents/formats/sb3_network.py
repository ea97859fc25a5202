"""Policies of Stable-Baselines3 as networks: how each kind is asked, and how its answer is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.agents.formats.torch_network import precise_network, quiet_torch, torch_library
from tightrope.agents.networks.action_heads import ContinuousHead, Head, head_for
from tightrope.agents.networks.batch_invariance import TORCH_SIZES, Arrays
from tightrope.agents.networks.network_agent import MemorySlot, NetworkParts
from tightrope.agents.observations import ObservationStacker
from tightrope.agents.preferences import Meaning
from tightrope.agents.spaces import TaskSpaces
from tightrope.errors import AgentError


def policy_parts(policy: Any, spaces: TaskSpaces, prepare: Callable[[Arrays], Arrays] | None) -> NetworkParts:
    """A policy as a network with the head that reads it."""
    policy.set_training_mode(False)
    memory = _memory(policy)
    network = PolicyNetwork(policy, spaces, recurrent=bool(memory))
    head = _head(policy, spaces)
    return NetworkParts(
        network=network,
        head=head,
        prepare=prepare,
        memory=memory,
        sizes=TORCH_SIZES,
        precise=lambda: precise_network(policy, lambda copied: PolicyNetwork(copied, spaces, recurrent=bool(memory))),
    )


class PolicyNetwork:
    """What a policy says about a batch: scores, or mean and log standard deviation, then its memories."""

    def __init__(self, policy: Any, spaces: TaskSpaces, *, recurrent: bool) -> None:
        self.policy = policy
        self._names = [part.name for part in ObservationStacker(spaces.observation).parts]
        self._as_dict = isinstance(spaces.observation, gym.spaces.Dict)
        self._ask = _recurrent_answer if recurrent else _answer_of(policy)

    def __call__(self, arrays: Arrays) -> Arrays:
        """Ask about stacked observation parts, followed by memories."""
        torch, number = torch_library(), len(self._names)
        given = dict(zip(self._names, arrays, strict=False)) if self._as_dict else arrays[0]
        with quiet_torch(torch):
            observations, _ = self.policy.obs_to_tensor(given)
            memories = [torch.from_numpy(np.ascontiguousarray(part)).to(self.policy.device) for part in arrays[number:]]
            answer = self._ask(self.policy, observations, *memories)
        return tuple(part.detach().cpu().numpy() for part in answer)


def _answer_of(policy: Any) -> Callable[..., tuple[Any, ...]]:
    if hasattr(policy, "q_net"):
        return lambda policy, observations: (policy.q_net(observations),)
    if hasattr(policy, "quantile_net"):
        return lambda policy, observations: (policy.quantile_net(observations).mean(dim=1),)
    if hasattr(policy, "actor"):
        return _actor_answer if hasattr(policy.actor, "get_action_dist_params") else _point_answer
    if hasattr(policy, "get_distribution"):
        return lambda policy, observations: _described(policy.get_distribution(observations))
    if hasattr(policy, "action_net"):
        return _plain_answer
    raise AgentError(
        f"{type(policy).__name__} is not a Stable-Baselines3 or sb3-contrib policy that tightrope knows; give a "
        f"function that calls it: load_agent(lambda observation: model.predict(observation)[0], task)"
    )


def _actor_answer(policy: Any, observations: Any) -> tuple[Any, ...]:
    mean, log_std, extra = policy.actor.get_action_dist_params(observations)
    if not extra:
        return mean, log_std
    return mean, policy.actor.action_dist.proba_distribution(mean, log_std, **extra).distribution.stddev.log()


def _point_answer(policy: Any, observations: Any) -> tuple[Any, ...]:
    return (policy.actor(observations),)


def _plain_answer(policy: Any, observations: Any) -> tuple[Any, ...]:
    return (policy.action_net(policy.extract_features(observations, policy.features_extractor)),)


def _recurrent_answer(policy: Any, observations: Any, hidden: Any, cell: Any) -> tuple[Any, ...]:
    torch = torch_library()
    going_on = torch.zeros(len(hidden), device=hidden.device)
    states = (hidden.transpose(0, 1).contiguous(), cell.transpose(0, 1).contiguous())
    distribution, (hidden, cell) = policy.get_distribution(observations, states, going_on)
    return (*_described(distribution), hidden.transpose(0, 1), cell.transpose(0, 1))


def _described(distribution: Any) -> tuple[Any, ...]:
    """A distribution of the library as arrays."""
    inner: Any = getattr(distribution, "distributions", None) or distribution.distribution
    if isinstance(inner, list):
        return (torch_library().cat([part.logits for part in inner], dim=1),)
    if hasattr(inner, "logits"):
        return (inner.logits,)
    return inner.mean, inner.stddev.log()


def _head(policy: Any, spaces: TaskSpaces) -> Head:
    if not isinstance(spaces.action, gym.spaces.Box):
        return head_for(spaces.action, meaning=_meaning(policy))
    squashed = bool(policy.squash_output)
    if hasattr(policy, "actor"):
        spread = hasattr(policy.actor, "get_action_dist_params")
        return ContinuousHead(spaces.action, spread=spread, squashed=spread, scaled=squashed)
    if hasattr(policy, "get_distribution"):
        return ContinuousHead(spaces.action, spread=True, squashed=squashed)
    return ContinuousHead(spaces.action, scaled=squashed)


def _meaning(policy: Any) -> Meaning:
    if hasattr(policy, "q_net") or hasattr(policy, "quantile_net"):
        return Meaning.VALUES
    return Meaning.PROBABILITIES if hasattr(policy, "get_distribution") else Meaning.SCORES


def _memory(policy: Any) -> tuple[MemorySlot, ...]:
    lstm = getattr(policy, "lstm_actor", None)
    if lstm is None:
        return ()
    return (MemorySlot(shape=(lstm.num_layers, lstm.hidden_size)),) * 2
