from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tightrope.errors import UsageError
from tightrope.fuzzing import Member, Played, Population, selection_chances
from tightrope.outcome import Outcome
from tightrope.trace import ActionTrace

FITNESS = st.lists(st.floats(0, 100), min_size=1, max_size=20)


class Numbers:
    """Genomes are integers; a child tells its parents."""

    def mutate(self, parent: Member[int], rng: np.random.Generator) -> int:
        return parent.genome

    def cross(self, first: Member[int], second: Member[int], rng: np.random.Generator) -> int | None:
        return None if first.genome == second.genome else 100

    def cut(self, genome: int, played: Played) -> int:
        return genome


def told(*rewards: float) -> list[Played]:
    return [
        Played(
            trace=ActionTrace("toy", 0, (0,)), rewards=(reward,), keys=np.array([1], np.uint64), outcome=Outcome.ONGOING
        )
        for reward in rewards
    ]


def test_the_first_generation_is_the_ancestors() -> None:
    population = Population([7, 8], Numbers(), size=5)
    assert population.ask() == [7, 8]
    members = population.tell(told(1, 2))
    assert [member.genome for member in members] == [7, 8]
    assert len(population.ask()) == 5
    assert population.ask() == population.ask()
    assert population.generation == 1


def test_parents_are_drawn_in_proportion_to_fitness() -> None:
    population = Population([0, 1, 2], Numbers(), size=6000, crossover=0.0, weights=(0, 1, 0), seed=3)
    population.tell(told(1, 2, 5))
    counts = [population.ask().count(genome) for genome in range(3)]
    assert stats.chisquare(counts, [750, 1500, 3750]).pvalue > 0.001


def test_crossover_has_its_share() -> None:
    population = Population([0, 1], Numbers(), size=4000, crossover=0.25, weights=(0, 1, 0))
    population.tell(told(1, 1))
    # Half of the pairs are one parent twice, which these genomes cannot mix: they are mutated instead.
    assert stats.binomtest(population.ask().count(100), 4000, 0.125).pvalue > 0.001


def test_the_seed_matters_and_suffices() -> None:
    def asked(seed: int) -> list[int]:
        population = Population(list(range(10)), Numbers(), size=30, seed=seed)
        population.tell(told(*range(10)))
        return population.ask()

    assert asked(1) == asked(1)
    assert asked(1) != asked(2)


def test_an_offspring_does_not_depend_on_how_many_there_are() -> None:
    small, large = (Population(list(range(10)), Numbers(), size=size) for size in (10, 40))
    small.tell(told(*range(10)))
    large.tell(told(*range(10)))
    assert large.ask()[:10] == small.ask()


@given(FITNESS)
def test_chances_are_proportional(fitness) -> None:
    chances = selection_chances(fitness)
    assert chances.sum() == pytest.approx(1)
    assert np.all(chances >= 0)
    if sum(fitness) > 0:
        assert chances.tolist() == pytest.approx([value / sum(fitness) for value in fitness])
    else:
        assert set(chances.tolist()) == {1 / len(fitness)}


@given(FITNESS, st.floats(0.01, 1))
def test_truncation_leaves_the_best_share(fitness, share) -> None:
    chances = selection_chances(fitness, share)
    kept = [value for value, chance in zip(fitness, chances, strict=True) if chance > 0]
    dropped = [value for value, chance in zip(fitness, chances, strict=True) if chance == 0]
    assert chances.sum() == pytest.approx(1)
    assert 1 <= len(kept) <= int(np.ceil(share * len(fitness)))
    assert not dropped or max(dropped) <= max(kept)


def test_the_best_quarter() -> None:
    assert selection_chances([1, 8, 3, 2, 5, 4, 7, 6], 0.25).tolist() == pytest.approx(
        [0, 8 / 15, 0, 0, 0, 0, 7 / 15, 0]
    )


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"size": 0}, "population must be 1 or more"),
        ({"crossover": 1.5}, "crossover must be between 0 and 1, not 1.5"),
        ({"weights": (1, -1, 1)}, "weights must be values that are each 0 or more"),
        ({"weights": (1, 1)}, "weights must be 3 values"),
        ({"truncation": 0}, "truncation must be above 0 and at most 1, not 0"),
    ],
)
def test_wrong_settings(options, rule) -> None:
    with pytest.raises(UsageError, match=rule):
        Population([1], Numbers(), **options)


def test_wrong_calls() -> None:
    with pytest.raises(UsageError, match="at least one ancestor"):
        Population([], Numbers())
    with pytest.raises(UsageError, match="what became of each of the 2 genomes, and got 1"):
        Population([1, 2], Numbers()).tell(told(1))
