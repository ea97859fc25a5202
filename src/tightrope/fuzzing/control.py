"""The control: as many random traces as fuzzing bred, of the same lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np

from tightrope.fuzzing.actions import ActionSource
from tightrope.fuzzing.breeding import Bred, unsafe_ends
from tightrope.fuzzing.evaluation import TraceEvaluator
from tightrope.fuzzing.fitness import NO_KEYS, Evaluation, grown
from tightrope.fuzzing.results import Control
from tightrope.outcome import Outcome, StopReason
from tightrope.progress import Progress, ProgressCallback
from tightrope.seeding import generator
from tightrope.trace import Action, ActionTrace

TOGETHER = 1000
"""Random traces executed at a time: enough that few workers wait for the last ones, few enough to tell of progress."""


def run_control(
    bred: Bred,
    evaluate: TraceEvaluator,
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

    covered, evaluations, curve = NO_KEYS, list[Evaluation](), list[int]()
    if bred.stop_reason is StopReason.CANCELLED:
        return None
    try:
        for index, latest in enumerate(_generations(bred.played, evaluate, matched)):
            evaluations += latest
            covered = grown(covered, latest)
            curve.append(int(covered.size))
            if on_progress is not None:
                on_progress(Progress("fuzzing control", index + 1, len(bred.played), f"{covered.size} keys covered"))
    except KeyboardInterrupt:
        bred.stop_reason = StopReason.CANCELLED
        return None
    return _summary(evaluations, curve) if evaluations else None


def _generations(
    played: Sequence[Sequence[ActionTrace]],
    evaluate: TraceEvaluator,
    matched: Callable[[int, int, ActionTrace], ActionTrace],
) -> Iterator[list[Evaluation]]:
    """What became of the random traces of each generation, executed many at a time: none depends on another."""
    waiting: list[list[ActionTrace]] = []
    for index, traces in enumerate(played):
        waiting.append([matched(index, place, trace) for place, trace in enumerate(traces)])
        if sum(map(len, waiting)) >= TOGETHER or index == len(played) - 1:
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


def _summary(evaluations: Sequence[Evaluation], curve: Sequence[int]) -> Control:
    outcomes = [evaluation.outcome for evaluation in evaluations]
    return Control(
        traces=len(evaluations),
        steps=sum(evaluation.steps for evaluation in evaluations),
        covered=curve[-1],
        covered_by_generation=tuple(curve),
        best_return=max(evaluation.total_return for evaluation in evaluations),
        goals=outcomes.count(Outcome.GOAL),
        unsafe=outcomes.count(Outcome.UNSAFE),
        failures=len(unsafe_ends(evaluations)),
    )
