from __future__ import annotations

import functools
import importlib
import logging
import random
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest

from tightrope.agents.objects.fingerprints import object_fingerprint
from tightrope.errors import AgentError

THRESHOLD = 3


def above(observation, limit=1):
    return int(observation > limit + THRESHOLD)


class Table:
    def __init__(self, values):
        self.values = np.asarray(values)

    def __call__(self, observation):
        return self.values[observation]


def make_policy(limit):
    return lambda observation: int(observation > limit)


def test_functions_differ_by_code_defaults_and_what_they_enclose() -> None:
    prints = {
        object_fingerprint(value)
        for value in (
            above,
            lambda observation: 1,
            lambda observation: 2,
            make_policy(1),
            make_policy(2),
            functools.partial(above, limit=2),
            functools.partial(above, limit=3),
            Table([1, 2]),
            Table([1, 3]),
            {"a": 1},
            {1, 2},
        )
    }
    assert len(prints) == 11


def test_equal_things_have_equal_fingerprints() -> None:
    assert object_fingerprint(make_policy(1)) == object_fingerprint(make_policy(1))
    assert object_fingerprint(Table([1, 2])) == object_fingerprint(Table([1, 2]))


def test_a_changed_global_changes_the_fingerprint(monkeypatch) -> None:
    before = object_fingerprint(above)
    monkeypatch.setitem(globals(), "THRESHOLD", 4)
    assert object_fingerprint(above) != before


def test_options_count() -> None:
    assert object_fingerprint(above, "greedy") != object_fingerprint(above, "sampled")


def test_another_process_finds_the_same_fingerprint() -> None:
    code = (
        "from tests.agents.test_fingerprints import Table, above, make_policy\n"
        "from tightrope.agents.objects.fingerprints import object_fingerprint as f\n"
        "print(f(above), f(make_policy(1)), f(Table([1, 2])), f({'a', 'b', 'c'}))"
    )
    seen = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    expected = [object_fingerprint(value) for value in (above, make_policy(1), Table([1, 2]), {"a", "b", "c"})]
    assert seen == {" ".join(expected) + "\n"}


def test_a_thing_that_contains_itself_ends() -> None:
    ring: list[object] = []
    ring.append(ring)
    assert object_fingerprint(ring)


HELPER = """
class Agent:
    def predict(self, observation):
        return [self.chosen(cell) for cell in observation]

    def chosen(self, cell):
        return self.best + 0

    @property
    def best(self):
        return {best}
"""
INNER = """
def value(observation, action):
    return {best}

def Agent():
    return lambda observation: max(range(2), key=lambda action: value(observation, action))
"""
BOUND = (
    HELPER
    + """
made = Agent
Agent = lambda: made().chosen
"""
)
NETWORK = """
import torch

class Agent(torch.nn.Module):
    def forward(self, observation):
        return self.shifted(observation)

    def shifted(self, observation):
        return observation + {best}
"""


@pytest.mark.parametrize("source", [HELPER, INNER, BOUND, NETWORK])
def test_code_that_is_reached_by_way_of_other_code_counts(source) -> None:
    """Or a run would answer for the changed agent with what the unchanged one did."""
    if source is NETWORK:
        pytest.importorskip("torch")
    prints = []
    for best in (1, 2, 1):
        module: dict[str, object] = {"__name__": "agents"}
        exec(source.replace("{best}", str(best)), module)
        prints.append(object_fingerprint(module["Agent"]()))
    assert prints[0] != prints[1]
    assert prints[0] == prints[2]


def test_loggers_do_not_count() -> None:
    def agent(observation):
        log.info("asked")
        return 0

    log = logging.getLogger("tests.fingerprints")
    before = object_fingerprint(agent)
    logging.getLogger("tests.fingerprints.another").addHandler(logging.NullHandler())
    log.setLevel(logging.ERROR)
    assert object_fingerprint(agent) == before


FRAMES = """
from collections import deque

class Agent:
    __slots__ = ("frames", "__hidden")

    def __init__(self):
        self.frames, self.__hidden = deque([{best}], maxlen=4), 3

    def act(self, observation):
        return self.frames[0]
"""
MADE_BY_IT = """
class Table:
    best = {best}

    def look_up(self, cell):
        return self.best

def Agent():
    return lambda observation: Table().look_up(observation)
"""
INHERITED = """
class Base:
    def chosen(self):
        return {best}

class Agent(Base):
    def act(self, observation):
        return self.chosen()
"""
TENSOR = """
import torch

class Agent:
    def __init__(self):
        self.weights = torch.full((3,), {best}, dtype=torch.bfloat16)
"""
ACTIVATION = """
import torch

def Agent():
    return torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), [None, torch.nn.ReLU, torch.nn.Tanh][{best}]())
"""


@pytest.mark.parametrize("source", [FRAMES, MADE_BY_IT, INHERITED, TENSOR, ACTIVATION])
def test_whatever_an_agent_holds_or_makes_counts(source) -> None:
    if "torch" in source:
        torch = pytest.importorskip("torch")
    prints = []
    for best in (1, 2, 1):
        if "torch" in source:
            torch.manual_seed(0)
        module: dict[str, object] = {"__name__": "agents"}
        exec(source.replace("{best}", str(best)), module)
        prints.append(object_fingerprint(module["Agent"]()))
    assert prints[0] != prints[1]
    assert prints[0] == prints[2]


def test_code_in_another_module_of_the_users_counts(tmp_path, monkeypatch) -> None:
    """Edited helpers must not pass on the results of the old ones, in whichever way they are reached."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "fp_helpers").mkdir()
    (tmp_path / "fp_helpers" / "__init__.py").write_text("")
    (tmp_path / "fp_main.py").write_text(
        "import fp_helpers.inner\nfrom fp_helpers.inner import value\n"
        "def by_module(observation):\n    return fp_helpers.inner.value()\n"
        "def by_name(observation):\n    return value()\n"
        "def untouched(observation):\n    return 1\n"
    )
    prints: list[tuple[str, ...]] = []
    for best in (1, 2):
        (tmp_path / "fp_helpers" / "inner.py").write_text(f"LIMIT = {best}\ndef value():\n    return LIMIT\n")
        for name in [name for name in sys.modules if name.startswith("fp_")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        main = importlib.import_module("fp_main")
        prints.append(tuple(object_fingerprint(getattr(main, f)) for f in ("by_module", "by_name", "untouched")))
    assert [a == b for a, b in zip(*prints, strict=True)] == [False, False, True]


def test_where_a_random_generator_stands_does_not_count() -> None:
    """It is seeded anew for every question; a fingerprint that moved with it would fit no stored result."""

    class Agent:
        def __init__(self, seed):
            self.streams = [np.random.default_rng(seed), np.random.RandomState(seed), random.Random(seed)]
            self.space = gym.spaces.Dict({"a": gym.spaces.Discrete(3, seed=seed)})

    agent = Agent(1)
    before = object_fingerprint(agent)
    agent.space.sample()
    assert object_fingerprint(agent) == before == object_fingerprint(Agent(2))


def test_values_nested_too_deep_are_refused_in_words() -> None:
    nested: list[object] = []
    for _ in range(20_000):
        nested = [nested]
    with pytest.raises(AgentError, match="thousands deep"):
        object_fingerprint(nested)
