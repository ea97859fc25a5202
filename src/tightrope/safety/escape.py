"""Looks for a way to survive from given situations, or proves that there is none. Runs where the environments are."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import closing
from dataclasses import dataclass

from tightrope.errors import EnvironmentFailure
from tightrope.outcome import Outcome
from tightrope.reference import Survivability
from tightrope.seeding import generator
from tightrope.simulation import Simulator, open_simulator, play
from tightrope.simulation.simulator import Snapshot
from tightrope.tasks.spaces import mask_allows
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace

SHIFTS = (0, 1, -1, 2, -2, 4, -4)
"""Depths, relative to the case's own, at which the reference is joined again: a case is a few actions away from it."""

RANDOM_ATTEMPTS = 8
LONGEST_HOLD = 8
"""Random attempts hold each action for up to so many steps: many environments answer to nothing shorter."""


@dataclass(frozen=True, kw_only=True)
class EscapeTask:
    """Situations near each other, and what may be tried from them."""

    prefixes: tuple[ActionTrace, ...]
    reference: tuple[Action, ...]
    actions: tuple[Action, ...]
    provable: bool
    """Whether ``actions`` are all the agent can do and the environment is deterministic."""
    length: int
    steps_per_case: int


@dataclass(frozen=True, kw_only=True)
class Escape:
    """What was found out about one situation."""

    survivable: Survivability
    witness: tuple[Action, ...] | None = None
    evidence: str


def find_escapes(task: Task, work: EscapeTask) -> list[Escape]:
    """One answer per prefix: quick attempts first, then every sequence of actions, within the budget."""
    with closing(open_simulator(task)) as simulator:
        seeker = _Seeker(simulator, work)
        return [seeker.seek(prefix) for prefix in work.prefixes]


class _Seeker:
    """Tries continuations on one simulator; remembers which situations are doomed."""

    def __init__(self, simulator: Simulator, work: EscapeTask) -> None:
        self.simulator, self.work = simulator, work
        self.doomed: set[Hashable] = set()
        task = simulator.task
        # A lossy key merges different situations, and a proof must not.
        self.exact = task.identity is not None or task.key_is_exact
        self.limit = 0
        self.shared = min((_common(work.prefixes[0], prefix) for prefix in work.prefixes), default=0)
        self.branch: Snapshot | None = None

    def seek(self, prefix: ActionTrace) -> Escape:
        """Quick attempts, then all sequences."""
        try:
            return self._seek(prefix)
        except EnvironmentFailure as failure:
            return Escape(survivable=Survivability.UNKNOWN, evidence=str(failure))

    def _seek(self, prefix: ActionTrace) -> Escape:
        if not self._play(prefix):
            return Escape(survivable=Survivability.UNKNOWN, evidence="the prefix ends before hand-over")
        self.limit = self._spent() + self.work.steps_per_case
        start = self.simulator.save()
        for how, attempt in self._attempts(prefix):
            if self._spent() >= self.limit:
                break
            witness = self._shoot(start, attempt)
            if witness is not None:
                return Escape(survivable=Survivability.YES, witness=witness, evidence=how)
        return self._exhaust(start)

    def _play(self, prefix: ActionTrace) -> bool:
        """Go to the situation, from where the prefixes part once that is known; False when the episode ends first."""
        if self.branch is not None:
            self.simulator.load(self.branch)
        start = None if self.branch is None else self.simulator.depth
        for moment in play(self.simulator, prefix, start=start):
            if moment.depth == self.shared and self.branch is None:
                self.branch = self.simulator.save()
        return not self.simulator.outcome.terminal

    def _attempts(self, prefix: ActionTrace) -> Iterator[tuple[str, list[Action]]]:
        """Continuations worth a try, each with its name."""
        length, depth = self.work.length, len(prefix)
        for shift in SHIFTS:
            rest = list(self.work.reference[max(depth + shift, 0) :][:length])
            if rest:
                yield f"the reference from {shift:+d} steps on", rest + rest[-1:] * (length - len(rest))
        for action in self.work.actions:
            yield f"action {action} held", [action] * length
        rng = generator("escape", prefix.id, length)
        for _ in range(RANDOM_ATTEMPTS):
            sequence: list[Action] = []
            while len(sequence) < length:
                action = self.work.actions[rng.integers(len(self.work.actions))]
                sequence += [action] * int(rng.integers(1, LONGEST_HOLD + 1))
            yield "random actions", sequence[:length]

    def _shoot(self, start: Snapshot, attempt: list[Action]) -> tuple[Action, ...] | None:
        """Play one continuation; what was played when it survives."""
        self.simulator.load(start)
        for index, action in enumerate(attempt):
            if action not in self._allowed():
                return None
            self.simulator.step(action)
            if self.simulator.outcome.terminal:
                return None if self.simulator.outcome is Outcome.UNSAFE else tuple(attempt[: index + 1])
        return tuple(attempt)

    def _exhaust(self, start: Snapshot) -> Escape:
        """Depth-first through every sequence of actions. Running out of them is the proof that all end unsafe."""
        simulator, path = self.simulator, list[Action]()
        simulator.load(start)
        open_nodes = [(start, iter(self._allowed()), self._name())]
        while open_nodes:
            node, untried, name = open_nodes[-1]
            action = next(untried, None)
            if action is None:
                open_nodes.pop()
                self.doomed.add(name)
                del path[-1:]
                continue
            if self._spent() >= self.limit:
                spent = f"not found within {self.work.steps_per_case} steps"
                return Escape(survivable=Survivability.UNKNOWN, evidence=spent)
            simulator.load(node)
            simulator.step(action)
            if simulator.outcome is Outcome.UNSAFE or (self._name() in self.doomed and self.exact):
                continue
            path.append(action)
            if simulator.outcome.terminal or len(path) == self.work.length:
                return Escape(survivable=Survivability.YES, witness=tuple(path), evidence="search of all sequences")
            if not self._allowed():
                return Escape(survivable=Survivability.UNKNOWN, evidence="a situation allows no action at all")
            open_nodes.append((simulator.save(), iter(self._allowed()), self._name()))
        return self._verdict_of_exhaustion()

    def _verdict_of_exhaustion(self) -> Escape:
        if self.work.provable:
            return Escape(survivable=Survivability.NO, evidence="every sequence of the agent's actions ends unsafe")
        return Escape(survivable=Survivability.UNKNOWN, evidence="none found, and nothing can be proven here")

    def _name(self) -> Hashable:
        """The situation and its depth: a time limit may save tomorrow what is doomed today."""
        return (self.simulator.depth, self.simulator.identity()) if self.exact else None

    def _allowed(self) -> tuple[Action, ...]:
        mask = self.simulator.info.get("action_mask")
        if mask is None:
            return self.work.actions
        space = self.simulator.env.action_space
        return tuple(action for action in self.work.actions if mask_allows(space, mask, action))

    def _spent(self) -> int:
        return self.simulator.counters.steps + self.simulator.counters.replayed_steps


def _common(a: ActionTrace, b: ActionTrace) -> int:
    """How many actions two prefixes share, random events included; -1: not even the reset."""
    if a.seed != b.seed:
        return -1
    parted = (index for index, (x, y) in enumerate(zip(a.actions, b.actions, strict=False)) if x != y)
    shared = next(parted, min(len(a), len(b)))
    changed = [index for index, _ in set(a.reseeds) ^ set(b.reseeds)]
    return min([shared, *changed])
