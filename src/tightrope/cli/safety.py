"""``tightrope safety``: step 2."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tightrope.cli.interface import Interface, current_interface, verb
from tightrope.cli.judging import check_gates, exit_code, print_gates, print_safety
from tightrope.cli.options import (
    AgentOption,
    BackendOption,
    BehaviourOption,
    EpsilonOption,
    GateOnOption,
    LengthOption,
    MaxFailOption,
    RayOption,
    RepetitionsOption,
    RunSeedOption,
    StepTimeoutOption,
    SuiteOption,
    TrustOption,
    UntilDecidedOption,
    WorkersOption,
    agent_configs,
    changed,
    execution_config,
    uses_stored_cluster,
)
from tightrope.cli.stored import stored_config
from tightrope.errors import UsageError
from tightrope.runs.config import CampaignConfig

if TYPE_CHECKING:
    from tightrope.runs.pipeline import Pipeline
    from tightrope.safety import SafetyResult

    Results = dict[str, dict[str, SafetyResult]]

EXAMPLE = "tightrope safety run/ --agent agent.onnx --suite interval:1 --max-fail 0.05"
NEEDS_ARGUMENTS = True


@verb
def command(
    run_or_suite: Annotated[
        Path | None, typer.Argument(metavar="RUN_OR_SUITE", help="A run folder or a *.suite.json file.")
    ] = None,
    agent: AgentOption = [],  # noqa: B006 - typer reads the default, nobody changes it
    suite: SuiteOption = [],  # noqa: B006
    repetitions: RepetitionsOption = None,
    length: LengthOption = None,
    max_fail: MaxFailOption = None,
    gate_on: GateOnOption = None,
    until_decided: UntilDecidedOption = None,
    fixed_prefix: Annotated[
        bool | None,
        typer.Option("--fixed-prefix/--fresh-prefix", help="Stochastic tasks: the same situation each time, or not."),
    ] = None,
    control: Annotated[bool | None, typer.Option("--control/--no-control", help="Random cases beside.")] = None,
    behaviour: BehaviourOption = None,
    epsilon: EpsilonOption = None,
    trust: TrustOption = False,
    seed: RunSeedOption = None,
    backend: BackendOption = None,
    workers: WorkersOption = None,
    ray: RayOption = None,
    step_timeout: StepTimeoutOption = None,
) -> int:
    """Step 2: how often each agent fails at the boundary states. Exits with 1 when a gate fails."""
    from tightrope.runs.campaign import working_on
    from tightrope.runs.suitefile import working_on_suite
    from tightrope.safety import load_suite

    if not agent:
        raise UsageError("which agent? For example: --agent agent.onnx")
    if run_or_suite is None:
        run_or_suite, suite = _suite_file(suite), []
    if not run_or_suite.exists():
        raise UsageError(f"there is neither a run folder nor a suite file at {run_or_suite}")
    if not run_or_suite.is_dir():
        load_suite(run_or_suite)
        if suite:
            raise UsageError(f"{run_or_suite} is one suite; leave out --suite, or name a run folder")
    in_run = run_or_suite.is_dir()
    stored = CampaignConfig(task="")
    if in_run:
        stored = stored_config(run_or_suite, trust=trust, cluster=uses_stored_cluster(backend, ray))
    # A gate is meant for the call it is given to.
    stored = stored.with_gates_of(None)
    changes: dict[str, Any] = {
        "agents": agent_configs(agent, behaviour, epsilon, trust),
        "execution": execution_config(backend, workers, ray, stored.execution, step_timeout),
        "seed": stored.seed if seed is None else seed,
        "safety": changed(
            stored.safety,
            suites=tuple(suite) or None,
            repetitions=repetitions,
            length=length,
            max_fail=max_fail,
            gate_on=gate_on,
            until_decided=until_decided,
            fixed_prefix=fixed_prefix,
            control=control,
        ),
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


def _suite_file(suites: list[str]) -> Path:
    """The suite file that --suite names where no run folder is named."""
    if len(suites) != 1 or not suites[0].endswith(".suite.json"):
        raise UsageError("name a run folder, or one *.suite.json file")
    return Path(suites[0])


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
