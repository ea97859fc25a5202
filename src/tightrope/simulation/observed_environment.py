"""Where an environment stands, and all that can be asked of it there without moving it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from tightrope.display import Shown
from tightrope.guards.calls import calls_out
from tightrope.outcome import Outcome
from tightrope.simulation.draws import Draws
from tightrope.simulation.forking.environment import ForkedEnv
from tightrope.simulation.history import events_of, reset_seed_of
from tightrope.simulation.user_faults import blame
from tightrope.tasks.keys import require_hashable
from tightrope.tasks.spaces import mask_allows
from tightrope.tasks.task import Task, Transition
from tightrope.trace import Action


class ObservedEnvironment(Shown):
    """One environment of a task in one situation: what it shows, how it came there, and what the task says of it.

    Args:
        task: What is goal and what unsafe.
        env: A new environment of the task.
    """

    _shown = ("task", "depth", "outcome")

    def __init__(self, task: Task, env: Any) -> None:
        self.task = task
        self.env = env
        self._far = env if isinstance(env, ForkedEnv) else None
        self.outcome = Outcome.ONGOING
        self.depth = 0
        self._transition: Transition | None = None
        self._show(Transition(None, 0.0, False, False, {}))
        self._history: Any = None
        self._key_checked = False
        self._draws = Draws(task, env)

    @property
    def transition(self) -> Transition:
        """What the latest step showed; put together when somebody looks at it, since few look at every one."""
        if self._transition is None:
            self._transition = Transition(self.observation, self.reward, *self._ends, self.info)
        return self._transition

    @property
    def timed_out(self) -> bool:
        """Whether the episode was ended from outside: a time limit, not what was done, decided."""
        terminated, truncated = self._ends
        return truncated and not terminated

    @calls_out("task {self.task.label}", state_key="state_key")
    def key(self) -> Hashable:
        """The task's state key of this situation."""
        transition, far = self.transition, self._far
        try:
            if far is None:
                key = self.task.state_key(self.env, transition.observation, transition.info)
            else:
                key = far.ask("look", "state_key")
        except BaseException as error:
            blame(self.task, "state_key", error)
        if not self._key_checked:
            require_hashable(self.task.label, "state_key", key)
            self._key_checked = True
        return key

    @calls_out("task {self.task.label}", identity="identity")
    def identity(self) -> Hashable:
        """The exact fingerprint of this situation, or its key where the task has no fingerprint."""
        if self.task.identity is None:
            return self.key()
        try:
            return self.look("identity")  # type: ignore[no-any-return]
        except BaseException as error:
            blame(self.task, "identity", error)

    def look(self, role: str) -> Any:
        """What a function of the task (its field ``role``) says of environment, observation and info here."""
        if self._far is not None:
            return self._far.ask("look", role)
        return getattr(self.task, role)(self.env, self.transition.observation, self.transition.info)

    def available_actions(self, actions: tuple[Action, ...] | None = None) -> tuple[Action, ...]:
        """Which of these actions, or of the search actions, the environment allows here (``info["action_mask"]``)."""
        actions = self.task.search_actions if actions is None else actions
        mask = self.transition.info.get("action_mask")
        if mask is None:
            return actions
        return tuple(action for action in actions if mask_allows(self.env.action_space, mask, action))

    def events(self) -> list[Any]:
        """The reset seed, then every action and reseeding since: what it takes to come here again."""
        return events_of(self._history)

    def has_drawn(self) -> bool:
        """Whether anything was drawn from the environment's generators since reset; True where that cannot be seen.

        As long as nothing was, no fresh randomness could have led elsewhere.
        """
        return self._draws.any_since(reset_seed_of(self._history))

    def _show(self, transition: Transition) -> None:
        self._transition = transition
        self.observation, self.info, self.reward = transition.observation, transition.info, transition.reward
        self._ends = transition.terminated, transition.truncated
