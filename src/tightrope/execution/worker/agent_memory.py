"""What agents with memory remember when they take over, having watched the prefix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any

from tightrope.agents.agent import Agent
from tightrope.execution.counters import Counters
from tightrope.execution.prefixes.snapshot_sizes import Scales
from tightrope.execution.rollout import Rollout
from tightrope.execution.worker.lane_runs import LaneRuns
from tightrope.execution.worker.lanes import Lane
from tightrope.execution.worker.lockstep import LaneRun, run_in_lanes
from tightrope.trace import ActionTrace

MOST_REMEMBERED = 4096
"""Starts; a memory is a few kilobytes in common agents."""
MOST_BYTES = 2**28
"""Of what is remembered: where a memory is a whole object of the user's, it may be large."""


class Remembered:
    """An agent's memories at the end of prefixes, as far as there is room for them."""

    def __init__(self) -> None:
        self._memories: dict[ActionTrace, Any] = {}
        self._scales, self._bytes = Scales(), 0

    def __contains__(self, start: ActionTrace) -> bool:
        return start in self._memories

    @property
    def full(self) -> bool:
        """Whether there is no room for more."""
        return self._bytes > MOST_BYTES or len(self._memories) > MOST_REMEMBERED

    def keep(self, start: ActionTrace, memory: Any) -> None:
        """Remember a memory, which nobody else may hold."""
        self._memories[start] = memory
        self._bytes += self._scales.weigh(memory)

    def of(self, start: ActionTrace) -> Any:
        """A copy of a memory, since agents may change what they are handed."""
        return deepcopy(self._memories[start])

    def clear(self) -> None:
        """Forget everything."""
        self.__init__()  # type: ignore[misc]


class PrefixMemories:
    """One agent's memory at the end of prefixes that lead to one place; each is watched once for all repetitions."""

    def __init__(self, agent: Agent, known: Remembered) -> None:
        self._agent, self._known = agent, known

    def recall(self, run: LaneRun) -> bool:
        """Give a run that begins after its prefix the memory of having watched it; False when it is not known."""
        start = run.rollout.start
        if start in self._known:
            run.memory = self._known.of(start)
            return True
        return not start.actions

    def watch(
        self, lane_runs: LaneRuns, rollouts: Iterable[Rollout], lanes: Sequence[Lane], counters: Counters
    ) -> None:
        """Let the agent watch the starts of these rollouts, as many as there is room for."""
        if self._known.full:
            self._known.clear()
        missing = {
            rollout.start: rollout
            for rollout in rollouts
            if rollout.start.actions and rollout.start not in self._known and lane_runs.leads_to_one_place(rollout)
        }
        watchers = (
            lane_runs.watcher(rollout, self._agent, marks)
            for rollout, marks in _longest(missing)
            if not self._known.full
        )
        for run in run_in_lanes(self._agent, watchers, lanes, counters):
            start = run.rollout.start
            for length, memory in run.memories.items():
                self._known.keep(start.prefix(length), memory)


def _longest(missing: dict[ActionTrace, Rollout]) -> Iterator[tuple[Rollout, frozenset[int]]]:
    """The starts that no other one extends, each with the lengths at which others end on it."""
    longest: ActionTrace | None = None
    marks: set[int] = set()
    for start in sorted(missing, key=lambda start: (start.seed, start.reseeds, start.actions), reverse=True):
        if longest is not None and len(start) <= len(longest) and longest.prefix(len(start)) == start:
            marks.add(len(start))
            continue
        if longest is not None:
            yield missing[longest], frozenset(marks)
        longest, marks = start, {len(start)}
    if longest is not None:
        yield missing[longest], frozenset(marks)
