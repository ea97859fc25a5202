"""A piece of work for the engine, and what came back."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tightrope.display import Shown
from tightrope.execution.episode_error import EpisodeError
from tightrope.outcome import Outcome
from tightrope.trace import Action, ActionTrace, content_id


@dataclass(frozen=True, kw_only=True, repr=False)
class Rollout(Shown):
    """Go to ``start``, then let an agent act for at most ``length`` steps, or play fixed ``actions``.

    The result depends on nothing but these fields (and the task): not on the worker, the batch or the order.
    """

    _shown = ("start", "agent", "actions", "length", "seed")

    start: ActionTrace
    agent: str | None = None
    """Name of the engine's agent that takes over; None: ``actions`` are played."""
    actions: tuple[Action, ...] = ()
    length: int | None = None
    """At most so many steps after hand-over; None: until the episode ends."""
    seed: int = 0
    """Randomness of this execution: of the environment where it is stochastic, and of the agent."""
    fixed_prefix: bool = False
    """Stochastic tasks only. False: the prefix itself is played with this execution's randomness, and may lead
    elsewhere or end early. True: the prefix is played with its own randomness (reset seed and reseeds), so that it
    leads to the same situation every time, and the fresh randomness begins at hand-over ("branch and reseed")."""
    record_keys: bool = False
    """Whether to return the hashed state keys of s0 … sn, prefix included."""
    record_positions: bool = False
    """Whether to return the map positions of s0 … sn, prefix included (tasks with ``position`` only)."""

    @cached_property
    def id(self) -> str:
        """Identifier derived from the content alone: all of it, whatever fields there are."""
        return self.identifier()

    def identifier(self, **instead: object) -> str:
        """The identifier with something else in place of some fields: an agent's fingerprint for its name."""
        values = {part.name: getattr(self, part.name) for part in fields(self)} | {"start": self.start.id} | instead
        return content_id(*values.values())


@dataclass(frozen=True, kw_only=True, repr=False)
class Episode(Shown):
    """What one rollout showed."""

    _shown = ("rollout", "outcome", "total_reward", "actions", "error")

    rollout: Rollout
    prefix_steps: int
    """Steps of the start trace that were played: fewer than its length when the episode ended on the way."""
    prefix_reward: float
    prefix_outcome: Outcome
    """ONGOING when hand-over was reached."""
    outcome: Outcome
    """After the last step; ONGOING when the length limit cut the episode."""
    actions: tuple[Action, ...] = field(default=(), repr=False)
    """What was played after hand-over: enough to replay the episode without the agent."""
    rewards: tuple[float, ...] = field(default=(), repr=False)
    """The reward of each step after hand-over."""
    reseeds: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    """Where the environment was given fresh randomness in this execution, as in ActionTrace."""
    checksum: int | None = None
    """Hash of the state key at hand-over; None when it was not reached."""
    keys: NDArray[np.uint64] | None = field(default=None, repr=False, compare=False)
    positions: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    deterministic: bool = False
    """Environment and agent are deterministic: this one execution stands for every repetition."""
    error: EpisodeError | None = None
    """What went wrong, when environment or agent raised; the other fields then end at that point."""

    @property
    def total_reward(self) -> float:
        """Reward after hand-over."""
        return float(sum(self.rewards))

    @property
    def reached_handover(self) -> bool:
        """Whether the prefix was played to its end without a terminal situation."""
        return self.prefix_outcome is Outcome.ONGOING and self.error is None

    @property
    def trace(self) -> ActionTrace:
        """The whole episode as an action trace from reset, which replays without the agent."""
        start = self.rollout.start
        return ActionTrace(start.task, start.seed, start.actions[: self.prefix_steps] + self.actions, self.reseeds)

    def standing_for(self, rollout: Rollout) -> Episode:
        """This episode as the result of another rollout that cannot differ."""
        return self if rollout is self.rollout else replace(self, rollout=rollout)
