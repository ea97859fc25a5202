"""``tightrope run``: all four steps, then the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tightrope.campaign.config import CampaignConfig, SafetyConfig
from tightrope.campaign.configfile import load_config
from tightrope.campaign.folder import RunFolder
from tightrope.campaign.whole import WholeRun, run_campaign
from tightrope.cli.interface import NOTHING_JUDGED, Interface, current_interface, verb
from tightrope.cli.judging import exit_code, print_gates, print_safety
from tightrope.cli.options import (
    AgentOption,
    BackendOption,
    BehaviourOption,
    EpsilonOption,
    LevelOption,
    RayOption,
    RomOption,
    SeedOption,
    SettingOption,
    TrustOption,
    WorkersOption,
    agent_configs,
    execution_config,
    task_options,
)
from tightrope.cli.stored import stored_config
from tightrope.errors import UsageError

EXAMPLE = "tightrope run FrozenLake-v1 --agent agent.zip --out run/   or   tightrope run campaign.yaml"
NEEDS_ARGUMENTS = True


@verb
def command(
    task_or_file: Annotated[
        str | None, typer.Argument(metavar="[TASK|FILE]", help="A task's name, or a campaign file (YAML, TOML).")
    ] = None,
    agent: AgentOption = [],  # noqa: B006 - typer reads the default, nobody changes it
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The run folder.")] = Path("run"),
    resume: Annotated[Path | None, typer.Option("--resume", metavar="RUN", help="Continue this run.")] = None,
    settings: SettingOption = [],  # noqa: B006
    level: LevelOption = None,
    rom: RomOption = None,
    suite: Annotated[list[str], typer.Option("--suite", help="simple, interval:SIZE, coverage:K; repeatable.")] = [],  # noqa: B006
    max_fail: Annotated[float | None, typer.Option("--max-fail", help="Gate on the fail frequency.")] = None,
    behaviour: BehaviourOption = "greedy",
    epsilon: EpsilonOption = 0.0,
    trust: TrustOption = False,
    seed: SeedOption = 0,
    backend: BackendOption = "processes",
    workers: WorkersOption = None,
    ray: RayOption = None,
) -> int:
    """Run all four steps for one or more agents and write the report. The same command again continues."""
    if (task_or_file is None) == (resume is None):
        raise UsageError("name a task or a campaign file, or give --resume RUN; not both")
    if resume is not None:
        out = resume
        config = stored_config(RunFolder.open(resume))
    elif Path(str(task_or_file)).suffix in (".yaml", ".yml", ".toml"):
        config = load_config(Path(str(task_or_file)))
    else:
        if not agent:
            raise UsageError(f"which agent? For example: tightrope run {task_or_file} --agent agent.onnx")
        safety = SafetyConfig(max_fail=max_fail, **({"suites": tuple(suite)} if suite else {}))
        config = CampaignConfig(
            task=str(task_or_file),
            options=task_options(settings, level, rom),
            agents=agent_configs(agent, behaviour, epsilon, trust),
            seed=seed,
            safety=safety,
            execution=execution_config(backend, workers, ray),
        )
    interface = current_interface()
    with interface.progress() as show:
        whole = run_campaign(config, out, on_progress=show)
    return report_whole(interface, whole)


def report_whole(interface: Interface, whole: WholeRun) -> int:
    """Print what a run found and where its report is; returns the exit code."""
    interface.data(whole.to_json())
    if not whole.found_reference:
        interface.say("No reference was found, so nothing could be tested; see the search section of the report.")
        interface.say(f"Report: {whole.report}")
        return NOTHING_JUDGED
    print_safety(interface, whole.safety)
    print_gates(interface, whole.gates)
    interface.say(f"Report: {whole.report}")
    return exit_code(whole.safety, whole.gates)
