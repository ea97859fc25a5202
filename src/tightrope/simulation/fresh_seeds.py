"""Whether a task that counts as deterministic is so wherever it is played, not only where random walks came.

An environment is given fresh randomness by setting its generators. As long as nothing was drawn from them since reset,
that could not have led elsewhere, so such an episode stands for all its repetitions. Where something was drawn, it may
have been without effect (a table of one successor with probability 1): then the same actions are played again under
fresh seeds. One departure is enough: the task is stochastic, and what was executed once is executed in full.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

from tightrope.errors import EnvironmentFailure, TightropeError
from tightrope.outcome import Outcome
from tightrope.seeding import derive_seed, stable_hash
from tightrope.simulation.history import Reseed
from tightrope.simulation.player import play
from tightrope.simulation.simulator import Simulator
from tightrope.simulation.snapshots import Snapshotter
from tightrope.tasks.keys import freeze
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace

AT_FIRST, UNTIL = 8, 64
"""Replays of each suspicious trace until so many have agreed: then a departure that happens in 5 % of all executions
has been met with a probability of 0.96."""
IN_NEW_PLACES, UNTIL_TRUSTED = 2, 300
"""Replays of each after that, and always where nobody has begun before. 300 that agree leave at most 1 %."""
FIRST_SUSPECTS = 8
ONE_IN = 10
"""Of the rest, which begin where others did, one in so many is played again."""

Seen = tuple[int, str, Outcome]


class RandomnessMet(TightropeError):
    """A task that was taken for deterministic is not; the message says where that was seen."""


class FreshSeeds:
    """Plays suspicious traces again under fresh seeds, the more thoroughly the less is known."""

    def __init__(self) -> None:
        self.agreed = 0
        """Replays that led to the same."""
        self._begun_at: set[Hashable] = set()
        self._suspects = 0

    def doubt(self, simulator: Simulator, trace: ActionTrace, begun_at: Hashable = None) -> None:
        """Play a trace again under fresh seeds, as often as is due; RandomnessMet where it leads elsewhere.

        ``begun_at``: the situation in which somebody else took over, if so.
        """
        replays = self._due(begun_at)
        if not replays:
            return
        expected = list(_seen(simulator, trace))
        for number in range(replays):
            seed = derive_seed("fresh seeds", trace.id, self.agreed, number)
            parted = _first_difference(expected, _seen(simulator, trace, seed))
            if parted is not None:
                raise RandomnessMet(
                    f"after reset(seed={trace.seed}) the same {len(trace)} actions led elsewhere under fresh seeds, "
                    f"from step {parted} on"
                )
        self.agreed += replays

    def _due(self, begun_at: Hashable) -> int:
        self._suspects += 1
        if self.agreed < UNTIL:
            return AT_FIRST
        is_new = begun_at is not None and begun_at not in self._begun_at
        self._begun_at.add(begun_at)
        if is_new or self.agreed < UNTIL_TRUSTED:
            return IN_NEW_PLACES
        return 1 if self._suspects % ONE_IN == 0 else 0


_by_task: WeakKeyDictionary[Task, FreshSeeds] = WeakKeyDictionary()


def fresh_seeds_of(task: Task) -> FreshSeeds:
    """What this process knows of the task."""
    return _by_task.setdefault(task, FreshSeeds())


class WarySimulator(Simulator):
    """Remembers ways to an episode's end on which something was drawn: the first ones, ever fewer later, all goals."""

    def __init__(self, task: Task, env: Any, snapshotter: Snapshotter | None, *, watched: bool = True) -> None:
        super().__init__(task, env, snapshotter, watched=watched)
        self.suspects: dict[ActionTrace, None] = {}
        self._drew = 0

    def advance(self, action: Action) -> float:
        """Play one action, and look whether something was drawn where the episode ends."""
        reward = super().advance(action)
        if self.outcome is not Outcome.ONGOING and self.has_drawn():
            self._drew += 1
            if self._drew <= FIRST_SUSPECTS or self._drew.bit_count() == 1 or self.outcome is Outcome.GOAL:
                seed, *events = self.events()
                actions = tuple(event for event in events if not isinstance(event, Reseed))
                self.suspects[ActionTrace(self.task.label, seed, actions)] = None
        return reward


def _seen(simulator: Simulator, trace: ActionTrace, seed: int | None = None) -> Iterator[Seen]:
    reseeds = () if seed is None else ((0, seed),)
    for moment in play(simulator, ActionTrace(trace.task, trace.seed, trace.actions, reseeds)):
        # As text, because a reward that is not a number is not equal to itself.
        yield _mark(simulator.observation), repr(moment.reward), moment.outcome


def _mark(observation: Any) -> int:
    """What tells an observation from others. The number of a cell does so itself, and is met by the million."""
    shown = freeze(observation)
    return shown if type(shown) is int else stable_hash(shown)


def _first_difference(expected: list[Seen], found: Iterator[Seen]) -> int | None:
    for step, known in enumerate(expected):
        try:
            seen = next(found, None)
        except EnvironmentFailure:
            return step
        if seen != known:
            return step
    return None
