from __future__ import annotations

import numpy as np
import pytest

import tightrope as tr
from tests.agents.tasks import CELLS, MOVES, PARTS, TORQUES, VECTOR, noise_task
from tightrope.errors import AgentError, AgentFailure
from tightrope.seeding import generator
from tightrope.testing import AgentContract
from tightrope.testing.agent_contract import ask, walk


def largest_part(observation) -> int:
    return int(np.argmax(observation)) % 4


class TestAFunction(AgentContract):
    def make_task(self):
        return noise_task(VECTOR, MOVES)

    def make_agent(self, task):
        return tr.load_agent(largest_part, task)


class TestANoisyFunction(AgentContract):
    def make_task(self):
        return noise_task(VECTOR, MOVES)

    def make_agent(self, task):
        return tr.load_agent(largest_part, task, epsilon=0.5)


def masked_and_drawn(observation, *, generator, mask) -> int:
    return int(generator.choice(np.arange(4) if mask is None else np.flatnonzero(mask)))


class TestAFunctionOfStreamAndMask(AgentContract):
    def make_task(self):
        return noise_task(CELLS, MOVES)

    def make_agent(self, task):
        return tr.load_agent(masked_and_drawn, task)


def counting(observation, memory):
    count = 0 if memory is None else memory
    return count % 4, count + 1


class TestAFunctionWithMemory(AgentContract):
    def make_task(self):
        return noise_task(VECTOR, MOVES)

    def make_agent(self, task):
        agent = tr.load_agent(counting, task)
        assert agent.recurrent
        return agent


def by_row(observations):
    return np.argmax(observations, axis=1) % 4


class TestABatchFunction(AgentContract):
    def make_task(self):
        return noise_task(VECTOR, MOVES)

    def make_agent(self, task):
        return tr.load_agent(by_row, task, batch=True)


def drawn_by_row(observations, generators, masks):
    return [masked_and_drawn(None, generator=one, mask=mask) for one, mask in zip(generators, masks, strict=True)]


class TestABatchFunctionOfStreams(AgentContract):
    def make_task(self):
        return noise_task(VECTOR, MOVES)

    def make_agent(self, task):
        return tr.load_agent(drawn_by_row, task, batch=True)


class Predictor:
    """Speaks like a Stable-Baselines3 model and is none."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        assert deterministic
        steps = 0 if episode_start[0] else state
        return np.array((largest_part(observation) + steps) % 4), steps + 1


class TestAPredictor(AgentContract):
    def make_task(self):
        return noise_task(VECTOR, MOVES)

    def make_agent(self, task):
        agent = tr.load_agent(Predictor(), task)
        assert agent.recurrent
        return agent


def test_a_batch_function_sees_blocks_of_one_size_only() -> None:
    def telling(observations):
        return np.full(len(observations), 3 if observations.shape == (8, 5) else 0)

    task = noise_task(VECTOR, MOVES)
    assert set(ask(tr.load_agent(telling, task, batch=True), walk(task)).actions) == {3}


def test_dict_observations_are_stacked_by_part() -> None:
    task = noise_task(PARTS, MOVES)
    agent = tr.load_agent(lambda parts: (parts["view"][:, 0] > 0).astype(int), task, batch=True)
    observations = walk(task)
    assert ask(agent, observations).actions == [int(one["view"][0] > 0) for one in observations]


def test_an_observation_drawn_when_looked_at_arrives_drawn() -> None:
    class Lazy:
        def __array__(self, dtype=None, copy=None):
            return np.full(5, 2.0, np.float32)

    agent = tr.load_agent(lambda observation: int(observation[0]), noise_task(VECTOR, MOVES))
    assert agent.act([Lazy()], [None], [None], [None]).actions == [2]


@pytest.mark.parametrize("answer", [4, -1, 1.5, "up", None, (1, 2), np.array([1, 2])])
def test_an_action_outside_the_set_names_both_sides(answer) -> None:
    agent = tr.load_agent(lambda observation: answer, noise_task(VECTOR, MOVES), name="wild")
    with pytest.raises(AgentFailure, match=r"'wild'.*Discrete\(4\)"):
        agent.act([np.zeros(5)], [None], [None], [None])


@pytest.mark.parametrize("answer", [(3.0, 0.5), (0.0,), (np.nan, 0.0)])
def test_a_point_outside_the_box_names_both_sides(answer) -> None:
    agent = tr.load_agent(lambda observation: answer, noise_task(VECTOR, TORQUES))
    with pytest.raises(AgentFailure, match="Box"):
        agent.act([np.zeros(5)], [None], [None], [None])


def test_an_unavailable_action_is_refused_with_the_way_out() -> None:
    agent = tr.load_agent(lambda observation: 1, noise_task(VECTOR, MOVES))
    with pytest.raises(AgentFailure, match=r"allows \[0, 3\].*`mask`"):
        agent.act([np.zeros(5)], [None], [None], [np.array([1, 0, 0, 1])])


def test_an_agent_that_raises_is_named() -> None:
    def broken(observation):
        raise ZeroDivisionError("no")

    with pytest.raises(AgentFailure, match="'broken' raised ZeroDivisionError: no"):
        tr.load_agent(broken, noise_task(VECTOR, MOVES)).act([np.zeros(5)], [None], [None], [None])


def test_a_batch_function_with_too_few_answers_is_refused() -> None:
    agent = tr.load_agent(lambda observations: [0], noise_task(VECTOR, MOVES), batch=True)
    with pytest.raises(AgentFailure, match="8 observations at once and gave 1 answers"):
        agent.act([np.zeros(5, np.float32)], [None], [None], [None])


def test_a_function_that_takes_memory_must_return_it() -> None:
    agent = tr.load_agent(lambda observation, memory: 1, noise_task(VECTOR, MOVES))
    with pytest.raises(AgentFailure, match=r"\(action, memory\)"):
        agent.act([np.zeros(5)], [None], [None], [None])


def test_a_function_cannot_be_sampled() -> None:
    with pytest.raises(AgentError, match="`generator`"):
        tr.load_agent(largest_part, noise_task(VECTOR, MOVES), behaviour="sampled")


def test_epsilon_is_the_share_of_random_actions() -> None:
    agent = tr.load_agent(lambda observation: 0, noise_task(VECTOR, MOVES), epsilon=0.4)
    stream = generator("share")
    actions = [agent.act([np.zeros(5)], [None], [stream], [None]).actions[0] for _ in range(4000)]
    assert 1 - actions.count(0) / 4000 == pytest.approx(0.4 * 3 / 4, abs=0.03)


def test_a_random_agent_without_a_stream_says_so() -> None:
    agent = tr.load_agent(lambda observation: 0, noise_task(VECTOR, MOVES), epsilon=0.4)
    with pytest.raises(AgentFailure, match="no generator"):
        agent.act([np.zeros(5)], [None], [None], [None])
