"""What a worker has before it, by agent; more may come while it works."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from tightrope.execution.rollout import Rollout
from tightrope.execution.scheduling.affinity import path_order

Numbered: TypeAlias = tuple[int, Rollout]
"""A rollout, and its place in all that the worker was given."""
MoreWork: TypeAlias = Callable[[], Sequence[Numbered]]
"""Tells what has come since it was last asked, without waiting for it."""


def no_more() -> Sequence[Numbered]:
    """Nothing comes."""
    return ()


class Todo:
    """Hands out rollouts agent by agent.

    Args:
        rollouts: What there is to begin with.
        more: Tells what has come meanwhile.
    """

    def __init__(self, rollouts: Sequence[Rollout], more: MoreWork) -> None:
        self._more = more
        self._by_agent: dict[str | None, dict[int, Rollout]] = {}
        self._add(list(enumerate(rollouts)))

    def groups(self) -> Iterator[tuple[str | None, dict[int, Rollout]]]:
        """An agent's rollouts at a time, by their places, until there are none."""
        while self._by_agent or self._look():
            agent = next(iter(self._by_agent))
            yield agent, self._by_agent.pop(agent)

    def also_for(self, agent: str) -> dict[int, Rollout]:
        """What has come for an agent whose rollouts are under way: they can go on beside those."""
        self._look()
        return self._by_agent.pop(agent, {})

    def _look(self) -> bool:
        self._add(self._more())
        return bool(self._by_agent)

    def _add(self, numbered: Sequence[Numbered]) -> None:
        for place, rollout in sorted(numbered, key=lambda one: path_order(one[1])):
            self._by_agent.setdefault(rollout.agent, {})[place] = rollout
