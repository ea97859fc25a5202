"""``tightrope safety``: step 2."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from tightrope.campaign.campaign import CONTROL, Campaign
from tightrope.campaign.config import SafetyConfig
from tightrope.campaign.folder import RunFolder
from tightrope.campaign.gates import safety_gates
from tightrope.cli.interface import PASSED, Interface, current_interface, verb
from tightrope.cli.judging import exit_code, print_gates, print_safety
from tightrope.cli.options import (
    AgentOption,
    BackendOption,
    BehaviourOption,
    EpsilonOption,
    RayOption,
    SeedOption,
    TrustOption,
    WorkersOption,
    agent_configs,
    execution_config,
)
from tightrope.cli.stored import campaign_of, campaign_of_suite
from tightrope.errors import UsageError

EXAMPLE = "tightrope safety run/ --agent agent.onnx --suite interval:1 --max-fail 0.05"
NEEDS_ARGUMENTS = True


@verb
def command(
    run_or_suite: Annotated[Path, typer.Argument(metavar="RUN_OR_SUITE", help="A run folder or a *.suite.json file.")],
    agent: AgentOption,
    suite: Annotated[list[str], typer.Option("--suite", help="simple, interval:SIZE, coverage:K; repeatable.")] = [],  # noqa: B006
    repetitions: Annotated[int, typer.Option("--repetitions", "-n", help="Executions of each case.", min=1)] = 10,
    length: Annotated[int, typer.Option("--length", "-l", help="Steps to survive.", min=1)] = 40,
    max_fail: Annotated[float | None, typer.Option("--max-fail", help="Gate on the fail frequency.")] = None,
    gate_on: Annotated[str, typer.Option("--gate-on", help="value, or high (the interval's upper limit).")] = "value",
    fixed_prefix: Annotated[
        bool, typer.Option("--fixed-prefix", help="Stochastic tasks: same situation each time.")
    ] = False,
    control: Annotated[bool, typer.Option("--control/--no-control", help="Random cases beside.")] = True,
    behaviour: BehaviourOption = "greedy",
    epsilon: EpsilonOption = 0.0,
    trust: TrustOption = False,
    seed: SeedOption = 0,
    backend: BackendOption = "processes",
    workers: WorkersOption = None,
    ray: RayOption = None,
) -> int:
    """Step 2: how often each agent falls at the boundary states. Exits with 1 when a gate fails."""
    interface = current_interface()
    if gate_on not in ("value", "high"):
        raise UsageError(f"--gate-on is value or high, not {gate_on!r}")
    changes: dict[str, Any] = {
        "agents": agent_configs(agent, behaviour, epsilon, trust),
        "execution": execution_config(backend, workers, ray),
        "seed": seed,
        "safety": SafetyConfig.model_validate(
            {
                "repetitions": repetitions,
                "length": length,
                "max_fail": max_fail,
                "gate_on": gate_on,
                "fixed_prefix": fixed_prefix,
                "control": control,
                **({"suites": tuple(suite)} if suite else {}),
            }
        ),
    }
    if run_or_suite.is_dir():
        return _run(interface, campaign_of(RunFolder.open(run_or_suite), **changes))
    if not run_or_suite.exists():
        raise UsageError(f"there is neither a run folder nor a suite file at {run_or_suite}")
    with tempfile.TemporaryDirectory() as scratch:
        return _run(interface, campaign_of_suite(run_or_suite, Path(scratch) / "run", **changes))


def _run(interface: Interface, campaign: Campaign) -> int:
    with campaign.folder.locked(), interface.progress() as show, campaign.engine() as engine:
        campaign.on_progress = show
        results = campaign.safety_step(engine)
        campaign.write_manifest("safety tested", counters=engine.counters.as_dict())
    gates = safety_gates(campaign.config.safety, results, CONTROL)
    print_safety(interface, results)
    print_gates(interface, gates)
    interface.data(
        {
            "safety": {
                suite: {name: result.to_json() for name, result in row.items()} for suite, row in results.items()
            },
            "gates": [vars(gate) for gate in gates],
        }
    )
    return exit_code(results, gates) or PASSED
