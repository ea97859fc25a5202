"""CleanRL's own networks, told by the names and shapes of their layers.

A file of CleanRL holds weights and no program. Activations cannot be seen in it, so a network is taken for one of
CleanRL's only where every layer has the name and the width that CleanRL's script gives it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

NamedWeights: TypeAlias = Mapping[str, Any]
"""Tensors by name."""
Shape: TypeAlias = tuple[int | str, ...]
"""Numbers that are fixed, and letters for those that follow from the task: the same letter is the same number."""

SEEN, DONE, ATOMS = "observation", "action", "atoms"


@dataclass(frozen=True, kw_only=True)
class StockNetwork:
    """One of CleanRL's networks."""

    script: str
    """The scripts that save it."""
    layers: Mapping[str, Shape]
    answer: Callable[[Any, NamedWeights, Any], tuple[Any, ...]]
    """``(torch, weights, observations) -> outputs``."""
    kind: str = "scores"
    """What comes out: "scores", "normal" (mean and log standard deviation), "point", or "squashed" (as normal, to be
    put through tanh and scaled)."""


def matching_network(weights: NamedWeights) -> StockNetwork | None:
    """The network whose layers these are, if it is one of CleanRL's."""
    return next((network for network in STOCK if _matches(network.layers, weights)), None)


def _matches(layers: Mapping[str, Shape], weights: NamedWeights) -> bool:
    if set(layers) != set(weights):
        return False
    bound: dict[str, int] = {}
    for name, shape in layers.items():
        found = tuple(weights[name].shape)
        if len(found) != len(shape):
            return False
        for wanted, size in zip(shape, found, strict=True):
            if (bound.setdefault(wanted, size) if isinstance(wanted, str) else wanted) != size:
                return False
    return True


def _layer(name: str, out: int | str, *given: int | str) -> dict[str, Shape]:
    return {f"{name}.weight": (out, *given), f"{name}.bias": (out,)}


def _dense(name: str, *widths: int | str) -> dict[str, Shape]:
    """Linear layers with an activation, which has no weights, between each two."""
    layers: dict[str, Shape] = {}
    for place in range(len(widths) - 1):
        layers |= _layer(f"{name}.{2 * place}", widths[place + 1], widths[place])
    return layers


_PICTURES = _layer("network.0", 32, 4, 8, 8) | _layer("network.2", 64, 32, 4, 4) | _layer("network.4", 64, 64, 3, 3)
_PICTURES |= _layer("network.7", 512, 3136)
"""Four frames of 84 × 84, as in Nature."""
_ACTOR = _layer("fc1", 256, SEEN) | _layer("fc2", 256, 256)


def _linear(torch: Any, weights: NamedWeights, name: str, given: Any) -> Any:
    return torch.nn.functional.linear(given, weights[f"{name}.weight"], weights[f"{name}.bias"])


def _through(torch: Any, weights: NamedWeights, name: str, given: Any, activation: Any) -> Any:
    """Three linear layers."""
    for place in (0, 2):
        given = activation(_linear(torch, weights, f"{name}.{place}", given))
    return _linear(torch, weights, f"{name}.4", given)


def _looked(torch: Any, weights: NamedWeights, pictures: Any) -> Any:
    given = pictures / 255.0
    for place, stride in ((0, 4), (2, 2), (4, 1)):
        name = f"network.{place}"
        convolved = torch.nn.functional.conv2d(given, weights[f"{name}.weight"], weights[f"{name}.bias"], stride=stride)
        given = torch.relu(convolved)
    return torch.relu(_linear(torch, weights, "network.7", given.flatten(1)))


def _actor(torch: Any, weights: NamedWeights, given: Any) -> Any:
    for name in ("fc1", "fc2"):
        given = torch.relu(_linear(torch, weights, name, given))
    return given


def _ppo(torch: Any, weights: NamedWeights, given: Any) -> tuple[Any, ...]:
    return (_through(torch, weights, "actor", given, torch.tanh),)


def _ppo_continuous(torch: Any, weights: NamedWeights, given: Any) -> tuple[Any, ...]:
    mean = _through(torch, weights, "actor_mean", given, torch.tanh)
    return mean, weights["actor_logstd"].expand_as(mean)


