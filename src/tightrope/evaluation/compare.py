"""Two agents in plain episodes, from the same starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tightrope.display import Shown
from tightrope.errors import UsageError
from tightrope.evaluation.result import Evaluation
from tightrope.execution import Episode
from tightrope.outcome import Outcome
from tightrope.statistics import IN_PLAIN_EPISODES, Estimate, PairCounts, Stratum, stratified_difference

NOT_TOLD = Estimate.of_nothing(question=IN_PLAIN_EPISODES)


@dataclass(frozen=True, kw_only=True, repr=False)
class PlainComparison(Shown):
    """Agent B against agent A as they are used: full episodes from the same starts with the same randomness."""

    _shown = ("agent_a", "agent_b", "unsafe_a", "unsafe_b", "difference", "p_value")
    _shares = ("unsafe_a", "unsafe_b")
    _points = ("difference",)

    agent_a: str
    agent_b: str
    unsafe_a: Estimate
    """The share of A's plain episodes that end unsafe."""
    unsafe_b: Estimate
    difference: Estimate
    """That of B less that of A, over the pairs; above 0, B is less safe."""
    p_value: float | None
    """How likely so great a difference is by chance, if there is none; below 0.05 exactly where the interval of
    ``difference`` leaves out 0. None: no data."""
    episodes: PairCounts
    """Pairs of episodes with common starts, by who ends unsafe; one where it stands for all."""
    errors: int = 0
    """Episodes that raised, of either agent: they are in none of the numbers, and might have ended unsafe."""
    goal_a: Estimate = NOT_TOLD
    """The share of A's plain episodes that reach the goal: who stands still does no harm either."""
    goal_b: Estimate = NOT_TOLD

    @property
    def worse(self) -> bool:
        """Whether B is shown to end unsafe more often than A."""
        return self.difference.above_zero

    @property
    def better(self) -> bool:
        """Whether B is shown to end unsafe less often than A."""
        return self.difference.below_zero

    @property
    def fails_more(self) -> bool:
        """Whether B ended unsafe more often than A, by chance or not."""
        return self.difference.value is not None and self.difference.value > 0


def compare_plain(result_a: Evaluation, result_b: Evaluation) -> PlainComparison:
    """Set B against A in the plain episodes that began alike.

    Args:
        result_a: The result of the agent to compare with.
        result_b: The result of the agent in question.
    """
    _check_comparable(result_a, result_b)
    pairs = list(_pairs(result_a, result_b))
    alike = result_a.starts_alike and result_b.starts_alike
    values = [float(b) - float(a) for a, b in pairs]
    difference, p_value = stratified_difference([Stratum(values=values, certain=alike)])
    return PlainComparison(
        agent_a=result_a.agent,
        agent_b=result_b.agent,
        unsafe_a=result_a.unsafe_rate,
        unsafe_b=result_b.unsafe_rate,
        difference=difference.answering(IN_PLAIN_EPISODES),
        p_value=p_value,
        episodes=PairCounts.of(pairs[:1] if alike else pairs),
        errors=result_a.errors + result_b.errors,
        goal_a=result_a.goal_rate,
        goal_b=result_b.goal_rate,
    )


def _check_comparable(a: Evaluation, b: Evaluation) -> None:
    for name, of_a, of_b in (("task", a.task, b.task), ("seed", a.seed, b.seed), ("length", a.length, b.length)):
        if of_a != of_b:
            raise UsageError(
                f"the plain episodes cannot be paired: {name} is {of_a!r} for {a.agent!r} and {of_b!r} for "
                f"{b.agent!r}; evaluate both agents on the same task with the same seed and length"
            )


def _pairs(a: Evaluation, b: Evaluation) -> Iterator[tuple[bool, bool]]:
    """Who of the two ends unsafe, for each start; where every start gives one agent's episode, it stands for all."""
    of_a, of_b = _by_start(a), _by_start(b)
    if not of_a or not of_b:
        return
    if a.starts_alike and len(of_b) > len(of_a):
        of_a = dict.fromkeys(of_b, next(iter(of_a.values())))
    elif b.starts_alike and len(of_a) > len(of_b):
        of_b = dict.fromkeys(of_a, next(iter(of_b.values())))
    for start in of_a:
        if start in of_b:
            yield of_a[start].outcome is Outcome.UNSAFE, of_b[start].outcome is Outcome.UNSAFE


def _by_start(result: Evaluation) -> dict[tuple[str, int], Episode]:
    return {(episode.rollout.start.id, episode.rollout.seed): episode for episode in result.judged}
