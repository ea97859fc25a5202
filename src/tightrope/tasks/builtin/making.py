"""Making the environments of Gymnasium's registry, and what their tasks have in common."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import gymnasium as gym

from tightrope.errors import MissingExtra, TaskError
from tightrope.tasks.predicates import at_end_only
from tightrope.tasks.task import Transition


def make_environment(name: str, library: str | None = None, extra: str = "", **options: Any) -> Any:
    """``gymnasium.make`` without its checking wrapper; ``library`` is what registers or runs the environment."""
    if library is not None:
        register_library(library, extra, name)
    try:
        with warnings.catch_warnings():
            # The name is the one the user asked for, even where a later version of it exists.
            warnings.filterwarnings("ignore", message=".*is out of date.*")
            return gym.make(name, disable_env_checker=True, **options)
    except gym.error.DependencyNotInstalled as error:
        raise MissingExtra(library or str(error), extra, f"task {name!r}") from error
    except (gym.error.UnregisteredEnv, gym.error.DeprecatedEnv) as error:
        raise TaskError(f"the installed Gymnasium {gym.__version__} has no {name}: {error}") from error


def register_library(library: str, extra: str, name: str) -> None:
    """Import the library, which registers its environments with Gymnasium."""
    try:
        module = importlib.import_module(library)
    except ImportError as error:
        raise MissingExtra(library, extra, f"task {name!r}", error) from error
    gym.register_envs(module)


@at_end_only
def ended_rewarded(transition: Transition) -> bool:
    """The episode ended with a reward."""
    return transition.terminated and transition.reward > 0


@at_end_only
def ended_unrewarded(transition: Transition) -> bool:
    """The episode ended without a reward."""
    return transition.terminated and transition.reward <= 0


@at_end_only
def ended(transition: Transition) -> bool:
    """The environment says that it is over."""
    return bool(transition.terminated)


def elapsed_steps(env: Any) -> int:
    """Steps since reset, as the time limit counts them."""
    while "_elapsed_steps" not in vars(env):
        env = env.env
    return int(env._elapsed_steps)
