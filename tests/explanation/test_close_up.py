"""What the agent saw and wanted around its decision, against worlds in which that is known."""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tests.safety.corridor import CORRIDOR, reference_of, walker
from tightrope.explanation.closeup import AFTER, BEFORE, CloseUp, Instant
from tightrope.explanation.storage import close_up_from_json, close_up_to_json
from tightrope.explanation.telling import values_of
from tightrope.explanation.watching import Watch, watch
from tightrope.safety import TestCase
from tightrope.testing import JUMP, WALK, FunctionAgent, corridor_task
from tightrope.trace import ActionTrace

LONG = corridor_task(200, [90], name="long-corridor")


class Wants(FunctionAgent):
    """Walks, and says how much it would rather have jumped: the more, the further it is."""

    def preferences(self, observations: Sequence[Any], memories: Sequence[Any], masks: Sequence[Any]) -> Any:
        return [{WALK: 1.0, JUMP: float(cell) / 100} for cell in observations]


wants = Wants(lambda cell: WALK, "wants")


def explained(task: tr.Task, agent: Any, prefix: int, length: int = 100) -> tr.Explanation:
    start = ActionTrace(task.label, task.seed, (WALK,) * prefix)
    return tr.explain(task, agent, TestCase(prefix=start, boundary=0, depth=None, kept=0), length=length)


def test_the_moments_around_the_decision_are_those_of_the_episode() -> None:
    why = explained(LONG, wants, 80)
    seen = tr.close_up(LONG, wants, why)
    assert (why.depth, seen.decision, seen.action, seen.better) == (89, 89, WALK, (JUMP,))
    assert [each.depth for each in seen.fail] == list(range(89 - BEFORE, 91))
    # Walking leads to the cell of the same number, so what was seen is known.
    assert [each.values for each in seen.fail] == [(float(depth),) for depth in range(89 - BEFORE, 91)]
    assert [each.action for each in seen.fail] == [*[WALK] * (BEFORE + 1), None]
    assert [each.reward for each in seen.fail[-3:]] == [-1.0, -11.0, None]
    assert [each.wanted is not None for each in seen.fail] == [each.depth in range(80, 90) for each in seen.fail]


def test_the_escape_is_the_same_up_to_the_decision_and_then_another() -> None:
    seen = tr.close_up(LONG, wants, explained(LONG, wants, 80))
    shared = BEFORE
    assert [each.values for each in seen.escape[: shared + 1]] == [each.values for each in seen.fail[: shared + 1]]
    assert (seen.escape[shared].action, seen.escape[shared + 1].values) == (JUMP, (91.0,))
    assert seen.escape[-1].depth <= 89 + AFTER


def test_the_margin_is_that_of_the_decision_and_is_told() -> None:
    task = LONG.with_options(action_names=("walk", "jump"), observation_names=("cell",))
    seen = tr.close_up(task, wants, explained(task, wants, 80))
    assert seen.names == ("cell",)
    assert seen.margin == pytest.approx(1.0 - 0.89)
    assert seen.sentence(task) == "It scored walk at 1 and jump at 0.89"
    assert tr.close_up(task, None, explained(task, wants, 80)).sentence(task) == ""


def test_what_is_stored_is_what_was_seen() -> None:
    seen = tr.close_up(LONG, wants, explained(LONG, wants, 80))
    assert close_up_from_json(json.loads(json.dumps(close_up_to_json(seen)))) == seen


class Counts(FunctionAgent):
    """Remembers how many steps it has seen, and tells that as its wish to walk."""

    recurrent = True

    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> tr.Answer:
        return tr.Answer([WALK] * len(observations), [(memory or 0) + 1 for memory in memories])

    def preferences(self, observations: Any, memories: Any, masks: Any) -> Any:
        return [{WALK: float(memory or 0), JUMP: 0.0} for memory in memories]


def test_an_agent_that_remembers_is_shown_everything_from_reset_on() -> None:
    counts = Counts(lambda cell: WALK, "counts")
    seen = tr.close_up(LONG, counts, explained(LONG, counts, 80))
    told = {each.depth: each.wanted.by_action[WALK] for each in seen.fail if each.wanted is not None}
    assert told == {depth: float(depth) for depth in range(80, 90)}


def test_where_nothing_was_decided_the_last_moments_are_shown() -> None:
    hopeless = corridor_task(30, [5, 6], name="hopeless")
    why = explained(hopeless, wants, 2, length=20)
    assert (why.depth, why.proven) == (None, True)
    seen = tr.close_up(hopeless, wants, why)
    assert seen.decision is None
    assert seen.fail[-1].depth == len(why.trace)
    assert seen.escape == ()
    assert seen.margin is None


class Parts(gym.Env[Any, Any]):
    """Three steps to the end; sees a picture, a direction and two numbers."""

    observation_space = gym.spaces.Dict(
        {
            "picture": gym.spaces.Box(0, 255, (16, 16, 3), np.uint8),
            "direction": gym.spaces.Discrete(4),
            "speed": gym.spaces.Box(-1, 1, (2,), np.float32),
        }
    )
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps, self.fell = 0, False
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        self.fell = self.fell or (self.steps == 2 and action == 1)
        return self._seen(), 0.0, self.steps == 3, False, {}

    def _seen(self) -> dict[str, Any]:
        speed = np.array([self.steps / 4, -self.steps / 4], np.float32)
        return {"picture": np.full((16, 16, 3), self.steps, np.uint8), "direction": self.steps, "speed": speed}