def _ppo_atari(torch: Any, weights: NamedWeights, given: Any) -> tuple[Any, ...]:
    return (_linear(torch, weights, "actor", _looked(torch, weights, given)),)


def _dqn(torch: Any, weights: NamedWeights, given: Any) -> tuple[Any, ...]:
    return (_through(torch, weights, "network", given, torch.relu),)


def _dqn_atari(torch: Any, weights: NamedWeights, given: Any) -> tuple[Any, ...]:
    return (_linear(torch, weights, "network.9", _looked(torch, weights, given)),)


def _expected(answer: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]]:
    """C51: the network gives a distribution over returns for each action; its mean is the action's value."""

    def expected(torch: Any, weights: NamedWeights, given: Any) -> tuple[Any, ...]:
        (scores,), atoms = answer(torch, weights, given), weights["atoms"]
        chances = torch.softmax(scores.view(len(scores), -1, len(atoms)), dim=2)
        return ((chances * atoms).sum(2),)

    return expected


def _deterministic_actor(torch: Any, weights: NamedWeights, given: Any) -> tuple[Any, ...]:
    action = torch.tanh(_linear(torch, weights, "fc_mu", _actor(torch, weights, given)))
    return (action * weights["action_scale"] + weights["action_bias"],)


def _soft_actor(torch: Any, weights: NamedWeights, given: Any) -> tuple[Any, ...]:
    hidden = _actor(torch, weights, given)
    spread = torch.tanh(_linear(torch, weights, "fc_logstd", hidden))
    # CleanRL's LOG_STD_MIN and LOG_STD_MAX are -5 and 2.
    return _linear(torch, weights, "fc_mean", hidden), -5 + 0.5 * (2 + 5) * (spread + 1)


_DQN, _DQN_ATARI = _dense("network", SEEN, 120, 84, DONE), _PICTURES | _layer("network.9", DONE, 512)
_BOUNDS: tuple[dict[str, Shape], ...] = (
    {"action_scale": (DONE,), "action_bias": (DONE,)},
    # Of one environment among several, in older versions.
    {"action_scale": (1, DONE), "action_bias": (1, DONE)},
)

STOCK = (
    StockNetwork(
        script="ppo.py",
        layers=_dense("actor", SEEN, 64, 64, DONE) | _dense("critic", SEEN, 64, 64, 1),
        answer=_ppo,
    ),
    StockNetwork(
        script="ppo_continuous_action.py",
        layers=_dense("actor_mean", SEEN, 64, 64, DONE)
        | _dense("critic", SEEN, 64, 64, 1)
        | {"actor_logstd": (1, DONE)},
        answer=_ppo_continuous,
        kind="normal",
    ),
    StockNetwork(
        script="ppo_atari.py",
        layers=_PICTURES | _layer("actor", DONE, 512) | _layer("critic", 1, 512),
        answer=_ppo_atari,
    ),
    StockNetwork(script="dqn.py", layers=_DQN, answer=_dqn),
    StockNetwork(script="dqn_atari.py", layers=_DQN_ATARI, answer=_dqn_atari),
    StockNetwork(script="c51.py", layers=_DQN | {"atoms": (ATOMS,)}, answer=_expected(_dqn)),
    StockNetwork(script="c51_atari.py", layers=_DQN_ATARI | {"atoms": (ATOMS,)}, answer=_expected(_dqn_atari)),
    *(
        StockNetwork(
            script="ddpg_continuous_action.py, td3_continuous_action.py",
            layers=_ACTOR | _layer("fc_mu", DONE, 256) | bounds,
            answer=_deterministic_actor,
            kind="point",
        )
        for bounds in _BOUNDS
    ),
    *(
        StockNetwork(
            script="sac_continuous_action.py",
            layers=_ACTOR | _layer("fc_mean", DONE, 256) | _layer("fc_logstd", DONE, 256) | bounds,
            answer=_soft_actor,
            kind="squashed",
        )
        for bounds in _BOUNDS
    ),
)
