"""Agents of CleanRL: ``.cleanrl_model`` files as its scripts save them, without the script."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.agents.formats.cleanrl_networks import STOCK, StockNetwork, matching_network
from tightrope.agents.formats.torch_network import load_torch, quiet_torch, torch_library
from tightrope.agents.formats.torch_weights import read_saved, require_tensors, state_dict_in
from tightrope.agents.networks.action_heads import ContinuousHead, Head, head_for
from tightrope.agents.networks.batch_invariance import TORCH_SIZES, Arrays
from tightrope.agents.networks.network_agent import NetworkParts
from tightrope.agents.sources.files import AgentFile, FileReader, Reading, file_loader
from tightrope.agents.spaces import TaskSpaces
from tightrope.errors import AgentError
from tightrope.files import read_content
from tightrope.files.limits import AGENT_FILE

ENDING = ".cleanrl_model"


class CleanRlNetwork:
    """One of CleanRL's networks with the weights of a file, on one thread and without gradients."""

    def __init__(self, network: StockNetwork, weights: Mapping[str, Any]) -> None:
        self.network, self.weights = network, weights
        self._dtype = next(iter(weights.values())).dtype

    def __call__(self, arrays: Arrays) -> Arrays:
        """What the network says about stacked observations."""
        torch = torch_library()
        with quiet_torch(torch):
            observations = torch.from_numpy(np.ascontiguousarray(arrays[0])).to(self._dtype)
            answers = self.network.answer(torch, self.weights, observations)
        return tuple(part.detach().cpu().numpy() for part in answers)


def stock_parts(path: Path, spaces: TaskSpaces, *, trust: bool) -> NetworkParts:
    """The network that a file's layers tell, with its weights."""
    content = read_content(path, AGENT_FILE)
    if not content.startswith(b"PK"):
        raise AgentError(
            f"{path} is not a torch file. CleanRL's JAX scripts save theirs under the same ending; give such an agent "
            f"as a function of its parameters: --agent package.module:factory ('JAX' in the documentation of agents)"
        )
    weights = state_dict_in(read_saved(content, str(path), trust=trust), str(path))
    require_tensors(weights, str(path))
    network = matching_network(weights)
    if network is None:
        raise _not_stock(path, weights)
    head = _head(network, spaces, weights, path)
    return NetworkParts(
        network=CleanRlNetwork(network, weights),
        head=head,
        sizes=TORCH_SIZES,
        precise=lambda: CleanRlNetwork(network, {name: tensor.double() for name, tensor in weights.items()}),
    )


def _head(network: StockNetwork, spaces: TaskSpaces, weights: Mapping[str, Any], path: Path) -> Head:
    continuous = network.kind != "scores"
    if continuous != isinstance(spaces.action, gym.spaces.Box):
        raise AgentError(
            f"{path} is a network of CleanRL's {network.script}, for {'continuous' if continuous else 'discrete'} "
            f"actions, and the action space of task {spaces.task} is {spaces.action}"
        )
    if not isinstance(spaces.action, gym.spaces.Box):
        return head_for(spaces.action)
    if "action_scale" in weights:
        _require_bounds(weights, spaces, path)
    return ContinuousHead(
        spaces.action, spread=network.kind in ("normal", "squashed"), squashed=network.kind == "squashed"
    )


def _require_bounds(weights: Mapping[str, Any], spaces: TaskSpaces, path: Path) -> None:
    """Refuse a network for other bounds: it scales its answers by what it was trained with."""
    space = spaces.action
    assert isinstance(space, gym.spaces.Box)
    for name, wanted in (("action_scale", (space.high - space.low) / 2), ("action_bias", (space.high + space.low) / 2)):
        found = weights[name].numpy().reshape(-1)
        if found.shape != wanted.reshape(-1).shape or not np.allclose(found, wanted.reshape(-1), rtol=1e-5):
            raise AgentError(
                f"{path} was trained with the {name} {found.tolist()}, and actions of task {spaces.task} have "
                f"{wanted.reshape(-1).tolist()} ({space}); wrap the environment in make_env as in training"
            )


def _not_stock(path: Path, weights: Mapping[str, Any]) -> AgentError:
    layers = ", ".join(f"{name[:40]} {list(tensor.shape)}" for name, tensor in [*weights.items()][:6])
    scripts = ", ".join(dict.fromkeys(network.script for network in STOCK))
    return AgentError(
        f"{path} has the layers {layers}{' …' if len(weights) > 6 else ''}, which are not those of CleanRL's own "
        f"networks ({scripts}). Name the class it was made by: --agent {path}@package.module:Agent"
    )


def _read(file: AgentFile, spaces: TaskSpaces) -> Reading:
    path = Path(file.path)
    if file.network is not None:
        return Reading(load_torch(path, file.network, spaces, trust=file.trust), spaces)
    return Reading(stock_parts(path, spaces, trust=file.trust), spaces)


FILES = file_loader(endings=(ENDING,), reader=FileReader(read=_read), takes_network=True)