def parts_key(env: Any, observation: Any, info: Any) -> tuple[int, bool]:
    return env.unwrapped.steps, env.unwrapped.fell


def test_parts_of_an_observation_are_named_by_their_keys_and_pictures_left_out() -> None:
    task = tr.Task(
        name="parts",
        make_env=Parts,
        goal=lambda step: step.terminated,
        unsafe=lambda step: step.terminated and step.info.get("fell", False),
        state_key=parts_key,
    )
    fell = task.with_options(make_env=Fell)
    stumbles = FunctionAgent(lambda seen: 1, "stumbles")
    seen = tr.close_up(fell, stumbles, explained(fell, stumbles, 0, length=5))
    assert seen.names == ("direction", "speed[0]", "speed[1]")
    assert seen.decision == 1
    assert seen.fail[1].values == (1.0, 0.25, -0.25)


def test_of_many_numbers_those_that_change_are_told() -> None:
    """A picture of the surroundings comes first in many observations, and hardly changes."""

    def moment(depth: int, last: float) -> Instant:
        return Instant(depth=depth, action=0, reward=0.0, values=(0.0,) * 6 + (2.0, last))

    seen = CloseUp(
        decision=1,
        action=0,
        names=(*(f"near[{index}]" for index in range(6)), "x", "y"),
        fail=(moment(0, 1.0), moment(1, 2.0)),
        escape=(moment(0, 1.0), moment(1, 3.0)),
    )
    assert values_of(seen.fail[1], seen) == "near[0] 0, near[1] 0, near[2] 0, y 2, …"
    assert values_of(Instant(depth=2, action=None, reward=None), seen) == ""


class Fell(Parts):
    """Says in its info whether it fell."""

    def step(self, action: Any) -> Any:
        *rest, _ = super().step(action)
        return (*rest, {"fell": self.fell})


def test_of_a_picture_the_place_on_the_map_is_told() -> None:
    task = tr.Task(
        name="seen-only",
        make_env=Pictures,
        goal=lambda step: step.terminated and not step.info["fell"],
        unsafe=lambda step: step.terminated and step.info["fell"],
        state_key=parts_key,
        position=lambda env, observation, info: (env.unwrapped.steps, -1.0),
    )
    stumbles = FunctionAgent(lambda seen: 1, "stumbles")
    seen = tr.close_up(task, stumbles, explained(task, stumbles, 0, length=5))
    assert seen.names == ("x", "y")
    assert [each.values for each in seen.fail] == [(float(step), -1.0) for step in range(4)]


class Pictures(Fell):
    """Shows the picture alone."""

    observation_space = Parts.observation_space["picture"]

    def _seen(self) -> Any:
        return super()._seen()["picture"]


def test_a_group_tells_both_sentences() -> None:
    task = CORRIDOR.with_options(action_names=("walk", "jump"))
    result = tr.run_suite(task, wants, tr.simple_suite(reference_of(task)))
    group = result.failure_groups[0]
    assert group.sentence(task) == group.explanation.sentence(task)
    case = group.representative.case.id
    looked = replace(result, close_ups={case: tr.close_up(task, wants, group.explanation)})
    [told] = [each for each in looked.failure_groups if each.representative.case.id == case]
    assert told.sentence(task).startswith(f"{told.explanation.sentence(task)}. It scored walk at 1 and jump at 0.0")
    unasked = tr.run_suite(task, walker, tr.simple_suite(reference_of(task)), explain=False).failure_groups[0]
    assert unasked.sentence(task) == "Why it failed was not looked into"


class Lazy:
    """An observation that is drawn only when it is looked at, and cannot leave its process."""

    def __init__(self, step: int) -> None:
        self.step, self.engine = step, threading.Lock()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.full((16, 16, 3), self.step, np.uint8)


class LazyPictures(Pictures):
    """Hands out pictures that are not drawn yet."""

    def _seen(self) -> Any:
        return Lazy(self.steps)


class Brightest(FunctionAgent):
    """Wants as much as the picture is bright."""

    def preferences(self, observations: Any, memories: Any, masks: Any) -> Any:
        return [{0: 0.0, 1: float(np.asarray(picture).max())} for picture in observations]


def test_what_is_drawn_only_when_looked_at_is_looked_at_where_it_is() -> None:
    task = tr.Task(
        name="lazy",
        make_env=LazyPictures,
        goal=lambda step: step.terminated and not step.info["fell"],
        unsafe=lambda step: step.terminated and step.info["fell"],
        state_key=parts_key,
        position=lambda env, observation, info: (env.unwrapped.steps, 0.0),
    )
    bright = Brightest(lambda picture: 1, "bright")
    why = explained(task, bright, 0, length=5)
    [sights] = watch(task, (Watch(trace=why.trace, first=0, observed_from=0),))
    assert pickle.loads(pickle.dumps(sights))[1].observation.max() == 1
    told = tr.close_up(task, bright, why).fail
    assert [moment.wanted.by_action[1] for moment in told[:-1]] == [0.0, 1.0, 2.0]
