"""Agents of Stable-Baselines3 and sb3-contrib: their policies as networks."""

from __future__ import annotations

import base64
import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import gymnasium as gym

from tightrope.agents.agent import Agent
from tightrope.agents.formats.sb3_archive import Sb3Archive, read_archive
from tightrope.agents.formats.sb3_network import policy_parts
from tightrope.agents.formats.sb3_policies import PURPOSE, checked_arguments, policy_class
from tightrope.agents.formats.torch_network import torch_library
from tightrope.agents.formats.torch_weights import read_weights, require_tensors
from tightrope.agents.networks.network_agent import NetworkAgent
from tightrope.agents.networks.normalisation import (
    Normalisation,
    from_vecnormalize,
    load_normalisation,
    named_statistics,
)
from tightrope.agents.objects.fingerprints import object_fingerprint
from tightrope.agents.sources.files import AgentFile, FileReader, Reading, file_loader
from tightrope.agents.sources.loaders import AgentLoader, AgentRequest, descends_from
from tightrope.agents.spaces import TaskSpaces
from tightrope.errors import AgentError, FormatError, require_extra


def policy_from_archive(archive: Sb3Archive, spaces: TaskSpaces, *, trust: bool) -> Any:
    """Make the policy anew and give it the archive's weights. Unpickles only when trusted and needed."""
    require_extra("stable_baselines3", "sb3", PURPOSE)
    _check_spaces(archive, spaces)
    weights = read_weights(archive.weights, str(archive.path), trust=trust)
    if _needs_pickles(archive, trust):
        policy = _made(*_pickled_policy(archive), archive, spaces)
    else:
        with _as_large_as(weights, str(archive.path)):
            policy = _made(*_readable_policy(archive), archive, spaces)
    _load_weights(policy, weights, str(archive.path))
    return policy


def _needs_pickles(archive: Sb3Archive, trust: bool) -> bool:
    return trust and "policy_class" in archive.pickles


def _readable_policy(archive: Sb3Archive) -> tuple[Any, dict[str, Any]]:
    archive.require_readable()
    assert archive.policy_class is not None
    try:
        policy = policy_class(archive.policy_class)
        return policy, checked_arguments(policy, archive.policy_arguments)
    except FormatError as error:
        raise FormatError(f"{archive.path}: {error}") from error


@contextmanager
def _as_large_as(weights: Mapping[str, Any], source: str) -> Iterator[None]:
    """While a policy is made, refuse one of more numbers than the file holds: its arguments could ask for any size.

    A layer is told to the hook before its numbers are filled in, so what is refused never took memory.
    """
    room = require_tensors(weights, source)
    module = torch_library().nn.modules.module

    def count(owner: Any, name: str, parameter: Any) -> None:
        nonlocal room
        room -= parameter.numel()
        if room < 0:
            raise FormatError(f"{source} describes a policy of more numbers than there are weights in it")

    hook = module.register_module_parameter_registration_hook(count)
    try:
        yield
    finally:
        hook.remove()


def _pickled_policy(archive: Sb3Archive) -> tuple[Any, dict[str, Any]]:
    import cloudpickle

    values = {
        key: cloudpickle.loads(base64.b64decode(archive.pickles[key]))
        for key in ("policy_class", "policy_kwargs")
        if key in archive.pickles
    }
    return values["policy_class"], dict(values.get("policy_kwargs", archive.policy_arguments))


def _made(factory: Any, arguments: Mapping[str, Any], archive: Sb3Archive, spaces: TaskSpaces) -> Any:
    offered = {
        "observation_space": _seen_by_policy(spaces.observation),
        "action_space": spaces.action,
        "lr_schedule": _no_learning,
        "use_sde": archive.state_dependent_noise,
    }
    takes = inspect.signature(factory).parameters
    try:
        return factory(**{**{key: value for key, value in offered.items() if key in takes}, **arguments})
    except FormatError:
        raise
    except Exception as error:
        raise AgentError(
            f"{archive.path}: {factory.__name__} cannot be made for observations of {spaces.observation} and actions "
            f"of {spaces.action} ({type(error).__name__}: {error}); wrap the environment in make_env as in training"
        ) from error


def _no_learning(progress: float) -> float:
    return 0.0


