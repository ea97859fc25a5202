"""Gates: conditions on results. They are judged here and nowhere else; commands, pytest, report and JUnit show them.

A gate is a `Rule`: the name of its limit among the settings, and what it measures. A new one is a setting that says it
is a gate, and a rule in `RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

from tightrope.evaluation import Evaluation, PlainComparison
from tightrope.outcome import joint_verdict
from tightrope.reference import Survivability
from tightrope.report.wording import THIN, change_text, estimate_text, percent
from tightrope.risk import FailureEstimate
from tightrope.runs.configuration.config import CampaignConfig, sections
from tightrope.runs.storage.layout import CONTROLS
from tightrope.safety import (
    CaseResult,
    GateDecision,
    SafetyComparison,
    SafetyResult,
    avoidable_fail_frequency,
    rate_without_doomed,
)
from tightrope.safety.judging.avoidable import left_to_chance, tried_by_chance
from tightrope.statistics import Estimate

IN_USE = "in use"
"""What stands in place of a suite where the risk of an episode was estimated."""
SMALL = 0.001
"""Shares below this are told as they are: nobody reads 0.0001 % at a glance."""
PLAIN = "plain episodes"
"""What stands in place of a suite where an agent was put nowhere."""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """One condition and whether it held; ``passed`` is None when too little was measured to say so."""

    name: str
    """What is limited."""
    agent: str | None
    """None: of nobody, since nothing was measured."""
    suite: str
    """The suite, or where else it was measured."""
    passed: bool | None
    detail: str


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What a gate looks at, for one agent in one place."""

    agent: str
    suite: str
    estimate: Estimate
    what: str
    """What was estimated, in words."""
    aside: str = ""
    """What else there is to know about it."""
    errors: int = 0
    """Executions that raised, and are not in it."""
    decision: GateDecision | None = None
    """Where executions were drawn only until a gate was decided: by that and never by the estimate it is judged."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What gates can look at."""

    plain: Mapping[str, Evaluation] = field(default_factory=dict)
    """Agent → its plain episodes."""
    safety: Mapping[str, Mapping[str, SafetyResult]] = field(default_factory=dict)
    """Suite → agent → result."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A kind of gate."""

    name: str
    setting: str
    """Where its limit stands in the configuration."""
    measure: Callable[[Evidence], Iterable[Measurement]]
    lacks: Callable[[CampaignConfig], str]
    """What is missing in a configuration under which nothing would be measured, and what to do; else empty."""

    @property
    def option(self) -> str:
        """What sets it on the command line."""
        part, name = self.setting.split(".")
        return sections()[part].settings()[name].run_flags[0]

    def limit(self, config: CampaignConfig) -> float | None:
        """What is allowed; None: this gate was not asked for."""
        limit: float | None = attrgetter(self.setting)(config)
        return limit


def judged_gates(config: CampaignConfig, evidence: Evidence) -> tuple[Gate, ...]:
    """Every gate that was asked for, for every agent and suite; one for which nothing was measured did not pass."""
    gates: list[Gate] = []
    for rule in asked_for(config):
        limit = rule.limit(config)
        assert limit is not None
        measured = list(rule.measure(evidence))
        gates += [judge_gate(rule.name, each, limit, on=config.safety.gate_on) for each in measured]
        if not measured:
            told = f"nothing was measured for {rule.option} {limit:g}"
            gates.append(Gate(name=rule.name, agent=None, suite="", passed=None, detail=told))
    return tuple(gates)


def asked_for(config: CampaignConfig) -> tuple[Rule, ...]:
    """The gates that were asked for."""
    return tuple(rule for rule in RULES if rule.limit(config) is not None)


def all_passed(gates: Iterable[Gate]) -> bool | None:
    """False where one failed; True only where there are gates and every one passed; None: undecided."""
    return joint_verdict(gate.passed for gate in gates)


