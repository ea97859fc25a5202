"""One failed episode where chance decides and situations come again: the decision that cost most, by a learnt model.

A model of the task is learnt around the decisions of the episode, as it is for many fails together (``by_model``). It
chooses the moment and says whom to follow. What the decision cost is then measured with fresh runs from there.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from tightrope.execution import Engine, Episode, Rollout
from tightrope.explanation.by_model import Found
from tightrope.explanation.chance import drop_between
from tightrope.explanation.decisions import Fail, FreshRuns, decisions_of, first_ways, is_shown
from tightrope.explanation.explanation import Explanation
from tightrope.explanation.learning import Learner
from tightrope.exploration.learnt_survival import Decision
from tightrope.outcome import Outcome
from tightrope.seeding import derive_seed
from tightrope.statistics import Estimate, rate_estimate
from tightrope.trace import Action

FEWEST_MOMENTS = 20
"""An episode counts as if it had so many decisions: learning whom to follow takes some steps however short it was."""
SHARE_OF_LEARNING = 0.5
"""Of the steps; the rest measures the one decision."""


def explain_by_learning(
    engine: Engine, episode: Episode, length: int, actions: tuple[Action, ...], effort: int
) -> Explanation | None:
    """Why it failed, with about ``effort`` steps for each of its decisions; None where there is too much to learn."""
    if not engine.task.key_is_exact:
        return None
    [fail] = decisions_of(engine, [episode])
    made = list(dict.fromkeys(fail.decisions))
    if not made:
        return None
    steps = effort * max(len(fail.decisions), FEWEST_MOMENTS)
    learner = Learner(engine, length, actions)
    learnt = learner.learn(first_ways([fail], Counter(fail.decisions)), int(steps * SHARE_OF_LEARNING))
    if learnt is None:
        return None
    model, policy = learnt
    fail.places = [made.index(decision) for decision in fail.decisions]
    found = Found([fail], made, *model.of(made), model.steps, length)
    costs = found.drops[0]
    if np.isnan(costs).all():
        return None
    worst = made[int(np.nanargmax(costs))]
    measure = FreshRuns(learner, policy, actions, steps)
    measured, better = measure.drop(worst, [fail])
    if is_shown(measured):
        # Who was learnt may know little of where the decision leads; the agent itself may do better from there.
        own = drop_between(measure.best, _own_survival(engine, fail, worst, length, measure.best.n))
        measured = own if own.value is not None and not is_shown(own) else measured
    if is_shown(measured):
        return found.by_decision(0, worst, measured, better)
    return found.by_decision(0, worst, measured, {}, fault=None)


def _own_survival(engine: Engine, fail: Fail, decision: Decision, length: int, runs: int) -> Estimate:
    """How often the agent survives from where it decides so, in fresh runs; nothing where it is not at hand."""
    agent, start = fail.episode.rollout.agent, fail.trace.prefix(fail.depth(decision))
    if agent is None or agent not in engine.agents or not engine.agents[agent].deterministic:
        return Estimate.of_nothing()
    rollouts = [
        Rollout(
            start=start, agent=agent, length=length, seed=derive_seed("itself", start.id, number), fixed_prefix=True
        )
        for number in range(runs)
    ]
    played = [episode for episode in engine.run(rollouts) if episode.error is None]
    return rate_estimate(sum(episode.outcome is not Outcome.UNSAFE for episode in played), len(played))