def _seen_by_policy(space: gym.Space[Any]) -> gym.Space[Any]:
    """Stable-Baselines3 turns images channels-first before its policies see them."""
    require_extra("stable_baselines3", "sb3", PURPOSE)
    from stable_baselines3.common.preprocessing import is_image_space, is_image_space_channels_first
    from stable_baselines3.common.vec_env import VecTransposeImage

    if isinstance(space, gym.spaces.Dict):
        return gym.spaces.Dict({key: _seen_by_policy(inner) for key, inner in space.spaces.items()})
    if is_image_space(space) and not is_image_space_channels_first(space):
        return VecTransposeImage.transpose_space(space)  # type: ignore[no-any-return]
    return space


def _load_weights(policy: Any, weights: Mapping[str, Any], source: str) -> None:
    try:
        missing, unexpected = policy.load_state_dict(weights, strict=False)
    except RuntimeError as error:
        raise AgentError(f"{source} does not fit the task's spaces or its own policy: {error}") from error
    # Archives before 1.8 do not repeat the weights of a shared extractor under its other names.
    missing = [key for key in missing if not key.startswith(("pi_features_extractor.", "vf_features_extractor."))]
    if missing or unexpected:
        raise AgentError(
            f"{source}: the weights do not fit {type(policy).__name__}: missing {missing}, unexpected "
            f"{unexpected}. If its policy was made with arguments the file does not spell out, load it with trust=True"
        )


def _check_spaces(archive: Sb3Archive, spaces: TaskSpaces) -> None:
    if archive.observation_shape is not None and isinstance(spaces.observation, gym.spaces.Dict | gym.spaces.Tuple):
        raise AgentError(
            f"{archive.path} was trained on one array of shape {archive.observation_shape}, and task {spaces.task} "
            f"shows {spaces.observation}; wrap the environment in make_env as in training, for instance in "
            f"gymnasium.wrappers.FlattenObservation or, for MiniGrid, minigrid.wrappers.ImgObsWrapper or FlatObsWrapper"
        )
    expected = _seen_by_policy(spaces.observation).shape
    if archive.observation_shape is not None and expected is not None and archive.observation_shape != expected:
        raise AgentError(
            f"{archive.path} was trained on observations of shape {archive.observation_shape}, and those of task "
            f"{spaces.task} have shape {expected}; wrap the environment as in training"
        )
    actions = spaces.action
    number = int(actions.n) if isinstance(actions, gym.spaces.Discrete) else None
    if archive.number_of_actions is not None and archive.number_of_actions != number:
        raise AgentError(
            f"{archive.path} was trained with {archive.number_of_actions} actions, and task {spaces.task} has {actions}"
        )


def _read(file: AgentFile, spaces: TaskSpaces) -> Reading:
    policy = policy_from_archive(read_archive(Path(file.path)), spaces, trust=file.trust)
    return Reading(policy_parts(policy, spaces, None), spaces)


def _load_model(request: AgentRequest) -> Agent:
    model, spaces, style = request.source, request.spaces, request.behaviour
    policy = getattr(model, "policy", model)
    statistics = _model_statistics(request)
    prepare = None if statistics is None else statistics.fitted(spaces)
    return NetworkAgent(
        policy_parts(policy, spaces, prepare),
        spaces,
        style,
        name=request.name or type(model).__name__,
        fingerprint=object_fingerprint((policy, statistics), style),
    )


def _model_statistics(request: AgentRequest) -> Normalisation | None:
    """Those of a file that was named; otherwise those that the model was trained with, unless they are refused."""
    model, given = request.source, request.normalisation
    if isinstance(given, (str, PathLike)):
        return load_normalisation(named_statistics(given, type(model).__name__), trust=request.trust)
    normaliser = model.get_vec_normalize_env() if hasattr(model, "get_vec_normalize_env") else None
    if given is True and normaliser is None:
        raise AgentError(
            f"this {type(model).__name__} has no VecNormalize around its environment; name a file of observation "
            f"statistics: normalisation='vecnormalize.npz'"
        )
    return None if normaliser is None or given is False else from_vecnormalize(normaliser)


FILES = file_loader(endings=(".zip",), reader=FileReader(read=_read), saved_normalised=True)
MODELS = AgentLoader(accepts=partial(descends_from, "stable_baselines3"), load=_load_model, uses=("normalisation",))