def judge_gate(name: str, measured: Measurement, limit: float, *, on: str = "value") -> Gate:
    """Whether what was measured is within the limit; ``on`` its value, or on ``high``, its interval's upper limit."""
    if measured.decision is not None:
        return _judge_stopped(name, measured, measured.decision, limit)
    number = getattr(measured.estimate, on)
    what = f"upper limit of the {measured.what}" if on == "high" else measured.what
    if number is None:
        passed, detail = None, f"no data for the {what}"
    else:
        within = number <= limit
        # What raised might have been a fail: it cannot make a gate pass, nor excuse one that fails without it.
        passed = None if within and measured.errors else within
        # A mean of shares may lie above 1 by the last digit.
        told, allowed = (_told(number, limit), _exact(limit)) if max(number, limit) < 1 + 1e-9 else (
            f"{number:.4g}", f"{limit:.4g}")  # fmt: skip
        detail = f"{what} {told} is {'within' if within else 'above'} the allowed {allowed}"
        if measured.aside:
            detail += f"; {measured.aside}"
        if measured.errors:
            detail += f"; {_executions(measured.errors)} raised errors, which it leaves out"
    return Gate(name=name, agent=measured.agent, suite=measured.suite, passed=passed, detail=detail)


def _told(number: float, limit: float | None = None) -> str:
    """In percent, a risk of one in a million as it is; with more figures where it would read as the limit."""
    if number and abs(number) < SMALL:
        return f"{number:.3g}"
    return _exact(number) if limit is not None and percent(number) == percent(limit) else percent(number)


def _exact(number: float) -> str:
    """As it was asked for."""
    return f"{number:.3g}" if number and abs(number) < SMALL else f"{100 * number:.6g}{THIN}%"


def _executions(number: int) -> str:
    return "1 execution" if number == 1 else f"{number} executions"


def _judge_stopped(name: str, measured: Measurement, decision: GateDecision, limit: float) -> Gate:
    """By the limits that hold however early it stopped; the value alone would flatter whoever stops early."""
    found = decision.estimate
    if found.low is None or found.high is None:
        passed, detail = None, f"no data for the {measured.what}"
    else:
        passed = decision.judged(limit)
        relation = {True: "within", False: "above", None: "not shown to be within or above"}[passed]
        fate = "" if decision.fate is None else f" beside {_told(decision.fate.value or 0.0)} that nobody can help"
        limits = f"{_told(found.low, limit)} to {_told(found.high, limit)}"
        detail = f"{measured.what} {limits} is {relation} the allowed {_exact(limit)}{fate}; {decision}"
    if measured.errors:
        detail += f"; {_executions(measured.errors)} raised errors"
        passed = None if passed else passed
    return Gate(name=name, agent=measured.agent, suite=measured.suite, passed=passed, detail=detail)


def measured_fails(agent: str, where: str, cases: Sequence[CaseResult]) -> Measurement:
    """How often an agent fails where somebody would not have.

    Cases that are proven doomed are left out, and of what is left to chance that part is taken off which nobody can
    help. Cases of which nothing is known stay in it. Otherwise one proof would let all fails pass that no search had
    the time to find a way out of. Where executions did not start in the situations of the cases, what others did from
    there excuses nobody.
    """
    distinct = {case.case.id: case for case in cases}.values()
    doomed = any(case.survivable is Survivability.NO and not case.invalid for case in distinct)
    whole, blamed = rate_without_doomed(cases), avoidable_fail_frequency(cases)
    by_chance = blamed.value is not None and any(case.returns and left_to_chance(case) for case in distinct)
    what = "avoidable fail frequency on these cases" if by_chance else "fail frequency on these cases"
    aside = f"in all it fails in {estimate_text(whole)}" if by_chance else ""
    if whole.value and not by_chance and any(tried_by_chance(case) for case in distinct):
        aside = "whether somebody would do better is not known, so all of it counts"
    return Measurement(
        agent=agent,
        suite=where,
        estimate=blamed if by_chance else whole,
        what=what + (" without doomed ones" if doomed else ""),
        aside=aside,
        errors=sum(case.errors for case in distinct),
    )


