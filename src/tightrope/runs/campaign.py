"""The whole job: a run is begun or continued, all four steps are done in order, and the report is written."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from tightrope.agents import Agent, arithmetic_of, load_agent
from tightrope.errors import UsageError
from tightrope.guards.watchdog import time_limited
from tightrope.progress import Progress, ProgressCallback
from tightrope.references import find_method
from tightrope.report import write_report
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.runs.configuration.effort import with_effort
from tightrope.runs.questions.assembly import report_results
from tightrope.runs.run import Run
from tightrope.runs.steps.pipeline import Pipeline
from tightrope.runs.steps.stages import CHECKS, REPORT
from tightrope.runs.storage import layout
from tightrope.runs.storage.artefacts import changes
from tightrope.runs.storage.folder import RunFolder
from tightrope.runs.storage.manifest import Manifest, read_manifest
from tightrope.runs.storage.names import file_name, require_name
from tightrope.runs.storage.recording import present_manifest
from tightrope.runs.storage.store import RememberingEngine
from tightrope.safety import TestSuite
from tightrope.safety.suites.shorthand import parse_spec
from tightrope.settings import AgentConfig
from tightrope.tasks import Task, make_task

LOG = logging.getLogger("tightrope")
KEPT = "what was finished is kept, and the same command continues"
"""What an interruption says of work in a run folder."""


def run_campaign(
    config: CampaignConfig,
    out: str | PathLike[str],
    *,
    on_progress: ProgressCallback | None = None,
    command: str = "",
) -> Run:
    """Run what is not finished yet of a campaign in its folder, and write the report.

    Args:
        config: What to do; ``load_config`` reads it from a file.
        out: The run folder, new or begun.
        on_progress: Called with a ``Progress`` as the work goes on.
        command: How the run was asked for, for its report.
    """
    with working_on(out, config, command=command, on_progress=on_progress) as pipeline:
        run = pipeline.run
        config, believed = pipeline.config, run.manifest.task.stochastic
        if config.plain.episodes:
            pipeline.with_engine(pipeline.plain)
        pipeline.search()
        if run.references:
            pipeline.with_engine(lambda engine: _test(pipeline, engine))
        if config.plain.episodes and run.manifest.task.stochastic is not believed:
            # Those that were played before randomness was seen.
            pipeline.with_engine(pipeline.plain)
        write_run_report(run, on_progress)
        run.save(status="finished")
    return run


def _test(pipeline: Pipeline, engine: RememberingEngine) -> None:
    config, run = pipeline.config, pipeline.run
    pipeline.safety(engine)
    if config.fuzzing.enabled:
        if config.performance.enabled:
            pipeline.expect_performance(engine)
        for actions in run.manifest.action_sets:
            pipeline.fuzzing(engine, actions)
        if config.performance.enabled:
            pipeline.performance(engine)
    run.save(status="tested")


@contextmanager
def working_on(
    out: str | PathLike[str],
    config: CampaignConfig,
    *,
    command: str = "",
    joins: bool = False,
    wait: bool = False,
    anew: bool = False,
    given: TestSuite | None = None,
    on_progress: ProgressCallback | None = None,
) -> Iterator[Pipeline]:
    """A run folder, new or begun, that nobody else writes meanwhile, with what is to be done in it.

    ``joins``: a single step, which adds its agents and suites to those of the run. ``wait`` for another process to end.
    ``anew``: without what was there.
    """
    folder = RunFolder.create_or_open(out)
    with folder.locked(wait=wait), time_limited(config.execution.step_timeout):
        if anew:
            folder.clear()
        if on_progress is not None:
            on_progress(Progress(CHECKS, 0, None, "loading the task and its agents"))
        task = make_task(config.task, **config.options)
        # Said now, not after a search of minutes.
        find_method(config.search.method)
        for spec in config.safety.suites if given is None else ():
            parse_spec(spec)
        agents = load_agents(config.agents, task)
        earlier = read_manifest(folder.manifest_path) if folder.manifest_path.exists() else None
        config = with_effort(config, task, agents.values(), None if earlier is None else earlier.settings)
        manifest = present_manifest(earlier, config, task, agents, command=command, joins=joins)
        run = Run(folder, manifest, task=task)
        pipeline = Pipeline(run=run, config=config, agents=agents, on_progress=on_progress, given=given)
        if earlier is not None:
            _refuse_another_task(run, earlier)
            if not joins:
                _refuse_other_settings(pipeline)
                _say_what_is_left_out(run, earlier)
        run.save(status="running")
        try:
            yield pipeline
        except KeyboardInterrupt:
            raise KeyboardInterrupt(KEPT) from None


def load_agents(configs: tuple[AgentConfig, ...], task: Task) -> dict[str, Agent]:
    """The agents under test, by name."""
    agents: dict[str, Agent] = {}
    for config in configs:
        agent = load_agent(
            config.source,
            task,
            name=config.name,
            behaviour=config.behaviour,
            epsilon=config.epsilon,
            trust=config.trust,
        )
        require_name(agent.name, config.source)
        same = next((name for name in agents if file_name(name).lower() == file_name(agent.name).lower()), None)
        if same is not None:
            both = repr(same) if same == agent.name else f"{same!r} and {agent.name!r}, which share a file name"
            raise UsageError(f"two agents are named {both}; name them apart, as in --agent late={config.source}")
        agents[agent.name] = agent
        if arithmetic := arithmetic_of(agent):
            LOG.warning("agent %r reckons in %s. What is found holds for it as it is", agent.name, arithmetic)
    return agents


def write_run_report(run: Run, on_progress: ProgressCallback | None = None) -> Path:
    """Make the report of what a run holds."""
    if on_progress is not None:
        on_progress(Progress(REPORT, 0, None, "gathering results"))
    return write_report(
        report_results([run]),
        run.report_path.parent,
        tasks=[run.task],
        videos=run.config.report.videos,
        on_progress=on_progress,
    )


def _refuse_another_task(run: Run, earlier: Manifest) -> None:
    if run.task_label != earlier.task.label:
        raise UsageError(
            f"{run.path} holds a run of {earlier.task.label}, not of {run.task_label}; choose another folder with --out"
        )


def _refuse_other_settings(pipeline: Pipeline) -> None:
    """Agents and suites may join or leave, since each has results of its own; how things were made stays."""
    run = pipeline.run
    found = [
        str(change)
        for path, settings in pipeline.planned()
        if path in run.manifest.artefacts
        for change in changes(run.manifest.artefacts[path], settings, ())
        if change.name != layout.UNTIL_DECIDED
    ]
    if found:
        raise UsageError(
            f"{run.path} holds results of other settings ({'; '.join(dict.fromkeys(found))}). Give the same settings "
            f"to continue it, or another folder with --out; agents can be added to it under other names, and suites"
        )


def _say_what_is_left_out(run: Run, earlier: Manifest) -> None:
    """Gates and a report without an agent or a suite must not be taken for those with them."""
    gone = [f"agent {name}" for name in earlier.agents if name not in run.agents]
    gone += [f"suite {suite}" for suite in earlier.settings.safety.suites if suite not in run.suites]
    if gone:
        LOG.warning(
            "not named in this command, so left out of gates and report (its results are kept): %s", ", ".join(gone)
        )
