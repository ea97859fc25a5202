"""``tightrope run``: all four steps, then the report."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tightrope.cli.arguments.given import Given, in_run, takes, told_share
from tightrope.cli.arguments.options import (
    AgentOption,
    PortOption,
    RunSeedOption,
    SettingOption,
    TrustOption,
    agent_configs,
    execution_config,
    task_options,
    tasks_like,
    uses_stored_cluster,
)
from tightrope.cli.arguments.stored import stored_config
from tightrope.cli.output.closing import print_ending
from tightrope.cli.output.interface import Interface, current_interface
from tightrope.cli.output.reasons import print_reasons
from tightrope.cli.output.verdicts import (
    check_gates,
    exit_code,
    print_gates,
    print_guidance,
    print_plain,
    print_safety,
    say_what_no_gate_limits,
)
from tightrope.cli.output.words import counted
from tightrope.cli.process.command import verb
from tightrope.cli.progress.live_page import telling, wanted_page, without_page
from tightrope.errors import UsageError
from tightrope.outcome import Outcome
from tightrope.runs.configuration.config import CampaignConfig, sections, settings_in
from tightrope.settings import AgentConfig

if TYPE_CHECKING:
    from tightrope.reference import Reference
    from tightrope.runs.run import Run

EXAMPLE = "tightrope run FrozenLake-v1 --agent agent.zip --out run/   or   tightrope run campaign.yaml"
NEEDS_ARGUMENTS = True
TAKEOVER = "takeover"
"""The kind of a way on which an agent fails when it takes over."""
FILES = (".yaml", ".yml", ".toml", ".json")


@verb
@takes(agents=in_run(AgentConfig), **{name: in_run(section) for name, section in sections().items()})
def command(
    task_or_file: Annotated[
        str | None,
        typer.Argument(
            metavar="TASK|FILE", help="A task's name, or a campaign file (YAML, TOML).", autocompletion=tasks_like
        ),
    ] = None,
    agent: AgentOption = [],  # noqa: B006 - typer reads the default, nobody changes it
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="The run folder (default: run).")
    ] = None,
    resume: Annotated[Path | None, typer.Option("--resume", metavar="RUN", help="Continue this run.")] = None,
    settings: SettingOption = [],  # noqa: B006
    given: Given = Given(),
    trust: TrustOption = False,
    seed: RunSeedOption = None,
    effort: Annotated[
        float | None,
        typer.Option(
            "--effort",
            metavar="SHARE",
            parser=told_share,
            help="Share of the steps of all default budgets to spend; default: all, less where a step or an answer is "
            "slow.",
            show_default=False,
        ),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Serve the results so far as a web page, and print its address.")
    ] = False,
    port: PortOption = None,
) -> int:
    """Run all four steps for one or more agents and write the report. The same command continues an interrupted run.

    Options on the command line override the campaign file.
    """
    from tightrope.runs.campaign import run_campaign
    from tightrope.runs.steps.stages import stages

    if (task_or_file is None) == (resume is None):
        raise UsageError("name a task or a campaign file, or give --resume RUN; not both")
    if resume is not None and out is not None:
        raise UsageError(f"--resume {resume} names the run folder already; leave out --out")
    if resume is None:
        base = _configuration(task_or_file)
    else:
        base = stored_config(resume, trust=trust, agents=not agent, cluster=uses_stored_cluster(given))
    config = given.applied(base).model_copy(
        update={
            "options": {**base.options, **task_options(settings)},
            "agents": agent_configs(agent, given, trust and bool(agent)) or _trusted(base.agents, trust),
            "seed": base.seed if seed is None else seed,
            "effort": base.effort if effort is None else _effort(effort),
            "execution": execution_config(given, base.execution),
        }
    )
    check_gates(config)
    if not config.agents:
        raise UsageError(f"which agent? For example: tightrope run {task_or_file or config.task} --agent agent.onnx")
    interface = current_interface()
    folder = resume or out or Path("run")
    with wanted_page(interface, folder, wanted=live, port=port) as page:
        ahead = stages(config, len(config.agents))
        with interface.progress(ahead) as show:
            # The command that began a run is the one to repeat it by.
            command = "" if resume is not None else without_page(interface.command)
            run = run_campaign(config, folder, on_progress=telling(page, show, ahead), command=command)
        return _report(interface, run)


def _effort(share: float) -> float:
    settings_in(CampaignConfig)["effort"].require(share, "--effort")
    return share


def _trusted(agents: tuple[AgentConfig, ...], trust: bool) -> tuple[AgentConfig, ...]:
    """The agents of a campaign file or a run, whose files may be unpickled where the user says so."""
    return tuple(agent.changed(trust=agent.trust or trust) for agent in agents)


def _configuration(task_or_file: str | None) -> CampaignConfig:
    from tightrope.runs.configuration.configfile import load_config

    named = Path(str(task_or_file))
    return load_config(named) if named.suffix in FILES else CampaignConfig(task=str(task_or_file))


def _ways(run: Run) -> str:
    """On what the suites stand, and whether any of it reaches the goal."""
    references = run.references
    kinds = Counter(map(_kind_of_way, references))
    listed = ", ".join(_ways_of(*kind, number) for kind, number in kinds.items())
    states = sum(len(reference.boundary_states) for reference in references)
    resets = counted(len({reference.actions.seed for reference in references}), "reset")
    told = (
        f"{counted(len(references), 'reference')} from {resets} ({listed}), with {counted(states, 'boundary state')}."
    )
    if why := _why_no_cases(run):
        told += f" {why}"
    if any(reference.trace.outcome is Outcome.GOAL for reference in references):
        return told
    return f"{told} None reaches the goal, so the agents' own runs are used."


def _why_no_cases(run: Run) -> str:
    """Why the suites have nothing to put an agent into, and what to try; empty where they have."""
    from tightrope.report.references import why_no_places

    if not run.references:
        return (
            "No reference was found, so no suite could be made. In a campaign file, search: {method: archive}, more "
            "search steps or a demonstration may help."
        )
    return "" if any(reference.boundary_states for reference in run.references) else why_no_places(run.references)


def _kind_of_way(reference: Reference) -> tuple[str, str]:
    if reference.agent is None:
        return "", reference.method
    if reference.taken_over:
        return TAKEOVER, reference.agent
    kind = "failing run" if reference.by_failing else "near miss" if reference.near_miss else "run"
    return kind, reference.agent


def _ways_of(run: str, whose: str, number: int) -> str:
    """How so many references were found: ``3 by dfs``, ``1 run of late``, ``2 failing runs of late``, ``2 on which late
    fails when it takes over``."""
    if run == TAKEOVER:
        return f"{number} on which {whose} fails when it takes over"
    kinds = run if number == 1 else f"{run}es" if run == "near miss" else f"{run}s"
    return f"{number} {kinds} of {whose}" if run else f"{number} by {whose}"


def _report(interface: Interface, run: Run) -> int:
    """Print what a run found and where its report is; returns the exit code."""
    from tightrope.runs.configuration.effort import spent_text
    from tightrope.runs.questions.reasons import reasons_to_json

    found, safety, gates = run.reference is not None, run.safety, run.gates
    interface.data(
        {
            "folder": str(run.path),
            "report": str(run.report_path),
            "effort": run.config.effort,
            "found_reference": found,
            "references": [
                {
                    "method": reference.method,
                    "seed": reference.actions.seed,
                    "length": len(reference),
                    "boundary_states": len(reference.boundary_states),
                }
                for reference in run.references
            ],
            "why_no_cases": _why_no_cases(run) or None,
            "plain": {agent: evaluation.to_json() for agent, evaluation in run.plain.items()},
            "fail_frequency": {
                suite: {agent: result.fail_frequency.to_json() for agent, result in row.items()}
                for suite, row in safety.items()
            },
            "fail_frequency_in_general": {
                suite: {agent: result.fail_frequency_in_general.to_json() for agent, result in row.items()}
                for suite, row in safety.items()
            },
            "groups": reasons_to_json(safety, run.task),
            "gates": [vars(gate) for gate in gates],
        }
    )
    if spent := spent_text(run.config.effort):
        interface.say(spent)
    print_plain(interface, run.plain)
    if found:
        interface.say(_ways(run))
        print_safety(interface, safety)
        print_guidance(interface, safety, run.plain)
        print_reasons(interface, run.task, safety, run)
    else:
        interface.say(_why_no_cases(run))
    print_gates(interface, gates)
    say_what_no_gate_limits(interface, run.config, run.plain, gates)
    interface.say(f"Report: {run.report_path}")
    print_ending(interface, run.task, run.plain, safety, gates, run)
    return exit_code(run.config, safety, gates, run.plain)