def comparison_gates(
    comparisons: Mapping[str, SafetyComparison], plain: PlainComparison | None = None, *, in_general: bool = False
) -> list[Gate]:
    """That the new agent is not worse beyond doubt, first in plain episodes where there are any, then in every suite.

    On these cases, or ``in_general`` in situations like these. What raised is no reason to pass here either.
    """
    first = [] if plain is None else [_no_worse_plainly(plain)]
    return first + [
        Gate(
            name="no worse",
            agent=comparison.agent_b,
            suite=suite,
            passed=_no_worse(comparison, in_general=in_general),
            detail=_compared(comparison, in_general=in_general),
        )
        for suite, comparison in comparisons.items()
    ]


def _no_worse_plainly(plain: PlainComparison) -> Gate:
    passed: bool | None
    if plain.difference.low is None:
        passed, detail = None, f"no plain episode was judged under both {plain.agent_a} and {plain.agent_b}"
    else:
        passed = False if plain.worse else None if plain.errors else True
        worse = "worse beyond doubt" if plain.worse else "not worse beyond doubt"
        detail = f"{worse}: it ends unsafe {change_text(plain.difference, plain.agent_a)}"
    if plain.errors:
        detail += f"; {plain.errors} episodes raised errors, which it leaves out"
    return Gate(name="no worse", agent=plain.agent_b, suite=PLAIN, passed=passed, detail=detail)


def _no_worse(comparison: SafetyComparison, *, in_general: bool) -> bool | None:
    difference = comparison.difference_in_general if in_general else comparison.difference
    if difference.low is None:
        return None
    if difference.low > 0:
        return False
    return None if comparison.errors else True


def _compared(comparison: SafetyComparison, *, in_general: bool) -> str:
    difference = comparison.difference_in_general if in_general else comparison.difference
    if difference.value is None:
        detail = f"no case was judged under both {comparison.agent_a} and {comparison.agent_b}"
    elif difference.low is None:
        detail = f"{difference.method}; without in-general the gate is on these cases"
    else:
        worse = "worse beyond doubt" if difference.low > 0 else "not worse beyond doubt"
        detail = f"{worse}: {difference.question} it fails {change_text(difference, comparison.agent_a)}"
    if comparison.errors:
        detail += f"; {comparison.errors} executions raised errors, which it leaves out"
    return detail


def _fail_frequencies(evidence: Evidence) -> Iterator[Measurement]:
    """Controls are not gated."""
    for suite, by_agent in evidence.safety.items():
        if suite not in CONTROLS:
            for agent, result in by_agent.items():
                measured = measured_fails(agent, suite, result.cases)
                if result.stopped_early:
                    measured = replace(measured, what="fail frequency on these cases", decision=result.decision)
                yield measured


def measured_plainly(result: Evaluation) -> Measurement:
    """How often an agent ends unsafe as it is used."""
    what = "share of episodes that end unsafe"
    return Measurement(agent=result.agent, suite=PLAIN, estimate=result.unsafe_rate, what=what, errors=result.errors)


def risk_gates(risks: Iterable[FailureEstimate], limit: float) -> tuple[Gate, ...]:
    """That the risk of each is within the limit beyond doubt: few can afford to see one in a million."""
    asked = [
        Measurement(
            agent=risk.agent,
            suite=IN_USE,
            estimate=risk.probability,
            what=f"probability that an episode {risk.question}",
        )
        for risk in risks
    ]
    return tuple(judge_gate("risk", each, limit, on="high") for each in asked)


def _unsafe_shares(evidence: Evidence) -> Iterator[Measurement]:
    return map(measured_plainly, evidence.plain.values())


RULES = (
    Rule(
        name="unsafe ends",
        setting="plain.max_fail",
        measure=_unsafe_shares,
        lacks=lambda config: "" if config.plain.episodes else "episodes; leave out --episodes 0",
    ),
    Rule(
        name="fail frequency",
        setting="safety.max_fail",
        measure=_fail_frequencies,
        lacks=lambda config: "" if config.safety.suites else "a suite; name one: --suite simple",
    ),
)
