"""``tightrope performance``: step 4."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tightrope.campaign.config import PerformanceConfig
from tightrope.campaign.folder import RunFolder
from tightrope.cli.interface import PASSED, current_interface, verb
from tightrope.cli.options import (
    AgentOption,
    BackendOption,
    BehaviourOption,
    EpsilonOption,
    RayOption,
    RunArgument,
    TrustOption,
    WorkersOption,
    agent_configs,
    execution_config,
)
from tightrope.cli.stored import campaign_of

EXAMPLE = "tightrope performance run/ --agent agent.onnx --step-width 20"
NEEDS_ARGUMENTS = True


@verb
def command(
    run: RunArgument,
    agent: AgentOption,
    episodes: Annotated[int, typer.Option("--episodes", help="Executions from each situation.", min=1)] = 10,
    tests: Annotated[int, typer.Option("--tests", help="Situations per prefix length.", min=1)] = 10,
    step_width: Annotated[int, typer.Option("--step-width", help="Between prefix lengths.", min=1)] = 20,
    behaviour: BehaviourOption = "greedy",
    epsilon: EpsilonOption = 0.0,
    trust: TrustOption = False,
    backend: BackendOption = "processes",
    workers: WorkersOption = None,
    ray: RayOption = None,
) -> int:
    """Step 4: each agent against the fuzz traces, from the start and from their middle."""
    interface = current_interface()
    folder = RunFolder.open(run)
    changes: dict[str, Any] = {
        "agents": agent_configs(agent, behaviour, epsilon, trust),
        "performance": PerformanceConfig(episodes=episodes, tests=tests, step_width=step_width),
        "execution": execution_config(backend, workers, ray),
    }
    with folder.locked(), interface.progress() as show:
        campaign = campaign_of(folder, on_progress=show, **changes)
        with campaign.engine() as engine:
            results = campaign.performance_step(engine)
            campaign.write_manifest("performance tested", counters=engine.counters.as_dict())
    for name, result in results.items():
        rows = [
            (
                point.prefix_length,
                format(point.agent, ".1f"),
                format(point.traces, ".1f"),
                format(point.difference, ".1f"),
                format(point.agent_goal_share, ".2f"),
            )
            for point in result.points
        ]
        columns = ("prefix", "agent's return", "fuzz traces' return", "difference", "goal reached")
        interface.table(f"Robust performance of {name}", columns, rows)
    interface.data({name: result.to_json() for name, result in results.items()})
    return PASSED
