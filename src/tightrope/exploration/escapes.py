"""Could anyone survive from a situation? Quick attempts first, then random actions that are taken back where they fail,
then every sequence of actions, within a limit of work.

*Yes* takes an action sequence that survives as long as was asked, or to the end of the episode. *No* takes a proof: on
a deterministic task, every sequence of the agent's actions ends in an unsafe situation within that time. Everything
else is *unknown*. This runs where the environments are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tightrope.errors import EnvironmentFailure
from tightrope.exploration.doom import Classifier
from tightrope.exploration.knowledge import Knowledge
from tightrope.exploration.random_ways import find_random_way
from tightrope.outcome import Outcome
from tightrope.reference import Survivability
from tightrope.seeding import generator
from tightrope.simulation import Simulator, Snapshot, exploring, play
from tightrope.statistics import Estimate
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace

SHIFTS = (0, 1, -1, 2, -2, 4, -4)
"""Depths, relative to the case's own, at which the reference is joined again: a case is a few actions away from it."""

RANDOM_ATTEMPTS = 8
RANDOM_WAYS_SHARE = {True: 4, False: 2}
"""One in so many of the steps that quick attempts leave is for finding a way by random actions: more where nothing can
be proven, since there trying every sequence has less to give."""

LONGEST_HOLD = 8
"""Random attempts hold each action for up to so many steps: many environments answer to nothing shorter."""

ENDS_EARLY = "the prefix ends before hand-over"


@dataclass(frozen=True, kw_only=True)
class Survival:
    """Whether anyone could survive a situation, and the evidence."""

    survivable: Survivability
    witness: tuple[Action, ...] | None = field(default=None, repr=False)
    """Actions from there on that survive; only where ``survivable`` is YES."""
    evidence: str = ""
    """How this is known, in a few words."""
    steps: int | None = None
    """The horizon: NO within so many steps, YES for so many; None: for ever, or to the end of the episode."""
    best: Estimate | None = field(default=None, repr=False)
    """How often somebody survives from there; its lower limit is a bound on what the best can do. None: not asked."""
    who: str = ""
    """Who survives so often; empty: not asked."""
    checksum: int | None = None
    """Hash of the state key there; None where nobody looked."""
    thorough: bool = False
    """Whether a policy worked out for the whole task was among those behind ``best``: only then is what even the best
    of them fail taken for fate. Otherwise somebody else may do far better."""
    seed: int | None = field(default=None, repr=False)
    """Where the runs behind ``best`` met the luck of executions: the seed of these."""
    runs: tuple[bool, ...] = field(default=(), repr=False)
    """Of them, whether it survived, execution by execution."""

    def within(self, length: int) -> Survival:
        """What is known when so many steps are watched: doom that comes later is none, a witness too short is none."""
        if self.steps is None:
            return self
        if self.left_to_chance and self.steps > length:
            # It is survived at least as often, and it may be oftener: what the best fail later is no excuse now.
            return replace(self, thorough=False, seed=None, runs=())
        if self.survivable is Survivability.UNKNOWN:
            return self
        if (self.steps <= length) == (self.survivable is Survivability.NO) or self.steps == length:
            return self
        return self.withdrawn(f"{self.evidence}, known only for {self.steps} steps")

    @property
    def left_to_chance(self) -> bool:
        """Whether somebody was tried, and survives neither always nor never for certain."""
        return self.best is not None and self.best.value is not None and self.best.low != self.best.high

    def withdrawn(self, why: str) -> Survival:
        """Nothing is claimed any more."""
        return Survival(survivable=Survivability.UNKNOWN, evidence=why, checksum=self.checksum)


@dataclass(frozen=True, kw_only=True)
class EscapeTask:
    """Situations near each other, and what may be tried from them."""

    prefixes: tuple[ActionTrace, ...]
    reference: tuple[Action, ...] = ()
    actions: tuple[Action, ...]
    """What may be tried."""
    deterministic: bool
    provable: bool
    """Whether ``actions`` are all the agent can do and the environment is deterministic."""
    length: int
    """How many steps are to be survived."""
    steps_per_case: int
    steps_to_exhaust: int | None = None
    """Of these, at most so many for every sequence of actions; None: what quick attempts leave."""
    exact: bool = True
    """Whether a name may stand for one situation; False once it was seen to stand for two."""


@dataclass(frozen=True, kw_only=True)
class Escapes:
    """What was found out about each situation, in their order."""

    answers: tuple[Survival, ...]
    refutation: str = ""
    """Why what names situations cannot be trusted, where that came out; no answer rests on it."""
    steps: int = 0
    """Environment steps that it took, ways there and replays included."""


def find_escapes(task: Task, work: EscapeTask) -> Escapes:
    """One answer per prefix. Where a name turns out to stand for two situations, all are asked again without it."""
    with exploring(task) as simulator:
        seeker = Seeker(simulator, work)
        way = _Way(simulator, work.prefixes)
        answers = tuple(seeker.seek(prefix, way) for prefix in work.prefixes)
        refutation = seeker.refutation
        if seeker.misled:
            answers = tuple(seeker.seek(prefix, way) for prefix in work.prefixes)
        return Escapes(answers=answers, refutation=refutation, steps=seeker.classifier.spent)


