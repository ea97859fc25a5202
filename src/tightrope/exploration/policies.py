"""Ways to play on from a situation where chance decides: what is tried to find out how well anyone could do."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from tightrope.outcome import Outcome
from tightrope.simulation import Simulator, Snapshot
from tightrope.trace import Action

Generator = np.random.Generator


class Policy(Protocol):
    """Chooses actions. A value: it can be sent to another process, and keeps nothing from one step to the next."""

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        ...

    def act(
        self, simulator: Simulator, available: tuple[Action, ...], played: int, left: int, rng: Generator
    ) -> Action:
        """One of the available actions: ``played`` steps after hand-over, with ``left`` steps still to be survived."""
        ...


@dataclass(frozen=True)
class FixedActions:
    """Plays given actions whatever happens, the last one on and on; what is not available is left to chance."""

    name: str
    actions: tuple[Action, ...] = field(repr=False)

    def act(
        self, simulator: Simulator, available: tuple[Action, ...], played: int, left: int, rng: Generator
    ) -> Action:
        """The next of them."""
        action = self.actions[min(played, len(self.actions) - 1)]
        return action if action in available else any_of(available, rng)


@dataclass(frozen=True)
class AtRandom:
    """Draws every action anew."""

    name: str = "random actions"

    def act(
        self, simulator: Simulator, available: tuple[Action, ...], played: int, left: int, rng: Generator
    ) -> Action:
        """Any action."""
        return any_of(available, rng)


@dataclass(frozen=True)
class ByTable:
    """Looks the situation's key up; what it does not know it leaves to chance."""

    name: str
    table: Mapping[Hashable, tuple[Action, ...]] = field(repr=False)
    """By state key, the action for 1, 2, … steps to go; for more than there are, the last."""
    curiosity: float = 0.0
    """The share of actions drawn at random, to learn."""

    def act(
        self, simulator: Simulator, available: tuple[Action, ...], played: int, left: int, rng: Generator
    ) -> Action:
        """What the table says."""
        row = self.table.get(simulator.key())
        if row is None or (self.curiosity and rng.random() < self.curiosity):
            return any_of(available, rng)
        action = row[min(left, len(row)) - 1]
        return action if action in available else any_of(available, rng)


@dataclass(frozen=True)
class Improved:
    """Another policy with foresight: where it is seen to come to harm soon, what comes after each action is tried.

    One step of policy improvement by rollouts, each with randomness of its own: never worse but for sampling error.
    """

    base: Policy
    samples: int = 4
    """Rollouts of each action."""
    foresight: int = 8
    """Steps of each rollout."""

    @property
    def name(self) -> str:
        """What it is."""
        return f"{self.base.name}, with foresight"

    def act(
        self, simulator: Simulator, available: tuple[Action, ...], played: int, left: int, rng: Generator
    ) -> Action:
        """The base policy's action, or the one after which it lasted longest."""
        here = simulator.save()
        proposed = self.base.act(simulator, available, played, left, rng)
        whole = self.samples * min(self.foresight, left)
        lasted = {proposed: self._lasted(simulator, here, proposed, played, left, rng)}
        if lasted[proposed] < whole:
            for action in available:
                if action != proposed:
                    lasted[action] = self._lasted(simulator, here, action, played, left, rng)
        simulator.load(here)
        return max(lasted, key=lasted.__getitem__)

    def _lasted(
        self, simulator: Simulator, here: Snapshot, action: Action, played: int, left: int, rng: Generator
    ) -> int:
        """How many of the steps ahead were survived, all samples together; whoever ends well survives them all."""
        lasted, ahead = 0, min(self.foresight, left)
        for _ in range(self.samples):
            simulator.load(here, reseed=int(rng.integers(2**31)))
            simulator.advance(action)
            unsafe = follow(simulator, self.base, rng, played + 1, left - 1, ahead - 1) is Outcome.UNSAFE
            lasted += simulator.depth - here.depth - 1 if unsafe else ahead
        return lasted


def any_of(available: tuple[Action, ...], rng: Generator) -> Action:
    """One of the actions, each as likely as the others."""
    return available[int(rng.integers(len(available)))]


def follow(simulator: Simulator, policy: Policy, rng: Generator, played: int, left: int, ahead: int) -> Outcome:
    """Let a policy play ``ahead`` steps of those that are left, or to the end of the episode; what it came to."""
    for number in range(ahead):
        available = simulator.available_actions() if simulator.outcome is Outcome.ONGOING else ()
        if not available:
            break
        simulator.advance(policy.act(simulator, available, played + number, left - number, rng))
    return simulator.outcome
