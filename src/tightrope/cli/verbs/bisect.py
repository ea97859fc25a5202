"""``tightrope bisect``: since when is it worse?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tightrope.cli.arguments.given import Given, own, takes
from tightrope.cli.arguments.options import SeedOption, TrustOption
from tightrope.cli.output.interface import Interface, current_interface
from tightrope.cli.output.words import share
from tightrope.cli.process.command import verb
from tightrope.cli.process.exit_codes import NOTHING_JUDGED, PASSED
from tightrope.errors import UsageError
from tightrope.settings import AgentConfig, BisectConfig, SafetyConfig

if TYPE_CHECKING:
    from tightrope.runs.run import Run
    from tightrope.safety import Bisection, TestSuite
    from tightrope.tasks import Task

EXAMPLE = "tightrope bisect checkpoints/ --in run/ --case 07704661"
NEEDS_ARGUMENTS = True


@verb
@takes(bisect=own(BisectConfig), agents=own(AgentConfig))
def command(
    checkpoints: Annotated[
        list[str],
        typer.Argument(
            metavar="OLD … NEW", help="Agent files from the oldest to the newest, or a folder of checkpoints."
        ),
    ],
    place: Annotated[
        Path, typer.Option("--in", metavar="RUN_OR_SUITE", help="The run folder or *.suite.json file it failed in.")
    ],
    case: Annotated[
        str | None,
        typer.Option(
            "--case",
            metavar="CASE|group:N",
            help="A case's id, or the beginning of it; or the Nth failure group of the run. Default: the only case of "
            "the suite.",
        ),
    ] = None,
    given: Given = Given(),
    seed: SeedOption = 0,
    trust: TrustOption = False,
) -> int:
    """Find the first checkpoint that fails a case, with a binary search over the checkpoints.

    Checkpoints play as the run's agents do.
    """
    from tightrope.cli.arguments.manner import manner_of, manner_text
    from tightrope.safety.failing.bisecting import bisect_checkpoints

    interface, asked = current_interface(), given.changed("bisect", BisectConfig())
    run, task, suite, stored_length = _asked(place, case, trust)
    manner = manner_of(run, given)
    if played := manner_text(manner):
        interface.say(played)
    with interface.progress() as show:
        found = bisect_checkpoints(
            task,
            _files(checkpoints),
            suite,
            limit=asked.limit,
            length=asked.length or stored_length,
            most=asked.most,
            seed=seed,
            behaviour=manner.behaviour,
            epsilon=manner.epsilon,
            trust=trust,
            on_progress=show,
        )
    _print(interface, found)
    return PASSED if any(each.passed is not None for each in found.checked) else NOTHING_JUDGED


def _print(interface: Interface, found: Bisection) -> None:
    words = {True: "passes", False: "fails", None: "flaky"}
    rows = [
        (
            *(each.number + 1, each.agent, words[each.passed]),
            *(share(each.fail_frequency), each.fail_frequency.n, each.executions),
        )
        for each in found.checked
    ]
    columns = ("number", "checkpoint", "verdict", "fails on this case", "decided after", "executed")
    interface.table(f"Tested {len(rows)} of {found.checkpoints} checkpoints", columns, rows)
    interface.say(f"{found.sentence()}.")
    interface.data(
        {
            "first_failing": None if found.first_failing is None else found.first_failing.agent,
            "last_passing": None if found.last_passing is None else found.last_passing.agent,
            "flaky": [each.agent for each in found.flaky],
            "found": found.found,
            "sentence": found.sentence(),
            "checked": [
                {
                    "number": each.number + 1,
                    "checkpoint": each.agent,
                    "passed": each.passed,
                    "fail_frequency": each.fail_frequency.to_json(),
                    "executions": each.executions,
                }
                for each in found.checked
            ],
        }
    )


def _files(given: list[str]) -> list[str]:
    from tightrope.agents.sources.checkpoints import checkpoints_in

    if len(given) == 1 and Path(given[0]).is_dir():
        return [str(path) for path in checkpoints_in(Path(given[0]))]
    if len(given) == 1:
        raise UsageError(f"{given[0]} is no folder; give a folder of checkpoints, or at least an old and a new one")
    return given


def _asked(place: Path, case: str | None, trust: bool) -> tuple[Run | None, Task, TestSuite, int | None]:
    """The run if there is one, the task, what is to be passed, and how long to watch."""
    if place.is_dir():
        return _of_run(place, case, trust)
    return _of_suite(place, case, trust)


def _of_run(place: Path, case: str | None, trust: bool) -> tuple[Run | None, Task, TestSuite, int | None]:
    from tightrope.runs.questions.replaying import find_case
    from tightrope.runs.run import open_run
    from tightrope.runs.storage.layout import CONTROLS
    from tightrope.safety import group_failures, kept_suite

    if case is None:
        raise UsageError(f"which case? `tightrope replay {place}` lists the fails; then --case ID, or --case group:1")
    run = open_run(place, trust=trust)
    kind, _, number = case.partition(":")
    if kind == "group":
        suites = [row for suite, row in run.safety.items() if suite not in CONTROLS]
        groups = group_failures(result for row in suites for result in row.values())
        if not number.isdecimal() or not 1 <= int(number) <= len(groups):
            raise UsageError(f"{place} has {len(groups)} failure groups, so --case group:N is 1 to {len(groups)}")
        prefix = groups[int(number) - 1].representative.case.prefix
    else:
        prefix = find_case(run, case).result.case.prefix
    return run, run.task, kept_suite(run.task, [prefix]), run.config.safety.length


def _of_suite(place: Path, case: str | None, trust: bool) -> tuple[Run | None, Task, TestSuite, int | None]:
    from tightrope.runs.trust import require_trust
    from tightrope.safety import kept_suite, load_suite
    from tightrope.tasks import task_from_label

    suite = load_suite(place)
    require_trust(place, suite.task.partition("(")[0], trust=trust)
    task = task_from_label(suite.task)
    found = [each for each in suite.cases if case is None or each.id.startswith(case)]
    if len({each.id for each in found}) != 1:
        raise UsageError(
            f"{place} has {len(suite)} cases, and {len(found)} of them fit; name one with --case: "
            f"{', '.join(dict.fromkeys(each.id for each in suite.cases[:8]))}"
        )
    return None, task, kept_suite(task, [found[0].prefix]), SafetyConfig.length
