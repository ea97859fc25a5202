from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tightrope.execution import Rollout
from tightrope.execution.scheduling.affinity import STRIDE, Affinity, path_order, paths_of
from tightrope.execution.scheduling.placing import divide
from tightrope.seeding import generator
from tightrope.trace import ActionTrace


def traces(count: int, seed: int) -> list[tuple[int, ...]]:
    rng = generator("affinity", seed)
    return [tuple(rng.integers(0, 2, 200).tolist()) for _ in range(count)]


def played(actions: tuple[int, ...]) -> Rollout:
    return Rollout(start=ActionTrace("task", 0), actions=actions)


def divided(affinity: Affinity, rollouts: Sequence[Rollout]) -> list[list[tuple[Rollout, float]]]:
    """The rollouts of each worker with their costs; each is then given what it gets."""
    ordered = sorted(rollouts, key=path_order)
    paths = list(paths_of(ordered))
    division = divide(affinity, paths)
    for worker, share in enumerate(division):
        for place, _ in share:
            affinity.learn(worker, paths[place])
    return [[(ordered[place], cost) for place, cost in share] for share in division]


def test_everything_is_given_to_somebody_and_shares_are_about_equal() -> None:
    rollouts = [played(trace) for trace in traces(40, 0)]
    division = divided(Affinity(4), rollouts)
    assert {rollout for share in division for rollout, _ in share} == set(rollouts)
    assert sum(map(len, division)) == 40
    loads = [sum(cost for _, cost in share) for share in division]
    assert max(loads) < 1.3 * min(loads)


def test_offspring_go_to_whoever_played_the_parent() -> None:
    affinity = Affinity(2)
    parents = traces(20, 1)
    division = divided(affinity, [played(trace) for trace in parents])
    owner = {rollout.actions[:150]: worker for worker, share in enumerate(division) for rollout, _ in share}
    shares = divided(affinity, [played((*trace[:150], *(1 - action for action in trace[150:]))) for trace in parents])
    kept = sum(owner[rollout.actions[:150]] == worker for worker, share in enumerate(shares) for rollout, _ in share)
    assert kept >= 18
    # What the parent played is not counted again.
    assert all(cost < 70 for share in shares for _, cost in share)


def test_who_has_too_much_keeps_what_others_would_have_to_play_most_of() -> None:
    affinity = Affinity(2)
    (parent,) = traces(1, 3)
    (path,) = paths_of([played(parent)])
    affinity.learn(0, path)
    late, early = (
        [played((*parent[:depth], *rest[:40])) for rest in traces(8, seed)] for depth, seed in ((160, 4), (8, 5))
    )
    first, second = divided(affinity, [*late, *early])
    assert {rollout for rollout, _ in first} == set(late)
    assert {rollout for rollout, _ in second} == set(early)


def test_repetitions_stay_together_unless_that_leaves_others_with_nothing_to_do() -> None:
    starts = [ActionTrace("task", 0, trace[:20]) for trace in traces(8, 6)]
    many = [Rollout(start=start, agent="net", length=40, seed=seed) for start in starts for seed in range(10)]
    for share in divided(Affinity(4), many):
        assert len({rollout.start for rollout, _ in share}) == 2
    one = [Rollout(start=starts[0], agent="net", length=40, seed=seed) for seed in range(40)]
    assert [len(share) for share in divided(Affinity(4), one)] == [10, 10, 10, 10]


def test_two_workers_that_know_a_path_share_what_follows() -> None:
    affinity = Affinity(3)
    (parent,) = traces(1, 7)
    (path,) = paths_of([played(parent)])
    affinity.learn(1, path)
    affinity.learn(2, path)
    assert affinity.best(path) == (0b110, len(parent) // STRIDE, len(parent) // STRIDE)
    children = [played((*parent[:190], *rest[:60])) for rest in traces(12, 8)]
    shares = divided(affinity, children)
    assert min(len(shares[1]), len(shares[2])) >= 4


def test_a_thousand_workers_are_not_all_asked_about_every_rollout() -> None:
    class Counting(Affinity):
        asked = 0

        def known_to(self, *about: Any) -> int:
            self.asked += 1
            return super().known_to(*about)

    affinity = Counting(1000)
    division = divided(affinity, [played(trace) for trace in traces(300, 9)])
    assert sum(map(len, division)) == 300
    assert affinity.asked <= 12 * 300
