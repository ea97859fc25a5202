"""``shrink``: a simpler situation with the same failure, the agent in the loop."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tightrope.agents import Agent, own_actions
from tightrope.budget import Budget, Meter
from tightrope.errors import UsageError
from tightrope.execution import Engine, Episode, Rollout, begun_again_if_stochastic, borrowed_engine
from tightrope.explanation import Explanation, explain_episodes
from tightrope.explanation.by_learning import FEWEST_MOMENTS
from tightrope.explanation.explaining import EFFORT as FULL_EFFORT
from tightrope.exploration.watch_length import choose_watch
from tightrope.outcome import Outcome
from tightrope.safety.judging.case_results import CaseResult
from tightrope.safety.suites.replay import replay_trace
from tightrope.safety.suites.suite import TestCase
from tightrope.seeding import derive_seed
from tightrope.settings import LIBRARY_BACKEND, BackendName, KeepConfig
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace

SHRINK_BUDGET = Budget(steps=KeepConfig.steps)
EXECUTIONS = 8
"""Executions of a candidate where chance decides; half as many fails as the original has are enough."""
EFFORT = 500
"""Environment steps for a moment of a candidate whose failure has to be understood before it is called the same."""
MOST_TO_UNDERSTAND = 4 * EFFORT
"""Steps for all moments of a candidate together; one that takes more is not called the same."""


@begun_again_if_stochastic
def shrink(
    task: Task,
    agent: Agent,
    case: CaseResult | TestCase,
    *,
    length: int | None = None,
    budget: Budget = SHRINK_BUDGET,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
    workers: int | None = None,
) -> TestCase:
    """A simpler situation in which the agent fails in the same way: at the same blame point, or by the same decision.

    Reductions are tried in this order, as Hypothesis orders its own: first what makes the case shorter, large cuts
    before small ones and late ones before early ones; then what makes it plainer.

    1. Hand over at the start.
    2. Leave out runs of actions: half of the prefix, a quarter, … one action, from the end to the beginning.
    3. Reset with the task's own seed, and without random events.
    4. Use fewer different actions: replace one everywhere by another, then one by one.
    5. Hand over as late as possible: the agent's own actions up to its decision join the prefix.

    What is kept is verified by running the agent from reset, and is simpler than what it replaces: fewer steps from
    reset to harm, then fewer of them by the agent, then fewer different actions. Neither the prefix nor the way to the
    harm is ever longer than that of ``case``. The same call gives the same answer.

    Args:
        task: The task that was to be solved.
        agent: The agent that fails.
        case: A failing case of a result, or a case in which the agent fails.
        length: Steps to watch after hand-over; default: as in the result, or as a suite has it.
        budget: What it may cost, finding out why it fails included (half of it at most, at first); a budget in steps
            gives the same result everywhere.
        engine: The engine to run on; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
    """
    with borrowed_engine(task, {agent.name: agent}, engine, backend, workers) as runner:
        return _Shrinker(runner, agent, case, length, budget.start()).run()


@dataclass(frozen=True)
class _Candidate:
    """A prefix from which the agent fails as it should, and how."""

    prefix: ActionTrace
    episode: Episode
    blamed: int
    """The step at which it takes the decision that is blamed, since reset."""

    @property
    def cost(self) -> tuple[object, ...]:
        """What is simpler comes first."""
        prefix, acted = self.prefix, len(self.episode.actions)
        plain = len(set(prefix.actions)), prefix.seed, len(prefix.reseeds), str(prefix.actions)
        return len(prefix) + acted, acted, *plain


class _Shrinker:
    """One call of ``shrink``."""

    def __init__(
        self, engine: Engine, agent: Agent, case: CaseResult | TestCase, length: int | None, meter: Meter
    ) -> None:
        self.engine, self.agent, self.meter = engine, agent, meter
        failing = case.failing_episodes if isinstance(case, CaseResult) else ()
        self.case = case.case if isinstance(case, CaseResult) else case
        known = failing[0].rollout.length if length is None and failing else length
        self.length = choose_watch(engine.task, len(self.case.prefix), known).steps
        quiet = engine.deterministic and agent.deterministic
        seeds = [episode.rollout.seed for episode in failing]
        seeds += [derive_seed("shrink", number) for number in range(EXECUTIONS)]
        self.seeds = seeds[: 1 if quiet else EXECUTIONS]
        self.tried: set[str] = set()
        self.original = self._executed(self.case.prefix)
        if not self.original:
            raise UsageError(
                f"the agent {agent.name!r} does not fail in this case within {self.length} steps, so there is nothing "
                f"to shrink; take one of result.failing_cases"
            )
        self.failure = self._explained(self.original[0], FULL_EFFORT, self._left // 2)

    def run(self) -> TestCase:
        """Reduce until nothing more can be reduced, or the budget is spent."""
        best = first = self._candidate(self.original)
        before = None
        while best is not None and best is not before:
            before = best
            for reduce in (
                self._at_the_start,
                self._shorter,
                self._plainly_reset,
                self._plainer,
                self._handed_over_late,
            ):
                best = reduce(best)
        if best is None or best is first or not self._replays(best.episode):
            return self.case
        pairs = zip(best.prefix.actions, self.case.prefix.actions, strict=False)
        shared = next((place for place, (new, old) in enumerate(pairs) if new != old), len(best.prefix))
        return replace(self.case, prefix=best.prefix, kept=min(shared, self.case.kept))

    def _at_the_start(self, best: _Candidate) -> _Candidate:
        return self._first_of([best.prefix.prefix(0)] if len(best.prefix) else [], best)

    def _shorter(self, best: _Candidate) -> _Candidate:
        """Leave out runs of actions, going on where one could be left out."""
        cut = len(best.prefix) // 2
        while cut:
            for start in range(len(best.prefix) - cut, -1, -cut):
                best = self._first_of([_without(best.prefix, start, cut)], best)
            cut //= 2
        return best

    def _plainly_reset(self, best: _Candidate) -> _Candidate:
        best = self._first_of([replace(best.prefix, seed=self.engine.task.seed)], best)
        return self._first_of([replace(best.prefix, reseeds=())], best)

    def _plainer(self, best: _Candidate) -> _Candidate:
        return self._first_of(_with_fewer_actions(best.prefix), best)

    def _handed_over_late(self, best: _Candidate) -> _Candidate:
        latest = min(best.blamed, len(self.case.prefix))
        return self._first_of((best.episode.trace.prefix(end) for end in range(latest, len(best.prefix), -1)), best)

    def _first_of(self, prefixes: Iterable[ActionTrace], best: _Candidate) -> _Candidate:
        """The first of these that fails in the same way and is simpler; what there is, if none."""
        for prefix in prefixes:
            if self.meter.spent:
                break
            if prefix.id not in self.tried:
                self.tried.add(prefix.id)
                found = self._candidate(self._executed(prefix))
                if found is not None and self._no_longer(found) and found.cost < best.cost:
                    return found
        return best

    def _no_longer(self, found: _Candidate) -> bool:
        prefix, whole = len(self.case.prefix), len(self.original[0].trace)
        return len(found.prefix) <= prefix and len(found.episode.trace) <= whole

    def _executed(self, prefix: ActionTrace) -> list[Episode]:
        """The executions from a prefix that fail after hand-over."""
        rollouts = [
            Rollout(
                start=prefix, agent=self.agent.name, length=self.length, seed=seed, fixed_prefix=True, record_keys=True
            )
            for seed in self.seeds
        ]
        episodes = self.engine.run(rollouts)
        self.meter.spend(sum(episode.prefix_steps + len(episode.actions) for episode in episodes))
        return [each for each in episodes if each.reached_handover and each.outcome is Outcome.UNSAFE]

    def _candidate(self, failing: list[Episode]) -> _Candidate | None:
        """The failures as a candidate, where there are enough of them and they are of the same kind."""
        same = [(episode, blamed) for episode in failing if (blamed := self._blamed(episode)) is not None]
        if not same or 2 * len(same) < len(self.original):
            return None
        episode, blamed = same[0]
        return _Candidate(episode.rollout.start, episode, blamed)

    def _blamed(self, episode: Episode) -> int | None:
        """The step of the decision that is blamed, if the episode fails as the original does."""
        wanted, keys, handover = self.failure, episode.keys, episode.prefix_steps
        assert keys is not None
        if wanted is None or wanted.depth is None or not wanted.agents_fault:
            first = self.original[0].keys
            assert first is not None
            return handover if keys[-1] == first[-1] else None
        actions = episode.trace.actions
        for depth in range(handover, len(actions)):
            if int(keys[depth]) == wanted.key and actions[depth] == wanted.action:
                return depth
        return self._by_explanation(episode, wanted)

    def _by_explanation(self, episode: Episode, wanted: Explanation) -> int | None:
        """Elsewhere, but by the same decision: what was done and what would have been better are the same."""
        if not self.engine.deterministic or self.meter.spent:
            return None
        found = self._explained(episode, EFFORT, min(MOST_TO_UNDERSTAND, self._left))
        if found is None or not found.agents_fault or found.action != wanted.action:
            return None
        return found.depth if set(found.better) & set(wanted.better) else None

    def _explained(self, episode: Episode, effort: int, most: int) -> Explanation | None:
        """Why an episode failed, as far as so many steps say."""
        moments = max(len(episode.actions), FEWEST_MOMENTS)
        if not self.engine.deterministic:
            effort = min(effort, most // moments)
            self.meter.spend(effort * moments)
        if effort < 1 or most < 1:
            return None
        [found] = explain_episodes(
            self.engine, [episode], length=self.length, actions=own_actions(self.agent), effort=effort, limit=most
        )
        if found is not None and self.engine.deterministic:
            self.meter.spend(found.steps)
        return found

    @property
    def _left(self) -> int:
        """Steps of the budget that are left; where only time is limited, more than are ever needed."""
        left = self.meter.remaining().steps
        return sys.maxsize if left is None else left

    def _replays(self, episode: Episode) -> bool:
        """Whether the actions lead to the same end without the agent, from reset."""
        [replayed] = self.engine.map(replay_trace, [episode.trace])
        return bool(replayed.outcome is Outcome.UNSAFE and len(replayed.keys) == len(episode.trace) + 1)


def _with_fewer_actions(prefix: ActionTrace) -> Iterator[ActionTrace]:
    """The same with fewer different actions: the rarest replaced by the most frequent first, then one by one."""
    counts: list[Action] = [action for action, _ in Counter(prefix.actions).most_common()]
    for rare in reversed(counts):
        for common in counts:
            if common != rare:
                actions = tuple(common if action == rare else action for action in prefix.actions)
                yield replace(prefix, actions=actions)
    for place, action in enumerate(prefix.actions):
        if action != counts[0]:
            yield replace(prefix, actions=(*prefix.actions[:place], counts[0], *prefix.actions[place + 1 :]))


def _without(prefix: ActionTrace, start: int, size: int) -> ActionTrace:
    """The prefix without some of its actions; random events stay with the actions they came before."""
    reseeds = tuple(
        (index if index < start else index - size, seed)
        for index, seed in prefix.reseeds
        if not start <= index < start + size
    )
    return replace(prefix, actions=prefix.actions[:start] + prefix.actions[start + size :], reseeds=reseeds)
