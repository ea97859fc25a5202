"""A comparison of two agents: suite by suite in the terminal, and as data for ``--json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tightrope.cli.output.interface import current_interface
from tightrope.cli.output.regressions import say_what_became_of_it, say_what_changed
from tightrope.cli.output.words import counted, points, share
from tightrope.report.results import PLAIN

if TYPE_CHECKING:
    from rich.text import Text

    from tightrope.evaluation import PlainComparison
    from tightrope.runs.questions.contest import AgentComparison
    from tightrope.safety import SafetyComparison
    from tightrope.statistics import Estimate


def print_comparison(comparison: AgentComparison) -> None:
    """Plain episodes first, then the suites, case by case what changed, and what to watch."""
    interface = current_interface()
    _say_plainly(comparison)
    rows = [
        (
            suite,
            points(each.difference),
            points(each.difference_in_general),
            f"{each.episodes.only_b:,} / {each.episodes.only_a:,}",
            _chance(each),
            _judgement(each, comparison.plain),
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
            f"{counted(comparison.executed, 'time')} a suite was run now, for an agent that had not been tested on it "
            f"in this way."
        )
    for why in comparison.left_out:
        interface.say(f"Only cases that both were tested on are compared: {why}.")
    for suite, each in comparison.suites.items():
        say_what_changed(suite, each)
    _say_returns(comparison)
    say_what_became_of_it(comparison)


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
    say(_plain_sentence(plain))
    if plain.errors:
        say(f"Plain episodes: {plain.errors} raised errors, which these numbers leave out.")


def _plain_sentence(plain: PlainComparison) -> str:
    """What plain episodes say about B against A."""
    if plain.difference.value is None:
        return f"In plain episodes: no data for {plain.agent_a} and {plain.agent_b}."
    verdict = "worse" if plain.worse else "better" if plain.better else "no difference shown"
    if plain.worse:
        verdict += ", whatever the suites below say"
    return (
        f"In plain episodes {plain.agent_b} ends unsafe in {share(plain.unsafe_b)}, {plain.agent_a} in "
        f"{share(plain.unsafe_a)}: {points(plain.difference)} percentage points, {verdict}.{_goals(plain)}"
    )


def _goals(plain: PlainComparison) -> str:
    """Who stands still does no harm either, so it is said who arrives; nothing where nobody does."""
    if not (plain.goal_a.value or plain.goal_b.value):
        return ""
    reached = f"{share(plain.goal_b)}, {plain.agent_a} in {share(plain.goal_a)}"
    return f" {plain.agent_b} reaches the goal in {reached}."


def _chance(comparison: SafetyComparison) -> str:
    if comparison.p_value is None:
        return "no data"
    if comparison.exact:
        return "exact"
    return "<0.001" if comparison.p_value < 0.001 else f"{comparison.p_value:.2g}"


def _judgement(comparison: SafetyComparison, plain: PlainComparison | None) -> str | Text:
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


def comparison_data(comparison: AgentComparison) -> dict[str, Any]:
    """Plain values: plain episodes, each suite, and the return where it was measured."""
    told = {} if comparison.plain is None else {PLAIN: _plain_data(comparison.plain)}
    returns = [{"from_step": each.prefix_length, **each.difference.to_json()} for each in comparison.returns]
    suites = {suite: _data(each) for suite, each in comparison.suites.items()}
    return told | suites | ({"return": returns} if returns else {})


def _plain_data(plain: PlainComparison) -> dict[str, Any]:
    return {
        "agent_a": plain.agent_a,
        "agent_b": plain.agent_b,
        "unsafe_a": plain.unsafe_a.to_json(),
        "unsafe_b": plain.unsafe_b.to_json(),
        "goal_a": plain.goal_a.to_json(),
        "goal_b": plain.goal_b.to_json(),
        "difference": plain.difference.to_json(),
        "p_value": plain.p_value,
        "worse": plain.worse,
        "better": plain.better,
        "errors": plain.errors,
    }


def _data(comparison: SafetyComparison) -> dict[str, Any]:
    return {
        "agent_a": comparison.agent_a,
        "agent_b": comparison.agent_b,
        "difference": comparison.difference.to_json(),
        "p_value": comparison.p_value,
        "exact": comparison.exact,
        "difference_in_general": comparison.difference_in_general.to_json(),
        "worse": comparison.worse,
        "better": comparison.better,
        "newly_failing": [case.case.id for case in comparison.newly_failing],
        "newly_fixed": [case.case.id for case in comparison.newly_fixed],
        "errors": comparison.errors,
        "cases": [
            {
                "case": case.case.id,
                "before": case.fail_frequency_a.value,
                "now": case.fail_frequency_b.value,
                "executions": {"before": case.fail_frequency_a.n, "now": case.fail_frequency_b.n},
                "survivable": str(case.survivable),
                "certain": case.certain,
            }
            for case in comparison.cases
        ],
    }
