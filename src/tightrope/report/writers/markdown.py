"""``summary.md``: the verdict for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tightrope.explanation.words import BLAME, MISSING
from tightrope.guards.text import one_line, visible
from tightrope.report.results import CaseResult, GateResult, Results, RunResults, SuiteResult
from tightrope.report.verdict import find_suite, headline_suite, suite_names, verdicts
from tightrope.report.wording import NO_DATA, count, estimate_text, number, percent

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
    if run.status != "finished":
        yield from (f"**This run is not finished ({_escape(run.status)}).**", "")
    yield from (f"- **{_escape(verdict.agent)}** {_escape(verdict.sentence)}." for verdict in verdicts(run))
    yield ""
    yield from (_gate(gate) for gate in run.gates)
    if run.gates:
        yield ""
    yield from _table(run)
    for agent in run.agents:
        yield from _reasons(run, agent.name)
    for agent in run.agents:
        yield from _worst(run, agent.name)


def _gate(gate: GateResult) -> str:
    mark = {True: "✅ passed", False: "❌ failed", None: "⚪ not judged"}[gate.passed]
    agent = f", {gate.agent}" if gate.agent else ""
    return f"- {mark}: {_escape(gate.name + agent)}" + (f" ({_escape(gate.detail)})" if gate.detail else "")


def _table(run: RunResults) -> Iterator[str]:
    names = suite_names(run)
    if not names:
        return
    controls = {suite.suite for suite in run.suites if suite.control}
    yield _row(["fail frequency on these cases", *(agent.name for agent in run.agents)])
    yield _row(["---"] * (len(run.agents) + 1), raw=True)
    for name in names:
        found = [find_suite(run, name, agent.name) for agent in run.agents]
        label = f"{name} (control)" if name in controls else name
        yield _row([label, *(_cell(suite) for suite in found)])
    yield ""


def _cell(suite: SuiteResult | None) -> str:
    if suite is None:
        return NO_DATA
    parts = [estimate_text(suite.fail_frequency)]
    if suite.invalid:
        parts.append(f"{number(suite.invalid)} invalid")
    if suite.doomed:
        parts.append(f"{number(suite.doomed)} doomed")
    if suite.survivable_fail_frequency.value is not None:
        parts.append(f"survivable alone {estimate_text(suite.survivable_fail_frequency)}")
    return "; ".join(parts)


def _reasons(run: RunResults, agent: str) -> Iterator[str]:
    """Why it fails: the groups of its fails that were explained, each in a sentence."""
    groups = [group for group in run.groups if group.agent == agent]
    told = [group for group in groups if group.sentence and group.sentence != MISSING][:REASONS]
    if not told:
        return
    yield from (f"**Why {_escape(agent)} fails**", "")
    for group in told:
        share = f"{percent(group.share)} of its fails ({count(len(group.cases), 'case')}), {BLAME[group.avoidable]}"
        yield f"- {share}: {_escape(group.sentence)}"
    if len(groups) > len(told):
        yield f"- … and {len(groups) - len(told)} more"
    yield ""


def _worst(run: RunResults, agent: str) -> Iterator[str]:
    suite = find_suite(run, headline_suite(run), agent)
    failing = sorted((case for case in (suite.cases if suite else ()) if case.fails and case.replay), key=_badness)[
        :WORST
    ]
    if not failing:
        return
    yield from (f"<details><summary>{_escape(agent)}: replay the worst fails</summary>", "")
    for case in failing:
        where = "" if case.depth is None else f"depth {case.depth}, "
        told = f"failed {case.fails} of {case.fails + case.passes} times, survivable: {case.survivable}"
        yield f"- {where}{told}: `{one_line(case.replay).replace('`', '')}`"
    yield from ("", "</details>", "")


def _badness(case: CaseResult) -> tuple[bool, float, int]:
    """Survivable fails first, the most frequent first."""
    return (case.survivable == "no", -(case.fail_frequency.value or 0.0), case.handover)


def _row(cells: Sequence[str], *, raw: bool = False) -> str:
    return "| " + " | ".join(cells if raw else [_escape(cell) for cell in cells]) + " |"


def _escape(text: str) -> str:
    text = visible(text)
    for sign in ("\\", "`", "*", "_", "|", "[", "<"):
        text = text.replace(sign, "&lt;" if sign == "<" else "\\" + sign)
    return text.replace("\n", " ")
