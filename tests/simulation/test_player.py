"""The player of traces: every situation once, with its randomness, and no further than the episode."""

from __future__ import annotations

from contextlib import closing

from tightrope.outcome import Outcome
from tightrope.simulation import Simulator, open_simulator, play
from tightrope.testing import JUMP, WALK, corridor_task
from tightrope.trace import ActionTrace

SLIPPERY = corridor_task(40, holes=(), slip=0.5, name="slippery")
PLAIN = corridor_task(6, holes=(3,))


def keys_along(simulator: Simulator, trace: ActionTrace) -> list[object]:
    return [simulator.key() for _ in play(simulator, trace)]


def test_every_situation_is_met_with_what_led_there_and_what_comes() -> None:
    with closing(open_simulator(PLAIN)) as simulator:
        moments = list(play(simulator, ActionTrace(PLAIN.label, 0, (WALK, WALK, JUMP, JUMP))))
    assert [moment.depth for moment in moments] == [0, 1, 2, 3, 4]
    assert [moment.action for moment in moments] == [None, WALK, WALK, JUMP, JUMP]
    assert [moment.upcoming for moment in moments] == [WALK, WALK, JUMP, JUMP, None]
    assert [moment.reward for moment in moments] == [0.0, -1.0, -1.0, -1.0, 9.0]
    assert moments[-1].outcome is Outcome.GOAL


def test_it_ends_where_the_episode_does() -> None:
    with closing(open_simulator(PLAIN)) as simulator:
        moments = list(play(simulator, ActionTrace(PLAIN.label, 0, (WALK, WALK, WALK, WALK, WALK))))
        assert simulator.depth == 3
    assert (moments[-1].depth, moments[-1].outcome, moments[-1].upcoming) == (3, Outcome.UNSAFE, None)


def test_fresh_randomness_comes_right_before_its_action() -> None:
    actions = (JUMP,) * 12
    with closing(open_simulator(SLIPPERY)) as simulator:
        plain = keys_along(simulator, ActionTrace(SLIPPERY.label, 5, actions))
        for at in range(0, 12, 3):
            runs = [keys_along(simulator, ActionTrace(SLIPPERY.label, 5, actions, ((at, seed),))) for seed in range(20)]
            assert all(run[: at + 1] == plain[: at + 1] for run in runs)
            assert len({run[at + 1] for run in runs}) == 2
        assert runs[0] == keys_along(simulator, ActionTrace(SLIPPERY.label, 5, actions, ((9, 0),)))


def test_it_goes_on_from_a_situation_that_was_put_back() -> None:
    trace = ActionTrace(SLIPPERY.label, 3, (JUMP,) * 10, ((2, 7), (6, 8)))
    with closing(open_simulator(SLIPPERY)) as simulator:
        whole, middle = [], None
        for moment in play(simulator, trace):
            whole.append(simulator.key())
            if moment.depth == 4:
                middle = simulator.save()
        assert middle is not None
        simulator.load(middle)
        assert [simulator.key() for _ in play(simulator, trace, start=4)] == whole[4:]


def test_the_simulator_may_wander_off_at_a_moment_if_it_is_put_back() -> None:
    trace = ActionTrace(SLIPPERY.label, 1, (JUMP,) * 8, ((3, 2),))
    with closing(open_simulator(SLIPPERY)) as simulator:
        plain, met = keys_along(simulator, trace), []
        for _ in play(simulator, trace):
            met.append(simulator.key())
            here = simulator.save()
            simulator.reseed(99)
            simulator.step(JUMP)
            simulator.load(here)
    assert met == plain
