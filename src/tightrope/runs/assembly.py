"""From what a run folder holds to what a report shows."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tightrope import __version__
from tightrope.errors import FormatError
from tightrope.execution import Rollout
from tightrope.fuzzing import FuzzResult
from tightrope.outcome import Verdict
from tightrope.performance import Robustness
from tightrope.reference import Reference
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
    Results,
    RunResults,
    SearchSummary,
    StepCost,
    SuiteResult,
    TaskInfo,
    map_picture,
)
from tightrope.report.wording import action_text
from tightrope.runs.campaign import CONTROL, Campaign
from tightrope.runs.gates import safety_gates
from tightrope.runs.present import outdated_steps, present_steps
from tightrope.runs.steps import file_name, step_files
from tightrope.runs.store import RememberingEngine
from tightrope.runs.trust import is_code
from tightrope.safety import SafetyResult, correlation
from tightrope.safety import results as safety_results
from tightrope.simulation import check_task
from tightrope.statistics import Estimate
from tightrope.tasks import Task
from tightrope.trace import ActionTrace

FUZZ_TRACES_ON_MAP = 50
"""More lines than this hide the level."""


def assemble(campaigns: Sequence[tuple[Campaign, RememberingEngine]], title: str | None = None) -> Results:
    """The results of one or more campaigns, each with its engine, as one report."""
    runs = tuple(run_results(campaign, engine) for campaign, engine in campaigns)
    everything = [result for campaign, _ in campaigns for result in _measured(stored_safety(campaign))]
    # Returns of different games are on different scales, so a coefficient over them would say nothing.
    one_game = len({campaign.task.name for campaign, _ in campaigns}) == 1
    return Results(
        title=title or " and ".join(dict.fromkeys(_title(campaign) for campaign, _ in campaigns)),
        runs=runs,
        correlation=correlation(everything) if one_game else Estimate.of_nothing("the tasks differ"),
        tightrope_version=__version__,
    )


def _title(campaign: Campaign) -> str:
    return campaign.config.report.title or campaign.task.label


def run_results(campaign: Campaign, engine: RememberingEngine) -> RunResults:
    """One run as the report shows it."""
    every_step = step_files(campaign.folder)
    outdated = outdated_steps(campaign, every_step)
    steps = {path: step for path, step in every_step.items() if path not in outdated}
    manifest = campaign.folder.manifest()
    found = steps.get("1-search/search.json", {}).get("content", {}).get("found", False)
    reference = campaign.reference() if found else None
    safety = stored_safety(campaign)
    bred = stored_fuzzing(campaign)
    picture = None if reference is None else _picture(campaign.task, engine, reference, bred)
    return RunResults(
        name=campaign.folder.path.name,
        task=_task_info(campaign.task),
        agents=tuple(_agent_infos(campaign)),
        search=_search(steps, reference, picture),
        suites=tuple(suite_result(campaign, name, result) for name, row in safety.items() for result in row.values()),
        fuzzing=None if bred is None else _fuzzing(bred),
        performance=tuple(_performance(result) for result in stored_performance(campaign)),
        costs=tuple(_costs(every_step)),
        gates=tuple(
            GateResult(name=f"{gate.suite} fail frequency", passed=gate.passed, detail=gate.detail, agent=gate.agent)
            for gate in safety_gates(campaign.config.safety, safety, CONTROL)
        ),
        map=picture,
        correlation=correlation(_measured(safety)),
        command=str(manifest.get("command", "")),
        machine=dict(manifest["machine"]),
        versions=dict(manifest["versions"]),
        seeds={"campaign": campaign.config.seed, "reset": campaign.task.seed},
        status=_status(outdated, complete=_complete(campaign, steps)),
    )


def stored_safety(campaign: Campaign) -> dict[str, dict[str, SafetyResult]]:
    """Suite → agent → result, for what is in the folder of the agents and the reference of now."""
    steps = present_steps(campaign)
    results: dict[str, dict[str, SafetyResult]] = {}
    for suite in (*campaign.config.safety.suites, CONTROL):
        for agent in campaign.known_agents:
            step = steps.get(f"2-safety/{file_name(agent)}/{file_name(suite)}.json")
            if step is not None:
                results.setdefault(suite, {})[agent] = SafetyResult.from_json(step["content"])
    return results


def stored_fuzzing(campaign: Campaign) -> FuzzResult | None:
    """The result of step 3 for the first agent's action set, if it is in the folder."""
    step = present_steps(campaign).get(_fuzzing_files(campaign)[0])
    return None if step is None else FuzzResult.from_json(step["content"])


def stored_performance(campaign: Campaign) -> list[Robustness]:
    """The results of step 4 that are in the folder, in the order of the agents."""
    steps = present_steps(campaign)
    names = [f"4-performance/{file_name(agent)}.json" for agent in campaign.known_agents]
    return [Robustness.from_json(steps[name]["content"]) for name in names if name in steps]


def suite_result(campaign: Campaign, name: str, result: SafetyResult) -> SuiteResult:
    """One suite under one agent as the report shows it."""
    return SuiteResult(
        suite=name,
        agent=result.agent,
        fail_frequency=result.fail_frequency,
        survivable_fail_frequency=result.survivable_fail_frequency,
        mean_return=result.mean_return,
        fails_per_1000_steps=result.fails_per_1000_steps,
        cases=tuple(_case(campaign, result, case) for case in result.cases),
        boundary=tuple(_boundary(state) for state in result.boundary_states if state.depth is not None),
        repetitions=result.repetitions,
        length=result.length,
        control=name == CONTROL,
        id=result.suite.id,
    )


