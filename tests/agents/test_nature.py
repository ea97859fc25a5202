"""Agents that remember or draw: each is taken in right, or refused in words."""

from __future__ import annotations

from typing import Any

import cloudpickle
import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tests.agents import minds
from tests.agents.tasks import VECTOR, noise_task
from tightrope.agents.objects.fingerprints import object_fingerprint
from tightrope.errors import AgentError
from tightrope.testing import AgentContract
from tightrope.testing.agent_contract import ask, walk

TWO = gym.spaces.Discrete(2)
TASK = noise_task(VECTOR, TWO)


class Contract(AgentContract):
    kind: Any

    def make_task(self) -> tr.Task:
        return TASK

    def make_agent(self, task: tr.Task) -> tr.Agent:
        return tr.load_agent(type(self).kind(), task)


for group in (minds.REMEMBERING, minds.DRAWING, minds.STEADY):
    for title, kind in group.items():
        name = "Test" + "".join(word.capitalize() for word in title.replace("'", "").split())
        globals()[name] = type(name, (Contract,), {"kind": staticmethod(kind)})
del Contract


@pytest.mark.parametrize("kind", minds.REMEMBERING.values(), ids=minds.REMEMBERING)
def test_what_remembers_is_recurrent_and_deterministic(kind: Any) -> None:
    agent = tr.load_agent(kind(), TASK)
    assert agent.recurrent
    assert agent.deterministic


@pytest.mark.parametrize("kind", minds.STEADY.values(), ids=minds.STEADY)
def test_what_only_answers_is_neither(kind: Any) -> None:
    agent = tr.load_agent(kind(), TASK)
    assert (agent.recurrent, agent.deterministic) == (False, True)


@pytest.mark.parametrize("title", minds.DRAWING)
def test_what_draws_is_random_and_its_numbers_are_the_episodes(title: str) -> None:
    agent = tr.load_agent(minds.DRAWING[title](), TASK)
    assert not agent.deterministic
    assert agent.recurrent == (title in ("at reset", "and counts"))
    observations = walk(TASK, 30)
    state = np.random.get_state()[1].tobytes()
    first = ask(agent, observations, stream=1).actions
    np.random.rand(5)
    assert ask(agent, observations, stream=1).actions == first
    assert ask(agent, observations, stream=2).actions != first
    np.random.set_state(("MT19937", np.frombuffer(state, np.uint32), 0))


def test_one_that_draws_is_known_even_if_it_hardly_ever_acts_on_it() -> None:
    assert not tr.load_agent(minds.rarely, TASK).deterministic


def test_what_cannot_be_copied_is_shared_if_it_does_not_remember() -> None:
    agent = tr.load_agent(minds.Locked(), TASK)
    plain = tr.load_agent(minds.StepCounter(), TASK)
    observations = walk(TASK, 20)
    assert AgentContract._play(agent, [(seen, seen) for seen in observations]) == AgentContract._play(
        plain, [(seen, seen) for seen in observations]
    )


def test_the_global_generators_are_put_back() -> None:
    agent = tr.load_agent(minds.global_numpy, TASK)
    np.random.seed(5)
    expected = np.random.rand(3)
    np.random.seed(5)
    ask(agent, walk(TASK, 5))
    assert np.array_equal(np.random.rand(3), expected)


def test_torch_numbers_are_seeded_and_networks_shared() -> None:
    torch = pytest.importorskip("torch")
    drawing = tr.load_agent(minds.global_torch, TASK)
    assert not drawing.deterministic
    agent = tr.load_agent(minds.WithNetwork(), TASK)
    assert agent.recurrent
    (life, _), (other, _) = ask(agent, walk(TASK, 2)).memories
    assert life.thing.frames is not other.thing.frames
    assert life.thing.network is not other.thing.network
    assert life.thing.network.weight is other.thing.network.weight
    assert isinstance(life.thing.network.weight, torch.nn.Parameter)


def test_a_network_that_learns_while_it_plays_is_copied_with_its_weights() -> None:
    pytest.importorskip("torch")
    thing = minds.Learning()
    before = object_fingerprint(thing)
    agent = tr.load_agent(thing, TASK)
    played = [AgentContract._play(agent, [(seen, seen) for seen in walk(TASK, 20)]) for _ in range(2)]
    assert played[0] == played[1]
    assert object_fingerprint(thing) == before


@pytest.mark.parametrize("kind", minds.REFUSED.values(), ids=minds.REFUSED)
def test_what_cannot_be_made_independent_is_refused_by_name_with_what_to_write(kind: Any) -> None:
    with pytest.raises(
        AgentError, match=r"(?s)^agent 'odd' cannot be tested as it is: .*f\(observation, rng\).*memory"
    ):
        tr.load_agent(kind(), TASK, name="odd")


def test_a_counter_in_a_file_is_refused(tmp_path: Any) -> None:
    with pytest.raises(AgentError, match="asked twice about the same observation"):
        tr.load_agent(minds.OnFile(str(tmp_path / "count")), TASK)


