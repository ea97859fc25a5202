"""Which findings of the paper hold for the agents tested here, in numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from tightrope.casestudy.published import published
from tightrope.fuzzing import FuzzResult
from tightrope.performance import Robustness
from tightrope.report import Finding
from tightrope.safety import SafetyResult
from tightrope.statistics import Estimate


@dataclass(frozen=True, kw_only=True)
class LevelFindings:
    """What was measured on one level."""

    level: str
    safety: Mapping[str, Mapping[str, SafetyResult]]
    """Suite → agent → result."""
    performance: Sequence[Robustness]
    fuzzing: Mapping[str, FuzzResult]
    """Agent → the fuzz traces of its action set."""
    proportional: FuzzResult | None
    """Fuzzing with selection by fitness alone."""
    boundary_states: int
    proven: int

    def fail_frequency(self, suite: str, agent: str) -> float | None:
        """The measured fail frequency, if there is one."""
        result = self.safety.get(suite, {}).get(agent)
        return None if result is None else result.fail_frequency.value


def findings(levels: Sequence[LevelFindings], correlation: Estimate) -> tuple[Finding, ...]:
    """A section for each finding of the paper that can be looked at here."""
    return (
        Finding(title="Boundary states", text="\n".join(_boundary(levels))),
        Finding(title="Training makes agents safer", text="\n".join(_training(levels))),
        Finding(title="Which action set is safest", text="\n".join(_safest(levels))),
        Finding(title="Suites agree about agents", text="\n".join(_suites(levels))),
        Finding(title="Safety goes with reward", text=_correlation(correlation)),
        Finding(title="Agents against fuzz traces", text="\n".join(_robust(levels))),
        Finding(title="Selection of parents", text="\n".join(_selection(levels))),
        Finding(title="Guidance against random situations", text="\n".join(_control(levels))),
    )


def _boundary(levels: Sequence[LevelFindings]) -> Iterator[str]:
    paper = {"1-1": 13, "1-2": 18}
    for level in levels:
        yield (
            f"- Level {level.level}: {level.boundary_states} boundary states were found, {level.proven} of them proven "
            f"to have a doomed successor; the suites test at the proven ones. The paper has "
            f"{paper.get(level.level, 'none')}."
        )


def _training(levels: Sequence[LevelFindings]) -> Iterator[str]:
    yield "The paper: the fail frequency of every action set falls between its early and its late stage."
    yield ""
    for level in levels:
        numbers = published(level.level)
        for actions in ("2-moves", "right-complex", "basic"):
            early, late = (level.fail_frequency("simple", f"{actions} {stage}") for stage in ("early", "late"))
            if early is None or late is None:
                continue
            theirs = numbers.fail_frequency["simple"] if numbers is not None else {}
            verdict = "holds" if late < early else "does not hold"
            yield (
                f"- {verdict} for {actions} on {level.level} (simple suite): {early:.2f} early, {late:.2f} late; paper "
                f"{_number(theirs.get(f'{actions} early'))}, {_number(theirs.get(f'{actions} late'))}."
            )


def _safest(levels: Sequence[LevelFindings]) -> Iterator[str]:
    yield "The paper: of the late agents on 1-1, 2-moves fails least often."
    yield ""
    for level in levels:
        late = {
            name: result.fail_frequency
            for name, result in level.safety.get("simple", {}).items()
            if name.endswith("late") and result.fail_frequency.value is not None
        }
        if len(late) < 2:
            yield f"- Level {level.level}: fewer than two late agents were tested, so nothing can be said."
            continue
        order = sorted(late, key=lambda name: late[name].value or 0.0)
        listed = ", ".join(f"{name} {late[name]:.2f}" for name in order)
        verdict = "holds" if order[0].startswith("2-moves") else "does not hold"
        yield f"- {verdict} on {level.level}: {listed}."


def _suites(levels: Sequence[LevelFindings]) -> Iterator[str]:
    yield "The paper: interval and action-coverage suites rank the agents much as the simple suite does."
    yield ""
    for level in levels:
        base = _ranking(level, "simple")
        for suite in level.safety:
            ranking = _ranking(level, suite)
            if suite in ("simple", "random") or len(ranking) < 2:
                continue
            pairs = [(a, b) for index, a in enumerate(base) for b in base[index + 1 :] if a in ranking and b in ranking]
            same = sum(ranking.index(a) < ranking.index(b) for a, b in pairs)
            yield f"- {suite} on {level.level}: {same} of {len(pairs)} pairs of agents are in the same order."


def _ranking(level: LevelFindings, suite: str) -> list[str]:
    values = {
        name: result.fail_frequency.value
        for name, result in level.safety.get(suite, {}).items()
        if result.fail_frequency.value is not None
    }
    return sorted(values, key=lambda name: values[name] or 0.0)


def _correlation(correlation: Estimate) -> str:
    if correlation.value is None:
        return "Too few agents and suites were tested for a coefficient."
    verdict = "The sign agrees" if correlation.value < 0 else "The sign does not agree"
    return (
        f"The paper: fail frequency and mean return correlate with -0.7 over agents, stages and suites. Here: "
        f"{correlation:.2f}. {verdict}."
    )


def _robust(levels: Sequence[LevelFindings]) -> Iterator[str]:
    yield (
        "The paper: most agents earn less than the fuzz traces from most situations, and come closer towards the end "
        "of the level; the late 2-moves agent earns more from some."
    )
    yield ""
    for level in levels:
        for robust in level.performance:
            points = [point for point in robust.points if point.prefix_length and point.difference.value is not None]
            ahead = sum((point.difference.value or 0.0) > 0 for point in points)
            sure = sum((point.difference.low or 0.0) > 0 for point in points if point.difference.low is not None)
            yield (
                f"- {robust.agent} on {level.level} is ahead of the fuzz traces at {ahead} of {len(points)} prefix "
                f"lengths, beyond doubt at {sure}; it reaches the goal from {_share(robust.agent_goal_share)} of the "
                f"prefixes."
            )


def _selection(levels: Sequence[LevelFindings]) -> Iterator[str]:
    yield (
        "As printed, parents are drawn in proportion to fitness from the whole generation; the case study draws them "
        "from its best quarter, an option of the authors' code."
    )
    yield ""
    for level in levels:
        for name, bred in level.fuzzing.items():
            yield f"- {level.level}, traces for {name}: {_fittest(bred)}."
        if level.proportional is not None:
            yield f"- {level.level}, first action set, by fitness alone: {_fittest(level.proportional)}."


def _fittest(bred: FuzzResult) -> str:
    mean = fmean(individual.total_return for individual in bred.individuals)
    return f"mean return of the fittest {mean:,.0f}, {bred.goals} individuals reached the goal, {bred.covered:,} keys"


def _control(levels: Sequence[LevelFindings]) -> Iterator[str]:
    yield "Fails found per 1000 environment steps, prefixes included, and by as many random situations:"
    yield ""
    for level in levels:
        names = dict.fromkeys(name for row in level.safety.values() for name in row)
        for name in names:
            parts = [
                f"{suite} {_number(row[name].fails_per_1000_steps.value)}"
                for suite, row in level.safety.items()
                if name in row
            ]
            yield f"- {name} on {level.level}: {', '.join(parts)}."


def _number(value: float | None) -> str:
    return "no data" if value is None else f"{value:.2f}"


def _share(estimate: Estimate) -> str:
    return "no data" if estimate.value is None else f"{estimate.value:.0%} (n = {estimate.n})"
