"""Whether an environment has drawn anything at random since its reset."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from tightrope.simulation.forking.environment import ForkedEnv
from tightrope.simulation.snapshots import draws_nothing, shows_its_draws
from tightrope.simulation.snapshots.randomness import generator_states
from tightrope.tasks.task import Task

MOST_RESETS_NOTED = 10_000
"""Reset seeds of which is known where the generators stood."""


class Draws:
    """The generators of one environment against where they stood right after reset.

    Args:
        task: Whose environments stand alike after the same reset.
        env: The one that is looked at.
    """

    def __init__(self, task: Task, env: Any) -> None:
        self._task, self._env = task, env
        self._draws_nothing = draws_nothing(env)
        self._can_be_seen: bool | None = None

    def note_reset(self, seed: int) -> None:
        """The environment was reset just now: nothing is drawn yet."""
        known = _undrawn.setdefault(self._task, {})
        if len(known) >= MOST_RESETS_NOTED:
            del known[next(iter(known))]
        known[seed] = _states(self._env)

    def knows(self, seed: int) -> bool:
        """Whether an environment of the task was noted after this reset."""
        return seed in _undrawn.get(self._task, {})

    def any_since(self, seed: int) -> bool:
        """Whether anything was drawn since that reset; True where that cannot be seen."""
        if self._draws_nothing:
            return False
        if self._can_be_seen is None:
            env = self._env
            self._can_be_seen = env.ask("shows_its_draws") if isinstance(env, ForkedEnv) else shows_its_draws(env)
        if not self._can_be_seen:
            return True
        now = _states(self._env)
        return now is None or now != _undrawn.get(self._task, {}).get(seed)


_undrawn: WeakKeyDictionary[Task, dict[int, Any]] = WeakKeyDictionary()
"""Where the generators stand right after each reset; the same in every environment of the task."""


def _states(env: Any) -> tuple[Any, ...] | None:
    try:
        return env.ask("generator_states") if isinstance(env, ForkedEnv) else generator_states(env)
    except Exception:
        # An attribute that cannot be looked through; what it hides may have been drawn from.
        return None
