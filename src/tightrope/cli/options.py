"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from tightrope.campaign.config import AgentConfig, ExecutionConfig
from tightrope.errors import UsageError

TaskArgument = Annotated[str, typer.Argument(metavar="TASK", help="Name of a task; `tightrope tasks` lists them.")]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
OutOption = Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The run folder to write.")]
SettingOption = Annotated[
    list[str], typer.Option("--set", metavar="NAME=VALUE", help="An option of the task; repeat for more.")
]
LevelOption = Annotated[str | None, typer.Option("--level", help="Mario: the level, as in 1-2.", show_default=False)]
RomOption = Annotated[Path | None, typer.Option("--rom", help="Mario: the ROM file.", show_default=False)]
AgentOption = Annotated[
    list[str],
    typer.Option("--agent", "-a", metavar="[NAME=]SOURCE", help="An agent: a file or pkg.module:factory; repeatable."),
]
BehaviourOption = Annotated[str, typer.Option("--behaviour", help="greedy or sampled.")]
EpsilonOption = Annotated[float, typer.Option("--epsilon", help="Share of random actions.", min=0, max=1)]
TrustOption = Annotated[bool, typer.Option("--trust", help="Let agent files run code when loaded (pickles).")]
SeedOption = Annotated[int, typer.Option("--seed", help="All randomness follows from it.", min=0)]
BackendOption = Annotated[str, typer.Option("--backend", help="inline, processes or ray.")]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", help="Default: one per core.", min=1, show_default=False)
]
RayOption = Annotated[
    str | None, typer.Option("--ray", metavar="ADDRESS", help="Run on this Ray cluster.", show_default=False)
]


def task_options(settings: list[str], level: str | None = None, rom: Path | None = None) -> dict[str, Any]:
    """Options of a task from ``--set name=value`` and the shortcuts."""
    options: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise UsageError(f"--set takes NAME=VALUE, not {setting!r}; for example --set is_slippery=false")
        options[name] = _value(value)
    if level is not None:
        options["level"] = level
    if rom is not None:
        options["rom"] = str(rom)
    return options


def agent_configs(
    agents: list[str], behaviour: str = "greedy", epsilon: float = 0.0, trust: bool = False
) -> tuple[AgentConfig, ...]:
    """The agents named on the command line."""
    if behaviour not in ("greedy", "sampled"):
        raise UsageError(f"--behaviour is greedy or sampled, not {behaviour!r}")
    configs = []
    for agent in agents:
        name, equals, source = agent.partition("=")
        if not equals:
            name, source = "", agent
        configs.append(
            AgentConfig(
                source=source,
                name=name or None,
                behaviour=behaviour,
                epsilon=epsilon,
                trust=trust,
            )
        )
    return tuple(configs)


def execution_config(backend: str, workers: int | None, ray: str | None) -> ExecutionConfig:
    """Where to do the work."""
    if backend not in ("inline", "processes", "ray"):
        raise UsageError(f"--backend is inline, processes or ray, not {backend!r}")
    if ray is not None:
        backend = "ray"
    return ExecutionConfig(backend=backend, workers=workers, ray_address=ray)


def _value(text: str) -> Any:
    """YAML reads 4 as a number and true as a truth; a level such as 1-1 stays text."""
    value = yaml.safe_load(text) if text else ""
    return value if isinstance(value, bool | int | float | str | list | None) else text