def test_the_refusal_says_what_changes() -> None:
    class Torn:
        def __init__(self) -> None:
            self.plan, self.calm = minds.planned(), 1

        def act(self, observation: Any) -> int:
            self.last = next(self.plan)
            return self.last

    with pytest.raises(AgentError, match=r"What changes in it while it answers: 'last'\."):
        tr.load_agent(Torn(), TASK)


@pytest.mark.parametrize("kind", [minds.StepCounter, minds.Frames, minds.enclosing, minds.OwnStream])
def test_the_users_own_object_stays_as_it_is(kind: Any) -> None:
    thing = kind()
    before = object_fingerprint(thing)
    first, second = tr.load_agent(thing, TASK), tr.load_agent(thing, TASK)
    ask(first, walk(TASK))
    assert first.fingerprint == second.fingerprint
    assert object_fingerprint(thing) == before


def test_a_copy_in_another_process_begins_as_the_original_does() -> None:
    agent = tr.load_agent(minds.Frames(), TASK)
    ask(agent, walk(TASK))
    copy = cloudpickle.loads(cloudpickle.dumps(agent))
    assert list(ask(copy, walk(TASK)).actions) == list(ask(agent, walk(TASK)).actions)


class Asks:
    def act(self, observation: Any, hidden: Any) -> int:
        return 0


class AsksAtReset(minds.StepCounter):
    def reset(self, level: int) -> None:
        self.steps = level


class FailsAtReset(minds.StepCounter):
    def reset(self) -> None:
        raise LookupError("no plan")


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (Asks(), r"agent 'x': act\(\) asks for \['hidden'\]; it is given an observation and, by these names, \['gen"),
        (lambda observation, hidden: 0, r"agent 'x' asks for \['hidden'\]"),
        (AsksAtReset(), r"agent 'x': reset\(\) asks for \['level'\]"),
        (FailsAtReset(), r"agent 'x': reset\(\) raised LookupError: no plan"),
        (minds.StepCounter, r"a class.*StepCounter\(\)"),
    ],
)
def test_what_cannot_be_asked_says_what_it_would_be_given(thing: Any, said: str) -> None:
    with pytest.raises(AgentError, match=said):
        tr.load_agent(thing, TASK, name="x")


def test_the_first_parameter_is_the_observation_whatever_its_name() -> None:
    for function in (lambda state: 1, lambda memory: 1, lambda mask: 1):
        agent = tr.load_agent(function, TASK)
        assert (agent.recurrent, agent.deterministic) == (False, True)
        assert ask(agent, walk(TASK, 2)).actions == [1, 1]


def test_a_slow_agent_is_not_asked_for_long() -> None:
    import time

    asked = []

    def slow(observation: Any) -> int:
        asked.append(observation)
        time.sleep(0.1)
        return 0

    tr.load_agent(slow, TASK)
    assert len(asked) < 30


class Counting:
    """A complete agent that says it does not remember."""

    name, fingerprint, deterministic, recurrent = "counting", "counting", True, False

    def __init__(self) -> None:
        self.count = 0

    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> tr.Answer:
        self.count += 1
        return tr.Answer([self.count % 2] * len(observations), [None] * len(observations))


class OfTheBatch(Counting):
    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> tr.Answer:
        return tr.Answer([len(observations) % 2] * len(observations), [None] * len(observations))


class ByItself(Counting):
    deterministic = False

    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> tr.Answer:
        return tr.Answer([int(np.random.rand() < 0.5) for _ in observations], [None] * len(observations))


@pytest.mark.parametrize("kind", [Counting, OfTheBatch, ByItself])
def test_a_complete_agent_that_is_not_what_it_says_is_refused(kind: Any) -> None:
    with pytest.raises(AgentError, match="agent 'counting' cannot be tested as it is: asked again in another batch"):
        tr.load_agent(kind(), TASK)


def test_a_function_of_batches_that_remembers_or_draws_is_refused() -> None:
    total = [0]

    def counting(observations: Any) -> Any:
        total[0] += len(observations)
        return np.zeros(len(observations), int)

    with pytest.raises(AgentError, match="'counting' cannot be tested as it is: it changes while it answers"):
        tr.load_agent(counting, TASK, batch=True)
    with pytest.raises(AgentError, match=r"it draws random numbers by itself|asked again in another batch"):
        tr.load_agent(lambda observations: np.random.randint(0, 2, len(observations)), TASK, batch=True)


def test_a_network_that_remembers_or_draws_is_refused() -> None:
    torch = pytest.importorskip("torch")

    class Remembering(torch.nn.Linear):
        def forward(self, rows: Any) -> Any:
            self.last = getattr(self, "last", 0.0) + 1.0
            return super().forward(rows) * self.last

    class Dropping(torch.nn.Linear):
        def forward(self, rows: Any) -> Any:
            return torch.nn.functional.dropout(super().forward(rows), training=True)

    for kind in (Remembering, Dropping):
        with pytest.raises(AgentError, match="the network gave different answers"):
            tr.load_agent(kind(5, 2), TASK)
