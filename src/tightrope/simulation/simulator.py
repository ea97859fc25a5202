"""One environment that can be reset, stepped, saved, put back and keyed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.errors import EnvironmentFailure, UsageError
from tightrope.guards.calls import calls_out
from tightrope.guards.faults import misdeed
from tightrope.outcome import Outcome
from tightrope.simulation.forking.serving import RESEED, RESET, STEP
from tightrope.simulation.history import Reseed, events_of
from tightrope.simulation.limits import limit_to_keep, time_limit
from tightrope.simulation.observed_environment import ObservedEnvironment
from tightrope.simulation.short_cut import step_function
from tightrope.simulation.snapshot import Snapshot, detached
from tightrope.simulation.snapshots import Snapshotter, canonical_reseed
from tightrope.simulation.starting import checked_reset
from tightrope.simulation.user_faults import blame, ends_episode, require_info, reward_number, wrong_step
from tightrope.tasks.observations import read_only
from tightrope.tasks.predicates import holds_at_end_only
from tightrope.tasks.spaces import action_decoder
from tightrope.tasks.task import Task, Transition
from tightrope.trace import Action

ONGOING = Outcome.ONGOING
MOST_STARTS = 16
"""Reset seeds whose start is kept, once they have come again: most of those of plain episodes never do."""


@dataclass(slots=True)
class SimulatorCounters:
    """What a simulator has spent."""

    steps: int = 0
    replayed_steps: int = 0
    resets: int = 0
    saves: int = 0
    loads: int = 0


class Simulator(ObservedEnvironment):
    """Resets, steps, saves and restores one new environment of a task, and judges where it stands.

    Args:
        task: What is goal and what unsafe.
        env: A new environment of the task.
        snapshotter: Bound to the environment; None: situations are put back by replaying them from reset.
        watched: Whether ``has_drawn`` will be asked.
    """

    def __init__(self, task: Task, env: Any, snapshotter: Snapshotter | None, *, watched: bool = False) -> None:
        super().__init__(task, env)
        self.snapshotter = snapshotter
        self.counters = SimulatorCounters()
        self.time_limit = time_limit(task, env)
        """The step at which an episode is over at the latest."""
        self.cut_at = limit_to_keep(task, env)
        """The step at which an episode is ended that the environment has not ended."""
        self._step, self._decode = step_function(env), action_decoder(env.action_space)
        self._may_end_early = not (holds_at_end_only(task.goal) and holds_at_end_only(task.unsafe))
        self._starts: dict[int, Snapshot | None] = {}
        # Some wrappers carry statistics from one episode to the next; a situation must not depend on earlier ones.
        self._as_new = None if snapshotter is None else snapshotter.save()
        self._reseed: Callable[[int], None] | None = None
        self._watched = watched

    @property
    def leaps(self) -> bool:
        """Whether ``leap`` is there: the environment lives in a process that can be forked."""
        return self._far is not None

    def reset(self, seed: int | None = None, *, reseed: int | None = None) -> Transition:
        """Begin an episode at the task's reset seed or another; ``reseed`` gives what follows fresh randomness."""
        seed = self.task.seed if seed is None else seed
        self.counters.resets += 1
        start = self._starts.get(seed)
        if start is None:
            self._begin(seed)
        else:
            self._put_back(start)
        if reseed is not None:
            self.reseed(reseed)
        return self.transition

    def step(self, action: Action) -> Transition:
        """Play one action; ``outcome`` then says where it led."""
        self.advance(action)
        return self.transition

    @calls_out("task {self.task.label}", _step="step()")
    def advance(self, action: Action) -> float:
        """As ``step``, and nothing but the reward is told: who plays thousands need not pay for as many transitions."""
        if self.outcome is not ONGOING:
            raise UsageError(f"task {self.task.label}: the episode is over ({self.outcome}); reset or load first")
        try:
            result = self._step(self._decode(action))
        except BaseException as error:
            raise self._failure(action, error) from error
        try:
            observation, reward, terminated, truncated, info = result
        except (TypeError, ValueError):
            raise wrong_step(self.task, result) from None
        depth = self.depth = self.depth + 1
        if depth == self.cut_at:
            truncated = True
        if type(reward) is not float:
            reward = reward_number(self.task, reward)
        over = (terminated is not False or truncated is not False) and ends_episode(self.task, terminated, truncated)
        if type(info) is not dict:
            require_info(self.task, info)
        if type(observation) is np.ndarray:
            # What read_only does; calling it would cost as much again.
            observation = observation[...]
            observation.setflags(False)  # type: ignore[call-arg]
        else:
            observation = read_only(observation)
        self.observation = observation
        self.info = info
        self.reward = reward
        self._transition = None
        self._history = (self._history, action)
        self.counters.steps += 1
        if over:
            self._ends = terminated, truncated
        if over or self._may_end_early:
            self._judge(over)
        return reward

    @calls_out("task {self.task.label}", unsafe="unsafe", goal="goal")
    def _judge(self, over: bool) -> None:
        """Where the step has led: unsafe wins over the goal, and both over an end that is neither."""
        task, transition = self.task, self.transition
        try:
            if task.unsafe(transition):
                self.outcome = Outcome.UNSAFE
                return
        except BaseException as error:
            blame(task, "unsafe", error)
        try:
            if task.goal(transition):
                self.outcome = Outcome.GOAL
                return
        except BaseException as error:
            blame(task, "goal", error)
        if over:
            self.outcome = Outcome.TRUNCATED

    def save(self) -> Snapshot:
        """Remember this situation for as long as this process lives."""
        self.counters.saves += 1
        payload = None if self.snapshotter is None else self.snapshotter.save()
        return Snapshot(payload, detached(self.transition), self.outcome, self.depth, self._history)

    def load(self, snapshot: Snapshot, *, reseed: int | None = None) -> None:
        """Put a situation back exactly; ``reseed`` gives it fresh randomness from there on."""
        self.counters.loads += 1
        if self.snapshotter is None:
            self.replay(snapshot.history)
        else:
            self._put_back(snapshot)
        if reseed is not None:
            self.reseed(reseed)

    def replay(self, history: Any) -> None:
        """Play the way to a situation (``Snapshot.history``), from where the simulator stands if that lies on it."""
        missing = []
        node = history
        while node is not None and node is not self._history:
            missing.append(node)
            node = node[0]
        if self._far is not None:
            self._leap_along(history, missing)
            return
        if node is None:
            self.reset(missing.pop()[1])
        for node in reversed(missing):
            event = node[1]
            if isinstance(event, Reseed):
                self.reseed(event.seed)
            else:
                self.advance(event)
                self.counters.steps -= 1
                self.counters.replayed_steps += 1
            self._history = node

    @calls_out("task {self.task.label}", prepare="step()")
    def leap(self, seed: int, events: Sequence[Any], standing: int | None = None) -> None:
        """As a reset and these actions and reseedings, without playing what the environment has a copy of.

        Args:
            seed: Of the reset.
            events: The actions and reseedings, in order.
            standing: After how many of the events the simulator stands already; None: elsewhere.
        """
        assert self._far is not None
        if self._watched and not self._draws.knows(seed):
            self._begin(seed)
            standing = 0
        last = max((index for index, event in enumerate(events) if not isinstance(event, Reseed)), default=-1)
        if standing is None or standing <= last:
            played = self._far.played_steps
            way = [(RESET, seed), *map(_far_event, events[: last + 1])]
            try:
                self._far.prepare(way, self._decode, None if standing is None else standing + 1)
            except BaseException as error:
                raise EnvironmentFailure(
                    f"task {self.task.label}: coming back to step {last + 1} after reset(seed={seed}) {misdeed(error)}"
                ) from error
            self._arrive(seed, events[: last + 1])
            self.counters.steps += self._far.played_steps - played
            standing = last + 1
        for event in events[standing:]:
            self.reseed(event.seed)

    def _arrive(self, seed: int, events: Sequence[Any]) -> None:
        """Take the event that the environment is prepared for, which is the last one."""
        if not events:
            self._begin(seed)
            return
        self._history = (None, seed)
        for event in events[:-1]:
            self._history = (self._history, event)
        self.depth = sum(not isinstance(event, Reseed) for event in events[:-1])
        self.outcome = ONGOING
        self.advance(events[-1])
        self.counters.steps -= 1

    def _leap_along(self, history: Any, missing: Sequence[Any]) -> None:
        """The way to a situation, paid for as if it were played: what a search may do must not hang on who can fork."""
        if not missing:
            return
        counters, events = self.counters, events_of(history)
        steps, standing = counters.steps, len(events) - len(missing)
        self.leap(events[0], events[1:], standing - 1 if standing else None)
        counters.steps = steps
        counters.resets += not standing
        counters.replayed_steps += sum(not isinstance(event, Reseed) for event in events[max(standing, 1) :])
        self._history = history

    def reseed(self, seed: int) -> None:
        """Same situation, fresh randomness."""
        if self._reseed is None:
            self._reseed = canonical_reseed(self.env) if self._far is None else self._far.reseed
        self._reseed(seed)
        self._history = (self._history, Reseed(seed))

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def _begin(self, seed: int) -> None:
        if self.snapshotter is not None:
            self.snapshotter.load(self._as_new)
        observation, info = checked_reset(self.task, self.env, seed)
        self.depth = 0
        self.outcome = Outcome.ONGOING
        self._show(Transition(read_only(observation), 0.0, False, False, info))
        self._history = (None, seed)
        if self._watched:
            self._draws.note_reset(seed)
        if self.snapshotter is not None:
            self._remember_start(seed, self.snapshotter)

    def _remember_start(self, seed: int, snapshotter: Snapshotter) -> None:
        """Keep the situation right after reset: putting it back is cheaper than resetting (on ALE by 100 ms)."""
        if seed in self._starts:
            self._starts[seed] = Snapshot(snapshotter.save(), detached(self.transition), self.outcome, 0, self._history)
            return
        if len(self._starts) >= MOST_STARTS:
            del self._starts[next(iter(self._starts))]
        self._starts[seed] = None

    def _put_back(self, snapshot: Snapshot) -> None:
        self.snapshotter.load(snapshot.payload)  # type: ignore[union-attr]
        self._history = snapshot.history
        self.depth = snapshot.depth
        self.outcome = snapshot.outcome
        self._show(snapshot.transition)

    def _failure(self, action: Action, error: BaseException) -> EnvironmentFailure:
        events = self.events()
        return EnvironmentFailure(
            f"task {self.task.label}: step {self.depth + 1} with action {action!r} {misdeed(error)}. "
            f"It happens again after reset(seed={events[0]}) and the actions {events[1:]!r}"
        )


def _far_event(event: Any) -> tuple[str, Any]:
    return (RESEED, event.seed) if isinstance(event, Reseed) else (STEP, event)
