"""``tightrope performance``: step 4."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tightrope.cli.interface import current_interface, verb
from tightrope.cli.options import (
    AgentOption,
    BackendOption,
    BehaviourOption,
    EpsilonOption,
    RayOption,
    RunArgument,
    StepTimeoutOption,
    TrustOption,
    WorkersOption,
    agent_configs,
    changed,
    execution_config,
    uses_stored_cluster,
)
from tightrope.cli.stored import stored_config
from tightrope.cli.supervision import NOTHING_JUDGED, PASSED

EXAMPLE = "tightrope performance run/ --agent agent.onnx --step-width 20"
NEEDS_ARGUMENTS = True


@verb
def command(
    run: RunArgument,
    agent: AgentOption,
    episodes: Annotated[
        int | None, typer.Option("--episodes", help="Executions from each situation (default: 10).", min=1)
    ] = None,
    tests: Annotated[
        int | None, typer.Option("--tests", help="Situations per prefix length (default: 10).", min=1)
    ] = None,
    step_width: Annotated[
        int | None, typer.Option("--step-width", help="Between prefix lengths (default: 20).", min=1)
    ] = None,
    behaviour: BehaviourOption = None,
    epsilon: EpsilonOption = None,
    trust: TrustOption = False,
    backend: BackendOption = None,
    workers: WorkersOption = None,
    ray: RayOption = None,
    step_timeout: StepTimeoutOption = None,
) -> int:
    """Step 4: each agent against the fuzz traces, from the start and from their middle."""
    from tightrope.runs.campaign import working_on

    interface = current_interface()
    stored = stored_config(run, trust=trust, cluster=uses_stored_cluster(backend, ray))
    changes: dict[str, Any] = {
        "agents": agent_configs(agent, behaviour, epsilon, trust),
        "performance": changed(stored.performance, enabled=True, episodes=episodes, tests=tests, step_width=step_width),
        "fuzzing": changed(stored.fuzzing, enabled=True),
        "execution": execution_config(backend, workers, ray, stored.execution, step_timeout),
    }
    config = stored.model_copy(update=changes)
    with interface.progress() as show, working_on(run, config, joins=True, on_progress=show) as pipeline:
        results = pipeline.with_engine(pipeline.performance)
        pipeline.run.save(status="performance tested")
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
    return PASSED if any(point.agent.n for result in results.values() for point in result.points) else NOTHING_JUDGED
