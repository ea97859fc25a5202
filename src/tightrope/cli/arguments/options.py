"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tightrope.cli.arguments.given import Given
from tightrope.errors import FormatError, UsageError
from tightrope.settings import AgentConfig, ExecutionConfig

if TYPE_CHECKING:
    from tightrope.agents import Agent
    from tightrope.tasks import Task


def tasks_like(incomplete: str) -> list[str]:
    """The named tasks that a shell offers; of nothing typed yet it offers files, as everywhere."""
    from tightrope.tasks.registry import task_builders

    return [name for name in task_builders() if incomplete and name.startswith(incomplete)]


TaskArgument = Annotated[
    str,
    typer.Argument(
        metavar="TASK",
        help="A task: its name (`tightrope tasks` lists them) or module:name of yours.",
        autocompletion=tasks_like,
    ),
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
OutOption = Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The run folder to write.")]
SettingOption = Annotated[
    list[str], typer.Option("--set", metavar="NAME=VALUE", help="An option of the task; repeat for more.")
]
AgentOption = Annotated[
    list[str],
    typer.Option(
        "--agent",
        "-a",
        metavar="[NAME=]SOURCE",
        help="An agent: a file, pkg.module:factory, http://… or hf:…; repeatable.",
    ),
]
TrustOption = Annotated[
    bool,
    typer.Option("--trust", help="Allow files to run code: pickled agents, and code that a run or suite file names."),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of all randomness.", min=0)]
RunSeedOption = Annotated[int | None, typer.Option("--seed", help="Seed of all randomness; default: the run's.", min=0)]

PortOption = Annotated[
    int | None,
    typer.Option("--port", help="Port of the live page on this machine; default: any free one.", min=1, max=65535),
]


def task_options(settings: list[str]) -> dict[str, Any]:
    """Options of a task from ``--set name=value``."""
    options: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise UsageError(f"--set takes NAME=VALUE, not {setting!r}; for example --set is_slippery=false")
        options[name] = _value(value)
    return options


def agent_configs(agents: list[str], given: Given, trust: bool = False) -> tuple[AgentConfig, ...]:
    """The agents named on the command line."""
    how = given.values.get("agents", {})
    if not agents and (how or trust):
        raise UsageError("--behaviour, --epsilon and --trust go with --agent; name the agent they are meant for")
    named = map(named_agent, _each_checkpoint(agents))
    return tuple(AgentConfig(source=source, name=name, trust=trust, **how) for name, source in named)


def agents_to_test(
    verb: str, task: str, settings: list[str], agents: list[str], given: Given, *, trust: bool
) -> tuple[Task, dict[str, Agent]]:
    """The task and its agents, for verbs that need both and no run folder."""
    from tightrope.runs.campaign import load_agents
    from tightrope.tasks import make_task

    if not agents:
        raise UsageError(f"which agent? For example: tightrope {verb} {task} --agent agent.onnx")
    built = make_task(task, **task_options(settings))
    return built, load_agents(agent_configs(agents, given, trust), built)


def execution_config(given: Given, stored: ExecutionConfig) -> ExecutionConfig:
    """Where to do the work: as stored, with what was given on the command line changed."""
    config = given.changed("execution", stored)
    return config if given.get("execution", "ray_address") is None else config.changed(backend="ray")


def uses_stored_cluster(given: Given) -> bool:
    """Whether the work goes where a stored configuration says, because the command line says nothing else."""
    return given.get("execution", "ray_address") is None and given.get("execution", "backend") in (None, "ray")


def _each_checkpoint(agents: list[str]) -> list[str]:
    """Agents with a folder of checkpoints replaced by the files in it."""
    from tightrope.agents.sources.checkpoints import checkpoints_in
    from tightrope.agents.sources.loaders import loader_for

    found: list[str] = []
    for agent in agents:
        folder = Path(agent).is_dir() and loader_for(agent) is None
        found += map(str, checkpoints_in(Path(agent))) if folder else [agent]
    return found


def named_agent(agent: str) -> tuple[str | None, str]:
    """The name that an agent was given, if any, and its source."""
    name, equals, source = agent.partition("=")
    # A path may hold an equals sign of its own, as in models/lr=0.1/agent.onnx.
    return (name, source) if equals and name and not Path(agent).exists() else (None, agent)


def _value(text: str) -> Any:
    """YAML reads 4 as a number and true as a truth; a level such as 1-1 stays text, as does what is no YAML."""
    from tightrope.files.settings import parse_yaml

    try:
        value = parse_yaml(text, "--set")[0] if text else ""
    except FormatError:
        return text
    return value if isinstance(value, bool | int | float | str | list | None) else text
