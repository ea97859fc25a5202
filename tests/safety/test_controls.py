"""The fair control: what boundary states must beat, and whether they do."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import tightrope as tr
from tests.safety.corridor import CORRIDOR, SLIPPERY, expert, reference_of, walker
from tightrope.errors import UsageError
from tightrope.safety import compare_guidance, make_suite, random_suite, run_suite, simple_suite, uniform_suite
from tightrope.safety.suites.controls import _difference
from tightrope.safety.suites.files import suite_from_json, suite_to_json
from tightrope.statistics import Estimate, mean_estimate
from tightrope.testing import JUMP, WALK

REFERENCE = reference_of(CORRIDOR)


def test_states_of_the_reference_are_drawn_uniformly_and_all_are_valid() -> None:
    drawn = Counter(case.depth for seed in range(400) for case in uniform_suite(REFERENCE, 2, seed).cases)
    assert sorted(drawn) == list(range(len(REFERENCE))), "every state but the end"
    assert max(drawn.values()) < 1.5 * min(drawn.values())
    suite = uniform_suite(REFERENCE, 5, seed=3)
    assert suite == uniform_suite(REFERENCE, 5, seed=3) == make_suite("uniform:5", REFERENCE, seed=3)
    assert len({case.id for case in suite.cases}) == 5
    assert run_suite(CORRIDOR, walker, suite).invalid_cases == 0
    assert len(uniform_suite(REFERENCE, 100)) == len(REFERENCE), "there are no more"
    with pytest.raises(UsageError, match="0 or more"):
        uniform_suite(REFERENCE, -1)


def test_references_get_their_share_of_the_cases() -> None:
    other = reference_of(CORRIDOR, (JUMP, JUMP, WALK, JUMP, JUMP, WALK), (2,))
    suite = uniform_suite([REFERENCE, other], 6)
    assert Counter(case.reference for case in suite.cases) == {0: 4, 1: 2}
    assert suite.name == "uniform:6"
    assert run_suite(CORRIDOR, expert, suite).invalid_cases == 0


def test_on_stochastic_tasks_they_are_the_states_of_that_run() -> None:
    way = reference_of(SLIPPERY, (WALK, WALK), (1, 2), proven=False)
    assert all(case.prefix == way.actions.prefix(case.depth) for case in uniform_suite(way, 2).cases)


def test_where_only_boundary_states_are_narrow_guidance_pays_and_is_told_with_its_interval() -> None:
    """A walker falls from every state before a hole in the end, so it is watched for one step."""
    guided = run_suite(CORRIDOR, walker, simple_suite(REFERENCE), length=1)
    found = compare_guidance(guided, run_suite(CORRIDOR, walker, uniform_suite(REFERENCE, 8), length=1))
    assert (found.guided.value, found.control.value, found.cases) == (1.0, 0.25, (2, 8))
    assert found.control.low == found.control.high, "all states there are"
    assert found.pays is True
    assert found.sentence() == (
        "The search pays off: walker fails 100% (exact) on the 2 cases of simple and 25% (exact) at 8 uniformly drawn "
        "states "
        "of the same references: 75 percentage points more often (exact) than there"
    )


def test_where_it_does_not_pay_that_is_said_too() -> None:
    guided = run_suite(CORRIDOR, expert, simple_suite(REFERENCE))
    few = compare_guidance(guided, run_suite(CORRIDOR, expert, uniform_suite(REFERENCE, 3)))
    assert few.pays is None
    assert few.difference.low < 0 <= few.difference.high
    assert few.sentence().startswith(
        "The search is not shown to pay off: expert fails 0% (exact) on the 2 cases of simple"
    )
    told = re.search(r": as often \(up to (\d+) less\) as there$", few.sentence())
    assert told is not None
    assert int(told[1]) == round(-100 * few.difference.low)


def test_another_control_or_another_agent_is_refused() -> None:
    guided = run_suite(CORRIDOR, walker, simple_suite(REFERENCE))
    with pytest.raises(UsageError, match="must be a uniform suite"):
        compare_guidance(guided, run_suite(CORRIDOR, walker, random_suite(CORRIDOR, 3)))
    with pytest.raises(UsageError, match="one agent"):
        compare_guidance(guided, run_suite(CORRIDOR, expert, uniform_suite(REFERENCE, 3)))


def test_no_data_is_no_sentence_about_guidance() -> None:
    empty = tr.TestSuite.on(REFERENCE, "simple", {}, [])
    found = compare_guidance(
        run_suite(CORRIDOR, walker, empty, length=5), run_suite(CORRIDOR, walker, uniform_suite(REFERENCE, 3), length=5)
    )
    assert found.pays is None
    assert found.sentence().startswith("What boundary states are worth for walker is not known")


@pytest.mark.parametrize("share", [0.02, 0.2, 0.6])
def test_the_interval_allows_for_the_drawing(share: float) -> None:
    """200 states of which a share fails, 15 of them drawn; boundary states fail in 0.4, for certain."""
    rng = np.random.default_rng(8)
    states = (np.arange(200) < 200 * share).astype(float)
    guided = Estimate.certain(0.4)
    held = 0
    for _ in range(500):
        drawn = rng.choice(states, size=15, replace=False)
        found = _difference(guided, mean_estimate(drawn.tolist(), bounds=(0.0, 1.0)))
        held += found.low <= 0.4 - states.mean() <= found.high
    assert held >= 0.93 * 500


def test_where_boundary_states_are_left_out_those_tested_are_a_sample() -> None:
    """An agent that falls at each of two places tested has not been shown to fall at all others."""
    suite, control = simple_suite(REFERENCE), uniform_suite(REFERENCE, 5, seed=3)
    thinned = replace(suite, left_out_states=90)
    whole, part = (run_suite(CORRIDOR, walker, each, length=1) for each in (suite, thinned))
    found = run_suite(CORRIDOR, walker, control, length=1)
    census, sample = compare_guidance(whole, found), compare_guidance(part, found)
    assert (census.guided.low, census.guided.value) == (1.0, 1.0)
    assert sample.guided.value == 1.0
    assert sample.guided.low < 0.5
    assert sample.difference.value == census.difference.value
    assert (census.pays, sample.pays) == (True, None)
    assert "on the 2 cases of simple (90 further boundary states left out) and" in sample.sentence()
    assert part.fail_frequency == whole.fail_frequency, "on these cases nothing changes"
    assert (thinned.id, suite_from_json(suite_to_json(thinned))) == (suite.id, thinned)


@pytest.mark.parametrize(("places", "share"), [(5, 0.8), (11, 0.95), (40, 0.5)])
def test_a_search_that_is_worth_nothing_seldom_seems_to_pay(places: int, share: float) -> None:
    """Boundary states that are as any other, some of them tested: with limits for these alone 8 to 23 in 100 paid."""
    rng = np.random.default_rng(4)
    pays = 0
    for _ in range(500):
        guided, control = (
            mean_estimate((rng.random(places) < share).astype(float).tolist(), bounds=(0.0, 1.0)) for _ in range(2)
        )
        pays += _difference(guided, control).above_zero
    assert pays <= 0.05 * 500
