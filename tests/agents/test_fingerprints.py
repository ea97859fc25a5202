from __future__ import annotations

import functools
import logging
import subprocess
import sys

import numpy as np
import pytest

from tightrope.agents.fingerprints import object_fingerprint

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
        "from tightrope.agents.fingerprints import object_fingerprint as f\n"
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
