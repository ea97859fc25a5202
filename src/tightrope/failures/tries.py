"""Disturbances to be tried: at which moment of which run, what is done there, and for how long."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tightrope.execution import Episode
from tightrope.failures.bandit import Arms
from tightrope.failures.likelihood import candidates, log_likelihood
from tightrope.failures.result import Disturbance
from tightrope.seeding import derive_seed
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace

SECTIONS = 8
"""Parts of a run that are told apart by how often disturbances in them made the agent fail."""
LASTS, NOISE_LASTS = "lasts", "noise lasts"
"""With a number of steps the arm for other actions, or noise, that last so long; none at all: where chance decides, it
decides anew."""
RESET, BEGINNING, MOMENT, NOISE, AGAIN = "reset", "beginning", "moment", "noise", "again"
"""The first choice: a run from another reset, which is no disturbance at all; another reset and random actions before
the agent takes over, which takes no run; other actions at a moment of the runs; noise from a moment of the runs on; a
disturbance that led to a failure, a little different."""
SOURCES = (RESET, BEGINNING, MOMENT, NOISE, AGAIN)
OWN_START, OTHER_STARTS = "own start", "other starts"
NO_RUN = -1
BEGINNINGS = (3, 5, 10, 20, 40)
"""Random actions before the agent takes over, at most: classes of which one is drawn. The last are as many as in random
cases."""
LEFT = 20
"""Steps of a run that are left to the agent after most of them: or it is over before anybody sees what it does."""
BEGINS = "begins"
RANDOM = -2
"""What may be done beside holding one of the actions, as an arm."""
SHIFT = 4
"""Steps by which a disturbance may come sooner or later than one that is known."""
MOST_FAILED = 256
"""Failures near which others are looked for."""


@dataclass(frozen=True)
class Try:
    """A disturbance to be tried."""

    run: int
    depth: int
    steps: int
    actions: tuple[Action, ...]
    """What is played instead, of which ``steps``; none: what the agent does that sees through noise."""
    arms: tuple[Hashable, ...]
    reset: int
    survived: int = 0
    """The longest disturbance of this kind that was survived."""
    fails: int = 0
    """The shortest that was not; 0: none is known."""
    family: int | None = None
    """The place of the first failure that it is a variant of; None: of none."""

    @property
    def source(self) -> str:
        """The first choice that led to it."""
        return next(arm for arm in self.arms if arm in SOURCES)

    @property
    def played(self) -> tuple[Action, ...]:
        """What is played instead."""
        return self.actions[: self.steps]

    @property
    def is_blurred(self) -> bool:
        """Whether the agent itself plays, and sees through noise."""
        return bool(self.steps) and not self.actions


@dataclass(kw_only=True)
class Tries:
    """Draws what to try next, on the runs at hand."""

    task: Task
    arms: Arms
    rng: np.random.Generator
    seed: int
    longest: int
    """Steps that a disturbance may take."""
    noise: float
    """By how much the agent may be made to see wrongly; 0: not at all."""
    runs: list[Episode] = field(default_factory=list)
    """What is disturbed: runs of the agent, and what it survived only just."""
    before: list[Disturbance] = field(default_factory=list)
    """What was done to each of them already."""
    length: int
    """Steps that are watched after a disturbance."""
    replayed: bool = False
    """Whether the way to a moment is played again for each disturbance."""
    chance: bool = False
    """Whether the task is stochastic."""
    beginnings: int = 0
    """From how many other resets random actions were played."""
    failed: list[Try] = field(default_factory=list)
    """What led to failures that are worth something."""

    def add(self, episode: Episode, disturbance: Disturbance) -> None:
        """Another run that can be disturbed."""
        if episode.actions:
            self.runs.append(replace(episode, keys=None))
            self.before.append(disturbance)

    def drawn(self, source: str) -> Try:
        """A beginning, a disturbance at a moment, or one that is like another, as the first choice says."""
        if source == AGAIN:
            return self._again()
        return self._beginning() if source == BEGINNING else self._moment(source)

    def add_failed(self, tried: Try) -> None:
        """A disturbance near which there may be more failures."""
        if len(self.failed) < MOST_FAILED and tried.steps:
            self.failed.append(tried)

    def reset(self, number: int) -> int:
        """The reset seed of a run: the task's own, then others."""
        return self.task.seed if number == 0 else derive_seed("failure start", self.seed, number)

    def prefix(self, tried: Try) -> ActionTrace:
        """The way to where a disturbance begins."""
        if tried.run == NO_RUN:
            return ActionTrace(self.task.label, tried.reset)
        return self.runs[tried.run].trace.prefix(tried.depth)

    def disturbance(self, tried: Try) -> Disturbance:
        """What was done, and how likely that is in use."""
        known, played = tried.run != NO_RUN, tried.played
        own = self.runs[tried.run].trace.actions[tried.depth : tried.depth + tried.steps] if known else None
        held = len(set(played)) == 1
        return Disturbance(
            reset=tried.reset,
            depth=tried.depth,
            steps=tried.steps,
            action=played[0] if held else None,
            actions=() if held else played,
            noise=self.noise if tried.is_blurred else 0.0,
            earlier=self.before[tried.run] if known else None,
            log_likelihood=log_likelihood(self.task, played, own),
        )

    def _beginning(self) -> Try:
        """Random actions from a reset on."""
        # The longer, the more often it fails later than at once, and the cheaper: many end before the agent takes over.
        usual = float(np.mean([len(run.trace) for run in self.runs])) if self.runs else math.inf
        good = min(max(usual - LEFT, BEGINNINGS[0]), BEGINNINGS[-1])
        hopes = {(BEGINS, number): (min(most / good, good / most)) ** 2 for number, most in enumerate(BEGINNINGS)}
        place = self.arms.best([*hopes], hopes)[1]
        steps = int(self.rng.integers(BEGINNINGS[place - 1] if place else 0, BEGINNINGS[place])) + 1
        # Starts differ in how hard they are, and the task's own is the one that everybody has.
        arm = self.arms.best([OWN_START, OTHER_STARTS])
        self.beginnings += arm == OTHER_STARTS
        number = self.beginnings if arm == OTHER_STARTS else 0
        actions = self._played_instead(RANDOM, self.task.search_actions, steps)
        return Try(NO_RUN, 0, steps, actions, (BEGINNING, arm, (BEGINS, place)), self.reset(number))

    def _again(self) -> Try:
        """A disturbance after which the agent failed, with an action more, less or another, or a little sooner or
        later; it is not made smaller, as that one was."""
        number: int = self.arms.best_of_many([(AGAIN, each) for each in range(len(self.failed))])[1]
        known = self.failed[number]
        actions = self._edited(known) if known.actions else ()
        steps = len(actions) if known.actions else known.steps
        depth = known.depth if known.run == NO_RUN else self._shifted(known)
        return replace(
            known,
            depth=depth,
            steps=steps,
            actions=actions,
            arms=(AGAIN, (AGAIN, number)),
            survived=steps - 1,
            fails=0,
            family=number if known.family is None else known.family,
        )

    def _edited(self, known: Try) -> tuple[Action, ...]:
        played, most = list(known.played), BEGINNINGS[-1] if known.run == NO_RUN else self.longest
        place, edit = int(self.rng.integers(len(played))), int(self.rng.integers(3))
        if edit == 0 and len(played) > 1:
            del played[place]
        elif edit == 1 and len(played) < most:
            played.insert(place, played[place])
        else:
            own = played[place]
            others = [action for action in candidates(self.task, own, self.rng) if action != own]
            played[place] = others[int(self.rng.integers(len(others)))] if others else own
        return tuple(played)

    def _shifted(self, known: Try) -> int:
        run = self.runs[known.run]
        depth = known.depth + int(self.rng.integers(-SHIFT, SHIFT + 1))
        return min(max(depth, run.prefix_steps), len(run.trace) - 1)

    def _moment(self, source: str) -> Try:
        """Other actions, or noise, from a moment of a run on."""
        places = self._places
        run, part = self.arms.best_of_many(places, [self._price(*place) for place in places] if self.replayed else None)
        trace, first = self.runs[run].trace, self.runs[run].prefix_steps
        depth = first + int((part + self.rng.random()) / SECTIONS * (len(trace) - first))
        if source == NOISE:
            steps = self._steps(NOISE_LASTS)
            return Try(run, depth, steps, (), ((run, part), (NOISE_LASTS, steps), NOISE), trace.seed)
        actions = candidates(self.task, trace.actions[depth], self.rng)
        steps = self._steps(LASTS)
        if not steps:
            return Try(run, depth, 0, (), ((run, part), (LASTS, 0), MOMENT), trace.seed)
        own = set(trace.actions[depth : depth + steps])
        kind = self.arms.best([*(each for each in range(len(actions)) if own != {actions[each]}), RANDOM])
        instead = self._played_instead(kind, actions, steps)
        return Try(run, depth, steps, instead, ((run, part), kind, (LASTS, steps), MOMENT), trace.seed)

    def each_action(self, run: int) -> list[Try]:
        """One step of each action where the agent took over; its own leads to where the others are tried next."""
        trace, depth = self.runs[run].trace, self.runs[run].prefix_steps
        actions = enumerate(candidates(self.task, trace.actions[depth], self.rng))
        arms = (run, 0), (LASTS, 1), MOMENT
        return [Try(run, depth, 1, (each,), (*arms, kind), trace.seed) for kind, each in actions]

    def _steps(self, lasts: str) -> int:
        """How long: 1, 2, 4, … steps; where chance decides, other actions for none may be enough."""
        lengths = [2**power for power in range(int(np.log2(self.longest)) + 1)]
        lengths += [0] if self.chance and lasts == LASTS else []
        _, chosen = self.arms.best([(lasts, steps) for steps in lengths])
        return int(chosen)

    def _played_instead(self, kind: int, actions: Sequence[Action], steps: int) -> tuple[Action, ...]:
        if kind == RANDOM:
            return tuple(actions[place] for place in self.rng.integers(len(actions), size=steps))
        return (actions[kind],) * steps

    def _price(self, run: int, part: int) -> float:
        """Steps that a disturbance there is expected to take where the way there is replayed."""
        trace, first = self.runs[run].trace, self.runs[run].prefix_steps
        return first + (part + 0.5) / SECTIONS * (len(trace) - first) + self.length

    @property
    def _places(self) -> list[tuple[int, int]]:
        return [(run, part) for run in range(len(self.runs)) for part in range(SECTIONS)]
