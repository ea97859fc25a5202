"""Two agents in plain episodes: paired by start, and sure only where there is reason to be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tightrope as tr
from tests.evaluation.test_plain import CORRIDOR, SLIPPERY, walk_into_the_hole
from tests.fuzzing.worlds import Careful
from tightrope.errors import UsageError
from tightrope.outcome import Outcome


def test_where_every_start_is_alike_the_difference_is_a_fact() -> None:
    careful = tr.evaluate(CORRIDOR, Careful(), episodes=20)
    walker = tr.evaluate(CORRIDOR, tr.load_agent(walk_into_the_hole, CORRIDOR, name="walker"), episodes=20)
    found = tr.compare_plain(careful, walker)
    assert (found.difference.value, found.difference.low, found.difference.high, found.p_value) == (1, 1, 1, 0)
    assert found.worse
    assert not found.better
    assert (found.episodes.only_b, found.episodes.n) == (1, 1)
    assert tr.compare_plain(walker, careful).better
    assert found.difference.question == "in plain episodes"
    assert (found.goal_a, found.goal_b) == (careful.goal_rate, walker.goal_rate)


def test_one_that_never_varies_is_paired_with_every_episode_of_the_other() -> None:
    careful = tr.evaluate(CORRIDOR, Careful(), episodes=40)
    dizzy = tr.evaluate(CORRIDOR, tr.load_agent(walk_into_the_hole, CORRIDOR, name="dizzy", epsilon=0.5), episodes=40)
    assert len(careful.episodes) < 40
    found = tr.compare_plain(careful, dizzy)
    assert found.difference.n == 40
    assert found.difference.value == dizzy.unsafe_rate.value
    assert found.worse


def with_ends(result: tr.Evaluation, unsafe: list[bool]) -> tr.Evaluation:
    """The same starts with other ends."""
    ends = [Outcome.UNSAFE if bad else Outcome.GOAL for bad in unsafe]
    episodes = [replace(each, outcome=end) for each, end in zip(result.episodes, ends, strict=True)]
    return replace(result, episodes=tuple(episodes), starts_alike=False)


def test_agents_that_are_alike_are_told_apart_by_mistake_in_at_most_one_of_twenty_comparisons() -> None:
    played = tr.evaluate(SLIPPERY, Careful(), episodes=60)
    rng = np.random.default_rng(3)
    for rate in (0.02, 0.3, 0.9):
        mistakes = sum(
            found.worse or found.better
            for found in (
                tr.compare_plain(*(with_ends(played, list(rng.random(60) < rate)) for _ in "ab")) for _ in range(400)
            )
        )
        assert mistakes <= 0.05 * 400 + 3 * (400 * 0.05 * 0.95) ** 0.5


def test_the_case_that_was_called_better() -> None:
    """81 against 193 of 200 plain episodes."""
    played = tr.evaluate(SLIPPERY, Careful(), episodes=200)
    old = with_ends(played, [number < 81 for number in range(200)])
    new = with_ends(played, [number < 193 for number in range(200)])
    found = tr.compare_plain(old, new)
    assert found.worse
    assert found.difference.value == pytest.approx(0.56)
    assert found.difference.low > 0.4


def test_other_starts_cannot_be_paired() -> None:
    one, other = (tr.evaluate(SLIPPERY, Careful(), episodes=8, seed=seed) for seed in (0, 1))
    with pytest.raises(UsageError, match=r"seed is 0 for .* and 1 for"):
        tr.compare_plain(one, other)


def test_nothing_judged_is_no_data() -> None:
    played = tr.evaluate(SLIPPERY, Careful(), episodes=8)
    found = tr.compare_plain(played, replace(played, episodes=()))
    assert (found.difference.value, found.p_value, found.worse, found.fails_more) == (None, None, False, False)
