"""``tightrope safety``: step 2."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tightrope.cli.given import Given, own, takes
from tightrope.cli.interface import Interface, current_interface, verb
from tightrope.cli.judging import check_gates, exit_code, print_gates, print_safety
from tightrope.cli.options import (
    AgentOption,
    RunSeedOption,
    TrustOption,
    agent_configs,
    execution_config,
    uses_stored_cluster,
)
from tightrope.cli.stored import stored_config
from tightrope.errors import UsageError
from tightrope.runs.config import CampaignConfig
from tightrope.settings import AgentConfig, ExecutionConfig, SafetyConfig

if TYPE_CHECKING:
    from tightrope.runs.pipeline import Pipeline
    from tightrope.safety import SafetyResult

    Results = dict[str, dict[str, SafetyResult]]

EXAMPLE = "tightrope safety run/ --agent agent.onnx --suite interval:1 --max-fail 0.05"
NEEDS_ARGUMENTS = True


@verb
@takes(safety=own(SafetyConfig), agents=own(AgentConfig), execution=own(ExecutionConfig))
def command(
    run_or_suite: Annotated[Path, typer.Argument(metavar="RUN_OR_SUITE", help="A run folder or a *.suite.json file.")],
    agent: AgentOption,
    given: Given = Given(),
    trust: TrustOption = False,
    seed: RunSeedOption = None,
) -> int:
    """Step 2: how often each agent fails at the boundary states. Exits with 1 when a gate fails.

    What is not given is as the run has it.
    """
    from tightrope.runs.campaign import working_on
    from tightrope.runs.suitefile import working_on_suite
    from tightrope.safety import load_suite

    if not run_or_suite.exists():
        raise UsageError(f"there is neither a run folder nor a suite file at {run_or_suite}")
    if not run_or_suite.is_dir():
        load_suite(run_or_suite)
        if given.get("safety", "suites"):
            raise UsageError(f"{run_or_suite} is one suite; leave out --suite, or name a run folder")
    in_run = run_or_suite.is_dir()
    stored = CampaignConfig(task="")
    if in_run:
        stored = stored_config(run_or_suite, trust=trust, cluster=uses_stored_cluster(given))
    # A gate is meant for the call it is given to.
    stored = stored.with_gates_of(None)
    changes: dict[str, Any] = {
        "agents": agent_configs(agent, given, trust),
        "execution": execution_config(given, stored.execution),
        "seed": stored.seed if seed is None else seed,
        "safety": given.changed("safety", stored.safety),
    }
    config = stored.model_copy(update=changes)
    check_gates(config)
    interface = current_interface()
    with interface.progress() as show:
        if in_run:
            with working_on(run_or_suite, config, joins=True, on_progress=show) as pipeline:
                results = _test(pipeline)
        else:
            with (
                tempfile.TemporaryDirectory() as scratch,
                working_on_suite(
                    run_or_suite, Path(scratch) / "run", trust=trust, on_progress=show, **changes
                ) as pipeline,
            ):
                results = _test(pipeline)
    return _report(interface, pipeline.config, results)


def _test(pipeline: Pipeline) -> Results:
    results = pipeline.with_engine(pipeline.safety)
    pipeline.run.save(status="safety tested")
    return results


def _report(interface: Interface, config: CampaignConfig, results: Results) -> int:
    from tightrope.runs.gates import Evidence, judged_gates

    gates = judged_gates(config, Evidence(safety=results))
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
    return exit_code(config, results, gates)
