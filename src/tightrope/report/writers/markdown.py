"""``summary.md``: the verdict for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tightrope.explanation.words import BLAME
from tightrope.guards.text import one_line, visible
from tightrope.report.headline import headline
from tightrope.report.results import Gate, Results, RunResults
from tightrope.report.verdict import headline_suite, verdicts
from tightrope.report.views import CaseView, SuiteView
from tightrope.report.wording import NO_DATA, count, estimate_text, number, percent, typeset
from tightrope.safety.failing.groups import rest_of_groups

WORST = 5
"""Failures named for each agent."""
REASONS = 5
"""Groups of failures told of each agent."""


def markdown_summary(results: Results) -> str:
    """The whole file."""
    lines = [f"# {_escape(results.title)}", ""]
    for run in results.runs:
        lines += _run(run, titled=len(results.runs) > 1)
    return "\n".join(lines).rstrip() + "\n"


def _run(run: RunResults, *, titled: bool) -> Iterator[str]:
    if titled:
        yield from (f"## {_escape(run.name)}", "")
    if run.unfinished:
        yield from (f"**This run is not finished ({_escape(run.status.removeprefix('unfinished: '))}).**", "")
    said = headline(run)
    yield from (f"**{said.badge.capitalize()}**: {_escape(said.sentence)}", "")
    yield from (f"- **{_escape(verdict.agent)}** {_escape(verdict.sentence)}." for verdict in verdicts(run))
    yield ""
    yield from (_gate(gate) for gate in run.gates)
    if run.gates:
        yield ""
    yield from _table(run)
    yield from _findings(run)
    for name in run.groups:
        yield from _reasons(run, name)
    for agent in run.agents:
        yield from _worst(run, agent.name)
    if run.spent:
        yield from (_escape(run.spent), "")


def _gate(gate: Gate) -> str:
    mark = {True: "✅ passed", False: "❌ failed", None: "⚪ not judged"}[gate.passed]
    name = " ".join(filter(None, (gate.suite, gate.name))) + (f", {gate.agent}" if gate.agent else "")
    return f"- {mark}: {_escape(name)}" + (f" ({_escape(typeset(gate.detail))})" if gate.detail else "")


def _table(run: RunResults) -> Iterator[str]:
    names = dict.fromkeys(suite.name for suite in run.suites)
    if not names:
        return
    yield _row(["fail frequency on these cases", *(agent.name for agent in run.agents)])
    yield _row(["---"] * (len(run.agents) + 1), raw=True)
    for name in names:
        found = [run.suite(name, agent.name) for agent in run.agents]
        label = f"{name} (control)" if name in run.controls else name
        yield _row([label, *(_cell(suite) for suite in found)])
    yield ""


def _cell(suite: SuiteView | None) -> str:
    if suite is None:
        return NO_DATA
    result = suite.result
    parts = [estimate_text(result.fail_frequency)]
    if result.invalid_cases:
        parts.append(f"{number(result.invalid_cases)} invalid")
    if suite.doomed:
        parts.append(f"{number(suite.doomed)} doomed")
    if result.survivable_fail_frequency.value is not None and not suite.decision:
        parts.append(f"survivable alone {estimate_text(result.survivable_fail_frequency)}")
    return "; ".join(parts)


def _reasons(run: RunResults, agent: str) -> Iterator[str]:
    """Why it fails: the groups of its fails that were explained, each in a sentence."""
    told = [group for group in run.groups[agent] if group.explanation is not None][:REASONS]
    if not told:
        return
    yield from (f"**Why {_escape(agent)} fails**", "")
    for group in told:
        share = f"{percent(group.share)} of its fails ({count(len(group.members), 'case')}), {BLAME[group.avoidable]}"
        yield f"- {share}: {_escape(typeset(group.sentence(run.task)))}"
    rest = rest_of_groups(run.groups[agent], len(told))
    if rest:
        yield f"- {rest}"
    yield ""


def _findings(run: RunResults) -> Iterator[str]:
    """What came out that lowers trust in these numbers."""
    told = dict.fromkeys(
        f"- {_escape(f'{suite.agent}, {suite.name}: {finding}')}."
        for suite in run.suites
        for finding in suite.result.findings
    )
    if told:
        yield from ("Findings that lower trust:", "", *told, "")


def _worst(run: RunResults, agent: str) -> Iterator[str]:
    suite = run.suite(headline_suite(run), agent)
    failing = sorted((case for case in (suite.distinct if suite else ()) if case.replay), key=_worst_first)[:WORST]
    if not failing:
        return
    yield from (f"<details><summary>{_escape(agent)}: replay the worst fails</summary>", "")
    for case in failing:
        where = "" if case.place is None else f"place #{case.place}, "
        told = f"{case.told}, {'whose fault is ' if case.blame == 'not known' else ''}{case.blame}"
        yield f"- {where}{told}: `{one_line(case.replay).replace('`', '')}`"
    yield from ("", "</details>", "")


def _worst_first(case: CaseView) -> tuple[bool, float, int]:
    """Survivable fails first, the most frequent first."""
    return (case.doomed, -(case.result.fail_frequency.value or 0.0), case.handover)


def _row(cells: Sequence[str], *, raw: bool = False) -> str:
    return "| " + " | ".join(cells if raw else [_escape(cell) for cell in cells]) + " |"


def _escape(text: str) -> str:
    text = visible(text)
    for sign in ("\\", "`", "*", "_", "|", "[", "<"):
        text = text.replace(sign, "&lt;" if sign == "<" else "\\" + sign)
    return text.replace("\n", " ")
