"""The contract every agent keeps, as a test class for those who write one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cloudpickle
import gymnasium as gym
import numpy as np

from tightrope.agents.agent import Agent, Answer
from tightrope.agents.behaviour import random_action
from tightrope.errors import UnavailableAction
from tightrope.seeding import generator
from tightrope.tasks.spaces import action_decoder, encode_action
from tightrope.tasks.task import Task

OBSERVATIONS = 37
"""Not a power of two: blocks of any size are left with a rest."""


class AgentContract:
    """Subclass as ``TestMyAgent`` and say how the agent and a task for it are made; pytest then runs the contract."""

    def make_task(self) -> Task:
        """A task the agent can play."""
        raise TypeError(f"{type(self).__name__} must define make_task()")

    def make_agent(self, task: Task) -> Agent:
        """The agent under test."""
        raise TypeError(f"{type(self).__name__} must define make_agent(task)")

    def test_it_says_what_it_is(self) -> None:
        """Name, fingerprint and both flags are there, and the fingerprint is the same every time."""
        task = self.make_task()
        agent, again = self.make_agent(task), self.make_agent(task)
        assert isinstance(agent, Agent)
        assert agent.name
        assert agent.fingerprint
        assert agent.fingerprint == again.fingerprint, "the fingerprint must depend on what the agent is alone"

    def test_it_answers_with_actions_of_the_task(self) -> None:
        """Every answer is an action of the task's space, in hashable form."""
        task = self.make_task()
        for action in ask(self.make_agent(task), walk(task)).actions:
            assert encode_action(task.action_space, action_decoder(task.action_space)(action)) == action
            hash(action)

    def test_an_answer_does_not_depend_on_the_batch(self) -> None:
        """Batched, shuffled and one by one: the same answers and memories, bit for bit."""
        task = self.make_task()
        agent, observations = self.make_agent(task), walk(task)
        batched = ask(agent, observations)
        order = np.random.default_rng(0).permutation(len(observations)).tolist()
        shuffled = ask(agent, observations, order)
        for place, index in enumerate(order):
            assert shuffled.actions[place] == batched.actions[index]
            assert same(shuffled.memories[place], batched.memories[index])
        for index in range(len(observations)):
            alone = ask(agent, observations, [index])
            assert alone.actions[0] == batched.actions[index], "alone it answers differently than in a batch"
            assert same(alone.memories[0], batched.memories[index])

    def test_randomness_comes_from_the_generator_alone(self) -> None:
        """The same stream gives the same answer; an agent that says it is deterministic needs none."""
        task = self.make_task()
        agent, observations = self.make_agent(task), walk(task)
        assert ask(agent, observations).actions == ask(agent, observations).actions
        if agent.deterministic:
            number = len(observations)
            without = agent.act(observations, [None] * number, [None] * number, [None] * number)
            assert list(without.actions) == list(ask(agent, observations).actions)
        else:
            others = [ask(agent, observations, stream=stream).actions for stream in range(5)]
            assert any(list(other) != list(others[0]) for other in others), "it says it is random and never was"

    def test_it_keeps_to_the_mask(self) -> None:
        """With one Discrete action available, that is the answer; a plain function may refuse, but not break it."""
        task = self.make_task()
        if not isinstance(task.action_space, gym.spaces.Discrete):
            return
        agent, observations = self.make_agent(task), walk(task)
        number, start = int(task.action_space.n), int(task.action_space.start)
        masks = [np.arange(number) == index % number for index in range(len(observations))]
        try:
            answer = ask(agent, observations, masks=masks)
        except UnavailableAction:
            return
        assert [int(action) - start for action in answer.actions] == [index % number for index in range(len(masks))]  # type: ignore[arg-type]

    def test_it_survives_pickling(self) -> None:
        """A copy in another process is the same agent."""
        task = self.make_task()
        agent, observations = self.make_agent(task), walk(task)
        copy = cloudpickle.loads(cloudpickle.dumps(agent))
        assert (copy.name, copy.fingerprint) == (agent.name, agent.fingerprint)
        assert (copy.deterministic, copy.recurrent) == (agent.deterministic, agent.recurrent)
        assert list(ask(copy, observations).actions) == list(ask(agent, observations).actions)

    def test_memory_belongs_to_the_episode(self) -> None:
        """Two episodes side by side remember what each would have remembered alone."""
        task = self.make_task()
        agent, observations = self.make_agent(task), walk(task)
        left, right = observations[:12], observations[12:24]
        side_by_side = self._play(agent, list(zip(left, right, strict=True)))
        alone = self._play(agent, [(observation,) for observation in left])
        assert [answers[0] for answers in side_by_side] == [answers[0] for answers in alone]
        if not agent.recurrent:
            assert all(memory is None for memory in ask(agent, observations).memories)

    def test_it_answers_an_empty_batch(self) -> None:
        """No observations, no answers."""
        task = self.make_task()
        answer = self.make_agent(task).act([], [], [], [])
        assert len(answer.actions) == len(answer.memories) == 0

    @staticmethod
    def _play(agent: Agent, ticks: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
        lanes = len(ticks[0])
        memories: Sequence[Any] = [None] * lanes
        streams = [generator("contract", lane) for lane in range(lanes)]
        answers = []
        for observations in ticks:
            answer = agent.act(list(observations), memories, streams, [None] * lanes)
            memories = answer.memories
            answers.append(list(answer.actions))
        return answers


def walk(task: Task, number: int = OBSERVATIONS) -> list[Any]:
    """Observations of a random walk through the task, always the same."""
    env, stream = task.open_env(), generator("walk", task.label)
    decode = action_decoder(env.action_space)
    observations: list[Any] = []
    observation, info = env.reset(seed=task.seed)
    while len(observations) < number:
        observations.append(observation)
        action = random_action(env.action_space, stream, info.get("action_mask"))
        observation, _, terminated, truncated, info = env.step(decode(action))
        if terminated or truncated:
            observation, info = env.reset()
    env.close()
    return observations


def ask(
    agent: Agent,
    observations: Sequence[Any],
    rows: Sequence[int] | None = None,
    *,
    masks: Sequence[Any] | None = None,
    stream: int = 0,
) -> Answer:
    """Ask about some of the observations; each has its own random stream, whatever the company."""
    rows = range(len(observations)) if rows is None else rows
    return agent.act(
        [observations[row] for row in rows],
        [None] * len(rows),
        [generator("contract", stream, row) for row in rows],
        [None if masks is None else masks[row] for row in rows],
    )


def same(left: Any, right: Any) -> bool:
    """Whether two memories are equal bit for bit."""
    if isinstance(left, (tuple, list)) and isinstance(right, (tuple, list)):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return bool(np.array_equal(np.asarray(left), np.asarray(right)))
