"""Gates: conditions on results. They are judged here and nowhere else; commands, pytest, report and JUnit show them.

A gate is a `GateRule`: the name of its limit among the settings, and what it measures. A new one is a setting that
says it is a gate, and a rule in `RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter

from tightrope.evaluation import Evaluation
from tightrope.outcome import joint_verdict
from tightrope.report.results import Gate as Gate
from tightrope.report.wording import THIN, percent
from tightrope.risk import FailureEstimate
from tightrope.runs.configuration.config import CampaignConfig, sections
from tightrope.runs.measurements import Measurement, measured_fails, measured_plainly, measured_risk
from tightrope.runs.storage.layout import CONTROLS
from tightrope.safety import GateDecision, SafetyResult

SMALL = 0.001
"""Shares below this are told as they are: nobody reads 0.0001 % at a glance."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What gates can look at."""

    plain: Mapping[str, Evaluation] = field(default_factory=dict)
    """Agent → its plain episodes."""
    safety: Mapping[str, Mapping[str, SafetyResult]] = field(default_factory=dict)
    """Suite → agent → result."""


@dataclass(frozen=True, kw_only=True)
class GateRule:
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


def asked_for(config: CampaignConfig) -> tuple[GateRule, ...]:
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
    if not decision.stands:
        passed, detail = None, f"no data for the {measured.what}: {decision}"
    elif found.low is None or found.high is None:
        passed, detail = None, f"no data for the {measured.what}"
    else:
        passed = decision.judged(limit)
        relation = {True: "within", False: "above", None: "not shown to be within or above"}[passed]
        fate = "" if decision.fate is None else f" beside {_told(decision.fate.value or 0.0)} that no player avoids"
        limits = f"{_told(found.low, limit)} to {_told(found.high, limit)}"
        detail = f"{measured.what} {limits} is {relation} the allowed {_exact(limit)}{fate}; {decision}"
    if measured.errors:
        detail += f"; {_executions(measured.errors)} raised errors"
        passed = None if passed else passed
    return Gate(name=name, agent=measured.agent, suite=measured.suite, passed=passed, detail=detail)


def _fail_frequencies(evidence: Evidence) -> Iterator[Measurement]:
    """Controls are not gated."""
    for suite, by_agent in evidence.safety.items():
        if suite not in CONTROLS:
            for agent, result in by_agent.items():
                measured = measured_fails(agent, suite, result.cases)
                if result.stopped_early:
                    measured = replace(measured, what="fail frequency on these cases", decision=result.decision)
                yield measured


def risk_gates(risks: Iterable[FailureEstimate], limit: float) -> tuple[Gate, ...]:
    """That the risk of each is within the limit beyond doubt: few can afford to see one in a million."""
    return tuple(judge_gate("risk", measured_risk(risk), limit, on="high") for risk in risks)


def _unsafe_shares(evidence: Evidence) -> Iterator[Measurement]:
    return map(measured_plainly, evidence.plain.values())


RULES = (
    GateRule(
        name="unsafe ends",
        setting="plain.max_fail",
        measure=_unsafe_shares,
        lacks=lambda config: "" if config.plain.episodes else "episodes; leave out --episodes 0",
    ),
    GateRule(
        name="fail frequency",
        setting="safety.max_fail",
        measure=_fail_frequencies,
        lacks=lambda config: "" if config.safety.suites else "a suite; name one: --suite simple",
    ),
)
