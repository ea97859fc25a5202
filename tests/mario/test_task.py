import numpy as np
import pytest

import tightrope as tr
from tightrope.errors import TaskError, UnknownName
from tightrope.simulation.conformance.examination import examine
from tightrope.tasks.task import Visit
from tightrope_mario.game.actions import ACTION_SETS, action_names
from tightrope_mario.game.task import default_action_flipped, not_moving


@pytest.mark.parametrize("options", [{"level": "1-1"}, {"level": "8-4"}, {"level": "2-2", "frame_skip": "random"}])
def test_it_saves_itself_exactly(options):
    found = examine(tr.make_task("mario", **options))
    assert found.method == "own methods"
    assert found.deterministic == ("frame_skip" not in options)


def test_the_case_studys_sets_are_the_papers():
    assert [len(ACTION_SETS[name]) for name in ("2-moves", "basic", "right-complex")] == [2, 7, 8]
    for name in ("2-moves", "basic", "right-complex"):
        assert set(action_names(name)) <= set(action_names("combined"))


def test_the_search_tries_2_moves_whatever_the_agent_can_do():
    names = action_names("basic")
    task = tr.make_task("mario", actions="basic")
    assert [names[action] for action in task.search_actions] == list(action_names("2-moves"))
    assert tr.make_task("mario", actions=("left", "A")).search_actions == (0, 1)
    with pytest.raises(TaskError, match="left"):
        tr.make_task("mario", actions="right-complex", search_actions=("left",))
    with pytest.raises(UnknownName, match="level"):
        tr.make_task("mario", lvl="1-1")


def test_level_1_1_is_solved_in_a_few_thousand_steps():
    result = tr.search(tr.make_task("mario"), budget=tr.Budget(steps=6000), seed=0)
    assert result.reference is not None
    assert result.reference.boundary_states


def test_keys_tell_motion_and_fingerprints_tell_everything():
    task = tr.make_task("mario", actions="basic")
    simulator = tr.open_simulator(task)
    simulator.reset()
    start, exact = simulator.key(), simulator.identity()
    simulator.step(0)
    assert simulator.key() == start, "the clock is not part of the key"
    assert simulator.identity() != exact
    assert not task.key_is_exact
    simulator.step(3)
    assert simulator.key() != start
    simulator.close()


def visits(*xs):
    return [Visit(key=index, action=0, reward=0.0, info={"x": x}) for index, x in enumerate(xs)]


def test_stuck_is_four_steps_without_a_change_of_x():
    assert not_moving(visits(1, 5, 5, 5, 5, 5))
    assert not not_moving(visits(1, 4, 5, 5, 5, 5))
    assert not not_moving(visits(5, 5, 5))


def test_the_default_action_changes_after_each_backtrack():
    assert [tuple(default_action_flipped((3, 4), (), count)) for count in range(3)] == [(3, 4), (4, 3), (3, 4)]


def test_observations_reach_an_agent_as_arrays():
    task = tr.make_task("mario")
    agent = tr.load_agent(lambda observation: int(np.asarray(observation).shape == (4, 84, 84)), task)
    simulator = tr.open_simulator(task)
    transition = simulator.reset()
    assert list(agent.act([transition.observation], [None], [None], [None]).actions) == [1]
    simulator.close()


def test_plain_episodes_are_played_once():
    """Nothing is drawn with a fixed frame skip, so no fresh seed could lead elsewhere and none is tried."""
    task = tr.make_task("mario")
    agent = tr.load_agent(lambda observation: 0, task, name="right", epsilon=0.1)
    with tr.Engine(task, {"right": agent}) as engine:
        episodes = tr.evaluate(task, agent, 4, length=12, engine=engine).episodes
        assert [len(episode.actions) for episode in episodes] == [12] * 4
        assert engine.counters.steps_executed <= 4 * 12
