"""``tightrope safety``: step 2."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tightrope.cli.arguments.given import Given, in_run, own, takes
from tightrope.cli.arguments.options import (
    AgentOption,
    RunSeedOption,
    TrustOption,
    agent_configs,
    execution_config,
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
from tightrope.cli.process.command import verb
from tightrope.errors import UsageError
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.settings import AgentConfig, ExecutionConfig, PlainConfig, SafetyConfig

if TYPE_CHECKING:
    from tightrope.progress import ProgressCallback
    from tightrope.runs.gates import Evidence
    from tightrope.runs.run import Run
    from tightrope.runs.steps.pipeline import Pipeline

EXAMPLE = "tightrope safety run/ --agent agent.onnx --suite interval:1 --max-fail 0.05"
NEEDS_ARGUMENTS = True


@verb
@takes(safety=own(SafetyConfig), plain=in_run(PlainConfig), agents=own(AgentConfig), execution=own(ExecutionConfig))
def command(
    run_or_suite: Annotated[
        Path | None, typer.Argument(metavar="RUN_OR_SUITE", help="A run folder or a *.suite.json file.")
    ] = None,
    agent: AgentOption = [],  # noqa: B006 - typer reads the default, nobody changes it
    given: Given = Given(),
    trust: TrustOption = False,
    seed: RunSeedOption = None,
) -> int:
    """Step 2: how often each agent fails, in plain episodes and at the boundary states. Exits with 1 when a gate fails.

    Settings that you do not give are taken from the run.
    """
    if not agent:
        raise UsageError("which agent? For example: --agent agent.onnx")
    place = _place(run_or_suite, given.get("safety", "suites") or ())
    stored = CampaignConfig(task="")
    if place.is_dir():
        stored = stored_config(place, trust=trust, cluster=uses_stored_cluster(given))
    # A gate is meant for the call it is given to.
    stored = stored.with_gates_of(None)
    changes: dict[str, Any] = {
        "agents": agent_configs(agent, given, trust),
        "execution": execution_config(given, stored.execution),
        "seed": stored.seed if seed is None else seed,
        "plain": given.changed("plain", stored.plain),
        "safety": given.changed("safety", stored.safety),
    }
    config = stored.model_copy(update=changes)
    check_gates(config)
    interface = current_interface()
    with interface.progress() as show, _working(place, config, trust, show, changes) as pipeline:
        found = _test(pipeline)
    return _report(interface, pipeline, found, pipeline.run if place.is_dir() else None)


def _place(named: Path | None, suites: Sequence[str]) -> Path:
    """The run folder, or the suite file, which may also be named by --suite alone."""
    from tightrope.safety import load_suite

    if named is None:
        if len(suites) != 1 or not suites[0].endswith(".suite.json"):
            raise UsageError("name a run folder, or one *.suite.json file")
        named, suites = Path(suites[0]), ()
    if not named.exists():
        raise UsageError(f"there is neither a run folder nor a suite file at {named}")
    if not named.is_dir():
        load_suite(named)
        if suites:
            raise UsageError(f"{named} is one suite; leave out --suite, or name a run folder")
    return named


@contextmanager
def _working(
    place: Path, config: CampaignConfig, trust: bool, show: ProgressCallback | None, changes: dict[str, Any]
) -> Iterator[Pipeline]:
    """The work in a run folder, or in a folder made for one suite file."""
    from tightrope.runs.campaign import working_on
    from tightrope.runs.suitefile import working_on_suite

    if place.is_dir():
        with working_on(place, config, joins=True, on_progress=show) as pipeline:
            yield pipeline
        return
    try:
        with (
            tempfile.TemporaryDirectory() as scratch,
            working_on_suite(place, Path(scratch) / "run", trust=trust, on_progress=show, **changes) as pipeline,
        ):
            yield pipeline
    except KeyboardInterrupt:
        # The folder is gone, and all that was finished with it.
        raise KeyboardInterrupt from None


def _test(pipeline: Pipeline) -> Evidence:
    from tightrope.runs.gates import Evidence

    plain = pipeline.with_engine(pipeline.plain) if pipeline.config.plain.episodes else {}
    results = pipeline.with_engine(pipeline.safety)
    pipeline.run.save(status="safety tested")
    return Evidence(plain=plain, safety=results)


def _report(interface: Interface, pipeline: Pipeline, found: Evidence, run: Run | None) -> int:
    from tightrope.runs.gates import judged_gates
    from tightrope.runs.questions.reasons import reasons_to_json

    config, task = pipeline.config, pipeline.run.task
    gates = judged_gates(config, found)
    print_plain(interface, found.plain)
    print_safety(interface, found.safety)
    print_guidance(interface, found.safety, found.plain)
    print_reasons(interface, task, found.safety, run)
    print_gates(interface, gates)
    say_what_no_gate_limits(interface, config, found.plain, gates)
    print_ending(interface, task, found.plain, found.safety, gates, run)
    interface.data(
        {
            "plain": {name: result.to_json() for name, result in found.plain.items()},
            "safety": {
                suite: {name: result.to_json() for name, result in row.items()} for suite, row in found.safety.items()
            },
            "groups": reasons_to_json(found.safety, task),
            "gates": [vars(gate) for gate in gates],
        }
    )
    return exit_code(config, found.safety, gates)
