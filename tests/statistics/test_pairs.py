from tightrope.statistics import PairCounts


def test_counts() -> None:
    counts = PairCounts.of([(True, True), (True, False), (True, False), (False, True), (False, False)])
    assert counts == PairCounts(both=1, only_a=2, only_b=1, neither=1)
    assert counts.n == 5
