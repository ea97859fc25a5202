"""A task: an environment, what counts as goal and as unsafe in it, and how the search looks at it."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import gymnasium as gym

from tightrope.display import Shown
from tightrope.errors import EnvironmentFailure, TaskError, TightropeError
from tightrope.guards.calls import calls_out
from tightrope.guards.faults import misdeed
from tightrope.tasks.candidates import every_action
from tightrope.tasks.keys import KeyFunction, LossyKey, observation_bytes
from tightrope.tasks.limits import own_limit
from tightrope.tasks.spaces import action_list
from tightrope.trace import Action

Environment: TypeAlias = gym.Env[Any, Any]


@dataclass(slots=True)
class Transition:
    """What one step showed, which ``goal`` and ``unsafe`` are asked about. A reset is no step.

    Not frozen: one is made per step, and freezing would triple its cost.
    """

    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: Mapping[str, Any]


Predicate: TypeAlias = Callable[[Transition], bool]


@dataclass(frozen=True, slots=True)
class Visit:
    """What the search knows about one situation on its open path; task hooks get a sequence of these."""

    key: Hashable
    action: Action | None
    """The action that led here; None at reset."""
    reward: float
    info: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class Task(Shown):
    """An environment factory plus what is goal, what is unsafe, what is the same, and what to try."""

    _shown = ("label", "max_steps", "seed")

    name: str
    make_env: Callable[[], Environment]
    """Returns a new Gymnasium environment."""
    goal: Predicate
    """Whether the task is solved; ends the episode even where the environment would go on."""
    unsafe: Predicate
    """Whether safety was violated; ends the episode, and wins over ``goal`` when both hold."""
    state_key: KeyFunction = observation_bytes
    """A hashable abstraction of the situation; the search expands each key once."""
    cell: KeyFunction | None = None
    """A coarser abstraction for the archive search, which keeps one situation of each cell; None: ``state_key``."""
    actions: Sequence[Action] | None = None
    """What the search tries, in order; None: all of a Discrete space."""
    action_names: Sequence[str] | None = None
    observation_names: Sequence[str] | None = None
    """What the numbers of an observation are, in order; None: they are numbered."""
    action_sets: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Named sets of action names, for agent files that say by such a name what they were trained with."""
    identity: KeyFunction | None = None
    """An exact fingerprint of the situation, used by proofs instead of a lossy ``state_key``."""
    max_steps: int | None = None
    """Time limit counted by the simulator: at this step ``truncated`` becomes True. None: the environment's own limit,
    or 10,000 steps where it has none."""
    stuck: Callable[[Sequence[Visit]], bool] | None = None
    """Cuts a search branch: gets the open path, newest last."""
    order_actions: Callable[[Sequence[Action], Sequence[Visit], int], Sequence[Action]] | None = None
    """``f(actions, open path, backtracks so far)``: the order in which to try the actions here."""
    position: Callable[[Any, Any, Mapping[str, Any]], tuple[float, float]] | None = None
    """Where the situation lies on a map, for pictures."""
    position_names: tuple[str, str] = ("x", "y")
    """What the two numbers of ``position`` are, with their units: names of the axes of a map without a picture."""
    draw_map: Callable[..., Any] | None = None
    """Makes the picture that positions are drawn on; see ``tightrope.report``."""
    seed: int = 0
    """Default reset seed."""
    step_seconds: float | None = None
    """About how long a step takes on an ordinary machine: by this a run chooses how much of the default budgets it
    spends. None: measured."""
    one_per_process: bool = False
    """Whether only one instance of the environment can live in a process."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What ``make_task`` was given, so that another process or machine can build the same task."""
    registered: bool = False
    """Whether ``make_task(name, **options)`` builds this task."""
    fingerprint: Mapping[str, str] = field(default_factory=dict)
    """Hashes of files the environment depends on (a ROM), recorded with every run."""

    def __post_init__(self) -> None:
        for role in ("make_env", "goal", "unsafe", "state_key"):
            if not callable(getattr(self, role)):
                raise TaskError(
                    f"task {self.name!r}: {role} must be callable, not {getattr(self, role)!r}; "
                    f"see 'bring your own environment' in the documentation"
                )
        if self.actions is not None and len(self.actions) == 0:
            raise TaskError(f"task {self.name!r}: actions is empty; give at least one action, or None for all")
        if self.max_steps is not None and self.max_steps < 1:
            raise TaskError(f"task {self.name!r}: max_steps must be 1 or more, not {self.max_steps}")
        if self.step_seconds is not None and not 0 < self.step_seconds < math.inf:
            raise TaskError(
                f"task {self.name!r}: step_seconds must be a number above 0, not {self.step_seconds}; None: measured"
            )

    @cached_property
    def label(self) -> str:
        """Name and options in one line; the same for every task built the same way."""
        if not self.options:
            return self.name
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in sorted(self.options.items()))})"

    @property
    def key_is_exact(self) -> bool:
        """Whether equal keys may be taken for equal situations (False for rounding and part-picking keys)."""
        return not isinstance(self.state_key, LossyKey)

    @cached_property
    def _spaces(self) -> tuple[gym.Space[Any], gym.Space[Any]]:
        env = self.open_env()
        try:
            return env.observation_space, env.action_space
        finally:
            env.close()

    @calls_out("task {self.label}", make_env="make_env()")
    def open_env(self) -> Environment:
        """A new environment. Remembers its spaces, since a second one may not be allowed beside it."""
        try:
            env = self.make_env()
        except TightropeError:
            raise
        except BaseException as error:
            hint = ". Import the module that registers it inside make_env, so that every process does"
            unknown = isinstance(error, gym.error.UnregisteredEnv)
            raise self._not_made(misdeed(error) + (hint if unknown else "")) from error
        if not isinstance(env, gym.Env):
            raise TaskError(f"task {self.label}: make_env() must return a gymnasium.Env, not {type(env).__name__}")
        vars(self).setdefault("_spaces", (env.observation_space, env.action_space))
        vars(self).setdefault("_own_limit", own_limit(env))
        return env

    def _not_made(self, what_it_did: str) -> TightropeError:
        # Options that made an environment before are not what is wrong now.
        if not self.options or "_spaces" in vars(self):
            return EnvironmentFailure(f"task {self.label}: make_env() {what_it_did}")
        given = ", ".join(f"{name}={value!r}" for name, value in sorted(self.options.items()))
        return TaskError(
            f"task {self.name}: with the options {given} its environment cannot be made; it {what_it_did}. Correct the "
            f"options, or leave them out; `tightrope tasks` lists those of each task and their defaults"
        )

    @property
    def observation_space(self) -> gym.Space[Any]:
        """The environment's observation space."""
        return self._spaces[0]

    @property
    def action_space(self) -> gym.Space[Any]:
        """The environment's action space."""
        return self._spaces[1]

    @cached_property
    def _own_limit(self) -> int | None:
        env = self.open_env()
        try:
            return own_limit(env)
        finally:
            env.close()

    @property
    def time_limit(self) -> int | None:
        """The step at which an episode is over at the latest, as task or environment say; None: neither does."""
        return min((limit for limit in (self.max_steps, self._own_limit) if limit), default=None)

    @cached_property
    def search_actions(self) -> tuple[Action, ...]:
        """The actions the search tries, in order."""
        return action_list(self.name, self.action_space, self.actions)

    @property
    def possible_actions(self) -> tuple[Action, ...] | None:
        """Every action the environment takes, or None where they cannot be listed."""
        return every_action(self.action_space)

    def with_options(self, **changes: Any) -> Task:
        """A copy with some fields replaced."""
        return replace(self, **changes)

    def __repr__(self) -> str:
        return f"Task({self.label})"
