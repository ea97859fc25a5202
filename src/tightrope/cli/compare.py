"""``tightrope compare``: is the new checkpoint better?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tightrope.cli.interface import current_interface, verb
from tightrope.cli.judging import code_of, print_gates
from tightrope.cli.options import TrustOption
from tightrope.cli.stored import campaign_of
from tightrope.cli.supervision import NOTHING_JUDGED, PASSED

if TYPE_CHECKING:
    from tightrope.safety import SafetyComparison

EXAMPLE = "tightrope compare run-old run-new"
NEEDS_ARGUMENTS = True
SHOWN = 10
"""Cases listed per suite; --json has all."""


@verb
def command(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A", help="The run of the old agent.")],
    run_b: Annotated[
        Path | None, typer.Argument(metavar="RUN_B", help="The run of the new one; default: the same.")
    ] = None,
    agent_a: Annotated[str | None, typer.Option("--agent-a", help="Which agent of RUN_A.")] = None,
    agent_b: Annotated[str | None, typer.Option("--agent-b", help="Which agent of RUN_B.")] = None,
    fail_if_worse: Annotated[
        bool,
        typer.Option(
            "--fail-if-worse",
            help="Gate: exit with 1 when a suite got worse beyond doubt (its interval is above 0), with 3 when that "
            "cannot be told because executions raised.",
        ),
    ] = False,
    trust: TrustOption = False,
) -> int:
    """Set two agents side by side, paired by case; what got worse is listed first."""
    from tightrope.runs.comparison import compare_runs
    from tightrope.runs.folder import RunFolder
    from tightrope.runs.gates import comparison_gates

    interface = current_interface()
    first = campaign_of(RunFolder.open(run_a), trust=trust)
    second = campaign_of(RunFolder.open(run_b or run_a), trust=trust)
    comparisons = compare_runs(first, second, agent_a, agent_b)
    rows = [
        (
            suite,
            format(comparison.difference, "+.3f"),
            comparison.episodes.only_b,
            comparison.episodes.only_a,
            "no data" if comparison.p_value is None else f"{comparison.p_value:.3g}",
            _judgement(comparison),
        )
        for suite, comparison in comparisons.items()
    ]
    names = next(iter(comparisons.values()))
    columns = ("suite", "difference in fail frequency", "fails only now", "fails only before", "McNemar p", "")
    interface.table(f"{names.agent_b} against {names.agent_a}", columns, rows)
    for suite, comparison in comparisons.items():
        _list_worse(suite, comparison)
        if comparison.errors:
            interface.say(f"{suite}: {comparison.errors} executions raised errors and are in none of these numbers.")
    interface.data({suite: _plain(comparison) for suite, comparison in comparisons.items()})
    gates = comparison_gates(comparisons)
    if fail_if_worse:
        print_gates(interface, gates)
        return code_of(gates)
    judged = any(comparison.difference.value is not None for comparison in comparisons.values())
    return PASSED if judged else NOTHING_JUDGED


def _judgement(comparison: SafetyComparison) -> Any:
    from rich.text import Text

    low, high = comparison.difference.low, comparison.difference.high
    if low is None or high is None:
        return "no data"
    if low > 0:
        return Text("worse", style="red")
    return Text("better", style="green") if high < 0 else "no difference shown"


def _list_worse(suite: str, comparison: SafetyComparison) -> None:
    if not comparison.worse:
        return
    rows = [
        (
            case.case.id,
            case.case.depth,
            case.case.label,
            format(case.fail_frequency_a, ".2f"),
            format(case.fail_frequency_b, ".2f"),
            str(case.survivable),
        )
        for case in comparison.worse[:SHOWN]
    ]
    columns = ("case", "boundary state at", "situation", "fails before", "fails now", "survivable")
    shown = f"{len(rows)} of {len(comparison.worse)}" if len(rows) < len(comparison.worse) else str(len(rows))
    current_interface().table(f"Fell more often in {suite} ({shown} cases)", columns, rows)


def _plain(comparison: SafetyComparison) -> dict[str, Any]:
    return {
        "agent_a": comparison.agent_a,
        "agent_b": comparison.agent_b,
        "difference": comparison.difference.to_json(),
        "p_value": comparison.p_value,
        "errors": comparison.errors,
        "cases": [
            {
                "case": case.case.id,
                "before": case.fail_frequency_a.value,
                "now": case.fail_frequency_b.value,
                "executions": {"before": case.fail_frequency_a.n, "now": case.fail_frequency_b.n},
                "survivable": str(case.survivable),
            }
            for case in comparison.cases
        ],
    }
