"""What a run says in one sentence: where it fails, how often, whose fault that is, and who is better or worse."""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.errors import UsageError
from tightrope.evaluation import compare_plain
from tightrope.outcome import joint_verdict
from tightrope.report.references import chosen_text
from tightrope.report.results import GOING, Gate, RunResults
from tightrope.report.verdict import (
    AgentVerdict,
    away_text,
    control_texts,
    fated,
    guidance,
    has_no_data,
    headline_suite,
    not_gated,
    of_these_cases,
    stays_away,
    verdicts,
)
from tightrope.report.views import SuiteView
from tightrope.report.wording import NO_DATA, count, interval_text, least_text, listed, part_text, percent
from tightrope.safety import compare_safety

WORST_PLACES = 3
NO_MORE_THAN_THE_BEST = "none of that is shown to be avoidable: it fails no more often than the best player known there"
NEXT_TO_NOTHING = 0.005
APART = 0.05
"""Places that were chosen because an agent failed there are told in the headline where they change its rate by so much;
the notice below it and the agent's own line tell them always."""


@dataclass(frozen=True, kw_only=True)
class Headline:
    """The first thing a reader reads."""

    agent: str | None
    """Who fails most, of whom the sentence speaks."""
    suite: str | None
    place: int | None
    """Where it fails most; None: nowhere."""
    beginning: str
    places: tuple[int, ...]
    """The places that are named between beginning and end."""
    end: str
    passed: bool | None
    """Whether all gates passed; None: not judged."""
    gates: tuple[Gate, ...]

    @property
    def sentence(self) -> str:
        """The whole of it."""
        return self.beginning + listed([f"#{place}" for place in self.places]) + self.end

    @property
    def ordered_gates(self) -> list[Gate]:
        """The gates, those that failed first and those that passed last."""
        return sorted(self.gates, key=lambda gate: (False, None, True).index(gate.passed))

    @property
    def badge(self) -> str:
        """The verdict in a word."""
        if not self.gates:
            return "no gate was set"
        return {True: "passed", False: "failed", None: "not judged"}[self.passed]


def headline(run: RunResults) -> Headline:
    """The headline of a run."""
    worst, best = worst_and_best(run)
    passed = joint_verdict(gate.passed for gate in run.gates)
    if worst is None:
        told = "; ".join(dict.fromkeys(_of_agent(verdict) for verdict in verdicts(run)))
        return Headline(
            agent=None,
            suite=headline_suite(run),
            place=None,
            beginning=f"{told}." if told else "No agent was tested.",
            places=(),
            end="",
            passed=passed,
            gates=run.gates,
        )
    places = worst_places(worst)
    limits = not_gated(run, worst.agent)
    plainly = f"{_plainly(run, worst.agent)}{limits}{limits and ','}"
    how_often = " and ".join(filter(None, (plainly, _how_often(worst))))
    return Headline(
        agent=worst.agent,
        suite=worst.name,
        place=places[0] if places else None,
        beginning=f"{_who(run, worst)} {how_often}" + _where(worst, places),
        places=places,
        end="".join(f"; {part}" for part in _parts(run, worst, best) if part) + ".",
        passed=passed,
        gates=run.gates,
    )


def _where(suite: SuiteView, named: tuple[int, ...]) -> str:
    """What stands before the places that are named: whether these are all where it fails, or some of equals."""
    rates = [state.fail_frequency.value for state in suite.states if state.fail_frequency.value is not None]
    failing, worst = sum(rate > 0 for rate in rates), sum(rate == max(rates) for rate in rates)
    if not named:
        return ""
    if worst > len(named):
        # Of the others nothing is known: they were not drawn, or no case of theirs could be judged.
        places = "places" if len(rates) == len(suite.states) else "places that were tested"
        if suite.weighs_by_place and not suite.decision:
            places += " (each counts alike, though some share a case)"
        if worst == len(rates):
            return f", equally at all {worst} {places}, such as "
        most = f"at {worst} of {len(rates)}" if worst == failing else f"most often at {worst}"
        return f", {most} {places}, such as "
    if len(named) == len(rates):
        return ", at "
    return ", only at " if len(named) == failing else ", most often at "


def _of_agent(verdict: AgentVerdict) -> str:
    """``late: …``; of nothing, ``late has no data: …``."""
    return f"{verdict.agent}{' has' if verdict.sentence.startswith(NO_DATA) else ':'} {verdict.sentence}"


def _parts(run: RunResults, worst: SuiteView, best: SuiteView | None) -> tuple[str, ...]:
    return _whose_fault(worst), next(chosen_text(worst, apart=APART), ""), _better_or_worse(run, worst, best)


def worst_and_best(run: RunResults) -> tuple[SuiteView | None, SuiteView | None]:
    """The agents that fail most and least: in plain episodes, then with the suite that the headline speaks of."""
    name = headline_suite(run)
    ranked = sorted((suite for suite in run.measured if suite.name == name), key=from_best_to_worst)
    return (ranked[-1], ranked[0]) if ranked else (None, None)


def worst_places(suite: SuiteView) -> tuple[int, ...]:
    """Where it fails most, the worst first; none where it never fails."""
    known = [(state.fail_frequency.value or 0.0, -state.number) for state in suite.states]
    return tuple(1 - number for value, number in sorted(known, reverse=True)[:WORST_PLACES] if value > 0)


def from_best_to_worst(suite: SuiteView) -> tuple[float, ...]:
    """The order from the best to the worst: how it does as it is used counts first, then what was avoidable."""
    result = suite.result
    shares = (_unsafe(suite.run, suite.agent), result.avoidable_fail_frequency.value, result.fail_frequency.value)
    return tuple(share or 0.0 for share in shares)


