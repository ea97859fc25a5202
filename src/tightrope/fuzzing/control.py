"""The control: as many random traces as fuzzing bred, of the same lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np

from tightrope.fuzzing.actions import ActionSource
from tightrope.fuzzing.breeding import Bred, unsafe_ends
from tightrope.fuzzing.fitness import NO_KEYS, Played, grown
from tightrope.fuzzing.playing import TracePlayer
from tightrope.fuzzing.results import Control
from tightrope.outcome import Outcome, StopReason
from tightrope.progress import Progress, ProgressCallback
from tightrope.seeding import generator
from tightrope.trace import Action, ActionTrace

TOGETHER = 1000
"""Random traces executed at a time: enough that few workers wait for the last ones, few enough to tell of progress."""


def run_control(
    bred: Bred,
    evaluate: TracePlayer,
    *,
    size: int,
    independent: bool,
    seed: int,
    on_progress: ProgressCallback | None = None,
) -> Control | None:
    """Match every trace of every generation by a random one; None when there is nothing to match, or on an interrupt.

    Random traces hold each action for 1 … ``size`` steps, like the runs that mutation brings in.
    """

    def matched(index: int, place: int, trace: ActionTrace) -> ActionTrace:
        return random_trace(trace, evaluate.source, generator("control", seed, index, place), size, independent)

    covered, plays, curve = NO_KEYS, list[Played](), list[int]()
    if bred.stop_reason is StopReason.CANCELLED:
        return None
    try:
        for index, latest in enumerate(_generations(bred.traces, evaluate, matched)):
            plays += latest
            covered = grown(covered, latest)
            curve.append(int(covered.size))
            if on_progress is not None:
                on_progress(Progress("fuzzing control", index + 1, len(bred.traces), f"{covered.size} keys covered"))
    except KeyboardInterrupt:
        bred.stop_reason = StopReason.CANCELLED
        return None
    return _summary(plays, curve) if plays else None


def _generations(
    generations: Sequence[Sequence[ActionTrace]],
    evaluate: TracePlayer,
    matched: Callable[[int, int, ActionTrace], ActionTrace],
) -> Iterator[list[Played]]:
    """What became of the random traces of each generation, executed many at a time: none depends on another."""
    waiting: list[list[ActionTrace]] = []
    for index, traces in enumerate(generations):
        waiting.append([matched(index, place, trace) for place, trace in enumerate(traces)])
        if sum(map(len, waiting)) >= TOGETHER or index == len(generations) - 1:
            found = iter(evaluate([trace for generation in waiting for trace in generation]))
            for generation in waiting:
                yield list(islice(found, len(generation)))
            waiting = []


def random_trace(
    like: ActionTrace, source: ActionSource, rng: np.random.Generator, size: int, independent: bool
) -> ActionTrace:
    """A random trace of the same task, reset seed and length."""
    actions: tuple[Action, ...] = ()
    while len(actions) < len(like):
        length = min(int(rng.integers(1, size + 1)), len(like) - len(actions))
        near = actions[-1] if actions else source.draw(rng)
        actions += source.run(length, near, rng, independent=independent)
    return ActionTrace(like.task, like.seed, actions)


def _summary(plays: Sequence[Played], curve: Sequence[int]) -> Control:
    outcomes = [played.outcome for played in plays]
    return Control(
        traces=len(plays),
        steps=sum(played.steps for played in plays),
        covered=curve[-1],
        covered_by_generation=tuple(curve),
        best_return=max(played.total_return for played in plays),
        goals=outcomes.count(Outcome.GOAL),
        unsafe=outcomes.count(Outcome.UNSAFE),
        failures=len(unsafe_ends(plays)),
    )
