"""What the user wants compared: runs, two agents of one run, or agent files in the situations of a run or of a task."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from tightrope.cli.arguments.manner import manner_options
from tightrope.cli.arguments.options import agent_configs, named_agent, task_options
from tightrope.cli.output.interface import current_interface
from tightrope.errors import UsageError

if TYPE_CHECKING:
    from tightrope.cli.arguments.given import Given
    from tightrope.runs.questions.contender import Contender
    from tightrope.runs.run import Run
    from tightrope.settings import AgentConfig


def check_place(task: str | None, place: Path | None, settings: list[str], out: Path | None) -> None:
    """Refuse options that contradict each other, or mean nothing alone."""
    if task is not None and place is not None:
        raise UsageError("--task finds situations and --in takes those of a run; give one of them")
    if task is None and (settings or out is not None):
        raise UsageError("--set and --out go with --task; name the task of the agent files")


def tested_together(
    sides: list[str], task: str, settings: list[str], folder: Path, given: Given, *, trust: bool
) -> list[Contender]:
    """Agents that no run knows yet: a run of all of them, with default budgets, finds the situations and tests them."""
    from tightrope.runs.campaign import run_campaign
    from tightrope.runs.configuration.config import CampaignConfig
    from tightrope.runs.questions.contender import Contender
    from tightrope.runs.steps.stages import stages

    if run := next((side for side in sides if _is_run(side)), None):
        raise UsageError(f"{run} is a run, which knows its task; leave out --task")
    config = CampaignConfig(task=task, options=task_options(settings), agents=agent_configs(sides, given, trust))
    if len(config.agents) < 2:
        raise UsageError("a comparison needs at least two agents")
    interface = current_interface()
    with interface.progress(stages(config, len(config.agents))) as show:
        run_of_all = run_campaign(config, folder, on_progress=show, command=interface.command)
    interface.say(f"All of them were tested in {folder}; report: {run_of_all.report_path}")
    return [Contender.of_run(run_of_all, name, trust=trust) for name in run_of_all.agents]


def home_of(sides: list[str], place: Path | None, *, trust: bool) -> Run | None:
    """The run in whose situations agent files are tested: the one named, or the first beside them; None: no files."""
    from tightrope.runs.run import open_run

    if place is not None:
        return open_run(place, trust=trust)
    file = next((side for side in sides if _is_agent(side)), None)
    if file is None:
        return None
    if run := next((side for side in sides if _is_run(side)), None):
        return open_run(run, trust=trust)
    raise UsageError(
        f"which task? {file} does not say what it was trained for: `tightrope compare {shlex.join(sides)} --task TASK` "
        f"(`tightrope tasks` lists them), or --in RUN for the situations of a run"
    )


def contenders_of(
    sides: list[str], home: Run | None, manner: AgentConfig, agent_a: str | None, agent_b: str | None, *, trust: bool
) -> tuple[list[Contender], list[Contender]]:
    """The contenders that the command line names, and those whose cases they are judged in besides."""
    if home is None:
        return _runs([Path(side) for side in sides], agent_a, agent_b, trust), []
    stored, manner = _stored(home, trust), manner.changed(trust=trust)
    wanted = [agent_a] + [agent_b] * len(sides)
    found = [
        _of_run(side, name, trust) if _is_run(side) else stored.get(side) or _newcomer(side, home, manner, stored)
        for side, name in zip(sides, wanted, strict=False)
    ]
    return _told_apart(found, sides), list(stored.values())


def _is_run(side: str) -> bool:
    return (Path(side) / "run.json").is_file()


def _is_agent(side: str) -> bool:
    from tightrope.agents.sources.loaders import loader_for

    source = named_agent(side)[1]
    return not _is_run(side) and (Path(source).is_file() or loader_for(source) is not None)


def _of_run(side: str, name: str | None, trust: bool) -> Contender:
    from tightrope.runs.questions.contender import Contender
    from tightrope.runs.run import open_run

    run = open_run(side, trust=trust)
    if name is None and len(run.agents) != 1:
        raise UsageError(f"which agent of {side}? Name it with --agent-a or --agent-b: {', '.join(run.agents)}")
    return Contender.of_run(run, name or next(iter(run.agents)), trust=trust)


def _stored(run: Run, trust: bool) -> dict[str, Contender]:
    from tightrope.runs.questions.contender import Contender

    return {name: Contender.of_run(run, name, trust=trust) for name in run.agents}


def _newcomer(side: str, run: Run, manner: AgentConfig, stored: dict[str, Contender]) -> Contender:
    """An agent file; one that the run has tested, playing as it did there, brings what is known of it."""
    from dataclasses import replace

    from tightrope.runs.campaign import load_agents
    from tightrope.runs.questions.contender import Contender

    name, source = named_agent(side)
    (agent,) = load_agents((manner.changed(source=source, name=name),), run.task).values()
    known = [each for each in stored.values() if agent.fingerprint == run.agents[each.stored_as].fingerprint]
    if same := next((each for each in known if each.name == agent.name), None):
        return same
    # A name that the run has given to another agent would be taken for that one.
    called = side if agent.name in stored else agent.name
    newcomer = Contender(
        name=called,
        run=run,
        load=lambda: agent,
        options=("--agent", side, *manner_options(manner).split(), *(["--trust"] if manner.trust else [])),
    )
    if not known:
        return newcomer
    safety = {suite: replace(result, agent=called) for suite, result in known[0].safety.items()}
    return replace(newcomer, safety=safety, plain=known[0].plain, performance=known[0].performance)


def _runs(paths: list[Path], agent_a: str | None, agent_b: str | None, trust: bool) -> list[Contender]:
    from tightrope.runs.questions.comparison import chosen_agents
    from tightrope.runs.questions.contender import Contender
    from tightrope.runs.run import open_run

    runs = [open_run(path, trust=trust) for path in paths]
    pairs = runs if len(runs) > 1 else runs * 2
    names = list(chosen_agents(pairs[0], pairs[1], agent_a, agent_b))
    for run in pairs[2:]:
        names.append(chosen_agents(pairs[0], run, names[0], None)[1])
    found = [Contender.of_run(run, name, trust=trust) for run, name in zip(pairs, names, strict=True)]
    return _told_apart(found, [run.path.name for run in pairs])


def _told_apart(contenders: list[Contender], places: list[str]) -> list[Contender]:
    """Names that several share get the place they come from beside them."""
    from dataclasses import replace

    names = [contender.name for contender in contenders]
    return [
        contender
        if names.count(contender.name) == 1
        else replace(
            contender,
            name=f"{contender.name} of {place}",
            safety={
                suite: replace(result, agent=f"{contender.name} of {place}")
                for suite, result in contender.safety.items()
            },
        )
        for contender, place in zip(contenders, places, strict=True)
    ]
