"""A gate that runs no more of a suite than it needs: executions are drawn until it is decided either way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from functools import partial

from tightrope.agents import Agent
from tightrope.execution import Engine, Episode, begun_again_if_stochastic, borrowed_engine
from tightrope.exploration.watch_length import choose_watch
from tightrope.progress import Progress, ProgressCallback
from tightrope.safety.gate_draws import Drawing
from tightrope.safety.judging.avoidable import fate_of
from tightrope.safety.judging.claims import SuiteSurvival
from tightrope.safety.judging.gate_decision import GateDecision
from tightrope.safety.judging.judge import exactly_decided, judge_episode, judge_suite
from tightrope.safety.judging.results import SafetyResult
from tightrope.safety.judging.survival import find_survival
from tightrope.safety.run import case_rollout, check_suite, run_suite, without_strange_actions
from tightrope.safety.suites.executions import EXECUTIONS
from tightrope.safety.suites.replay import replayed_reference
from tightrope.safety.suites.suite import TestCase, TestSuite
from tightrope.settings import LIBRARY_BACKEND, BackendName, Count, Fraction, SafetyConfig, require
from tightrope.statistics import Estimate, SequentialDecision, SequentialGate
from tightrope.statistics.sequential import ALPHA
from tightrope.statistics.words import count, plainly
from tightrope.tasks import Task
from tightrope.trace import Action

MOST = 1000
"""Executions after which a gate that is still open is left undecided: a rate of half the limit, or twice, is decided in
a third of them where the limit is 0.05."""


@begun_again_if_stochastic
def decide_gate(
    task: Task,
    agent: Agent,
    suite: TestSuite,
    limit: float,
    repetitions: int | None = SafetyConfig.repetitions,
    length: int | None = SafetyConfig.length,
    seed: int = 0,
    *,
    most: int = MOST,
    fixed_prefix: bool = SafetyConfig.fixed_prefix,
    survivable: bool | SuiteSurvival = True,
    actions: Sequence[Action] | None = None,
    allow_changed: bool = False,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
    workers: int | None = None,
    on_progress: ProgressCallback | None = None,
) -> SafetyResult:
    """Find out whether the agent fails these cases more often than allowed, with as few executions as it takes.

    Each execution is of a case drawn anew, so that each fails with the suite's own frequency, and a test that may be
    looked at after every one of them says when enough is known (at most 5 % wrong on either side, wherever it stops).
    Doomed cases are left out, and what nobody can help is allowed beside the limit, as at every gate. Where nothing is
    random every case is executed once instead.
    The result holds what was executed; its ``decision`` says how the gate went and what was saved.

    Args:
        task: The task to be solved.
        agent: The agent under test.
        suite: The cases.
        limit: The avoidable fail frequency that is still allowed.
        repetitions: Executions of each case in the whole suite, which the saving is measured by; a case of which so
            many ended before hand-over, and none did not, is invalid. None: as many as ``run_suite`` would make.
        length: Steps to watch after hand-over; None: to the task's time limit, at most 500.
        seed: Determines everything random, the draws included.
        most: Executions after which the gate is left undecided.
        fixed_prefix: In stochastic tasks, whether the prefix leads to the very situation of the case, with fresh
            randomness after hand-over only. False: the paper's way, where the prefix itself is left to chance.
        survivable: Whether to find out what could be survived, and by whom; or what is known of that already.
        actions: What the agent can do; None: all the environment takes.
        allow_changed: Test even where the reference leads elsewhere than when the suite was made.
        engine: The engine to run on; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
        on_progress: Called with a ``Progress`` as the work goes on.
    """
    watch = choose_watch(task, suite.longest_way, length)
    length = watch.steps
    check_suite(task, suite, repetitions, allow_changed)
    require("limit", limit, Fraction)
    require("most", most, Count)
    with borrowed_engine(task, {agent.name: agent}, engine, backend, workers) as runner:
        reference = replayed_reference(runner, suite, allow_changed=allow_changed)
        if survivable is True:
            survivable = find_survival(
                runner, suite, length, seed=seed, reference=reference, actions=actions, on_progress=on_progress
            )
        known = survivable or SuiteSurvival()
        # A prefix that is fixed ends in every execution or in none: that takes no more of them in a small suite.
        patience = repetitions or EXECUTIONS
        repetitions = repetitions or known.executions or EXECUTIONS
        if runner.deterministic and agent.deterministic:
            return exactly_decided(
                run_suite(
                    task, agent, suite, repetitions, length, seed, fixed_prefix=fixed_prefix, survivable=known,
                    allow_changed=allow_changed, engine=runner, on_progress=on_progress,
                ),
                limit,
            )  # fmt: skip
        doomed = known.doomed(length) & {case.id for case in suite.cases}
        fate = _fate(suite, known, doomed, length) if fixed_prefix else None
        gate = _gate(limit, fate)
        drawing = Drawing(suite, gate, without=doomed, patience=patience, most=most, seed=seed)
        told = partial(_tell, on_progress, suite.name, gate, most)
        episodes = _executed(runner, agent.name, drawing, told, length=length, seed=seed, fixed_prefix=fixed_prefix)
    return judge_suite(
        suite,
        episodes,
        agent=agent.name,
        fingerprint=agent.fingerprint,
        repetitions=repetitions,
        length=length,
        seed=seed,
        fixed_prefix=fixed_prefix,
        survival=known,
        watch=watch.why,
        decision=_decision(gate, drawing, fate, doomed, whole=repetitions * len({case.id for case in suite.cases})),
    )


def _executed(
    engine: Engine,
    agent: str,
    drawing: Drawing,
    told: Callable[[int], None],
    *,
    length: int,
    seed: int,
    fixed_prefix: bool,
) -> list[Episode]:
    """What was drawn until the gate was decided, or too much was; ``told`` is told how much, batch by batch."""
    episodes: list[Episode] = []
    while work := drawing.ask():
        rollouts = [
            case_rollout(case, agent, number, length=length, seed=seed, fixed_prefix=fixed_prefix)
            for case, number in work
        ]
        batch = [without_strange_actions(engine.task, episode) for episode in engine.run(rollouts)]
        drawing.tell([judge_episode(episode, length) for episode in batch])
        episodes += batch
        told(len(episodes))
    return episodes


def _tell(on_progress: ProgressCallback | None, suite: str, gate: SequentialGate, most: int, done: int) -> None:
    if on_progress is not None:
        on_progress(Progress("safety", done, most, f"{suite}: {plainly(count(gate.fails, 'fail'))}"))


def _gate(limit: float, fate: Estimate | None) -> SequentialGate:
    """The test; where what nobody can help is an estimate itself, either of the two may err half as often."""
    if fate is None or fate.low is None or fate.high is None:
        return SequentialGate(limit)
    return SequentialGate(limit, ALPHA / 2, beside=(fate.low, fate.high))


def _fate(suite: TestSuite, known: SuiteSurvival, doomed: set[str], length: int) -> Estimate | None:
    """What nobody can help on the cases that are drawn from, each as likely as it is drawn."""
    places: dict[tuple[int, int], list[TestCase]] = defaultdict(list)
    for case in suite.cases:
        # One that is not among them ends before hand-over.
        if case.id in known.by_case and case.id not in doomed:
            places[case.reference, case.boundary].append(case)
    return fate_of(
        [(known.by_case[case.id].within(length), 1 / len(cases)) for cases in places.values() for case in cases]
    )


def _decision(
    gate: SequentialGate, drawing: Drawing, fate: Estimate | None, doomed: Collection[str], *, whole: int
) -> GateDecision:
    within = {None: None, SequentialDecision.WITHIN: True, SequentialDecision.ABOVE: False}[gate.decision]
    return GateDecision(
        limit=gate.limit,
        # What raised might have been a fail: it cannot make a gate pass, nor excuse one that fails without it.
        decided=None if within and gate.unknown else within,
        draws=gate.n,
        executions=drawing.executions,
        fails=gate.fails,
        errors=gate.unknown,
        whole=whole,
        estimate=gate.estimate,
        fate=fate,
        left_out=tuple(sorted(doomed)),
    )
