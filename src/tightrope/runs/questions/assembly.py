"""What a report shows of a run folder: the results as they are, and the map that is drawn for them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from tightrope import __version__
from tightrope.execution import Episode, Rollout
from tightrope.report import AgentInfo, MapPicture, Results, RunResults, StepCost, map_picture
from tightrope.report.results import FINISHED
from tightrope.runs.configuration.effort import spent_text
from tightrope.runs.questions.reasons import case_command
from tightrope.runs.run import Run
from tightrope.runs.steps.cross_check import require_unbroken
from tightrope.runs.storage.episode_results import LostEpisode, stored_episodes
from tightrope.runs.storage.layout import CONTROLS, STEPS
from tightrope.runs.storage.store import episode_id
from tightrope.simulation import conformance_of
from tightrope.trace import ActionTrace

FUZZ_TRACES_ON_MAP = 50
"""More lines than this hide the level."""


def report_results(runs: Sequence[Run], title: str | None = None, *, play: bool = True) -> Results:
    """What a report shows of one or more runs; ``tightrope.report.write_report`` writes it.

    Args:
        runs: The runs, in order.
        title: The headline; None: the tasks.
        play: Play the references again for the map where that was not done yet; without it nothing is played and
            nothing is written, and another process may be writing the run.
    """
    for run in runs:
        require_unbroken(run)
    return Results(
        title=title or " and ".join(dict.fromkeys(run.config.report.title or run.task_label for run in runs)),
        runs=tuple(run_results(run, play=play) for run in runs),
        tightrope_version=__version__,
    )


def run_results(run: Run, *, play: bool = True) -> RunResults:
    """One run as the report shows it; ``play`` as in `report_results`."""
    return RunResults(
        name=run.path.name,
        task=run.task,
        agents=tuple(_agent_infos(run)),
        plain=run.plain,
        search=run.search,
        references=run.references,
        safety=run.safety,
        controls=CONTROLS,
        fuzzing=run.fuzzing,
        performance=run.performance,
        gates=run.gates,
        costs=tuple(_costs(run)),
        spent=spent_text(run.config.effort),
        conformance=conformance_of(run.task) if play else None,
        map=_picture(run, _played if play else _found),
        replay=lambda case, agent: case_command("replay", run, case, agent),
        explain=lambda case, agent: case_command("explain", run, case, agent),
        command=run.manifest.command,
        machine=run.manifest.machine,
        versions=run.manifest.versions,
        seeds={"campaign": run.config.seed, "reset": run.manifest.task.seed},
        status=_status(run),
    )


def _agent_infos(run: Run) -> Iterable[AgentInfo]:
    for name, agent in run.agents.items():
        noise = f", ε = {agent.settings.epsilon:g}" if agent.settings.epsilon else ""
        yield AgentInfo(
            name=name,
            fingerprint=agent.fingerprint,
            source=agent.settings.source,
            behaviour=f"{agent.settings.behaviour}{noise}",
            arithmetic=agent.arithmetic,
        )


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


def _picture(run: Run, show: Callable[[Run, list[Rollout]], list[Episode]]) -> MapPicture | None:
    ways = _ways(run)
    if run.task.position is None or not ways:
        return None
    bred = () if run.fuzzing is None else run.fuzzing.fittest[-FUZZ_TRACES_ON_MAP:]
    rollouts = [Rollout(start=trace, fixed_prefix=True, record_positions=True) for trace in (*ways, *bred)]
    lines = [episode.positions for episode in show(run, rollouts)]
    if not lines:
        return None
    fuzz = [line for line in lines[len(ways) :] if line is not None]
    return map_picture(run.task, ways[0], lines[: len(ways)], fuzz)


def _played(run: Run, rollouts: list[Rollout]) -> list[Episode]:
    # What is replayed here is little, and mostly stored: not worth starting workers for.
    with run.engine(backend="inline") as engine:
        return engine.run(rollouts)


def _found(run: Run, rollouts: list[Rollout]) -> list[Episode]:
    """The same where it is stored; nothing where a part of it is not."""
    task = run.manifest.task.fingerprint
    try:
        with stored_episodes(run.folder.episodes_path) as fetch:
            return [fetch(rollout, {"id": episode_id(rollout, None, task)}) for rollout in rollouts]
    except LostEpisode:
        return []


def _ways(run: Run) -> list[ActionTrace]:
    """The references, under the numbers that the suites call them by."""
    if run.reference is None:
        return []
    suites = [result.suite for name, row in run.safety.items() if name not in CONTROLS for result in row.values()]
    others = max((suite.others for suite in suites), key=len, default=())
    return [run.reference.actions, *(way.actions for way in others)]


def _status(run: Run) -> str:
    """How far the run has come, and which of its results are not shown because they say nothing about it any more."""
    changed = defaultdict(list)
    for path in run.manifest.artefacts:
        change = run.outdated(path)
        if change is not None and not path.endswith((".suite.json", ".survival.json", ".why.json")):
            changed[change.name].append(path)
    missing = ["some steps have not been run"] if list(run.missing()) else []
    missing += [f"left out, because {what} changed since: {', '.join(paths)}" for what, paths in changed.items()]
    return f"unfinished: {'; '.join(missing)}" if missing else FINISHED