def _task_info(task: Task) -> TaskInfo:
    conformance = check_task(task)
    return TaskInfo(
        label=task.label,
        deterministic=conformance.deterministic,
        snapshots=conformance.method,
        action_names=tuple(task.action_names or ()),
        fingerprint=dict(task.fingerprint),
    )


def _agent_infos(campaign: Campaign) -> Iterable[AgentInfo]:
    if len(campaign.config.agents) != len(campaign.known_agents):
        raise FormatError(
            f"{campaign.folder.manifest_path} is damaged: it has settings of {len(campaign.config.agents)} agents and "
            f"fingerprints of {len(campaign.known_agents)}"
        )
    for config, (name, fingerprint) in zip(campaign.config.agents, campaign.known_agents.items(), strict=True):
        noise = f", ε = {config.epsilon:g}" if config.epsilon else ""
        yield AgentInfo(
            name=name, fingerprint=fingerprint, source=config.source, behaviour=f"{config.behaviour}{noise}"
        )


def _search(steps: Mapping[str, Any], reference: Reference | None, picture: MapPicture | None) -> SearchSummary | None:
    step = steps.get("1-search/search.json")
    if step is None:
        return None
    content = step["content"]
    positions = {} if picture is None else dict(enumerate(picture.reference))
    return SearchSummary(
        method=content["method"],
        stop_reason=content["stop_reason"],
        found=content["found"],
        length=None if reference is None else len(reference),
        total_reward=None if reference is None else reference.trace.total_reward,
        steps=content["stats"]["steps"],
        # An archive search expands a cell again and again.
        visited=content["stats"]["cells"] or content["stats"]["expansions"],
        seconds=content["stats"]["seconds"],
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


def _case(campaign: Campaign, result: SafetyResult, case: safety_results.CaseResult) -> CaseResult:
    falls = case.failing_episodes
    return CaseResult(
        id=case.case.id,
        depth=result.suite.depths[case.case.boundary] if result.suite.depths else None,
        handover=len(case.case.prefix),
        label=_label(campaign.task, result, case),
        passes=case.counts[Verdict.PASS],
        fails=case.fails,
        invalid=case.counts[Verdict.INVALID],
        errors=case.errors,
        fail_frequency=case.fail_frequency,
        mean_return=case.mean_return,
        survivable=case.survivable,
        witness=case.witness,
        replay=_replay_command(campaign, case.case.id, result.agent) if falls else "",
        fall=falls[0].trace if falls else None,
    )


def _replay_command(campaign: Campaign, case: str, agent: str) -> str:
    # Quoted where a shell would part it: the case study's agents have names such as "2-moves late (sparse)".
    trust = ["--trust"] if is_code(campaign.config.task) else []
    return shlex.join(["tightrope", "replay", str(campaign.folder.path), case, "--agent", agent, *trust])


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


def _costs(steps: Mapping[str, Any]) -> Iterable[StepCost]:
    names = {"1": "search", "2": "safety", "3": "fuzzing", "4": "performance"}
    totals: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for path, step in steps.items():
        total = totals[names[path[0]]]
        total["seconds"] += step["seconds"]
        for name, value in step["counters"].items():
            total[name] += value
        if path == "1-search/search.json":
            total["steps_executed"] += step["content"]["stats"]["steps"]
    for name, total in totals.items():
        counted = "steps_asked" in total
        yield StepCost(
            step=name,
            steps_asked=int(total["steps_asked"]) if counted else None,
            steps_executed=int(total["steps_executed"]),
            steps_saved=int(total["steps_saved"]) if counted else None,
            agent_queries=int(total["agent_queries"]) if counted else None,
            seconds=total["seconds"],
            episodes=int(total["episodes"]) if counted else None,
        )


def _picture(task: Task, engine: RememberingEngine, reference: Reference, bred: FuzzResult | None) -> MapPicture | None:
    if task.position is None:
        return None
    traces: list[ActionTrace] = [reference.actions]
    if bred is not None:
        traces += bred.fittest[-FUZZ_TRACES_ON_MAP:]
    rollouts = [Rollout(start=trace, fixed_prefix=True, record_positions=True) for trace in traces]
    lines = [episode.positions for episode in engine.run(rollouts)]
    return map_picture(task, reference.actions, lines[0], [line for line in lines[1:] if line is not None])


def _status(outdated: Mapping[str, str], *, complete: bool) -> str:
    """How far the run has come, and which of its results are not shown because they say nothing about it any more."""
    changed = defaultdict(list)
    for path, what in outdated.items():
        changed[what].append(path)
    missing = [] if complete else ["some steps have not been run"]
    missing += [f"left out, because {what} has changed since: {', '.join(paths)}" for what, paths in changed.items()]
    return f"unfinished: {'; '.join(missing)}" if missing else "finished"


def _complete(campaign: Campaign, steps: Mapping[str, Any]) -> bool:
    config = campaign.config
    expected = ["1-search/search.json"]
    if not steps.get("1-search/search.json", {}).get("content", {}).get("found", False):
        return "1-search/search.json" in steps
    for agent in campaign.known_agents:
        expected += [f"2-safety/{file_name(agent)}/{file_name(suite)}.json" for suite in config.safety.suites]
        if config.performance.enabled and config.fuzzing.enabled:
            expected.append(f"4-performance/{file_name(agent)}.json")
    if config.fuzzing.enabled:
        expected += _fuzzing_files(campaign)
    return all(name in steps for name in expected)


def _fuzzing_files(campaign: Campaign) -> list[str]:
    return list(campaign.folder.manifest().get("fuzzing") or ["3-fuzzing/fuzzing.json"])


def _measured(safety: Mapping[str, Mapping[str, SafetyResult]]) -> list[SafetyResult]:
    return [result for suite, row in safety.items() if suite != CONTROL for result in row.values() if result.judged]
