"""Walking an environment under test and comparing two walks moment by moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tightrope.errors import EnvironmentFailure
from tightrope.guards.calls import calls_out
from tightrope.guards.faults import misdeed
from tightrope.simulation.starting import checked_reset
from tightrope.simulation.user_faults import blaming, ends_episode, require_info, reward_number, wrong_step
from tightrope.tasks.keys import freeze, require_hashable
from tightrope.tasks.observations import read_only
from tightrope.tasks.spaces import action_decoder, mask_allows
from tightrope.tasks.task import Task, Transition
from tightrope.trace import Action


@dataclass(frozen=True, slots=True)
class WalkMoment:
    """Everything that one step shows, in a form that can be compared."""

    facts: Mapping[str, Hashable]
    over: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """What differed first between two walks that should be equal."""

    what: str
    step: int
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.what} differs at step {self.step}: {self.found} instead of {self.expected}"


@dataclass(frozen=True, slots=True)
class Recording:
    """One walk from a seeded reset, and on through an unseeded one."""

    seed: int
    actions: tuple[Action, ...]
    moments: tuple[WalkMoment, ...]
    """s0 … sn: one more than there are actions."""
    actions_after: tuple[Action, ...]
    moments_after: tuple[WalkMoment, ...]

    def without_second_reset(self) -> Recording:
        """The first episode alone."""
        return replace(self, actions_after=(), moments_after=())


class Walk:
    """One environment of a task, walked step by step; ``env`` may be wrapped once more than the task's own.

    ``renew`` is called before every seeded reset, to make the environment as good as new. ``seconds`` are those that
    the environment took for its ``steps``.
    """

    def __init__(self, task: Task, env: Any, own: Any = None, renew: Callable[[], None] | None = None) -> None:
        self.task, self.env, self.own, self.renew = task, env, env if own is None else own, renew
        self.transition = Transition(None, 0.0, False, False, {})
        self.steps, self.seconds = 0, 0.0
        self._decode = action_decoder(env.action_space)

    def reset(self, seed: int | None) -> WalkMoment:
        """Begin an episode; None leaves the random generators as they are."""
        if seed is not None and self.renew is not None:
            self.renew()
        observation, info = checked_reset(self.task, self.env, seed)
        self.transition = Transition(read_only(observation), 0.0, False, False, info)
        return self.moment(at_reset=True)

    @calls_out("task {self.task.label}", step="step()")
    def step(self, action: Action) -> WalkMoment:
        """Play one action."""
        started = time.perf_counter()
        try:
            result = self.env.step(self._decode(action))
        except BaseException as error:
            raise EnvironmentFailure(f"task {self.task.label}: step(action={action!r}) {misdeed(error)}") from error
        self.steps, self.seconds = self.steps + 1, self.seconds + time.perf_counter() - started
        try:
            observation, reward, terminated, truncated, info = result
        except (TypeError, ValueError):
            raise wrong_step(self.task, result) from None
        number = reward_number(self.task, reward)
        ends_episode(self.task, terminated, truncated)
        require_info(self.task, info)
        self.transition = Transition(read_only(observation), number, bool(terminated), bool(truncated), info)
        return self.moment()

    @calls_out("task {self.task.label}", unsafe="unsafe", goal="goal", state_key="state_key", identity="identity")
    def moment(self, *, at_reset: bool = False) -> WalkMoment:
        """The facts of the latest transition; ``goal`` and ``unsafe`` judge transitions, and a reset is none."""
        task, seen = self.task, self.transition
        facts: dict[str, Hashable] = dict(self.shown())
        facts["reward"] = seen.reward
        facts["terminated"], facts["truncated"] = seen.terminated, seen.truncated
        if not at_reset:
            with blaming(task, "unsafe"):
                facts["unsafe"] = bool(task.unsafe(seen))
            with blaming(task, "goal"):
                facts["goal"] = bool(task.goal(seen))
        with blaming(task, "state_key"):
            key = task.state_key(self.own, seen.observation, seen.info)
        facts["state key"] = require_hashable(task.label, "state_key", key)
        if task.identity is not None:
            with blaming(task, "identity"):
                identity = task.identity(self.own, seen.observation, seen.info)
            facts["identity"] = require_hashable(task.label, "identity", identity)
        over = seen.terminated or seen.truncated or bool(facts.get("unsafe")) or bool(facts.get("goal"))
        return WalkMoment(facts, over)

    def shown(self) -> list[tuple[str, Hashable]]:
        """What an agent is shown now, in a form that can be compared: the observation, and the mask where there is one.

        It is the latest step's for as long as nobody writes over what the environment has handed out.
        """
        mask = self.transition.info.get("action_mask")
        masked = [] if mask is None else leaves("action mask", mask)
        return leaves("observation", self.transition.observation) + masked

    def available_actions(self) -> tuple[Action, ...]:
        """The search actions that are available here; all of them where the mask forbids all."""
        actions, mask = self.task.search_actions, self.transition.info.get("action_mask")
        if mask is None:
            return actions
        space = self.env.action_space
        return tuple(action for action in actions if mask_allows(space, mask, action)) or actions

    def random_action(self, rng: np.random.Generator) -> Action:
        """One of the search actions that are available here."""
        actions = self.available_actions()
        return actions[int(rng.integers(len(actions)))]

    def record(self, seed: int, rng: np.random.Generator, steps: int, steps_after: int) -> Recording:
        """Walk at random from a reset to the end of the episode or for so many steps, then through a second reset."""
        moments, actions = [self.reset(seed)], list[Action]()
        while len(actions) < steps and not moments[-1].over:
            actions.append(self.random_action(rng))
            moments.append(self.step(actions[-1]))
        after, actions_after = [self.reset(None)], list[Action]()
        while len(actions_after) < steps_after and not after[-1].over:
            actions_after.append(self.random_action(rng))
            after.append(self.step(actions_after[-1]))
        return Recording(seed, tuple(actions), tuple(moments), tuple(actions_after), tuple(after))

    def record_along(self, seed: int, actions: Sequence[Action]) -> Recording:
        """Walk these actions from a reset."""
        moments = [self.reset(seed), *map(self.step, actions)]
        return Recording(seed, tuple(actions), tuple(moments), (), ())

    def follow(self, recording: Recording, start: int = 0) -> Difference | None:
        """Walk a recording from one of its steps on, where the environment stands; the first difference, if any."""
        steps = zip(recording.actions[start:], recording.moments[start + 1 :], strict=True)
        for number, (action, expected) in enumerate(steps, start + 1):
            difference = compare(expected, self.step(action), number)
            if difference is not None:
                return difference
        return None

    def replay(self, recording: Recording) -> Difference | None:
        """Walk the first episode of a recording from its reset."""
        return compare(recording.moments[0], self.reset(recording.seed), 0) or self.follow(recording)

    def follow_after(self, recording: Recording) -> Difference | None:
        """Walk on through the unseeded reset that the recording ends with."""
        if not recording.moments_after:
            return None
        difference = compare(recording.moments_after[0], self.reset(None), 0)
        steps = zip(recording.actions_after, recording.moments_after[1:], strict=True)
        for number, (action, expected) in enumerate(steps, 1):
            if difference is not None:
                break
            difference = compare(expected, self.step(action), number)
        if difference is None:
            return None
        return Difference(
            f"after an unseeded reset, {difference.what}", difference.step, difference.expected, difference.found
        )


class FreshWalk(Walk):
    """Walks a new environment after every seeded reset."""

    def __init__(self, task: Task) -> None:
        super().__init__(task, task.open_env(), renew=self._reopen)

    def _reopen(self) -> None:
        self.env.close()
        self.env = self.own = self.task.open_env()


def compare(expected: WalkMoment, found: WalkMoment, step: int) -> Difference | None:
    """The first fact that is not the same."""
    for what, value in expected.facts.items():
        other = found.facts.get(what, "missing")
        if value != other and not (value != value and other != other):
            return Difference(what, step, shown_fact(value), shown_fact(other))
    for what, other in found.facts.items():
        if what not in expected.facts:
            return Difference(what, step, "missing", shown_fact(other))
    return None


def step_beside(walks: Sequence[Walk], walk: Walk, recording: Recording, number: int) -> Difference | None:
    """Play one step of a recording in one of several environments: it is as recorded, and nobody else notices."""
    others = [(other, dict(other.shown())) for other in walks if other is not walk]
    difference = compare(recording.moments[number + 1], walk.step(recording.actions[number]), number + 1)
    for other, before in others:
        if difference is not None:
            return difference
        # Agents are asked for several environments at a time: what one has handed out must outlast a step of another.
        difference = compare(WalkMoment(before, over=False), WalkMoment(dict(other.shown()), over=False), number + 1)
        difference = difference and replace(difference, what=f"{difference.what} that was shown already")
    return difference


def leaves(name: str, observation: Any) -> list[tuple[str, Hashable]]:
    """The parts of an observation by name, in a form that can be compared."""
    if isinstance(observation, Mapping):
        return [leaf for key, part in observation.items() for leaf in leaves(f"{name}[{key!r}]", part)]
    if isinstance(observation, tuple):
        return [leaf for index, part in enumerate(observation) for leaf in leaves(f"{name}[{index}]", part)]
    return [(name, freeze(observation))]


def shown_fact(value: Hashable) -> str:
    """A fact in few characters."""
    text = f"{len(value)} bytes {value[:12].hex()}…" if isinstance(value, bytes) else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
