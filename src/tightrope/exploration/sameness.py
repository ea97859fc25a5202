"""When are two situations the same? Every proof that uses what was learnt elsewhere rests on the answer.

A task answers with ``identity``, or with a state key that throws nothing away. Neither is believed unseen: where a
search meets a name again and would take it for the situation it knows, both must continue alike. What followed from the
known one was recorded when it was searched, so that a test costs a few steps and no snapshot.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tightrope.exploration.knowledge import Witness
from tightrope.outcome import Outcome
from tightrope.seeding import generator
from tightrope.simulation import Simulator
from tightrope.tasks.task import Task
from tightrope.trace import Action

ALWAYS_TESTED = 4
SHARE_OF_TESTS = 1 / 8
"""So many reuses of a name are each tested, later ones as long as tests take no more than this share of all steps."""
STEPS_OF_A_TEST = 32
"""What is known to follow is played again as far as these go: most proofs of doom are not larger."""


def names_are_exact(task: Task) -> bool:
    """Whether the task claims that equal names are equal situations: the one rule, to be tested where it is used."""
    return task.identity is not None or task.key_is_exact


class Sameness:
    """Names the situations of one simulator, and tests whether one name is one situation.

    ``timed``: the time since reset is part of the name, because it decides what can still be done.
    """

    def __init__(self, simulator: Simulator, *, actions: tuple[Action, ...] | None = None, exact: bool = True) -> None:
        self.simulator, self.actions, self.timed = simulator, actions, False
        self.exact = exact and names_are_exact(simulator.task)
        """Whether equal names may be taken for equal situations; never again once a test has failed."""
        self._has_identity = simulator.task.identity is not None
        self._cut_short = self._may_be_timed = False
        """Whether time was up where neither task nor environment had said so, and whether the search heeds that."""
        self.refutation = ""
        """What the failed test showed."""
        self._followed: dict[Hashable, tuple[tuple[Action, Hashable], ...]] = {}
        self._reuses = self._steps = 0
        self._rng = generator("sameness", simulator.task.label)

    @property
    def keys_are_names(self) -> bool:
        """Whether the state key is the name: a shortcut for who has the key at hand."""
        return self.exact and not self._has_identity and not self.timed

    @property
    def naming(self) -> tuple[bool, bool]:
        """How situations are named; a search in which that changes begins anew."""
        return self.exact, self.timed

    @property
    def misled(self) -> bool:
        """Whether names did not stand for what they seemed to: what was said before that came out is asked again."""
        return self._cut_short or bool(self.refutation)

    def set_timed(self, timed: bool) -> None:
        """Whether time is part of the name; always, once it was up where nobody had said so.

        A search that calls this begins anew where ``naming`` has changed.
        """
        self.timed, self._may_be_timed = timed or self._cut_short, True

    def cut_short(self) -> None:
        """Note that time was up where nobody had said so."""
        self._cut_short = self.timed = True

    def name(self, key: Hashable = None) -> Hashable:
        """The name of where the simulator stands; where names are not exact, one that never comes again.

        ``key`` is its state key, where it is at hand: making one twice is a waste.
        """
        if not self.exact:
            return object()
        identity = self.simulator.identity() if key is None or self._has_identity else key
        return (self.simulator.depth, identity) if self.timed else identity

    def remember(self, name: Hashable, followed: Sequence[tuple[Action, Hashable]]) -> None:
        """Note where each action led from a doomed situation: to another name, or to an end."""
        self._followed[name] = tuple(followed)

    def to_be_tested(self) -> bool:
        """Count a reuse of a name; whether it is one of those that are tested."""
        self._reuses += 1
        return self._reuses <= ALWAYS_TESTED or self._steps < SHARE_OF_TESTS * self.simulator.counters.steps

    def holds(self, name: Hashable, fuse: int) -> bool:
        """Whether where the simulator stands goes on as a situation of this name, doomed within ``fuse``, must.

        Moves the simulator. After the first reuses only some are tested, and the others believed.
        """
        if self.to_be_tested():
            before = self.simulator.counters.steps
            difference = self._difference(name, fuse)
            self._steps += self.simulator.counters.steps - before
            if difference:
                self.refute(difference)
        return self.exact

    def leads_on(self, witness: Witness, actions: Sequence[Action], last_depth: float) -> bool:
        """Whether a way that was put together from several survives; if not, one name stood for two situations.

        Plays it from where the simulator stands. ``actions`` are the way, its cycle run through for as long as asked.
        """
        simulator, start, naming = self.simulator, self.simulator.depth, self.naming
        returns_to, whole, returned = self.name(), len(witness.actions), False
        for number, action in enumerate(actions, 1):
            simulator.advance(action)
            if simulator.outcome.terminal or simulator.depth >= last_depth:
                break
            if number == whole - witness.loop:
                returns_to = self.name()
            if number == whole:
                returned = witness.loop > 0 and self.name() == returns_to
                if not returned:
                    break
        if simulator.outcome is Outcome.UNSAFE and not self._too_late():
            self.refute(f"a way known to survive did harm after {simulator.depth - start} steps")
        elif simulator.outcome is Outcome.ONGOING and simulator.depth < last_depth and not returned:
            self.refute(f"a way known to end in {witness.ending!r} did not")
        return naming == self.naming

    def refute(self, difference: str) -> None:
        """From now on every situation is a new one."""
        kind = "identity" if self._has_identity else "state key"
        self.exact, self.refutation = False, f"one {kind}, two continuations: {difference}"
        self._followed.clear()

    def _difference(self, name: Hashable, fuse: int) -> str:
        """Play what is known to follow from this name, or, where nothing is, at random until harm is due."""
        if name in self._followed:
            return self._difference_from_known(name)
        simulator, start = self.simulator, self.simulator.depth
        while simulator.outcome is Outcome.ONGOING and simulator.depth - start < fuse:
            actions = simulator.available_actions(self.actions)
            if not actions:
                return ""
            simulator.advance(actions[int(self._rng.integers(len(actions)))])
        if simulator.outcome is Outcome.UNSAFE or self._too_late():
            return ""
        return f"harm was proven to follow {_shown(name)} within {fuse} steps, and did not"

    def _difference_from_known(self, name: Hashable) -> str:
        """Play the recorded ways again, all actions of a situation before any goes deeper, as far as the steps go."""
        simulator, steps = self.simulator, 0
        first, start = _shown(name), self.simulator.depth
        open_ends = [(simulator.save(), name)]
        while open_ends:
            here, name = open_ends.pop()
            deeper = []
            for action, expected in self._followed.get(name, ()):
                simulator.load(here)
                simulator.advance(action)
                found = self.name() if simulator.outcome is Outcome.ONGOING else simulator.outcome
                if found != expected and self._too_late():
                    return ""
                if found != expected:
                    after = simulator.depth - start
                    return f"{after} steps after {first} once came {_shown(expected)}, and then {_shown(found)}"
                steps += 1
                if steps >= STEPS_OF_A_TEST:
                    return ""
                if found in self._followed:
                    deeper.append((simulator.save(), found))
            open_ends += [deeper[place] for place in self._rng.permutation(len(deeper))]
        return ""

    def _too_late(self) -> bool:
        """Whether it went otherwise because time was up; then that is part of the name from now on."""
        if not self._may_be_timed or not self.simulator.timed_out or self.timed:
            return False
        self.cut_short()
        return True


def _shown(name: Hashable) -> str:
    text = f"{len(name)} bytes {name[:8].hex()}…" if isinstance(name, bytes) else str(name)
    return text if len(text) <= 40 else text[:39] + "…"
