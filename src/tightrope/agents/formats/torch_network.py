"""Agents from torch weights or modules."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.agents.agent import Agent
from tightrope.agents.formats.drawing_module import described_draw, only_draws
from tightrope.agents.formats.torch_weights import read_saved, read_weights, state_dict_in
from tightrope.agents.networks.action_heads import ContinuousHead, head_for
from tightrope.agents.networks.batch_invariance import TORCH_SIZES, Arrays, Network
from tightrope.agents.networks.network_agent import NetworkAgent, NetworkParts
from tightrope.agents.objects.fingerprints import object_fingerprint
from tightrope.agents.observations import ObservationStacker
from tightrope.agents.sources.files import AgentFile, FileReader, Reading, file_loader
from tightrope.agents.sources.importing import import_named
from tightrope.agents.sources.loaders import AgentLoader, AgentRequest, descends_from
from tightrope.agents.spaces import TaskSpaces
from tightrope.errors import AgentError, FormatError, require_extra
from tightrope.files import read_content
from tightrope.files.limits import AGENT_FILE
from tightrope.guards.faults import misdeed


def torch_library() -> Any:
    """The library, or the error that says how to install it."""
    return require_extra("torch", "torch", "An agent from torch weights")


def load_torch(path: Path, network: str | None, spaces: TaskSpaces, *, trust: bool) -> NetworkParts:
    """Weights in the network that ``network`` ("module:Class") names, or a whole module from a trusted file."""
    if network is None:
        return module_parts(_whole_module(path, trust), spaces)
    module = _made(import_named(network), network, spaces)
    saved = read_saved(read_content(path, AGENT_FILE), str(path), trust=trust)
    load_weights(module, state_dict_in(saved, str(path)), str(path))
    return module_parts(module, spaces)


def load_weights(module: Any, weights: Mapping[str, Any], source: str) -> None:
    """Put weights into a module, all of them."""
    if not all(isinstance(name, str) for name in weights):
        raise FormatError(f"{source} holds no state_dict: its entries have no names")
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        raise AgentError(f"the weights of {source} do not fit {type(module).__name__}: {error}") from error


def module_parts(module: Any, spaces: TaskSpaces) -> NetworkParts:
    """A torch module as a network: a batch of observations in, scores or actions out."""
    module.eval()
    outputs = _outputs(module, spaces)
    head = head_for(spaces.action, outputs=outputs)
    if outputs == 2 and isinstance(spaces.action, gym.spaces.Box) and _squashes(module):
        head = ContinuousHead(spaces.action, spread=True, squashed=True)
    return NetworkParts(
        network=TorchNetwork(module, spaces),
        head=head,
        sizes=TORCH_SIZES,
        precise=lambda: precise_network(module, lambda copied: TorchNetwork(copied, spaces)),
    )


def _squashes(module: Any) -> bool:
    """The actor of CleanRL's SAC: forward() gives mean and spread, and get_action() does the rest."""
    return callable(getattr(module, "get_action", None)) and hasattr(module, "action_scale")


class TorchNetwork:
    """``module(observations)`` on one thread, without gradients."""

    def __init__(self, module: Any, spaces: TaskSpaces) -> None:
        self.module = module
        self._names = [part.name for part in ObservationStacker(spaces.observation).parts]
        self._as_dict = isinstance(spaces.observation, gym.spaces.Dict)
        self._only_draws = only_draws(torch_library(), module)
        self._wanted = 2 if isinstance(spaces.action, gym.spaces.Box) else 1

    def __call__(self, arrays: Arrays) -> Arrays:
        """Ask the module about stacked observation parts."""
        torch = torch_library()
        tensors = [self._fitted(torch.from_numpy(np.ascontiguousarray(rows))) for rows in arrays]
        with quiet_torch(torch):
            given = dict(zip(self._names, tensors, strict=True)) if self._as_dict else tensors[0]
            answer = described_draw(torch, self.module, given) if self._only_draws else self.module(given)
        # What follows the scores of a discrete action (a value, a memory) says nothing about the action.
        answers = answer[: self._wanted] if isinstance(answer, tuple) else (answer,)
        return tuple(part.detach().cpu().numpy() for part in answers)

    def _fitted(self, tensor: Any) -> Any:
        """On the module's device, and in its precision where it is a fraction."""
        like = next(self.module.parameters(), None)
        if like is None:
            return tensor
        return tensor.to(like.device, like.dtype if tensor.is_floating_point() else tensor.dtype)