class Seeker:
    """Tries continuations on one simulator; its classifier remembers which situations are doomed."""

    def __init__(self, simulator: Simulator, work: EscapeTask) -> None:
        self.simulator, self.work = simulator, work
        self.classifier = Classifier(
            simulator,
            Knowledge(),
            preferred=work.reference,
            actions=work.actions,
            deterministic=work.deterministic,
            cut_stuck=False,
            play_witnesses=True,
            exact=work.exact,
        )

    @property
    def refutation(self) -> str:
        """What showed that names are not exact."""
        return self.classifier.sameness.refutation

    @property
    def misled(self) -> bool:
        """Whether what it said of the first situations rests on names that did not hold."""
        return self.classifier.sameness.misled

    def seek(self, prefix: ActionTrace, way: _Way) -> Survival:
        """Go to a situation and find out about it."""
        try:
            if not way.reach(prefix):
                return Survival(survivable=Survivability.UNKNOWN, evidence=ENDS_EARLY)
            return self.seek_here(prefix)
        except EnvironmentFailure as failure:
            return Survival(survivable=Survivability.UNKNOWN, evidence=str(failure))

    def seek_here(self, prefix: ActionTrace, length: int | None = None) -> Survival:
        """Quick attempts from where the simulator stands, which is the end of the prefix, then all sequences."""
        length = self.work.length if length is None else length
        begun = self.classifier.spent
        last = begun + self.work.steps_per_case
        start = self.simulator.save()
        for how, attempt in self._attempts(prefix, length):
            if self.classifier.spent >= last:
                break
            witness = self._shoot(start, attempt)
            if witness is not None:
                return _survives(witness, length, how)
        felt = self._feel(start, prefix, length, last - self.classifier.spent)
        if felt is not None:
            return _survives(felt, length, "random actions, taken back where they led to harm")
        self.simulator.load(start)
        left = max(last - self.classifier.spent, 0)
        most = self.work.steps_to_exhaust
        found = self._exhaust(left if most is None else min(left, most), length)
        if found.survivable is Survivability.UNKNOWN and not self.classifier.exhausted:
            return replace(found, evidence=f"not found within {self.classifier.spent - begun} steps")
        return found

    def lengthened(self, witness: tuple[Action, ...], prefix: ActionTrace) -> tuple[Action, ...] | None:
        """A way that survives from where the simulator stands, which is the end of the prefix, made long enough.

        It is played as far as it goes, and from there a way is felt for. None: none was found.
        """
        if self._shoot(self.simulator.save(), list(witness)) is None:
            return None
        missing = self.work.length - len(witness)
        if missing <= 0 or self.simulator.outcome.terminal:
            return witness
        felt = self._feel(self.simulator.save(), prefix.then(witness), missing, self.work.steps_per_case)
        return None if felt is None else witness + felt

    def _feel(self, start: Snapshot, prefix: ActionTrace, length: int, left: int) -> tuple[Action, ...] | None:
        """A share of the work for finding a way by random actions; where situations are replayed it takes too many."""
        if self.simulator.snapshotter is None or not self.work.deterministic:
            return None
        share = left // RANDOM_WAYS_SHARE[self.work.provable]
        rng = generator("feeling", prefix.id, length)
        return find_random_way(self.simulator, start, self.work.actions, length, share, rng)

    def _attempts(self, prefix: ActionTrace, length: int) -> Iterator[tuple[str, list[Action]]]:
        """Continuations worth a try, each with its name."""
        depth = len(prefix)
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
        simulator = self.simulator
        simulator.load(start)
        for index, action in enumerate(attempt):
            if action not in simulator.available_actions(self.work.actions):
                return None
            simulator.advance(action)
            if simulator.outcome.terminal:
                return None if simulator.outcome is Outcome.UNSAFE else tuple(attempt[: index + 1])
        return tuple(attempt)

    def _exhaust(self, effort: int, length: int) -> Survival:
        """Every sequence of actions, depth first. Running out of them is the proof that all end unsafe."""
        classifier = self.classifier
        verdict, witness = classifier.classify(effort, length)
        if witness is not None:
            return _survives(witness.lasting(length), length, "search of all sequences")
        if verdict is Survivability.NO and self.work.provable:
            ends = f"every sequence of the agent's actions ends unsafe within {classifier.fuse} steps"
            return Survival(survivable=Survivability.NO, evidence=ends, steps=classifier.fuse)
        if classifier.exhausted:
            return Survival(survivable=Survivability.UNKNOWN, evidence="none found, and nothing can be proven here")
        return Survival(survivable=Survivability.UNKNOWN, evidence="not found")


class _Way:
    """Goes to the ends of prefixes that share a beginning, from where they part once that is known."""

    def __init__(self, simulator: Simulator, prefixes: tuple[ActionTrace, ...]) -> None:
        self.simulator = simulator
        self.shared = min((_common(prefixes[0], prefix) for prefix in prefixes), default=0)
        self.branch: Snapshot | None = None

    def reach(self, prefix: ActionTrace) -> bool:
        """Go to the end of a prefix; False when the episode ends first."""
        if self.branch is not None:
            self.simulator.load(self.branch)
        start = None if self.branch is None else self.simulator.depth
        for moment in play(self.simulator, prefix, start=start):
            if moment.depth == self.shared and self.branch is None:
                self.branch = self.simulator.save()
        return not self.simulator.outcome.terminal


def _survives(witness: tuple[Action, ...], length: int, evidence: str) -> Survival:
    steps = length if len(witness) == length else None
    return Survival(survivable=Survivability.YES, witness=witness, evidence=evidence, steps=steps)


def _common(a: ActionTrace, b: ActionTrace) -> int:
    """How many actions two prefixes share, random events included; -1: not even the reset."""
    if a.seed != b.seed:
        return -1
    parted = (index for index, (x, y) in enumerate(zip(a.actions, b.actions, strict=False)) if x != y)
    shared = next(parted, min(len(a), len(b)))
    changed = [index for index, _ in set(a.reseeds) ^ set(b.reseeds)]
    return min([shared, *changed])
