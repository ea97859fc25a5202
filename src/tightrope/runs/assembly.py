"""From what a run folder holds to what a report shows."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tightrope import __version__
from tightrope.evaluation import Evaluation
from tightrope.execution import Rollout
from tightrope.fuzzing import FuzzResult
from tightrope.outcome import Verdict
from tightrope.performance import Robustness
from tightrope.reference import Reference
from tightrope.references import SearchResult
from tightrope.report import (
    AgentInfo,
    BoundaryResult,
    BoundarySummary,
    CaseResult,
    FuzzSummary,
    GateResult,
    GenerationSummary,
    MapPicture,
    PerformancePoint,
    PerformanceSummary,
    PlainSummary,
    Results,
    RunResults,
    SearchSummary,
    StepCost,
    SuiteResult,
    TaskInfo,
    map_picture,
)
from tightrope.report.wording import action_text
from tightrope.runs.layout import CONTROL, STEPS
from tightrope.runs.run import Run
from tightrope.runs.trust import is_code
from tightrope.runs.vouching import require_unbroken
from tightrope.safety import SafetyResult, correlation
from tightrope.safety import results as safety_results
from tightrope.simulation import conformance_of
from tightrope.statistics import Estimate
from tightrope.tasks import Task
from tightrope.trace import ActionTrace

FUZZ_TRACES_ON_MAP = 50
"""More lines than this hide the level."""


def report_results(runs: Sequence[Run], title: str | None = None) -> Results:
    """What a report shows of one or more runs; ``tightrope.report.write_report`` writes it.

    Args:
        runs: The runs, in order.
        title: The headline; None: the tasks.
    """
    for run in runs:
        require_unbroken(run)
    shown = tuple(run_results(run) for run in runs)
    everything = [result for run in runs for result in _measured(run.safety)]
    # Returns of different games are on different scales, so a coefficient over them would say nothing.
    one_game = len({run.manifest.task.name for run in runs}) == 1
    return Results(
        title=title or " and ".join(dict.fromkeys(run.config.report.title or run.task_label for run in runs)),
        runs=shown,
        correlation=correlation(everything) if one_game else Estimate.of_nothing("the tasks differ"),
        tightrope_version=__version__,
    )


def run_results(run: Run) -> RunResults:
    """One run as the report shows it."""
    found, safety, bred, performance = run.search, run.safety, run.fuzzing, run.performance
    reference = None if found is None else found.reference
    picture = None if reference is None else _picture(run, reference, bred)
    return RunResults(
        name=run.path.name,
        task=_task_info(run.task),
        agents=tuple(_agent_infos(run)),
        plain=tuple(_plain(evaluation) for evaluation in run.plain.values()),
        search=None if found is None else _search(found, picture),
        suites=tuple(suite_result(run, name, result) for name, row in safety.items() for result in row.values()),
        fuzzing=None if bred is None else _fuzzing(bred),
        performance=tuple(_performance(result) for result in performance.values()),
        costs=tuple(_costs(run)),
        gates=tuple(
            GateResult(
                name=f"{gate.suite} {gate.name}".strip(), passed=gate.passed, detail=gate.detail, agent=gate.agent
            )
            for gate in run.gates
        ),
        map=picture,
        correlation=correlation(_measured(safety)),
        command=run.manifest.command,
        machine=run.manifest.machine,
        versions=run.manifest.versions,
        seeds={"campaign": run.config.seed, "reset": run.manifest.task.seed},
        status=_status(run),
    )


def suite_result(run: Run, name: str, result: SafetyResult) -> SuiteResult:
    """One suite under one agent as the report shows it."""
    return SuiteResult(
        suite=name,
        agent=result.agent,
        fail_frequency=result.fail_frequency,
        fail_frequency_in_general=result.fail_frequency_in_general,
        survivable_fail_frequency=result.survivable_fail_frequency,
        mean_return=result.mean_return,
        fails_per_1000_steps=result.fails_per_1000_steps,
        cases=tuple(_case(run, result, case) for case in result.cases),
        boundary=tuple(_boundary(state) for state in result.boundary_states if state.depth is not None),
        repetitions=None if result.stopped_early else result.repetitions,
        length=result.length,
        decision=str(result.decision) if result.stopped_early else "",
        control=name == CONTROL,
        id=result.suite.id,
    )


def _plain(evaluation: Evaluation) -> PlainSummary:
    return PlainSummary(
        agent=evaluation.agent,
        unsafe_rate=evaluation.unsafe_rate,
        goal_rate=evaluation.goal_rate,
        timeout_rate=evaluation.timeout_rate,
        mean_return=evaluation.mean_return,
        episodes=len(evaluation.judged),
        errors=evaluation.errors,
    )


def _task_info(task: Task) -> TaskInfo:
    conformance = conformance_of(task)
    return TaskInfo(
        label=task.label,
        deterministic=conformance.deterministic,
        snapshots=conformance.method,
        action_names=tuple(task.action_names or ()),
        fingerprint=dict(task.fingerprint),
    )


def _agent_infos(run: Run) -> Iterable[AgentInfo]:
    for name, agent in run.agents.items():
        noise = f", ε = {agent.settings.epsilon:g}" if agent.settings.epsilon else ""
        yield AgentInfo(
            name=name,
            fingerprint=agent.fingerprint,
            source=agent.settings.source,
            behaviour=f"{agent.settings.behaviour}{noise}",
        )


def _search(result: SearchResult, picture: MapPicture | None) -> SearchSummary:
    reference, stats = result.reference, result.stats
    positions = {} if picture is None else dict(enumerate(picture.reference))
    return SearchSummary(
        method=result.method,
        stop_reason=str(result.stop_reason),
        found=reference is not None,
        length=None if reference is None else len(reference),
        total_reward=None if reference is None else reference.trace.total_reward,
        steps=stats.steps,
        # An archive search expands a cell again and again.
        visited=stats.cells or stats.expansions,
        seconds=stats.seconds,
        boundary_states=tuple(
            BoundarySummary(
                depth=state.depth,
                proven=state.proven,
                evidence=dict(state.evidence),
                actions=state.actions,
                position=positions.get(state.depth),
            )
            for state in (reference.boundary_states if reference is not None else ())
        ),
    )


def _case(run: Run, result: SafetyResult, case: safety_results.CaseResult) -> CaseResult:
    failing = case.failing_episodes
    return CaseResult(
        id=case.case.id,
        depth=result.suite.depths[case.case.boundary] if result.suite.depths else None,
        handover=len(case.case.prefix),
        label=_label(run.task, result, case),
        passes=case.counts[Verdict.PASS],
        fails=case.fails,
        invalid=case.counts[Verdict.INVALID],
        errors=case.errors,
        fail_frequency=case.fail_frequency,
        mean_return=case.mean_return,
        survivable=case.survivable,
        witness=case.witness,
        replay=_replay_command(run, case.case.id, result.agent) if failing else "",
        failing_trace=failing[0].trace if failing else None,
    )


def _replay_command(run: Run, case: str, agent: str) -> str:
    # Quoted where a shell would part it: the case study's agents have names such as "2-moves late (sparse)".
    trust = ["--trust"] if is_code(run.config.task) else []
    return shlex.join(["tightrope", "replay", str(run.path), case, "--agent", agent, *trust])


def _label(task: Task, result: SafetyResult, case: safety_results.CaseResult) -> str:
    if case.case.added and case.case.depth is not None:
        # Not every action has a name: MiniGrid names the three that matter of its seven.
        return ", ".join(action_text(action, tuple(task.action_names or ())) for action in case.case.added)
    return case.case.label if result.suite.depths else f"{len(case.case.prefix)} random actions"


def _boundary(state: safety_results.BoundaryResult) -> BoundaryResult:
    assert state.depth is not None
    return BoundaryResult(
        depth=state.depth,
        fail_frequency=state.fail_frequency,
        survivable_fail_frequency=state.survivable_fail_frequency,
        mean_return=state.mean_return,
        cases=len(state.cases),
        invalid=sum(case.invalid for case in state.cases),
        doomed=sum(case.survivable == "no" and bool(case.returns) for case in state.cases),
    )


def _fuzzing(result: FuzzResult) -> FuzzSummary:
    control = result.control
    weights = result.settings.get("weights", (1.0, 1.0, 1.0))
    generations = []
    for position, (generation, fittest) in enumerate(zip(result.generations, result.individuals, strict=True)):
        fitness = fittest.fitness
        generations.append(
            GenerationSummary(
                index=generation.index,
                best_fitness=fitness.value,
                coverage_term=weights[0] * fitness.coverage,
                positive_term=weights[1] * fitness.positive,
                negative_term=weights[2] * fitness.negative,
                best_return=fittest.total_return,
                mean_return=generation.terms["total_return"].mean,
                covered=generation.covered,
                control_covered=None if control is None else control.covered_by_generation[position],
                goals=generation.goals,
                length=len(fittest.trace),
            )
        )
    return FuzzSummary(
        generations=tuple(generations),
        population=result.settings.get("population"),
        stop_reason=str(result.stop_reason),
        covered=result.covered,
        control_covered=None if control is None else control.covered,
        control_best_return=None if control is None else control.best_return,
        best_return=result.best_return,
        settings={name: str(value) for name, value in result.settings.items()},
    )


def _performance(result: Robustness) -> PerformanceSummary:
    points = tuple(
        PerformancePoint(
            prefix_length=point.prefix_length,
            agent=point.agent,
            traces=point.traces,
            difference=point.difference,
            agent_iqm=point.agent_iqm,
            traces_iqm=point.traces_iqm,
            agent_goal_share=point.agent_goal_share,
            traces_goal_share=point.traces_goal_share,
        )
        for point in result.points
    )
    return PerformanceSummary(agent=result.agent, points=points)


def _costs(run: Run) -> Iterable[StepCost]:
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    seconds: dict[str, float] = defaultdict(float)
    for path, entry in run.manifest.artefacts.items():
        step = STEPS[path.partition("/")[0]]
        totals[step].update(entry.cost.counters)
        seconds[step] += entry.cost.seconds
    for step in (step for step in STEPS.values() if step in totals):
        total = totals[step]
        counted = "steps_asked" in total
        yield StepCost(
            step=step,
            steps_asked=int(total["steps_asked"]) if counted else None,
            steps_executed=int(total["steps_executed"]),
            steps_saved=int(total["steps_saved"]) if counted else None,
            agent_queries=int(total["agent_queries"]) if counted else None,
            seconds=seconds[step],
            episodes=int(total["episodes"]) if counted else None,
        )


def _picture(run: Run, reference: Reference, bred: FuzzResult | None) -> MapPicture | None:
    if run.task.position is None:
        return None
    traces: list[ActionTrace] = [reference.actions]
    if bred is not None:
        traces += bred.fittest[-FUZZ_TRACES_ON_MAP:]
    rollouts = [Rollout(start=trace, fixed_prefix=True, record_positions=True) for trace in traces]
    # What is replayed here is little, and mostly stored: not worth starting workers for.
    with run.engine(backend="inline") as engine:
        lines = [episode.positions for episode in engine.run(rollouts)]
    return map_picture(run.task, reference.actions, lines[0], [line for line in lines[1:] if line is not None])


def _status(run: Run) -> str:
    """How far the run has come, and which of its results are not shown because they say nothing about it any more."""
    changed = defaultdict(list)
    for path in run.manifest.artefacts:
        change = run.outdated(path)
        if change is not None and not path.endswith((".suite.json", ".survival.json")):
            changed[change.name].append(path)
    missing = ["some steps have not been run"] if list(run.missing()) else []
    missing += [f"left out, because {what} changed since: {', '.join(paths)}" for what, paths in changed.items()]
    return f"unfinished: {'; '.join(missing)}" if missing else "finished"


def _measured(safety: Mapping[str, Mapping[str, SafetyResult]]) -> list[SafetyResult]:
    return [result for suite, row in safety.items() if suite != CONTROL for result in row.values() if result.judged]