def precise_network(module: Any, wrapped: Callable[[Any], Network]) -> Network | None:
    """A copy of a module that does its sums in double precision; None where it cannot be copied."""
    torch = torch_library()
    try:
        precise = deepcopy(module).double()
    except Exception:
        return None
    for layer in precise.modules():
        # Whoever turns observations into floats on the way means the layers' own precision.
        layer.register_forward_pre_hook(partial(_in_double, torch.float32))
    return wrapped(precise)


def _in_double(single: Any, layer: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(part.double() if getattr(part, "dtype", None) is single else part for part in given)


@contextmanager
def quiet_torch(torch: Any) -> Iterator[None]:
    """One thread and no gradients: workers share the cores, and sums must not depend on how many there are."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.set_num_threads(threads)


def _outputs(module: Any, spaces: TaskSpaces) -> int:
    network = TorchNetwork(module, spaces)
    stack = ObservationStacker(spaces.observation)
    try:
        return len(network(stack(spaces.sample_observations(2))))
    except BaseException as error:
        raise AgentError(
            f"{type(module).__name__} cannot answer a batch of observations of {spaces.observation}: it "
            f"{misdeed(error)}. Its forward() takes a batch and returns scores, one row each; or it has CleanRL's "
            f"get_action_and_value()"
        ) from error


def _whole_module(path: Path, trust: bool) -> Any:
    torch = torch_library()
    if not trust:
        read_weights(read_content(path, AGENT_FILE), str(path))
        raise AgentError(f"{path} holds weights without a network; name its class: {path}@package.module:Class")
    module = torch.load(path, map_location="cpu", weights_only=False)
    if not isinstance(module, torch.nn.Module):
        raise AgentError(f"{path} holds a {type(module).__name__}; name the network: {path}@package.module:Class")
    return module


def _made(factory: Any, network: str, spaces: TaskSpaces) -> Any:
    """Call the network's class with what it asks for by name; CleanRL's classes ask for ``envs``."""
    if isinstance(factory, torch_library().nn.Module):
        return factory
    both = SimpleNamespace(
        single_observation_space=spaces.observation,
        single_action_space=spaces.action,
        observation_space=spaces.observation,
        action_space=spaces.action,
    )
    known = {
        "envs": both,
        "env": both,
        "observation_space": spaces.observation,
        "action_space": spaces.action,
    }
    needed = [
        name
        for name, parameter in inspect.signature(factory).parameters.items()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    unknown = [name for name in needed if name not in known]
    if unknown:
        raise AgentError(
            f"{network} asks for {unknown}; it can be given {sorted(known)} or nothing. "
            f"Name a function without arguments that returns the network instead"
        )
    return factory(**{name: known[name] for name in needed})


def _read(file: AgentFile, spaces: TaskSpaces) -> Reading:
    return Reading(load_torch(Path(file.path), file.network, spaces, trust=file.trust), spaces)


def _load_module(request: AgentRequest) -> Agent:
    return NetworkAgent(
        module_parts(request.source, request.spaces),
        request.spaces,
        request.behaviour,
        name=request.name or type(request.source).__name__,
        fingerprint=object_fingerprint(request.source, request.behaviour, False),
    )


FILES = file_loader(endings=(".pt", ".pth"), reader=FileReader(read=_read), takes_network=True)
MODULES = AgentLoader(accepts=partial(descends_from, "torch.nn.modules.module"), load=_load_module)
