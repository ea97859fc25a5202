"""``tightrope compare``: is the new checkpoint better?"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tightrope.cli.arguments.given import Given, own, takes
from tightrope.cli.arguments.options import SettingOption, TrustOption
from tightrope.cli.output.interface import MAY_STAND_ALONE, current_interface
from tightrope.cli.output.verdicts import code_of, place_text, print_gates
from tightrope.cli.output.words import counted, percent, points, share
from tightrope.cli.process.command import verb
from tightrope.cli.process.exit_codes import NOTHING_JUDGED, PASSED
from tightrope.errors import UsageError
from tightrope.settings import AgentConfig

if TYPE_CHECKING:
    from tightrope.evaluation import PlainComparison
    from tightrope.runs.questions.contest import AgentComparison
    from tightrope.safety import SafetyComparison
    from tightrope.statistics import Estimate

EXAMPLE = "tightrope compare run-old run-new   or   tightrope compare old.onnx new.onnx --task CartPole-v1"
NEEDS_ARGUMENTS = True
SHOWN = 10
"""Cases listed per suite; --json has all."""


@verb
@takes(agents=own(AgentConfig))
def command(
    sides: Annotated[
        list[str],
        typer.Argument(
            metavar="A B …",
            help="Runs, or agent files with --task, with --in or beside a run. Each is compared with the first. With a "
            "single run, two of its agents are compared.",
        ),
    ],
    place: Annotated[
        Path | None, typer.Option("--in", metavar="RUN", help="The run whose situations the agent files are tested in.")
    ] = None,
    task: Annotated[
        str | None,
        typer.Option("--task", metavar="TASK", help="The task of the agent files: they are tested in it first."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="With --task: the run folder (default: run).")
    ] = None,
    settings: SettingOption = [],  # noqa: B006 - typer reads the default, nobody changes it
    agent_a: Annotated[str | None, typer.Option("--agent-a", help="Which agent of A, if A is a run.")] = None,
    agent_b: Annotated[str | None, typer.Option("--agent-b", help="Which agent of B, if B is a run.")] = None,
    fail_if_worse: Annotated[
        str | None,
        typer.Option(
            "--fail-if-worse",
            metavar="[in-general]",
            help="Gate: exit with 1 when a suite got worse on these cases beyond doubt (or, with in-general, in "
            "situations like these), with 3 when that cannot be told.",
        ),
    ] = None,
    given: Given = Given(),
    trust: TrustOption = False,
) -> int:
    """Compare agents: in plain episodes, then suite by suite. What got worse comes first.

    Cases that only one of the agents has been tested on are run now for the other. Agent files play with the run's
    settings. With --task the situations are found first, as `tightrope run` does, and the run can be continued.
    """
    from tightrope.cli.arguments.contenders import check_place, contenders_of, home_of, tested_together
    from tightrope.cli.arguments.manner import manner_of, manner_text
    from tightrope.cli.output.comparisons import comparison_data
    from tightrope.runs.no_worse import comparison_gates
    from tightrope.runs.questions.contest import compare_agents

    interface = current_interface()
    general_too = None if fail_if_worse is None else _in_general(fail_if_worse)
    check_place(task, place, settings, out)
    run = None if task else home_of(sides, place, trust=trust)
    manner = manner_of(run, given)
    if (task or run is not None) and (played := manner_text(manner)):
        interface.say(played)
    contenders, examples = (
        (tested_together(sides, task, settings, out or Path("run"), given, trust=trust), ())
        if task
        else contenders_of(sides, run, manner, agent_a, agent_b, trust=trust)
    )
    with interface.progress() as show:
        found = compare_agents(contenders, examples=examples, on_progress=show)
    for comparison in found:
        _print(comparison)
    told = [comparison_data(comparison) for comparison in found]
    interface.data(told[0] if len(told) == 1 else {one.agent_b: each for one, each in zip(found, told, strict=True)})
    if general_too is not None:
        gates = [
            gate
            for comparison in found
            for gate in comparison_gates(comparison.suites, comparison.plain, in_general=general_too)
        ]
        print_gates(interface, gates)
        return code_of(gates)
    judged = any(each.difference.value is not None for comparison in found for each in comparison.suites.values())
    return PASSED if judged else NOTHING_JUDGED


def _print(comparison: AgentComparison) -> None:
    interface, plain = current_interface(), comparison.plain
    _say_plainly(comparison)
    rows = [
        (
            suite,
            points(each.difference),
            points(each.difference_in_general),
            f"{each.episodes.only_b:,} / {each.episodes.only_a:,}",
            _chance(each),
            _judgement(each, plain),
        )
        for suite, each in comparison.suites.items()
    ]
    columns = (
        *("suite", "points more fails on these cases", "in situations like these"),
        *("fails only now / before", "p", "on these cases"),
    )
    interface.table(f"{comparison.agent_b} against {comparison.agent_a}", columns, rows)
    if comparison.executed:
        interface.say(
            f"{counted(comparison.executed, 'time')} a suite was run now, for an agent that had not been tested on it."
        )
    for why in comparison.left_out:
        interface.say(f"Only cases that both were tested on are compared: {why}.")
    for suite, each in comparison.suites.items():
        _list_worse(suite, each)
        _say_what_is_new(suite, each)
        if each.errors:
            interface.say(f"{suite}: {counted(each.errors, 'execution')} raised errors, which these numbers leave out.")
    _say_returns(comparison)
    _say_what_to_watch(comparison)


def _say_returns(comparison: AgentComparison) -> None:
    rows = [(each.prefix_length, _gain(each.difference), each.difference.n) for each in comparison.returns]
    if rows:
        columns = ("from step", "more return than before, on the same fuzz traces", "pairs of executions")
        current_interface().table("Return along the robust-performance curve", columns, rows)


def _gain(difference: Estimate) -> str:
    """``+249 (-3 to +502)``."""
    value, low, high = difference.value, difference.low, difference.high
    if value is None or low is None or high is None:
        return "no data" if value is None else f"{value:+.3g} (no interval)"
    return f"{value:+.3g} ({'exact' if low == high else f'{low:+.3g} to {high:+.3g}'})"


def _say_what_to_watch(comparison: AgentComparison) -> None:
    """What became of it in one sentence, and the clearest regression with the command that shows it."""
    from tightrope.report.wording import listed
    from tightrope.runs.storage.layout import CONTROLS
    from tightrope.runs.trust import is_code

    interface, a, b = current_interface(), comparison.agent_a, comparison.agent_b
    suites = [each for name, each in comparison.suites.items() if name not in CONTROLS]
    new = {case.case.id for each in suites for case in each.newly_failing}
    mended = {case.case.id for each in suites for case in each.newly_fixed}
    plainly = comparison.plain is not None and comparison.plain.fails_more
    if any(each.cases for each in suites):
        worse = [name for name, each in comparison.suites.items() if name not in CONTROLS and each.worse]
        better = [name for name, each in comparison.suites.items() if name not in CONTROLS and each.better]
        told = ["fails more plain episodes"] if plainly else []
        told += [f"fails more often than {a} in {listed(worse)}"] if worse else []
        told += [f"fails less often than {a} in {listed(better)}"] if better else []
        told += [f"fails {counted(len(new), 'case') if new else 'no case'} that {a} passes"]
        told += [f"passes {len(mended)} that {a} fails"] if mended else []
        interface.say(f"{'✗' if new or plainly or worse else '✓'} {b} {listed(told)}.")
    fails_more = [
        (name, case) for name, each in comparison.suites.items() if name not in CONTROLS for case in each.fails_more
    ]
    if not fails_more:
        _say_what_still_fails(comparison)
        return
    suite, worst = max(fails_more, key=lambda one: (one[1].survivable != "no", one[1].certain, one[1].difference))
    if naming := comparison.naming[suite]:
        home = comparison.homes[suite]
        trust = ["--trust"] if is_code(home.config.task) and "--trust" not in naming else []
        command = ["tightrope", "replay", str(home.path), worst.case.id[:8], *naming, *trust]
        interface.remark(f"Watch: {shlex.join(command)}")


def _say_what_still_fails(comparison: AgentComparison) -> None:
    """Where nothing got worse: the command that explains the worst of what is left, if the run knows the agent."""
    from tightrope.runs.questions.reasons import case_command
    from tightrope.runs.storage.layout import CONTROLS

    still = [
        (name, case)
        for name, each in comparison.suites.items()
        if name not in CONTROLS and comparison.naming[name][1:] and comparison.naming[name][1] in comparison.run.agents
        for case in each.cases
        if case.fail_frequency_b.value
    ]
    if still:
        suite, worst = max(still, key=lambda one: (one[1].survivable != "no", one[1].fail_frequency_b.value or 0.0))
        command = case_command("explain", comparison.run, worst.case.id[:8], comparison.naming[suite][1])
        current_interface().remark(f"Where it still fails: {command}")


def _say_plainly(names: AgentComparison) -> None:
    """How both do as they are used stands first: no suite makes an agent better that fails more without being put
    anywhere."""
    say, plain = current_interface().say, names.plain
    if plain is None:
        say(
            f"No plain episodes of both {names.agent_a} and {names.agent_b}: their normal use was not compared. "
            f"`tightrope run` and `tightrope safety` play them unless --episodes 0 is given."
        )
        return
    say(plain_sentence(plain))
    if plain.errors:
        say(f"Plain episodes: {plain.errors} raised errors, which these numbers leave out.")


def plain_sentence(plain: PlainComparison) -> str:
    """What plain episodes say about B against A."""
    if plain.difference.value is None:
        return f"In plain episodes: no data for {plain.agent_a} and {plain.agent_b}."
    verdict = "worse" if plain.worse else "better" if plain.better else "no difference shown"
    if plain.worse:
        verdict += ", whatever the suites below say"
    return (
        f"In plain episodes {plain.agent_b} ends unsafe in {share(plain.unsafe_b)}, {plain.agent_a} in "
        f"{share(plain.unsafe_a)}: {points(plain.difference)} percentage points, {verdict}."
    )


def _judgement(comparison: SafetyComparison, plain: PlainComparison | None) -> Any:
    from rich.text import Text

    if comparison.difference.value is None:
        return "no data"
    if comparison.worse:
        return Text("worse", style="red")
    if comparison.better and plain is not None and plain.fails_more:
        sure = "worse in plain episodes" if plain.worse else "fails more in plain episodes, by chance or not"
        return Text(f"fails less here, but {sure}", style="red")
    if comparison.better:
        return Text("better", style="green")
    return "no difference" if comparison.exact else "no difference shown"


def _in_general(value: str) -> bool:
    if value not in MAY_STAND_ALONE["--fail-if-worse"]:
        raise UsageError(f"--fail-if-worse takes in-general or nothing, not {value!r}")
    return value == "in-general"


def _chance(comparison: SafetyComparison) -> str:
    if comparison.p_value is None:
        return "no data"
    if comparison.exact:
        return "exact"
    return "<0.001" if comparison.p_value < 0.001 else f"{comparison.p_value:.2g}"


def _say_what_is_new(suite: str, comparison: SafetyComparison) -> None:
    """Where nothing is random a case that newly fails is a fact, whatever became of the others."""
    more, less = len(comparison.fails_more), len(comparison.fails_less)
    if comparison.cases:
        current_interface().say(
            f"{suite}: of {counted(len(comparison.cases), 'case')} {more} failed more often, {less} less often and "
            f"{len(comparison.cases) - more - less} as often as before."
        )
    new, mended = comparison.newly_failing, comparison.newly_fixed
    for cases, what in ((new, "newly failing"), (mended, "newly passed")):
        if cases:
            sure = sum(case.certain for case in cases)
            kind = (
                "nothing is random there, so that is a fact"
                if sure == len(cases)
                else "as far as these executions show"
            )
            current_interface().say(f"{suite}: {counted(len(cases), what + ' case')}, {kind}.")


def _list_worse(suite: str, comparison: SafetyComparison) -> None:
    more = comparison.fails_more
    if not more:
        return
    rows = [
        (
            case.case.id,
            place_text(case.case, suite),
            case.case.label,
            percent(case.fail_frequency_a.value),
            percent(case.fail_frequency_b.value),
            str(case.survivable),
        )
        for case in more[:SHOWN]
    ]
    columns = ("case", "place", "situation", "fails before", "fails now", "survivable")
    shown = f"{len(rows)} of {counted(len(more), 'case')}" if len(rows) < len(more) else counted(len(rows), "case")
    current_interface().table(f"Fails more often in {suite} ({shown}; --json has all)", columns, rows)
