"""Which findings of the paper hold for the agents tested here, in numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from statistics import fmean

from tightrope import Estimate, FuzzResult, Robustness, SafetyResult, compare_guidance
from tightrope.report import Finding
from tightrope_mario.published import published
from tightrope_mario.shipped import ACTION_SETS, SPARSE

REWARDS = ("", SPARSE)


@dataclass(frozen=True, kw_only=True)
class LevelFindings:
    """What was measured on one level."""

    level: str
    safety: Mapping[str, Mapping[str, SafetyResult]]
    """Suite → agent → result."""
    performance: Sequence[Robustness]
    fuzzing: Mapping[str, Sequence[FuzzResult]]
    """Agent → the fuzzing of its action set, once for each seed; step 4 compares it with the traces of the first."""
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
        Finding(title="Sparse rewards make less safe agents", text="\n".join(_sparse(levels))),
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
    yield "The paper: the fail frequency of every action set goes down between its early and its late stage."
    yield ""
    for level in levels:
        theirs = _their_fail_frequency(level.level)
        for actions, reward in product(ACTION_SETS, REWARDS):
            names = [f"{actions} {stage}{reward}" for stage in ("early", "late")]
            early, late = (level.fail_frequency("simple", name) for name in names)
            if early is None or late is None:
                continue
            verdict = "holds" if late < early else "is undecided" if late == early else "does not hold"
            yield (
                f"- {verdict} for {actions}{reward} on {level.level} (simple suite): {early:.2f} early, {late:.2f} "
                f"late; paper {', '.join(_number(theirs.get(name)) for name in names)}."
            )


def _safest(levels: Sequence[LevelFindings]) -> Iterator[str]:
    yield "The paper: of the late agents on 1-1, 2-moves fails least often."
    yield ""
    for level, reward in product(levels, REWARDS):
        late = {
            name: result.fail_frequency
            for name, result in level.safety.get("simple", {}).items()
            if name.endswith(f"late{reward}") and result.fail_frequency.value is not None
        }
        if len(late) < 2:
            if not reward:
                yield f"- Level {level.level}: fewer than two late agents were tested, so nothing can be said."
            continue
        order = sorted(late, key=lambda name: late[name].value or 0.0)
        listed = ", ".join(f"{name} {late[name]:.2f}" for name in order)
        best = [name for name in order if late[name].value == late[order[0]].value]
        fewest = [name.startswith("2-moves") for name in best]
        verdict = "holds" if all(fewest) else "is undecided" if any(fewest) else "does not hold"
        yield f"- {verdict} on {level.level}: {listed}."


def _sparse(levels: Sequence[LevelFindings]) -> Iterator[str]:
    yield (
        "The paper: with one exception agents trained with the sparse reward fail more often than those trained with "
        "the dense one, and none comes near the fuzz traces before the end of the level."
    )
    yield ""
    compared = [
        (level, dense, sparse)
        for level, actions, stage in product(levels, ACTION_SETS, ("early", "late"))
        for dense, sparse in [(f"{actions} {stage}", f"{actions} {stage}{SPARSE}")]
        if level.fail_frequency("simple", dense) is not None and level.fail_frequency("simple", sparse) is not None
    ]
    if not compared:
        yield "- No agent was trained with both rewards, so nothing can be said."
    for level, dense, sparse in compared:
        ours = [level.fail_frequency("simple", name) or 0.0 for name in (sparse, dense)]
        theirs = _their_fail_frequency(level.level)
        verdict = "holds" if ours[0] > ours[1] else "is undecided" if ours[0] == ours[1] else "does not hold"
        yield (
            f"- {verdict} for {dense} on {level.level} (simple suite): sparse {_number(ours[0])}, dense "
            f"{_number(ours[1])}; paper {', '.join(_number(theirs.get(name)) for name in (sparse, dense))}."
        )


def _suites(levels: Sequence[LevelFindings]) -> Iterator[str]:
    yield "The paper: interval and action-coverage suites rank the agents much as the simple suite does."
    yield ""
    for level in levels:
        base = _values(level, "simple")
        for suite in level.safety:
            other = _values(level, suite)
            if suite in ("simple", "random") or len(other) < 2:
                continue
            pairs = list(combinations([name for name in base if name in other], 2))
            orders = [(base[a] - base[b]) * (other[a] - other[b]) for a, b in pairs]
            same, ties = sum(order > 0 for order in orders), orders.count(0.0)
            yield (
                f"- {suite} on {level.level}: {same} of {len(pairs)} pairs of agents are in the same order"
                f"{f', {ties} are tied' if ties else ''}."
            )


def _values(level: LevelFindings, suite: str) -> dict[str, float]:
    return {
        name: result.fail_frequency.value
        for name, result in level.safety.get(suite, {}).items()
        if result.fail_frequency.value is not None
    }


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
        yield from _spread(level)
        for robust in level.performance:
            points = [point for point in robust.points if point.prefix_length and point.difference.value is not None]
            ahead = sum((point.difference.value or 0.0) > 0 for point in points)
            sure = sum((point.difference.low or 0.0) > 0 for point in points if point.difference.low is not None)
            yield (
                f"- {robust.agent} on {level.level} is ahead of the fuzz traces at {ahead} of {len(points)} prefix "
                f"lengths, beyond doubt at {sure}; it reaches the goal from {_share(robust.agent_goal_share)} of the "
                f"prefixes."
            )


def _spread(level: LevelFindings) -> Iterator[str]:
    """How much the traces that agents are compared with depend on the seed."""
    for repeated, names in _action_sets(level):
        whose = f"- {level.level}, traces for {', '.join(names)}"
        if len(repeated) < 2:
            yield f"{whose}: one seed only, so what follows is about these traces and not about fuzzing."
            continue
        means = [fmean(individual.total_return for individual in bred.individuals) for bred in repeated]
        goals = [bred.goals for bred in repeated]
        yield (
            f"{whose}, {len(repeated)} seeds: the fittest earn {min(means):,.0f} to {max(means):,.0f} on average, and "
            f"{min(goals)} to {max(goals)} individuals reach the goal. The agents are compared with those of seed "
            f"{repeated[0].settings['seed']}, which earn {means[0]:,.0f}."
        )


def _action_sets(level: LevelFindings) -> list[tuple[Sequence[FuzzResult], list[str]]]:
    """Each action set's fuzzing, and the agents that have it."""
    by_actions: dict[str, tuple[Sequence[FuzzResult], list[str]]] = {}
    for name, repeated in level.fuzzing.items():
        by_actions.setdefault(str(repeated[0].settings["actions"]), (repeated, []))[1].append(name)
    return list(by_actions.values())


