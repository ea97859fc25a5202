"""Agents of a run set beside each other: who stands where, and what changed from one to the other, place by place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tightrope.errors import UsageError
from tightrope.evaluation import Evaluation, PlainComparison, compare_plain
from tightrope.report.results import RunResults
from tightrope.report.training import are_checkpoints
from tightrope.report.verdict import AgentVerdict, on_cases, verdicts
from tightrope.report.wording import action_text, change_text, count, number
from tightrope.safety import FailureGroup, GroupShare, SafetyComparison, compare_safety, shares_of_groups
from tightrope.statistics import ON_THESE_CASES, Estimate

MANY = 4
"""From so many agents on they are told apart by name and position instead of by colour, and ranked instead of told one
by one."""

OF_A_PLACE = ("newly failing", "fails more", "fixed", "fails less")
OF_A_KIND = ("new kind", "more often", "kind is gone", "less often")
"""What became of it. Nothing fails newly where another kind of failure takes the place of one."""


@dataclass(frozen=True, kw_only=True)
class Rank:
    """Where an agent stands among the others."""

    number: int
    """From 1 on, for the one that fails most on the cases of the suite that the verdict speaks of."""
    verdict: AgentVerdict
    plain: Evaluation | None
    kinds: int
    """How many kinds of failure it has."""

    @property
    def fails(self) -> Estimate:
        """On these cases."""
        return self.verdict.fail_frequency

    @property
    def reward(self) -> Estimate:
        """The mean return: in plain episodes where there are any, otherwise after hand-over."""
        if self.plain is not None:
            return self.plain.mean_return
        suite = self.verdict.suite
        return Estimate.of_nothing() if suite is None else suite.result.mean_return


@dataclass(frozen=True, kw_only=True)
class Change:
    """One place, or one kind of failure, under two agents."""

    name: str
    place: int | None
    suite: str
    before: Estimate
    now: Estimate
    about: str = ""
    """More of it, in words."""
    is_kind: bool = False
    """A kind of failure: who does not fail so may fail the same cases in another way."""

    @property
    def difference(self) -> float:
        """How much more often the second one fails."""
        return (self.now.value or 0.0) - (self.before.value or 0.0)

    @property
    def what(self) -> str:
        """What became of it, in words."""
        new, more, gone, less = OF_A_KIND if self.is_kind else OF_A_PLACE
        if self.difference > 0:
            return more if self.before.value else new
        if self.difference < 0:
            return less if self.now.value else gone
        return "unchanged" if self.now.value else "never fails"

    @property
    def is_new(self) -> bool:
        """Whether the first one never fails there, or so."""
        return self.difference > 0 and not self.before.value

    @property
    def tone(self) -> str:
        """Whether it got worse or better; empty: neither."""
        return "worse" if self.difference > 0 else "better" if self.difference < 0 else ""


def ranking(run: RunResults) -> tuple[Rank, ...]:
    """Who fails most on these cases stands first; of whom nothing is known stands last."""
    known = sorted(
        verdicts(run), key=lambda each: (each.fail_frequency.value is None, -(each.fail_frequency.value or 0))
    )
    return tuple(
        Rank(
            number=place,
            verdict=verdict,
            plain=run.plain.get(verdict.agent),
            kinds=len(run.groups.get(verdict.agent, ())),
        )
        for place, verdict in enumerate(known, 1)
    )


def agents_in_order(run: RunResults) -> tuple[str, ...]:
    """The agents as charts line them up: through training where they are checkpoints, else as they are ranked."""
    names = [agent.name for agent in run.agents]
    if are_checkpoints(names):
        return tuple(names)
    return tuple(rank.verdict.agent for rank in ranking(run))


def pairs(run: RunResults) -> tuple[tuple[str, str], ...]:
    """Each of the others against the first, where they are few."""
    first, *others = [agent.name for agent in run.agents] or [""]
    return tuple((first, other) for other in others) if len(run.agents) < MANY else ()


def compared(run: RunResults, name: str, a: str, b: str) -> SafetyComparison | None:
    """B against A on the cases of a suite; None where they cannot be paired."""
    before, now = run.suite(name, a), run.suite(name, b)
    if before is None or now is None:
        return None
    try:
        return compare_safety(before.result, now.result)
    except UsageError:
        return None


def compared_plainly(run: RunResults, a: str, b: str) -> PlainComparison | None:
    """B against A as they are used; None where one of them was not played plainly, or from other starts."""
    before, now = run.plain.get(a), run.plain.get(b)
    if before is None or now is None:
        return None
    try:
        return compare_plain(before, now)
    except UsageError:
        return None


def plain_text(found: PlainComparison) -> str:
    """What plain episodes say, in a sentence; it stands before what any suite says."""
    if found.difference.value is None:
        return "plain episodes: no data"
    shown = "worse" if found.worse else "better" if found.better else "no difference shown"
    return f"plain episodes: {found.agent_b} ends unsafe {change_text(found.difference, found.agent_a)} ({shown})"


def compared_text(found: SafetyComparison, plain: PlainComparison | None = None) -> str:
    """What a comparison says, in a sentence: how much more often, whether that is shown, and what became of cases."""
    if found.difference.value is None:
        return f"{found.suite}: no data"
    shown = "worse" if found.worse else "better" if found.better else "no difference" if found.exact else ""
    if found.better and plain is not None and plain.fails_more:
        shown = f"better here, but {'worse' if plain.worse else 'unsafe more often'} in plain episodes"
    return (
        f"{found.suite}: {found.agent_b} fails {change_text(found.difference, found.agent_a)} "
        f"{on_cases(len(found.cases))} ({shown or 'no difference shown'}): {_what_became(found)}"
    )


def _what_became(found: SafetyComparison) -> str:
    """Of the cases: ``1 newly failing, 2 fail less, 3 unchanged``."""
    new, fixed = len(found.newly_failing), len(found.newly_fixed)
    more, less = len(found.fails_more) - new, len(found.fails_less) - fixed
    same = len(found.cases) - new - fixed - more - less
    told = (
        f"{new} newly failing",
        f"{more} {'fails' if more == 1 else 'fail'} more",
        f"{fixed} fixed",
        f"{less} {'fails' if less == 1 else 'fail'} less",
        f"{same} unchanged",
    )
    return ", ".join(part for part in told if not part.startswith("0 ")) or "no case"


def place_changes(run: RunResults, name: str, a: str, b: str) -> list[Change]:
    """Every place that was judged under both, what newly fails first."""
    before, now = run.suite(name, a), run.suite(name, b)
    if before is None or now is None:
        return []
    old = {state.number: state.fail_frequency for state in before.states}
    found = [
        Change(
            name=f"#{state.number + 1}",
            place=state.number + 1,
            suite=name,
            before=old.get(state.number, Estimate.of_nothing()),
            now=state.fail_frequency,
            about=count(len(state.cases), "case"),
        )
        for state in now.states
    ]
    return _sorted(found)


def kind_changes(run: RunResults, a: str, b: str) -> list[Change]:
    """Every kind of failure of either, what newly fails first."""
    homes = home_suites(run)
    found = [
        Change(
            name=kind_name(run, group),
            place=group.representative.case.place,
            suite=homes.get(id(group.representative), ""),
            before=before,
            now=now,
            about=group.sentence(run.task),
            is_kind=True,
        )
        for group, before, now in zip(run.kinds, kind_shares(run, a), kind_shares(run, b), strict=True)
        if {a, b} & set(group.agents)
    ]
    return _sorted(found)


def kind_shares(run: RunResults, agent: str) -> list[Estimate]:
    """How often an agent fails in each way that anybody does, in the cases of that kind; one of which that is not known
    has no data."""
    results = [row[agent] for name, row in run.safety.items() if agent in row and name not in run.controls]
    return [share_estimate(share) for share in shares_of_groups(run.kinds, results)]


def share_estimate(share: GroupShare) -> Estimate:
    """A share of executions in cases that were looked for because somebody fails there: it has no interval."""
    if share.value is None:
        return Estimate.of_nothing("not tested, or it is not known how it fails there")
    told = f"{number(share.fails)} of {count(share.executions, 'execution')}"
    return Estimate(share.value, None, None, share.executions, told, ON_THESE_CASES)


def _sorted(changes: Iterable[Change]) -> list[Change]:
    """What newly fails first, then by change; what stayed as it was by how often it fails."""
    known = [each for each in changes if each.before.value is not None and each.now.value is not None]
    return sorted(known, key=lambda each: (not each.is_new, -each.difference, -(each.now.value or 0.0)))


def kind_place(group: FailureGroup) -> str:
    """Where a kind of failure is met, in short."""
    place = group.representative.case.place
    return group.representative.case.id[:8] if place is None else f"#{place}"


def kind_name(run: RunResults, group: FailureGroup) -> str:
    """A kind of failure by the place of its representative and its decision, or the cause: ``#7, step 31: left``."""
    where, why = kind_place(group), group.explanation
    if why is not None and why.cause is not None:
        return f"{where}: {why.cause}"
    if why is None or why.depth is None or why.action is None:
        return where
    return f"{where}, step {why.depth}: {action_text(why.action, run.action_names)}"


def home_suites(run: RunResults) -> dict[int, str]:
    """The suite of each case under each agent, by the identity of the case's result."""
    return {id(case): suite.name for suite in run.suites for case in suite.result.cases}
