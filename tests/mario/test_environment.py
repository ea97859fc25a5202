import time

import gymnasium as gym
import numpy as np
import pytest

from tightrope.errors import TaskError, UnknownName, UsageError
from tightrope.simulation.snapshots.randomness import reseed_environment
from tightrope_mario.game import LEVEL_NAMES, MarioEnv, ram
from tightrope_mario.game.emulator import shared_machine
from tightrope_mario.game.pictures import LazyFrames
from tightrope_mario.game.rom import find_rom

from .helpers import EVERY_BUTTON, fresh, play, random_actions, same


def test_what_it_shows_and_tells():
    env = MarioEnv()
    observation, info = env.reset(seed=1)
    assert observation.shape == (4, 84, 84)
    assert observation in env.observation_space
    assert len(np.unique(observation)) > 3
    assert {"x", "y", "level", "time", "lives", "status", "score", "flag"} <= set(info)
    assert (info["level"], info["x"], info["lives"], info["status"]) == ("1-1", 40, 2, "small")
    assert env.render().shape == (224, 240, 3)


@pytest.mark.parametrize("level", LEVEL_NAMES)
def test_every_level_starts_as_itself_and_snapshots_are_exact(level):
    env = fresh(level=level, lazy=True)
    assert env.observation.shape == (4, 84, 84)
    assert ram.level(env.blob) == level
    actions = random_actions(level, 60, len(EVERY_BUTTON))
    whole = play(env, actions)
    env.reset()
    play(env, actions[: len(whole) // 2])
    saved = env.save_state()
    rest = play(env, actions[len(whole) // 2 : len(whole)])
    assert same(rest, whole[len(whole) // 2 :])
    play(fresh(level="1-1"), random_actions(2, 20, len(EVERY_BUTTON)))
    env.load_state(saved)
    assert same(play(env, actions[len(whole) // 2 : len(whole)]), rest)


def test_lazy_pictures_are_the_eager_ones_bit_for_bit_in_any_order_of_looking():
    actions = random_actions(3, 60, len(EVERY_BUTTON))
    eager = [step[0] for step in play(fresh(), actions)]
    lazy_env = fresh(lazy=True)
    lazy = [lazy_env.step(action)[0] for action in actions[: len(eager)]]
    assert all(isinstance(observation, LazyFrames) for observation in lazy)
    for index in reversed(range(len(lazy))):
        assert np.array_equal(np.asarray(lazy[index]), eager[index])
    for index, one in enumerate(lazy):
        for other in range(index + 1, len(lazy)):
            assert (one.content() == lazy[other].content()) == np.array_equal(eager[index], eager[other])
    saved_env = fresh(lazy=True)
    for action in actions[:10]:
        saved_env.step(action)
    saved = saved_env.save_state()
    saved_env.step(actions[10])
    saved_env.load_state(saved)
    assert np.array_equal(np.asarray(saved_env.observation), eager[9])


def test_no_picture_is_made_that_nobody_looks_at(monkeypatch):
    asked = []
    machine = shared_machine(find_rom())
    screen = machine.screen
    monkeypatch.setattr(machine, "screen", lambda *frame: asked.append(frame) or screen(*frame))
    env = fresh(lazy=True)
    observations = [env.step(0)[0] for _ in range(20)]
    assert asked == []
    np.asarray(observations[-1])
    assert len(asked) == 4
    np.asarray(observations[-2])
    assert len(asked) == 5, "pictures are shared by the observations that hold them"
    env.step(0)
    assert len(asked) == 6, "whoever looks at each observation gets it from the screen at once"
    env.step(0)
    assert len(asked) == 6, "and it stops when nobody looks any more"


def test_environments_in_one_process_do_not_disturb_each_other():
    plans = {level: random_actions(level, 40, len(EVERY_BUTTON)) for level in ("1-1", "1-2", "8-1")}
    alone = {level: play(fresh(level=level), actions) for level, actions in plans.items()}
    envs = {level: fresh(level=level) for level in plans}
    together = {level: [] for level in plans}
    for index in range(40):
        for level, env in envs.items():
            if index < len(alone[level]):
                together[level] += play(env, [plans[level][index]])
    assert all(same(alone[level], together[level]) for level in plans)


def test_only_a_frame_skip_between_two_numbers_draws():
    assert not MarioEnv(frame_skip="random").draws_nothing
    env = MarioEnv(lazy=True)
    env.reset(seed=4)
    assert env.draws_nothing
    before = env.np_random.bit_generator.state
    play(env, [0, 1, 1, 0] * 10)
    assert env.np_random.bit_generator.state == before


def test_random_frame_skip_is_seeded_saved_and_reseeded():
    env = MarioEnv(frame_skip="random", lazy=True)

    def xs():
        return [env.step(0)[4]["x"] for _ in range(12)]

    runs = []
    for seed in (1, 1, 2, 3):
        env.reset(seed=seed)
        runs.append(xs())
    assert runs[0] == runs[1]
    assert len({tuple(run) for run in runs}) > 1
    env.reset(seed=5)
    saved = env.save_state()
    first = xs()
    env.load_state(saved)
    assert xs() == first
    reseeded = []
    for seed in (7, 7, 8, 9):
        env.load_state(saved)
        reseed_environment(env, seed)
        reseeded.append(tuple(xs()))
    assert reseeded[0] == reseeded[1]
    assert len(set(reseeded)) > 1


def test_saving_and_loading_cost_microseconds():
    env = fresh(lazy=True)
    started = time.process_time()
    for _ in range(1000):
        env.load_state(env.save_state())
    assert (time.process_time() - started) / 1000 < 50e-6


def test_dying_ends_the_episode_and_costs_25():
    env = MarioEnv(lazy=True)
    env.reset()
    steps = play(env, [0] * 100)
    _, reward, terminated, truncated, info = steps[-1]
    assert (terminated, truncated, info["dying"], info["flag"]) == (True, False, True, False)
    assert -25 <= reward <= -5
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)


def test_running_out_of_time_is_dying():
    env = MarioEnv(actions=("none",), lazy=True)
    env.reset()
    moment = env.save_state().moment
    late = ram.written(moment.blob, {ram.CLOCK: 0, ram.CLOCK + 1: 0, ram.CLOCK + 2: 1})
    env.load_state(env.save_state()._replace(moment=type(moment)(late, moment.before, moment.pressed), rewarded=late))
    assert play(env, [0] * 40)[-1][4]["dying"]


def test_wrong_input_is_answered_with_the_rule():
    with pytest.raises(UnknownName, match="1-1"):
        MarioEnv(level="1-11")
    with pytest.raises(UnknownName, match="right-complex"):
        MarioEnv(actions="right-komplex")
    with pytest.raises(UnknownName, match="'right'"):
        MarioEnv(actions=("rihgt+A",))
    with pytest.raises(TaskError, match="different combinations"):
        MarioEnv(actions=())
    with pytest.raises(TaskError, match="frame_skip"):
        MarioEnv(frame_skip=0)
    with pytest.raises(UsageError, match="'random'"):
        MarioEnv(frame_skip="rnd")
