"""Fails where chance decides, all of an agent's together: what they share is found out once, and told of each.

First come those that were lost when the agent took over, as far as is known: that was found out before anyone was
blamed. Where situations come again, a model of the task tells the others apart. Where they do not, or it cannot, the
agent is compared with the best player known from the same situations: apart where it fails mostly and where it does so
now and then, and with fresh runs of it, since these cases were picked because it failed in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, hypot, sqrt

from tightrope.execution import Engine, Rollout
from tightrope.explanation import Cause, Explanation, explain_episodes
from tightrope.explanation.by_model import explain_by_model
from tightrope.explanation.explaining import EFFORT
from tightrope.outcome import Outcome
from tightrope.progress import Progress, ProgressCallback
from tightrope.safety.judging.avoidable import tried_by_chance
from tightrope.safety.judging.case_results import CaseResult
from tightrope.safety.judging.results import SafetyResult
from tightrope.seeding import derive_seed
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.statistics import Estimate, Stratum, stratified_rate_estimate
from tightrope.trace import Action

MOSTLY = 0.5
"""Cases that it fails more often than this are told apart from those that it fails now and then."""
AS_GOOD = 0.1
"""Where the best player known is at most so much better, in survival, failing is called bad luck."""
MOST_RUNS = 400
"""Fresh runs of the agent, all cases of one comparison together: then a difference is known to some 0.07."""
DISAGREEING = 0.1
"""How far from what was measured a model may be, in the mean and beyond chance, before nothing it says is told."""
SHARE_OF_COMPARING, SHARE_WITHOUT_MODEL = 0.1, 0.25
"""Of the steps, for these: where a model of the task has the others, and where it has not."""
STEPS_BY_CHANCE, STEPS_BY_REPLAY = 60_000, 100_000
"""About what looking through one episode by itself takes, and where besides every situation is a replay: with fewer
runs of each decision it would say nothing."""
DECISIONS = 100
"""Situations that this asks about: two for each decision."""
MOST_ALONE = 3
"""Episodes that are looked through by themselves."""

Explanations = dict[str, Explanation]


def explain_together(
    engine: Engine,
    results: Sequence[SafetyResult],
    actions: Sequence[Action] | None,
    steps: int,
    on_progress: ProgressCallback | None = None,
) -> Explanations:
    """By case id, why cases of one agent failed. What cannot be told within the steps is left out."""
    agent, length = results[0].agent, results[0].length

    def tell(done: float, what: str) -> None:
        if on_progress is not None:
            on_progress(Progress("explanations", int(steps * done), steps, f"{agent}: {what}"))

    cases = {case.case.id: case for result in results for case in result.distinct_cases if case.fails}
    every = engine.task.possible_actions if actions is None else tuple(actions)
    may = engine.task.search_actions if every is None else every
    found = {name: replace(_bare(case, length), cause=Cause.LOST) for name, case in cases.items() if _was_lost(case)}
    tell(0, "learning what each decision costs")
    by_model = _by_model(engine, _rest(cases, found), length, may, int(steps * (1 - SHARE_OF_COMPARING)))
    found |= by_model or {}
    rest = _rest(cases, found)
    share = SHARE_WITHOUT_MODEL if by_model is None else SHARE_OF_COMPARING
    tell(0 if by_model is None else 1 - share, "against the best player known")
    if agent in engine.agents:
        found |= _compared(engine, agent, rest, length, int(steps * share))
    worse = {name: rest[name] for name in rest if name in found and found[name].cause is Cause.WORSE}
    left = 0 if by_model is not None else int(steps * (1 - share))
    tell(share if left else 1, "one by one")
    return found | _alone(engine, worse, length, may, left)


def _rest(cases: Mapping[str, CaseResult], found: Mapping[str, Explanation]) -> dict[str, CaseResult]:
    return {name: case for name, case in cases.items() if name not in found}


def _was_lost(case: CaseResult) -> bool:
    """Whether nobody who was tried survived from where the agent took over, the agent included."""
    best = case.survival.best
    return tried_by_chance(case) and best is not None and best.value == 0 and case.fails == len(case.returns)


def _bare(case: CaseResult, length: int) -> Explanation:
    episode, best = case.failing_episodes[0], case.survival.best
    return Explanation(
        trace=episode.trace,
        handover=episode.prefix_steps,
        horizon=length,
        depth=None,
        action=None,
        agents_fault=None,
        proven=False,
        estimates=() if best is None else ((episode.prefix_steps, best),),
        who=case.survival.who,
    )


def _by_model(
    engine: Engine, cases: Mapping[str, CaseResult], length: int, actions: tuple[Action, ...], steps: int
) -> Explanations | None:
    """None where situations do not come again; nothing where what it says is not so."""
    asked = [case.survival for case in cases.values() if case.survival.best is not None]
    if asked and not any(survival.thorough for survival in asked):
        # Whoever looked for the best player found too much to learn.
        return None
    whys = explain_by_model(engine, [case.failing_episodes[0] for case in cases.values()], length, actions, steps)
    if whys is None:
        return None
    found = {name: why for name, why in zip(cases, whys, strict=True) if why is not None}
    return found if _agrees([(found[name], case) for name, case in cases.items() if name in found]) else {}


def _agrees(told: Sequence[tuple[Explanation, CaseResult]]) -> bool:
    """Whether the model says of hand-overs what was measured there: else its keys are not what they seem."""
    away, noise = [], []
    for why, case in told:
        best = case.survival.best
        if tried_by_chance(case) and best is not None and best.value is not None and why.estimates:
            expected = why.estimates[0][1].value or 0.0
            away.append(abs(expected - best.value))
            noise.append(sqrt(expected * (1 - expected) / best.n))
    return sum(away) <= sum(noise) + DISAGREEING * len(away)


def _compared(engine: Engine, agent: str, cases: Mapping[str, CaseResult], length: int, steps: int) -> Explanations:
    """Those with one comparison: nobody does better, or it fails mostly, or now and then."""
    known = {name: case for name, case in cases.items() if tried_by_chance(case)}
    found = {
        name: replace(_bare(case, length), cause=Cause.UNBEATEN)
        for name, case in known.items()
        if case.survival.best is not None and case.survival.who == agent
    }
    known = _rest(known, found)
    mostly = {name: case for name, case in known.items() if (case.fail_frequency.value or 0.0) > MOSTLY}
    others = {name: case for name, case in known.items() if name not in mostly}
    parts = [part for part in (mostly, others) if part]
    for part in (_affordable(engine, part, steps // len(parts)) for part in parts):
        behind = _behind(engine, agent, [*part.values()], length, steps // len(parts))
        if behind.low is None or behind.high is None:
            continue
        cause = Cause.WORSE if behind.low > 0 else Cause.LUCK if behind.high <= AS_GOOD else Cause.OPEN
        fault = True if cause is Cause.WORSE else None
        for name, case in part.items():
            found[name] = replace(_bare(case, length), cause=cause, behind=behind, agents_fault=fault)
    return found


def _affordable(engine: Engine, cases: dict[str, CaseResult], steps: int) -> dict[str, CaseResult]:
    """As many of them as one run each has steps for; the others are not explained."""
    names = list(cases)[: int(steps / max(1.0, _mean_steps(engine, [*cases.values()])))]
    return {name: cases[name] for name in names}


def _behind(engine: Engine, agent: str, cases: Sequence[CaseResult], length: int, steps: int) -> Estimate:
    """How much less often the agent survives in these cases than those who were seen to survive best."""
    if not cases:
        return Estimate.of_nothing()
    runs = _runs(engine, cases, steps)
    rollouts = [
        Rollout(
            start=case.case.prefix,
            agent=agent,
            length=length,
            seed=derive_seed("behind", case.case.id, number),
            fixed_prefix=True,
        )
        for case in cases
        for number in range(runs)
    ]
    episodes = engine.run(rollouts)
    own, best = [], []
    for place, case in enumerate(cases):
        played = [each for each in episodes[place * runs : (place + 1) * runs] if each.error is None]
        seen = case.survival.best
        if not played or seen is None:
            continue
        survived = round((seen.value or 0.0) * seen.n)
        best.append(Stratum(values=[1.0] * survived + [0.0] * (seen.n - survived), weight=1.0))
        own.append(Stratum(values=[float(each.outcome is not Outcome.UNSAFE) for each in played], weight=1.0))
    return _difference(stratified_rate_estimate(best), stratified_rate_estimate(own))


def _runs(engine: Engine, cases: Sequence[CaseResult], steps: int) -> int:
    """Runs of each case; one at least."""
    affordable = int(steps / max(1.0, _mean_steps(engine, cases) * len(cases)))
    return max(1, min(ceil(MOST_RUNS / len(cases)), affordable))


def _mean_steps(engine: Engine, cases: Sequence[CaseResult]) -> float:
    """What one execution of these cases took, in the mean."""
    replays = engine.conformance.method == REPLAY
    taken = [len(each.actions) + replays * len(case.case.prefix) for case in cases for each in case.episodes]
    return sum(taken) / max(1, len(taken))


def _difference(best: Estimate, own: Estimate) -> Estimate:
    if best.value is None or own.value is None:
        return Estimate.of_nothing()
    value = best.value - own.value
    down = hypot(best.value - (best.low or 0.0), (own.high or 0.0) - own.value)
    up = hypot((best.high or 0.0) - best.value, own.value - (own.low or 0.0))
    method = "95% Newcombe, stratified by case, fresh runs"
    return Estimate(value, max(-1.0, value - down), min(1.0, value + up), best.n + own.n, method)


def _alone(
    engine: Engine, cases: Mapping[str, CaseResult], length: int, actions: tuple[Action, ...], steps: int
) -> Explanations:
    """Of those that others would have survived, the shortest looked through by themselves for the decision."""
    price = STEPS_BY_REPLAY if engine.conformance.method == REPLAY else STEPS_BY_CHANCE
    most = min(MOST_ALONE, steps // price)
    chosen = sorted(cases, key=lambda name: len(cases[name].failing_episodes[0].trace))[:most]
    whys = explain_episodes(
        engine,
        [cases[name].failing_episodes[0] for name in chosen],
        length=length,
        actions=actions,
        effort=max(1, min(EFFORT, steps // (DECISIONS * max(most, 1)))),
        learn=False,
    )
    return {name: why for name, why in zip(chosen, whys, strict=True) if why is not None and why.agents_fault}
