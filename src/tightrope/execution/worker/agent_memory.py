"""What agents with memory remember when they take over, having watched the prefix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tightrope.agents.agent import Agent
from tightrope.execution.counters import Counters
from tightrope.execution.rollout import Rollout
from tightrope.execution.worker.lane_runs import Drafting
from tightrope.execution.worker.lanes import Lane
from tightrope.execution.worker.lockstep import Run, run_in_lanes
from tightrope.trace import ActionTrace

MOST_REMEMBERED = 4096
"""Starts; a memory is a few kilobytes in common agents."""


class Memories:
    """One agent's memory at the end of prefixes that lead to one place; each is watched once for all repetitions."""

    def __init__(self, agent: Agent, known: dict[ActionTrace, Any]) -> None:
        self._agent, self._known = agent, known

    def recall(self, run: Run) -> None:
        """Give a run that begins after its prefix the memory of having watched it."""
        start = run.rollout.start
        if start in self._known:
            run.memory = self._known[start]
        elif start.actions:
            run.failed = True

    def watch(self, drafting: Drafting, rollouts: Iterable[Rollout], lanes: Sequence[Lane], counters: Counters) -> None:
        """Let the agent watch the starts of these rollouts."""
        if len(self._known) > MOST_REMEMBERED:
            self._known.clear()
        missing = {
            rollout.start: rollout
            for rollout in rollouts
            if rollout.start.actions and rollout.start not in self._known and drafting.leads_to_one_place(rollout)
        }
        watchers = (drafting.watcher(rollout, self._agent, marks) for rollout, marks in _longest(missing))
        for run in run_in_lanes(self._agent, watchers, lanes, counters):
            start = run.rollout.start
            for length, memory in run.memories.items():
                self._known[start.prefix(length)] = memory


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