def _selection(levels: Sequence[LevelFindings]) -> Iterator[str]:
    yield (
        "As printed, parents are drawn in proportion to fitness from the whole generation; the case study draws them "
        "from its best quarter, an option of the authors' code."
    )
    yield ""
    for level in levels:
        for repeated, names in _action_sets(level):
            yield f"- {level.level}, traces for {', '.join(names)}: {_fittest(repeated[0])}."
        if level.proportional is not None:
            yield f"- {level.level}, first action set, by fitness alone: {_fittest(level.proportional)}."


def _fittest(bred: FuzzResult) -> str:
    mean = fmean(individual.total_return for individual in bred.individuals)
    return f"mean return of the fittest {mean:,.0f}, {bred.goals} individuals reached the goal, {bred.covered:,} keys"


def _control(levels: Sequence[LevelFindings]) -> Iterator[str]:
    yield (
        "Boundary states against as many states of the same reference drawn uniformly; and, after it, fails found per "
        "1000 environment steps, prefixes included, by each suite and each control:"
    )
    yield ""
    for level in levels:
        names = dict.fromkeys(name for row in level.safety.values() for name in row)
        first = next(iter(level.safety), "")
        for name in names:
            control, guided = level.safety.get("uniform", {}).get(name), level.safety[first].get(name)
            if control is not None and guided is not None:
                yield f"- {level.level}: {compare_guidance(guided, control).sentence()}."
            parts = [
                f"{suite} {_number(row[name].fails_per_1000_steps.value)}"
                for suite, row in level.safety.items()
                if name in row
            ]
            yield f"- {name} on {level.level}: {', '.join(parts)}."


def _their_fail_frequency(level: str) -> Mapping[str, float]:
    """The paper's, with the simple suite."""
    numbers = published(level)
    return {} if numbers is None else numbers.fail_frequency["simple"]


def _number(value: float | None) -> str:
    return "no data" if value is None else f"{value:.2f}"


def _share(estimate: Estimate) -> str:
    return "no data" if estimate.value is None else f"{estimate.value:.0%} (n = {estimate.n})"
