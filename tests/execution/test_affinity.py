from __future__ import annotations

from tightrope.execution import Rollout
from tightrope.execution.scheduling.affinity import Affinity
from tightrope.seeding import generator
from tightrope.trace import ActionTrace


def traces(count: int, seed: int) -> list[tuple[int, ...]]:
    rng = generator("affinity", seed)
    return [tuple(rng.integers(0, 2, 200).tolist()) for _ in range(count)]


def played(actions: tuple[int, ...]) -> Rollout:
    return Rollout(start=ActionTrace("task", 0), actions=actions)


def test_everything_is_given_to_somebody_and_shares_are_about_equal() -> None:
    division = Affinity(4).divide([played(trace) for trace in traces(40, 0)])
    assert sorted(place for share in division for place, _ in share) == list(range(40))
    loads = [sum(cost for _, cost in share) for share in division]
    assert max(loads) < 1.3 * min(loads)


def test_offspring_go_to_whoever_played_the_parent() -> None:
    affinity = Affinity(2)
    parents = traces(20, 1)
    owner = {
        place: worker
        for worker, share in enumerate(affinity.divide([played(trace) for trace in parents]))
        for place, _ in share
    }
    children = [played((*trace[:150], *(1 - action for action in trace[150:]))) for trace in parents]
    shares = affinity.divide(children)
    kept = sum(owner[place] == worker for worker, share in enumerate(shares) for place, _ in share)
    assert kept >= 18
    # What the parent played is not counted again.
    assert all(cost < 70 for share in shares for _, cost in share)


def test_one_worker_gets_all_in_the_given_order() -> None:
    rollouts = [played(trace) for trace in traces(5, 2)]
    assert [[place for place, _ in share] for share in Affinity(1).divide(rollouts)] == [[0, 1, 2, 3, 4]]
