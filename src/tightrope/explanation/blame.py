"""The blame point of a deterministic task: bisection by the classifier. Runs where the environments are.

Along an episode doom is monotone: who can survive from a later moment can from an earlier one, by playing on to it. So
the last moment from which somebody can survive is found with about log2 of the episode's length classifications. A
moment of which nothing is found out splits the rest in two: the last known to be survivable before it, and the first
known to be doomed after it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tightrope.exploration.escapes import EscapeTask, Seeker, Survival
from tightrope.outcome import Outcome
from tightrope.reference import Survivability
from tightrope.seeding import stable_hash
from tightrope.simulation import Snapshot, open_simulator, play
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace

YES, NO = Survivability.YES, Survivability.NO
MOST_KEPT = 32
"""Snapshots kept along an episode; what lies between them is played again."""
ENOUGH_BETTER = 1
"""Actions that escape, after which no more are tried where there are more than can be listed: one more says little, and
each is played from reset for as long as the agent was watched."""
MOST_NUMBERS = 64
"""An observation of more numbers is a picture, and pictures are not compared."""


@dataclass(frozen=True, kw_only=True)
class BlameTask:
    """Failed episodes near each other, and what may be tried along them."""

    traces: tuple[ActionTrace, ...]
    """Whole episodes, each of which ends unsafe with its last action."""
    escapes: EscapeTask
    """What may be tried from a moment, and how long it is to survive."""
    limit: float = math.inf
    """Steps after which nothing more is asked about an episode; what was not asked stays open."""
    known: tuple[Mapping[int, Survival], ...] = ()
    """Of each episode what is known of some of its moments already; empty: nothing of any."""


@dataclass(frozen=True, kw_only=True)
class Blame:
    """Where one episode was lost."""

    depth: int | None
    """The last moment from which an escape was found."""
    first_doomed: int
    """The first moment that is proven doomed; the last one is, since harm was done."""
    better: dict[Action, tuple[Action, ...]] = field(default_factory=dict)
    """At that moment: actions that escape, and how to go on after each."""
    doomed: tuple[Action, ...] = ()
    unsettled: tuple[Action, ...] = ()
    """Actions there of which nothing was found out."""
    key: int | None = None
    """Hash of the state key at that moment."""
    observation: tuple[float, ...] | None = None
    """What was seen there, where that is a few numbers."""
    reach: tuple[tuple[float, float], ...] | None = None
    """How far each of those numbers reached along the episode: the least and the most."""
    curve: tuple[tuple[int, Survivability], ...] = ()
    ended_otherwise: bool = False
    """The actions no longer lead to harm: the environment is not what it was."""
    steps: int = 0
    """Environment steps that it took to find out."""


def find_blame(task: Task, work: BlameTask) -> list[Blame]:
    """One answer per episode. Where a name turns out to stand for two situations, all are asked again without it."""
    with closing(open_simulator(task)) as simulator:
        seeker = Seeker(simulator, work.escapes)
        known = work.known or ({},) * len(work.traces)
        asked = list(zip(work.traces, known, strict=True))
        found = [_blame(seeker, *each, work.limit) for each in asked]
        if seeker.misled:
            found = [_blame(seeker, *each, work.limit) for each in asked]
        return found


def _blame(seeker: Seeker, trace: ActionTrace, known: Mapping[int, Survival], limit: float) -> Blame:
    before = seeker.classifier.spent
    return replace(_Episode(seeker, trace, before + limit, known).blame(), steps=seeker.classifier.spent - before)


def frontiers(verdict: Callable[[int], Survivability], last: int, first: int = -1) -> tuple[int, int]:
    """The last moment known to be survivable (-1: none) and the first known to be doomed, of moments 0 … ``last``.

    ``last`` itself is doomed, and ``first`` known to be survivable, unless it is -1. Where every verdict is known they
    are neighbours after log2 of the moments between.
    """
    low, high = first, last
    while high - low > 1:
        middle = (low + high) // 2
        answer = verdict(middle)
        if answer is YES:
            low = middle
        elif answer is NO:
            high = middle
        else:
            return _around(verdict, low, middle, high)
    return low, high


def _around(verdict: Callable[[int], Survivability], low: int, middle: int, high: int) -> tuple[int, int]:
    """The frontiers on both sides of a moment of which nothing is known."""
    above = middle
    while high - above > 1:
        asked = (above + high) // 2
        answer = verdict(asked)
        if answer is YES:
            # Then the one in the middle can be survived as well, and its search was too short.
            low = above = middle = asked
        elif answer is NO:
            high = asked
        else:
            above = asked
    below = middle
    while below - low > 1:
        asked = (low + below) // 2
        answer = verdict(asked)
        if answer is YES:
            low = asked
        elif answer is NO:
            high = below = asked
        else:
            below = asked
    return low, high


class _Episode:
    """One episode on the seeker's simulator, which can be brought to any moment of it."""

    def __init__(self, seeker: Seeker, trace: ActionTrace, last: float, known: Mapping[int, Survival]) -> None:
        self.seeker, self.trace, self.simulator, self.last = seeker, trace, seeker.simulator, last
        self.known = dict(known)
        self.reach = ObservedRange()
        self._kept: dict[int, Snapshot] = {}

    def blame(self) -> Blame:
        """Where it was lost."""
        if not self._ends_unsafe():
            return Blame(depth=None, first_doomed=len(self.trace), ended_otherwise=True)
        low, high = frontiers(self._verdict, *self._range())
        low = self._carried(low, high)
        curve = tuple((depth, survival.survivable) for depth, survival in sorted(self.known.items()))
        if low < 0:
            return Blame(depth=None, first_doomed=high, curve=curve)
        better, doomed, unsettled = self._alternatives(low, high)
        if not better and not self._escapes(low, self.known[low].witness or ()):
            return Blame(depth=None, first_doomed=high, curve=curve)
        self._go(low)
        return Blame(
            depth=low,
            first_doomed=high,
            better=better,
            doomed=doomed,
            unsettled=unsettled,
            key=stable_hash(self.simulator.key()),
            observation=few_numbers(self.simulator.observation),
            reach=self.reach.bounds,
            curve=curve,
        )

    def _carried(self, low: int, high: int) -> int:
        """The last moment known to be survivable, once escapes that begin as the episode goes on are followed to where
        they part from it: there the rest of one is an escape, if somebody can add the steps that it has then too few.
        """
        while low >= 0 and self._may_ask:
            witness = self.known[low].witness or ()
            ahead = self.trace.actions[low:]
            shared = next((n for n, pair in enumerate(zip(witness, ahead, strict=False)) if pair[0] != pair[1]), 0)
            if not shared or low + shared >= high:
                break
            self._go(low + shared)
            rest = self.seeker.lengthened(witness[shared:], self.trace.prefix(low + shared))
            if rest is None:
                break
            low += shared
            self.known[low] = Survival(survivable=YES, witness=rest, evidence="an escape from before, followed")
        return low

    def _range(self) -> tuple[int, int]:
        """The first moment known to be doomed, and the last known to be survivable (-1: none), to begin with."""
        doomed = [depth for depth, survival in self.known.items() if survival.survivable is NO]
        survivable = [depth for depth, survival in self.known.items() if survival.survivable is YES]
        return min(doomed, default=len(self.trace)), max(survivable, default=-1)

    def _ends_unsafe(self) -> bool:
        every = -(-len(self.trace) // MOST_KEPT) or 1
        for moment in play(self.simulator, self.trace):
            self.reach.add(few_numbers(self.simulator.observation))
            if moment.depth % every == 0 and moment.upcoming is not None:
                self._kept[moment.depth] = self.simulator.save()
        return self.simulator.outcome is Outcome.UNSAFE and self.simulator.depth == len(self.trace)

    def _go(self, depth: int) -> None:
        start = max(kept for kept in self._kept if kept <= depth)
        self.simulator.load(self._kept[start])
        for _ in play(self.simulator, self.trace.prefix(depth), start=start):
            pass

    @property
    def _may_ask(self) -> bool:
        return self.seeker.classifier.spent < self.last

    def _verdict(self, depth: int) -> Survivability:
        if depth not in self.known:
            if not self._may_ask:
                return Survivability.UNKNOWN
            self._go(depth)
            self.known[depth] = self.seeker.seek_here(self.trace.prefix(depth))
        return self.known[depth].survivable

    def _alternatives(
        self, depth: int, first_doomed: int
    ) -> tuple[dict[Action, tuple[Action, ...]], tuple[Action, ...], tuple[Action, ...]]:
        """What each action leads to at the blame point: escapes that were replayed, proven doom, neither."""
        taken = self.trace.actions[depth]
        better: dict[Action, tuple[Action, ...]] = {}
        known = self.known[depth].witness or ()
        if known[:1] not in ((), (taken,)) and self._escapes(depth, known):
            better[known[0]] = known[1:]
        doomed, unsettled = [taken] if first_doomed == depth + 1 else [], list[Action]()
        self._go(depth)
        for action in self.simulator.available_actions(self.seeker.work.actions):
            if action == taken or action in better:
                continue
            if not self._may_ask or (not self.seeker.work.provable and len(better) >= ENOUGH_BETTER):
                unsettled.append(action)
                continue
            survival = self._after(depth, action)
            if survival.survivable is YES and self._escapes(depth, (action, *(survival.witness or ()))):
                better[action] = survival.witness or ()
            elif survival.survivable is NO:
                doomed.append(action)
            else:
                unsettled.append(action)
        return better, tuple(doomed), tuple(unsettled)

    def _after(self, depth: int, action: Action) -> Survival:
        """What is known of the situation an action leads to; it has one step less to survive."""
        self._go(depth)
        self.simulator.advance(action)
        outcome = self.simulator.outcome
        if outcome is Outcome.UNSAFE:
            return Survival(survivable=NO, evidence="unsafe at once", steps=0)
        if outcome.terminal:
            return Survival(survivable=YES, witness=(), evidence=f"ends {outcome} at once")
        return self.seeker.seek_here(self.trace.prefix(depth).then([action]), self.seeker.work.length - 1)

    def _escapes(self, depth: int, actions: tuple[Action, ...]) -> bool:
        """Whether an escape survives when it is played from reset."""
        for _ in play(self.simulator, self.trace.prefix(depth).then(actions)):
            pass
        lasted = self.simulator.depth - depth
        if self.simulator.outcome.terminal:
            return self.simulator.outcome is not Outcome.UNSAFE
        return lasted >= self.seeker.work.length


class ObservedRange:
    """The least and the most of each number that was seen."""

    def __init__(self) -> None:
        self.bounds: tuple[tuple[float, float], ...] | None = None

    def add(self, seen: tuple[float, ...] | None) -> None:
        """Count what was seen now."""
        if seen is None:
            return
        known = self.bounds or tuple((number, number) for number in seen)
        self.bounds = tuple((min(low, x), max(high, x)) for (low, high), x in zip(known, seen, strict=True))


def few_numbers(observation: Any) -> tuple[float, ...] | None:
    """An observation of a few real numbers, for telling which are near each other; None for all others."""
    if not isinstance(observation, np.ndarray) or not np.issubdtype(observation.dtype, np.floating):
        return None
    flat = observation.ravel()
    return tuple(map(float, flat)) if flat.size <= MOST_NUMBERS and np.all(np.isfinite(flat)) else None
