"""What the user wants compared: runs, two agents of one run, or agent files in the situations of a run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from tightrope.cli.arguments.manner import manner_options
from tightrope.cli.arguments.options import named_agent
from tightrope.errors import UsageError

if TYPE_CHECKING:
    from tightrope.runs.questions.contest import Contender
    from tightrope.runs.run import Run
    from tightrope.settings import AgentConfig


def contenders_of(
    sides: list[str], run: Run | None, manner: AgentConfig, agent_a: str | None, agent_b: str | None, *, trust: bool
) -> tuple[list[Contender], list[Contender]]:
    """The contenders that the command line names, and those whose cases they are judged in besides."""
    if run is not None:
        return _files(sides, run, manner.changed(trust=trust)), list(_stored(run, trust).values())
    return _runs([Path(side) for side in sides], agent_a, agent_b, trust), []


def _files(sides: list[str], run: Run, manner: AgentConfig) -> list[Contender]:
    stored = _stored(run, manner.trust)
    return _told_apart([stored.get(side) or _newcomer(side, run, manner, stored) for side in sides], sides)


def _stored(run: Run, trust: bool) -> dict[str, Contender]:
    from tightrope.runs.questions.contest import Contender

    return {name: Contender.of_run(run, name, trust=trust) for name in run.agents}


def _newcomer(side: str, run: Run, manner: AgentConfig, stored: dict[str, Contender]) -> Contender:
    """An agent file; one that the run has tested, playing as it did there, brings what is known of it."""
    from tightrope.runs.campaign import load_agents
    from tightrope.runs.questions.contest import Contender

    name, source = named_agent(side)
    (agent,) = load_agents((manner.changed(source=source, name=name),), run.task).values()
    if agent.name in stored and agent.fingerprint == run.agents[agent.name].fingerprint:
        return stored[agent.name]
    # A name that the run has given to another agent would be taken for that one.
    return Contender(
        name=side if agent.name in stored else agent.name,
        run=run,
        load=lambda: agent,
        options=("--agent", side, *manner_options(manner).split(), *(["--trust"] if manner.trust else [])),
    )


def _runs(paths: list[Path], agent_a: str | None, agent_b: str | None, trust: bool) -> list[Contender]:
    from tightrope.runs.questions.comparison import chosen_agents
    from tightrope.runs.questions.contest import Contender
    from tightrope.runs.run import open_run

    if missing := next((path for path in paths if path.is_file()), None):
        raise UsageError(f"{missing} is not a run folder; {_how_files_meet(paths)}")
    runs = [open_run(path, trust=trust) for path in paths]
    pairs = runs if len(runs) > 1 else runs * 2
    names = list(chosen_agents(pairs[0], pairs[1], agent_a, agent_b))
    for run in pairs[2:]:
        names.append(chosen_agents(pairs[0], run, names[0], None)[1])
    found = [Contender.of_run(run, name, trust=trust) for run, name in zip(pairs, names, strict=True)]
    return _told_apart(found, [run.path.name for run in pairs])


def _how_files_meet(paths: list[Path]) -> str:
    """What to type, where agent files are named without a run, or beside one."""
    files = [str(path) for path in paths if not path.is_dir()]
    rule = "agent files are compared in the situations of a run (--in RUN)"
    if run := next((str(path) for path in paths if path.is_dir()), None):
        return (
            f"{rule}: `tightrope compare AGENT {shlex.join(files)} --in {shlex.quote(run)}`, with AGENT one of that run"
        )
    agents = shlex.join(word for file in files for word in ("--agent", file))
    return (
        f"{rule}. Make one with `tightrope run TASK {agents} --out run/`, then "
        f"`tightrope compare {shlex.join(files)} --in run/`"
    )


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
