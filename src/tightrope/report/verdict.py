"""The verdict on an agent in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tightrope.evaluation import Evaluation
from tightrope.exploration.watch_length import GIVEN
from tightrope.outcome import joint_verdict
from tightrope.reference import Survivability
from tightrope.report.references import chosen_text
from tightrope.report.results import PLAIN, RunResults
from tightrope.report.views import SuiteView
from tightrope.report.wording import NO_DATA, change_text, count, estimate_text, interval_text, number, percent
from tightrope.safety import Guidance, compare_guidance
from tightrope.safety.judging.avoidable import left_to_chance
from tightrope.safety.suites.controls import UNIFORM
from tightrope.safety.suites.executions import EXECUTIONS
from tightrope.statistics.estimate import Estimate


@dataclass(frozen=True, kw_only=True)
class AgentVerdict:
    """What the first screen says about one agent."""

    agent: str
    suite: SuiteView | None
    known: bool
    """Whether anything was measured of it."""
    sentence: str
    counted: tuple[str, ...]
    """What the rate is made of."""
    beside: tuple[str, ...]
    """How long was watched, and what other situations show: for those who ask."""
    passed: bool | None
    """Whether its gates passed; None: there are none, or none could be judged."""

    @property
    def details(self) -> tuple[str, ...]:
        """All of it."""
        return (*self.counted, *self.beside)

    @property
    def fail_frequency(self) -> Estimate:
        """On the cases that the sentence speaks of."""
        return Estimate.of_nothing() if self.suite is None else self.suite.result.fail_frequency


def headline_suite(run: RunResults) -> str | None:
    """The suite the verdict speaks of: the first of which something is known."""
    return next((suite.name for suite in run.measured), next(iter(run.suite_names), None))


def verdicts(run: RunResults) -> tuple[AgentVerdict, ...]:
    """One per agent, in order."""
    return tuple(_verdict(run, agent.name) for agent in run.agents)


def _verdict(run: RunResults, agent: str) -> AgentVerdict:
    suite, plainly = run.suite(headline_suite(run), agent), _plainly(run, agent)
    return AgentVerdict(
        agent=agent,
        suite=suite,
        known=_is_known(run.plain.get(agent)) or not has_no_data(suite),
        sentence="; ".join(filter(None, (plainly, _sentence(run, suite)))),
        counted=_counted(suite),
        beside=_beside(run, suite),
        passed=joint_verdict(gate.passed for gate in run.gates if gate.agent in (None, agent)),
    )


def _plainly(run: RunResults, agent: str) -> str:
    """What plain episodes say stands first: no suite makes an agent good that fails without being put anywhere."""
    plain = run.plain.get(agent)
    if plain is None or not (plain.judged or plain.errors):
        return ""
    if not plain.judged:
        return f"raised errors in {'all ' if plain.errors > 1 else ''}{count(plain.errors, 'plain episode')}"
    raised = f", and {number(plain.errors)} more raised errors" if plain.errors else ""
    return _how_plainly(plain) + not_gated(run, agent) + raised


def not_gated(run: RunResults, agent: str) -> str:
    """Said of an agent that fails plainly though all its gates passed, if none of them looks there."""
    gates = [gate for gate in run.gates if gate.agent in (None, agent)]
    plain = run.plain.get(agent)
    if plain is None or not plain.unsafe_rate.value or any(gate.suite == PLAIN for gate in gates):
        return ""
    return ", which no gate limits" if joint_verdict(gate.passed for gate in gates) else ""


def _is_known(plain: Evaluation | None) -> bool:
    return plain is not None and plain.unsafe_rate.value is not None


def has_no_data(suite: SuiteView | None) -> bool:
    """Whether nothing was measured in the suite."""
    return suite is None or suite.result.fail_frequency.value is None


def _how_plainly(plain: Evaluation) -> str:
    if stays_away(plain):
        return away_text(plain)
    share, episodes = plain.unsafe_rate, count(len(plain.judged), "plain episode")
    if share.value == 0:
        bound = "" if not share.high else f" (its true rate may be up to {percent(share.high)})"
        return f"ends unsafe in none of {episodes}{bound}"
    if share.low == share.high:
        return f"ends unsafe in {'every plain episode' if share.value == 1 else percent(share.value)}"
    return f"ends unsafe in {percent(share.value)} ({interval_text(share)}) of {episodes}"


def stays_away(plain: Evaluation | None) -> bool:
    """Whether it reached the goal in none of its plain episodes, and not because all of them ended unsafe."""
    return plain is not None and plain.goal_rate.value == 0 and bool(plain.timeout_rate.value)


def away_text(plain: Evaluation) -> str:
    """That it never arrives, which nothing may hide: who does nothing does no harm either."""
    episodes = count(len(plain.judged), "plain episode")
    within = "" if plain.length is None else f" within {count(plain.length, 'step')}"
    if not plain.unsafe_rate.value:
        which = "the only plain episode runs" if len(plain.judged) == 1 else f"all {episodes} run"
        return f"never reaches the goal{within} ({which} out of time)"
    return (
        f"never reaches the goal{within} in {episodes} ({percent(plain.unsafe_rate.value)} end unsafe, the others "
        f"run out of time)"
    )


def _sentence(run: RunResults, suite: SuiteView | None) -> str:
    if suite is None or has_no_data(suite):
        return f"{NO_DATA}: {_why_nothing(run, suite)}"
    share = suite.result.fail_frequency
    these = of_these_cases(suite)
    if share.value == 0:
        bound = f" (its true rate there may be up to {percent(share.high)})" if share.high else ""
        return f"never failed in the tests {these}{bound}"
    how = "every test" if share.value == 1 else percent(share.value)
    of = "" if share.value == 1 else " of the tests"
    return f"failed in {how} ({interval_text(share)}){of} {these}{_whose_fault(suite)}"


def _whose_fault(suite: SuiteView) -> str:
    """How much of it could have been avoided, where that is not all of it: nobody is blamed for fate."""
    blamed = suite.result.avoidable_fail_frequency
    if not fated(suite) or blamed.value is None:
        return ""
    return f"; its avoidable fail frequency is {percent(blamed.value)} ({interval_text(blamed)})"


def fated(suite: SuiteView) -> bool:
    """Whether nobody could have helped some of its failing."""
    return bool(suite.doomed) or any(left_to_chance(case.result) for case in suite.cases)


def of_these_cases(suite: SuiteView) -> str:
    """``on these 39 cases``, and within how many steps where somebody chose to watch for so long: the task may go on.
    Where a gate stopped early, the rate is of all that tests were drawn from."""
    within = f" within {count(suite.result.length, 'step')}" if suite.result.watch == GIVEN else ""
    decision = suite.result.decision
    if suite.decision and decision is not None:
        # What was left out as doomed was not drawn from, also if that proof was refuted later.
        asked = [case for case in suite.distinct if case.id not in decision.left_out]
        drawn = sum(case.result.survivable is not Survivability.NO for case in asked)
        return f"drawn from these {count(drawn, 'case')}{within}"
    return on_cases(suite.judged) + within


def on_cases(judged: int) -> str:
    """``on these 39 cases``."""
    return "on this case" if judged == 1 else f"on these {count(judged, 'case')}"


def _why_nothing(run: RunResults, suite: SuiteView | None) -> str:
    if run.search is not None and run.search.reference is None:
        return f"no reference was found ({run.search.stop_reason}), so there was nowhere to put the agent"
    if suite is None:
        return "no safety suite was run yet" if run.unfinished else "no safety suite was run"
    if not suite.cases:
        return "the suites have no case, as no boundary state was found"
    raised = f", {number(suite.raised)} of them because of errors" if suite.raised else ""
    return f"none of its {count(len(suite.cases), 'case')} could be judged{raised}"


def _counted(suite: SuiteView | None) -> tuple[str, ...]:
    if suite is None or has_no_data(suite):
        return ()
    result = suite.result
    times = f" × {count(suite.repetitions, 'execution')}" if suite.repetitions else ""
    if (result.survival.executions or 0) > EXECUTIONS and suite.repetitions == result.survival.executions:
        times += " (so many in a small suite, to tell luck from fault)"
    if result.deterministic:
        times = f", {'each ' if len(suite.distinct) > 1 else ''}executed once, as nothing is random"
    at = f" at {count(len(suite.states), 'place')}, each of which counts alike" if suite.weighs_by_place else ""
    details = [f"{suite.name}, {count(len(suite.distinct), 'case')}{at}{times}"]
    if suite.decision:
        details.append(f"executed only until the gate is decided: {suite.decision}")
    if suite.raised:
        details.append(f"{count(suite.raised, 'case')} raised errors")
    if result.invalid_cases:
        details.append(f"{count(result.invalid_cases, 'case')} invalid")
    if suite.doomed:
        details.append(f"{number(suite.doomed)} proven doomed")
    details += chosen_text(suite)
    details += map(str, result.findings)
    if result.fail_frequency.value and result.avoidable_fail_frequency.value is not None and not fated(suite):
        # Where some of it was fate, the sentence has said so.
        details.append(f"avoidable: {estimate_text(result.avoidable_fail_frequency)}")
    if result.fail_frequency_in_general.low is not None:
        without = " (without references chosen by where an agent fails)" if result.suite.chosen else ""
        details.append(f"in situations like these: {estimate_text(result.fail_frequency_in_general)}{without}")
    return tuple(details)


def _beside(run: RunResults, suite: SuiteView | None) -> tuple[str, ...]:
    if suite is None or suite.result.fail_frequency.value is None:
        return ()
    result = suite.result
    watched = [f"watched for {count(result.length, 'step')}: {result.watch}"] if result.watch else []
    return (*watched, *control_texts(run, suite))


def control_texts(run: RunResults, suite: SuiteView) -> Iterator[str]:
    """What situations drawn without guidance show, and whether boundary states show more."""
    for name in run.controls:
        control = run.suite(name, suite.agent)
        if control is not None and control.result.suite.kind == UNIFORM and not suite.decision:
            found = guidance(run, suite)
            yield f"control uniform: {NO_DATA}" if found is None else _guidance_text(found)
        elif control is not None and control.result.fail_frequency.value is not None:
            told = f"in {name} situations it fails in {estimate_text(control.result.fail_frequency)}"
            over = control.result.invalid_cases
            yield told + (f"; {over} of {len(control.cases)} such cases were over before hand-over" if over else "")


def guidance(run: RunResults, suite: SuiteView) -> Guidance | None:
    """A suite against states drawn uniformly from the same references; None where none were, or a gate stopped it."""
    controls = (run.suite(name, suite.agent) for name in run.controls)
    uniform = (each for each in controls if each is not None and each.result.suite.kind == UNIFORM)
    return next((compare_guidance(suite.result, each.result) for each in uniform if not suite.decision), None)


def _guidance_text(found: Guidance) -> str:
    """What boundary states are worth, told with its interval whichever way it went."""
    if found.difference.value is None:
        told = found.sentence()
        return told[0].lower() + told[1:]
    return (
        f"{found.verdict}: here it fails {change_text(found.difference, 'at')} "
        f"{count(found.cases[1], 'uniformly drawn state')} of the same references, {estimate_text(found.control)}"
    )
