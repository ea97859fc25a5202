"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import BaseModel

from tightrope.errors import FormatError, UsageError
from tightrope.runs.config import AgentConfig, ExecutionConfig

Settings = TypeVar("Settings", bound=BaseModel)

TaskArgument = Annotated[
    str, typer.Argument(metavar="TASK", help="A task: its name (`tightrope tasks` lists them) or module:name of yours.")
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
OutOption = Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The run folder to write.")]
SettingOption = Annotated[
    list[str], typer.Option("--set", metavar="NAME=VALUE", help="An option of the task; repeat for more.")
]
AgentOption = Annotated[
    list[str],
    typer.Option("--agent", "-a", metavar="[NAME=]SOURCE", help="An agent: a file or pkg.module:factory; repeatable."),
]
BehaviourOption = Annotated[
    str | None, typer.Option("--behaviour", help="The agents' actions: greedy (default) or sampled.")
]
EpsilonOption = Annotated[
    float | None, typer.Option("--epsilon", help="Share of random actions among the agents'.", min=0, max=1)
]
SuiteOption = Annotated[
    list[str], typer.Option("--suite", help="simple, interval:SIZE, coverage:K, or what a package brings; repeatable.")
]
RepetitionsOption = Annotated[
    int | None, typer.Option("--repetitions", "-n", help="Executions of each case (default: 10).", min=1)
]
LengthOption = Annotated[int | None, typer.Option("--length", "-l", help="Steps to survive (default: 40).", min=1)]
MaxFailOption = Annotated[
    float | None, typer.Option("--max-fail", help="Gate: exit with 1 when a fail frequency is above.", min=0, max=1)
]
GateOnOption = Annotated[
    str | None, typer.Option("--gate-on", help="Gate on the value (default), or on high: its interval's upper limit.")
]
UntilDecidedOption = Annotated[
    bool | None,
    typer.Option("--until-decided", help="Run no more executions than --max-fail needs to be decided."),
]
TrustOption = Annotated[
    bool, typer.Option("--trust", help="Let files run code: pickled agents, and what a run or suite file names.")
]
SeedOption = Annotated[int, typer.Option("--seed", help="All randomness follows from it.", min=0)]
RunSeedOption = Annotated[
    int | None, typer.Option("--seed", help="All randomness follows from it; default: the run's.", min=0)
]
BackendOption = Annotated[
    str | None, typer.Option("--backend", help="Where to work: inline, processes (default) or ray.")
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", help="Default: one per core.", min=1, show_default=False)
]
StepTimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--step-timeout",
        metavar="SECONDS",
        help="Longest that a step, a reset or an answer may take (default: 300; 0: no limit).",
        min=0,
        show_default=False,
    ),
]
RayOption = Annotated[
    str | None, typer.Option("--ray", metavar="ADDRESS", help="Run on this Ray cluster.", show_default=False)
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


def agent_configs(
    agents: list[str], behaviour: str | None = None, epsilon: float | None = None, trust: bool = False
) -> tuple[AgentConfig, ...]:
    """The agents named on the command line."""
    if behaviour not in (None, "greedy", "sampled"):
        raise UsageError(f"--behaviour is greedy or sampled, not {behaviour!r}")
    if not agents and (behaviour or epsilon or trust):
        raise UsageError("--behaviour, --epsilon and --trust go with --agent; name the agent they are meant for")
    return tuple(
        AgentConfig.model_validate(
            {
                "source": source,
                "name": name,
                "behaviour": behaviour or "greedy",
                "epsilon": epsilon or 0,
                "trust": trust,
            }
        )
        for name, source in map(_named, _each_checkpoint(agents))
    )


def execution_config(
    backend: str | None,
    workers: int | None,
    ray: str | None,
    stored: ExecutionConfig | None = None,
    step_timeout: float | None = None,
) -> ExecutionConfig:
    """Where to do the work: as stored, with what was given on the command line changed."""
    if ray is not None:
        backend = "ray"
    given = {"backend": backend, "workers": workers, "ray_address": ray, "step_timeout": step_timeout}
    return changed(stored or ExecutionConfig(), **given)


def uses_stored_cluster(backend: str | None, ray: str | None) -> bool:
    """Whether the work goes where a stored configuration says, because the command line says nothing else."""
    return ray is None and backend in (None, "ray")


def changed(section: Settings, **given: Any) -> Settings:
    """A part of the configuration with the options that were given (not None) in place of its own values."""
    return type(section).model_validate(
        {**section.model_dump(), **{name: value for name, value in given.items() if value is not None}}
    )


def _each_checkpoint(agents: list[str]) -> list[str]:
    """Agents with a folder of checkpoints replaced by the files in it."""
    from tightrope.agents.checkpoints import checkpoints_in
    from tightrope.agents.loaders import loader_for

    found: list[str] = []
    for agent in agents:
        folder = Path(agent).is_dir() and loader_for(agent) is None
        found += map(str, checkpoints_in(Path(agent))) if folder else [agent]
    return found


def _named(agent: str) -> tuple[str | None, str]:
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
