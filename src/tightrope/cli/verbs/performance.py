"""``tightrope performance``: step 4."""

from __future__ import annotations

from typing import Any

from tightrope.cli.arguments.given import Given, own, takes
from tightrope.cli.arguments.options import (
    AgentOption,
    RunArgument,
    TrustOption,
    agent_configs,
    execution_config,
    uses_stored_cluster,
)
from tightrope.cli.arguments.stored import stored_config
from tightrope.cli.output.interface import current_interface
from tightrope.cli.output.words import amount, share
from tightrope.cli.process.command import verb
from tightrope.cli.process.exit_codes import NOTHING_JUDGED, PASSED
from tightrope.settings import AgentConfig, ExecutionConfig, PerformanceConfig

EXAMPLE = "tightrope performance run/ --agent agent.onnx --step-width 20"
NEEDS_ARGUMENTS = True


@verb
@takes(performance=own(PerformanceConfig), agents=own(AgentConfig), execution=own(ExecutionConfig))
def command(
    run: RunArgument,
    agent: AgentOption,
    given: Given = Given(),
    trust: TrustOption = False,
) -> int:
    """Step 4: compare each agent with the fuzz traces, from the start and from the middle of them.

    Settings that you do not give are taken from the run.
    """
    from tightrope.runs.campaign import working_on

    interface = current_interface()
    stored = stored_config(run, trust=trust, cluster=uses_stored_cluster(given))
    changes: dict[str, Any] = {
        "agents": agent_configs(agent, given, trust),
        "performance": given.changed("performance", stored.performance).changed(enabled=True),
        "fuzzing": stored.fuzzing.changed(enabled=True),
        "execution": execution_config(given, stored.execution),
    }
    config = stored.model_copy(update=changes)
    with interface.progress() as show, working_on(run, config, joins=True, on_progress=show) as pipeline:
        results = pipeline.with_engine(pipeline.performance)
        pipeline.run.save(status="performance tested")
    for name, result in results.items():
        rows = [
            (
                point.prefix_length,
                amount(point.agent),
                amount(point.traces),
                amount(point.difference),
                share(point.agent_goal_share),
            )
            for point in result.points
        ]
        columns = ("prefix", "agent's return", "fuzz traces' return", "difference", "goal reached")
        interface.table(f"Robust performance of {name}", columns, rows)
    interface.data({name: result.to_json() for name, result in results.items()})
    return PASSED if any(point.agent.n for result in results.values() for point in result.points) else NOTHING_JUDGED
