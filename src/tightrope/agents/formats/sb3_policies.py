"""The policies of Stable-Baselines3 and sb3-contrib that an archive may name, and the arguments it may give them.

An archive chooses from these lists and nothing else. Names in it are compared with the names here; what is imported is
what stands here, and it must be the very class of that name, defined where it should be. Arguments are numbers, truths,
lists of layers, and the names of a few layers of torch; each is checked by its kind and range.
"""

from __future__ import annotations

import importlib
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tightrope.errors import AgentError, FormatError, require_extra

PURPOSE = "A Stable-Baselines3 agent"

POLICIES = {
    "stable_baselines3.common.policies": (
        "ActorCriticPolicy",
        "ActorCriticCnnPolicy",
        "MultiInputActorCriticPolicy",
    ),
    "stable_baselines3.dqn.policies": ("DQNPolicy", "CnnPolicy", "MultiInputPolicy"),
    "stable_baselines3.sac.policies": ("SACPolicy", "CnnPolicy", "MultiInputPolicy"),
    "stable_baselines3.td3.policies": ("TD3Policy", "CnnPolicy", "MultiInputPolicy"),
    "sb3_contrib.ars.policies": ("ARSPolicy", "ARSLinearPolicy"),
    "sb3_contrib.common.maskable.policies": (
        "MaskableActorCriticPolicy",
        "MaskableActorCriticCnnPolicy",
        "MaskableMultiInputActorCriticPolicy",
    ),
    "sb3_contrib.common.recurrent.policies": (
        "RecurrentActorCriticPolicy",
        "RecurrentActorCriticCnnPolicy",
        "RecurrentMultiInputActorCriticPolicy",
    ),
    "sb3_contrib.crossq.policies": ("CrossQPolicy",),
    "sb3_contrib.qrdqn.policies": ("QRDQNPolicy", "CnnPolicy", "MultiInputPolicy"),
    "sb3_contrib.tqc.policies": ("TQCPolicy", "CnnPolicy", "MultiInputPolicy"),
}
EXTRACTORS = {"stable_baselines3.common.torch_layers": ("FlattenExtractor", "NatureCNN", "CombinedExtractor")}
ACTIVATIONS = {
    "torch.nn.modules.activation": (
        *("CELU", "ELU", "GELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid"),
        *("Mish", "PReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softplus", "Softshrink", "Softsign", "Tanh"),
        "Tanhshrink",
    ),
    "torch.nn.modules.linear": ("Identity",),
}

MOST_LAYERS, WIDEST, MOST_PARTS = 100, 2**20, 100
"""Layers of a network, numbers in a layer, and networks or memories of one policy: far above any that was trained."""


class ClassName(NamedTuple):
    """A class the archive names, not yet imported."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


def is_listed(named: ClassName, listed: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether a list has this very class."""
    return named.name in listed.get(named.module, ())


def listed_class(named: ClassName, listed: Mapping[str, tuple[str, ...]], base: str) -> type[Any]:
    """The class itself: one of the list, defined where its name says, and descended from ``base``."""
    if not is_listed(named, listed):
        raise FormatError(
            f"the archive names {str(named)[:200]!r}, which is not one of those that can be loaded from files"
        )
    library = named.module.partition(".")[0]
    require_extra(library, "sb3", PURPOSE)
    try:
        found = getattr(importlib.import_module(named.module), named.name)
    except (ImportError, AttributeError) as error:
        raise AgentError(f"the archive names {named}, which the installed {library} does not have") from error
    if not isinstance(found, type) or (found.__module__, found.__qualname__) != named or base not in _bases(found):
        raise AgentError(f"{named} of the installed {library} is not the class of that name")
    return found


def _bases(kind: type[Any]) -> set[str]:
    return {f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__}


def policy_class(named: ClassName) -> type[Any]:
    """A policy of the list."""
    return listed_class(named, POLICIES, "stable_baselines3.common.policies.BasePolicy")


def checked_arguments(policy: type[Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments for a policy, each checked by the rule for its name; classes are given as ClassNames."""
    for name in arguments:
        if name not in RULES or name not in inspect.signature(policy).parameters:
            raise FormatError(f"{policy.__name__} takes no argument {name[:80]!r} from a file")
    return {name: RULES[name](name, value) for name, value in arguments.items()}


def _refused(name: str, value: Any, rule: str) -> FormatError:
    return FormatError(f"the policy's argument {name!r} is {rule}, not {f'{value!r:.60}'}")


def _truth(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _refused(name, value, "true or false")
    return value


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise _refused(name, value, "a number")
    return value


def _count(most: int) -> Callable[[str, Any], int]:
    def check(name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise _refused(name, value, f"a whole number up to {most}")
        return value

    return check


def _layers(name: str, value: Any) -> list[int]:
    if not isinstance(value, list) or len(value) > MOST_LAYERS:
        raise _refused(name, value, f"a list of up to {MOST_LAYERS} layers")
    return [_count(WIDEST)(name, width) for width in value]


def _networks(name: str, value: Any) -> Any:
    """``[64, 64]``, ``{"pi": […], "vf": […]}``, or the latter in a list, as archives before 1.8 have it."""
    if value is None:
        return None
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = value[0]
    if not isinstance(value, dict):
        return _layers(name, value)
    if not set(value) <= {"pi", "vf", "qf"}:
        raise _refused(name, value, "layers of pi, vf or qf")
    return {part: _layers(name, layers) for part, layers in value.items()}


def _table(rules: Mapping[str, Callable[[str, Any], Any]]) -> Callable[[str, Any], dict[str, Any] | None]:
    def check(name: str, value: Any) -> dict[str, Any] | None:
        if value is None:
            return None
        if not isinstance(value, dict) or not set(value) <= set(rules):
            raise _refused(name, value, f"a table of {', '.join(rules)}")
        return {key: rules[key](f"{name}.{key}", part) for key, part in value.items()}

    return check


def _activation(name: str, value: Any) -> type[Any]:
    if not isinstance(value, ClassName):
        raise _refused(name, value, "a class of torch.nn")
    return listed_class(value, ACTIVATIONS, "torch.nn.modules.module.Module")


def _extractor(name: str, value: Any) -> type[Any]:
    if not isinstance(value, ClassName):
        raise _refused(name, value, "a class of Stable-Baselines3")
    return listed_class(value, EXTRACTORS, "stable_baselines3.common.torch_layers.BaseFeaturesExtractor")


EXTRACTOR_RULES = {"features_dim": _count(WIDEST), "cnn_output_dim": _count(WIDEST), "normalized_image": _truth}
RULES: Mapping[str, Callable[[str, Any], Any]] = {
    "net_arch": _networks,
    "activation_fn": _activation,
    "features_extractor_class": _extractor,
    "features_extractor_kwargs": _table(EXTRACTOR_RULES),
    "lstm_kwargs": _table({"dropout": _number, "bias": _truth}),
    **dict.fromkeys(
        (
            *("use_sde", "full_std", "use_expln", "squash_output", "share_features_extractor", "normalize_images"),
            *("shared_lstm", "enable_critic_lstm", "with_bias", "batch_norm"),
        ),
        _truth,
    ),
    **dict.fromkeys(("log_std_init", "clip_mean", "batch_norm_momentum", "batch_norm_eps"), _number),
    **dict.fromkeys(("lstm_hidden_size", "n_quantiles"), _count(WIDEST)),
    **dict.fromkeys(("n_critics", "n_lstm_layers"), _count(MOST_PARTS)),
    "renorm_warmup_steps": _count(10**12),
}
"""Every argument of the listed policies, save those that only matter in training."""
