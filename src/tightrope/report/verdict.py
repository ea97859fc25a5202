"""The verdict on an agent in one sentence."""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.outcome import joint_verdict
from tightrope.report.results import PlainSummary, RunResults, SuiteResult
from tightrope.report.wording import NO_DATA, count, estimate_text, general_text, interval_text, number, percent
from tightrope.statistics.estimate import Estimate


@dataclass(frozen=True, kw_only=True)
class AgentVerdict:
    """What the first screen says about one agent."""

    run: str
    agent: str
    suite: str
    fail_frequency: Estimate
    sentence: str
    details: tuple[str, ...]
    passed: bool | None
    """Whether its gates passed; None: there are none, or none could be judged."""


def suite_names(run: RunResults, *, controls: bool = True) -> tuple[str, ...]:
    """The suites of a run in order, controls last."""
    plain = dict.fromkeys(suite.suite for suite in run.suites if not suite.control)
    random = dict.fromkeys(suite.suite for suite in run.suites if suite.control)
    return (*plain, *random) if controls else tuple(plain)


def headline_suite(run: RunResults) -> str | None:
    """The suite the verdict speaks of."""
    if run.headline_suite is not None:
        return run.headline_suite
    measured = {suite.suite for suite in run.suites if suite.fail_frequency.value is not None}
    names = suite_names(run, controls=False)
    return next((name for name in names if name in measured), names[0] if names else None)


def find_suite(run: RunResults, name: str | None, agent: str) -> SuiteResult | None:
    """The result of one suite under one agent."""
    return next((suite for suite in run.suites if suite.suite == name and suite.agent == agent), None)


def verdicts(run: RunResults) -> tuple[AgentVerdict, ...]:
    """One per agent, in order."""
    return tuple(_verdict(run, agent.name) for agent in run.agents)


def _verdict(run: RunResults, agent: str) -> AgentVerdict:
    suite = find_suite(run, headline_suite(run), agent)
    return AgentVerdict(
        run=run.name,
        agent=agent,
        suite=suite.suite if suite else "",
        fail_frequency=suite.fail_frequency if suite else Estimate.of_nothing(),
        sentence="; ".join(filter(None, (_plainly(run, agent), _sentence(run, suite)))),
        details=_details(run, suite),
        passed=_gates_passed(run, agent),
    )


def find_plain(run: RunResults, agent: str) -> PlainSummary | None:
    """How an agent does in plain episodes."""
    return next((plain for plain in run.plain if plain.agent == agent), None)


def _plainly(run: RunResults, agent: str) -> str:
    """What plain episodes say stands first: no suite makes an agent good that fails without being put anywhere."""
    plain = find_plain(run, agent)
    if plain is None or plain.unsafe_rate.value is None:
        return ""
    share = plain.unsafe_rate
    if share.value == 0:
        bound = "" if not share.high else f", though up to {percent(share.high)} of them may"
        return f"ends unsafe in none of {count(plain.episodes, 'plain episode')}{bound}"
    if share.low == share.high:
        return f"ends unsafe in {'every plain episode' if share.value == 1 else percent(share.value)}"
    return f"ends unsafe in {percent(share.value)} ({interval_text(share)}) of {count(plain.episodes, 'plain episode')}"


def _sentence(run: RunResults, suite: SuiteResult | None) -> str:
    if suite is None or suite.fail_frequency.value is None:
        return f"{NO_DATA}: {_why_nothing(run, suite)}"
    share = suite.fail_frequency
    these = f"on {'this' if suite.judged == 1 else 'these'} {count(suite.judged, 'case')}"
    if suite.decision:
        these = f"drawn from these {count(len({case.id for case in suite.cases}), 'case')}"
    if share.value == 0:
        bound = f"; there its true rate may still be as high as {percent(share.high)}" if share.high else ""
        return f"never failed in the tests {these}{bound}"
    if share.value == 1:
        return f"failed in every test ({interval_text(share)}) {these}"
    return f"failed in {percent(share.value)} ({interval_text(share)}) of the tests {these}"


def _why_nothing(run: RunResults, suite: SuiteResult | None) -> str:
    if run.search is not None and not run.search.found:
        return f"no reference was found ({run.search.stop_reason}), so there was nowhere to put the agent"
    if suite is None:
        return "no safety suite was run"
    raised = f", {number(suite.raised)} of them because of errors" if suite.raised else ""
    return f"none of its {count(len(suite.cases), 'case')} could be judged{raised}"


def _details(run: RunResults, suite: SuiteResult | None) -> tuple[str, ...]:
    if suite is None or suite.fail_frequency.value is None:
        return ()
    times = f" × {count(suite.repetitions, 'execution')}" if suite.repetitions else ""
    details = [f"{suite.suite}, {count(len(suite.cases), 'case')}{times}"]
    if suite.decision:
        details.append(f"stopped as soon as the gate was decided: {suite.decision}")
    if suite.raised:
        details.append(f"{count(suite.raised, 'case')} raised errors")
    if suite.invalid:
        details.append(f"{count(suite.invalid, 'case')} invalid")
    if suite.doomed:
        details.append(f"{number(suite.doomed)} proven doomed")
    if suite.survivable_fail_frequency.value is not None:
        details.append(f"survivable ones of these cases alone: {estimate_text(suite.survivable_fail_frequency)}")
    if suite.fail_frequency_in_general.value is not None:
        details.append(f"in situations like these: {general_text(suite.fail_frequency_in_general)}")
    control = next((other for other in run.suites if other.control and other.agent == suite.agent), None)
    if control is not None:
        details.append(f"control {control.suite}, on its cases: {estimate_text(control.fail_frequency)}")
    return tuple(details)


def _gates_passed(run: RunResults, agent: str) -> bool | None:
    return joint_verdict(gate.passed for gate in run.gates if gate.agent in (None, agent))