def _unsafe(run: RunResults, agent: str) -> float | None:
    plain = run.plain.get(agent)
    return None if plain is None else plain.unsafe_rate.value


def _who(run: RunResults, worst: SuiteView) -> str:
    unjudged = unjudged_agents(run)
    idle = [(agent.name, plain) for agent in run.agents if (plain := run.plain.get(agent.name)) and stays_away(plain)]
    alone = len(run.agents) == 1 or worst.result.fail_frequency.value or _unsafe(run, worst.agent) or idle or unjudged
    named = {worst.agent, *(verdict.agent for verdict in unjudged)}
    # Of a run that is going on, that comes yet.
    others = "" if run.status == GOING else "".join(f"{_of_agent(verdict)}. " for verdict in unjudged)
    others += "".join(f"{name} {away_text(plain)}. " for name, plain in idle if name not in named)
    return others + (worst.agent if alone else f"No agent fails: {worst.agent}")


def unjudged_agents(run: RunResults) -> list[AgentVerdict]:
    """Those of whom the suite that the headline speaks of shows nothing: no sentence on all agents holds for them."""
    return [verdict for verdict in verdicts(run) if has_no_data(verdict.suite)]


def _plainly(run: RunResults, agent: str) -> str:
    """As it is used, before it is put anywhere."""
    plain = run.plain.get(agent)
    if plain is None or plain.unsafe_rate.value is None:
        return ""
    if stays_away(plain):
        return away_text(plain)
    if plain.unsafe_rate.value == 0:
        return f"never ends unsafe in {count(len(plain.judged), 'plain episode')}"
    if plain.unsafe_rate.low == plain.unsafe_rate.value == 1:
        return "ends unsafe in every plain episode"
    return f"ends unsafe in {percent(plain.unsafe_rate.value)} of {count(len(plain.judged), 'plain episode')}"


def _how_often(suite: SuiteView) -> str:
    share, these = suite.result.fail_frequency, of_these_cases(suite)
    if share.value == 0:
        bound = f" (its true rate there may be up to {percent(share.high)})" if share.high else ""
        never = "never fails in tests" if suite.decision else "never fails"
        return f"{never} {these}{bound}"
    return f"fails in {percent(share.value)} ({interval_text(share)}) of the tests {these}"


def _whose_fault(suite: SuiteView) -> str:
    share, avoidable = suite.result.fail_frequency, suite.result.avoidable_fail_frequency
    if not share.value or avoidable.value is None:
        return ""
    if avoidable.value == 0:
        # That cases are doomed is proven; where chance decides, 0 is what was seen, and somebody may do better.
        doomed = all(case.doomed for case in suite.distinct if case.result.fails)
        return "no player could have avoided any of that" if doomed else NO_MORE_THAN_THE_BEST
    if any(case.undecided or case.counted_in_full for case in suite.distinct):
        if not avoidable.low:
            return "whether that was avoidable is not known"
        # A limit that rounds to next to nothing tells nobody how much.
        told = avoidable.low >= NEXT_TO_NOTHING
        return f"at least {least_text(avoidable.low)} avoidable" if told else "how much was avoidable is not known"
    if not fated(suite):
        return "all of that was avoidable"
    if not suite.doomed:
        return part_text(avoidable, "avoidable")
    return f"leaving out what no player could have survived, it fails in {percent(avoidable.value)}"


def _better_or_worse(run: RunResults, worst: SuiteView, best: SuiteView | None) -> str:
    """Against the best agent; of one agent alone, against states drawn without guidance."""
    if best is not None and best.agent != worst.agent:
        told = _compared(best, worst) if worst.result.fail_frequency.value or best.result.fail_frequency.value else ""
        return "; ".join(filter(None, (_compared_plainly(run, best, worst), told)))
    return _against_control(run, worst) if worst.result.fail_frequency.value else ""


def _against_control(run: RunResults, suite: SuiteView) -> str:
    """Whether it fails more here than anywhere on the same ways, in few words; the details have the numbers."""
    found = guidance(run, suite)
    if found is None:
        return next(control_texts(run, suite), "")
    if found.difference.value is None:
        return ""
    how = {True: "fails more", False: "fails less", None: "is not shown to fail more"}[found.pays]
    here = "here"
    if found.left_out:
        # Another rate than that of all cases: without it, 80 % would be set against what a part is compared with.
        cases = count(found.cases[0], "case")
        here = f"on the {cases} that were not chosen by where it fails ({percent(found.guided.value)})"
    elsewhere = f"at states drawn at random from the same references ({percent(found.control.value)})"
    return f"it {how} often {here} than {elsewhere}"


def _compared_plainly(run: RunResults, best: SuiteView, worst: SuiteView) -> str:
    plain, other = run.plain.get(worst.agent), run.plain.get(best.agent)
    if plain is None or other is None or not plain.unsafe_rate.value or other.unsafe_rate.value is None:
        return ""
    try:
        worse = compare_plain(other, plain).worse
    except UsageError:
        worse = False
    how = "worse than" if worse else "not shown to be worse than"
    return f"in plain episodes it is {how} {best.agent} ({percent(other.unsafe_rate.value)})"


def _compared(best: SuiteView, worst: SuiteView) -> str:
    rate = percent(best.result.fail_frequency.value)
    try:
        found = compare_safety(best.result, worst.result)
    except UsageError:
        return f"{best.agent} fails in {rate}"
    if found.worse:
        return f"on these cases it is worse than {best.agent} ({rate})" + ("" if found.exact else " beyond doubt")
    if found.better:
        return f"on these cases it fails less than {best.agent} ({rate})"
    if found.exact:
        return f"on these cases it fails as often as {best.agent}"
    return f"on these cases not shown to be worse than {best.agent} ({rate})"
