from __future__ import annotations

import copy
import sys
import warnings
from collections import Counter

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import tightrope as tr
from tightrope.errors import UnknownName, UsageError
from tightrope.safety import simple_suite
from tightrope.simulation import open_simulator
from tightrope.simulation.player import play
from tightrope.testing import corridor_task
from tightrope.trace import ActionTrace
from tightrope.training import Situation, SituationStarts, SituationStartsVector, situations_from
from tightrope.training.choice import StartChoice

CARTPOLE = tr.make_task("CartPole-v1")
TRACES = [ActionTrace(CARTPOLE.label, seed, (0, 1) * length) for seed, length in ((0, 3), (1, 5), (2, 8))]


def cart_pole():
    return gym.make("CartPole-v1")


@pytest.mark.parametrize("source", [CARTPOLE, "env"])
def test_a_situation_is_put_back_exactly_and_goes_on_as_it_would(source) -> None:
    env = SituationStarts(source if source is CARTPOLE else cart_pole(), TRACES, share=1.0, seed=0)
    simulator = open_simulator(CARTPOLE)
    for _ in range(6):
        observation, info = env.reset()
        trace = TRACES[info["situation"]]
        for _ in play(simulator, trace):
            pass
        np.testing.assert_array_equal(observation, simulator.observation)
        for action in (1, 1, 0):
            np.testing.assert_array_equal(env.step(action)[0], simulator.step(action).observation)


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="there a look at an object's __dict__ slows nothing")
def test_placing_an_environment_leaves_its_attributes_quick_to_read() -> None:
    """Their dict has names of its own, which makes it larger than one on the table that its class shares."""
    env, other = SituationStarts(cart_pole(), TRACES, share=1.0, seed=0), cart_pole()
    env.reset()
    other.reset()
    assert sys.getsizeof(vars(env.unwrapped)) > sys.getsizeof(vars(other.unwrapped))


def test_where_there_is_no_snapshot_the_situation_is_replayed() -> None:
    task = tr.make_task("LunarLander-v3")
    trace = ActionTrace(task.label, 3, (2, 2, 0, 1) * 5)
    env = SituationStarts(gym.make("LunarLander-v3"), [trace], share=1.0, seed=0)
    simulator = open_simulator(task)
    for _ in range(2):
        observation, _ = env.reset()
        for _ in play(simulator, trace):
            pass
        np.testing.assert_array_equal(observation, simulator.observation)
        env.step(2)
    assert env._placer.replayed


def test_wrappers_inside_are_put_back_with_it() -> None:
    env = gym.wrappers.FrameStackObservation(gym.make("CartPole-v1", max_episode_steps=30), 4)
    starts = SituationStarts(env, [TRACES[0]], share=1.0, seed=0)
    first, _ = starts.reset()
    assert len({row.tobytes() for row in first}) == 4  # the last four situations, not one four times
    for _ in range(3):
        starts.step(0)
    again, _ = starts.reset()
    np.testing.assert_array_equal(first, again)
    steps = 0
    truncated = terminated = False
    while not (terminated or truncated):
        _, _, terminated, truncated, _ = starts.step(steps % 2)
        steps += 1
    assert steps <= 24  # six of the thirty were played on the way


def test_the_share_of_episodes_begins_in_situations_by_weight() -> None:
    chosen = [Situation(trace=TRACES[0], weight=0.9), Situation(trace=TRACES[1], weight=0.1)]
    env = SituationStarts(CARTPOLE, chosen, share=0.5, seed=1)
    began = Counter(env.reset()[1]["situation"] for _ in range(400))
    assert 160 < began[-1] < 240
    assert began[0] > 5 * began[1] > 0


@pytest.mark.parametrize("source", [CARTPOLE, "env"])
def test_plain_episodes_after_a_situation_begin_differently(source) -> None:
    env = SituationStarts(source if source is CARTPOLE else cart_pole(), TRACES, share=0.5, seed=0)
    begun = []
    for _ in range(5):
        env.reset(options={"situation": 0})
        begun.append(tuple(env.reset(options={"situation": -1})[0]))
    assert len(set(begun)) == 5


def test_chance_goes_on_differently_each_time_a_situation_is_put_back() -> None:
    lake = tr.make_task("FrozenLake-v1", is_slippery=True)
    env = SituationStarts(lake, [ActionTrace(lake.label, 0, ())], share=1.0, seed=0)
    seen = []
    for _ in range(12):
        env.reset()
        seen.append(tuple(int(env.step(2)[0]) for _ in range(2)))
    assert len(set(seen)) > 1


def test_info_says_at_the_end_where_an_episode_began() -> None:
    env = SituationStarts(CARTPOLE, TRACES, share=1.0, seed=0)
    _, info = env.reset(options={"situation": 2})
    assert info["situation"] == 2
    over = False
    while not over:
        _, _, terminated, truncated, info = env.step(0)
        over = terminated or truncated
    assert info["situation"] == 2


def test_adaptive_weights_give_up_hope_and_find_it_again() -> None:
    choice = StartChoice([Situation(trace=ActionTrace("x", 0, (0,))) for _ in range(3)], 1.0, "adaptive", seed=0)
    for _ in range(300):
        choice.learn(0, failed=True)
    for number in range(300):
        choice.learn(1, failed=number % 3 > 0)
        choice.learn(2, failed=False)
    hopeless, mixed, passed = choice.chances
    assert mixed > 0.6
    assert 0 < passed < 0.2
    assert 0 < hopeless < 0.2
    choice.learn(0, failed=False)
    assert choice.chances[0] > 0.4, "it can be survived after all"


def test_adaptive_weights_follow_the_results() -> None:
    task = corridor_task()
    before_hole, safe = ActionTrace("corridor", 0, (0, 0)), ActionTrace("corridor", 0, (1, 1))
    env = SituationStarts(task, [before_hole, safe], share=1.0, seed=0, weights="adaptive")
    for _ in range(60):
        cell, info = env.reset()
        over = False
        while not over:  # walks into the hole at 3; from 4 on it jumps over the one at 6
            cell, _, over, _, _ = env.step(int(info["situation"] == 1 and cell == 5))
    assert env.chances[0] > 0.8
    assert env.chances[1] > 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: SituationStarts(cart_pole(), TRACES, 0.5, 0),
        lambda: SituationStarts(CARTPOLE, TRACES, 1.0, 0),
        lambda: SituationStarts(CARTPOLE, TRACES[:1], 1.0, 0),
        lambda: SituationStarts(CARTPOLE, TRACES, 0.5, 0, weights="adaptive"),
    ],
    ids=["an environment", "a task", "always the same situation", "adaptive"],
)
def test_it_passes_gymnasiums_own_check(make) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(make(), skip_render_check=True)


@pytest.mark.parametrize("name", ["Taxi-v4", "MiniGrid-LavaGapS6-v0"])
def test_what_it_shows_in_a_situation_is_the_trainers_own(name) -> None:
    """Parts and arrays of infos included; Gymnasium's check changes and compares what it is given."""
    pytest.importorskip("minigrid")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = gym.make(name)
        starts = SituationStarts(env, [ActionTrace(name, 0, (0,))], 1.0, 0)
        check_env(starts, skip_render_check=True)
    observation, info = starts.reset()
    if isinstance(observation, dict):
        observation["image"][:] = 0
        observation["mission"] = ""
    else:
        info["action_mask"][:] = 7
    again, told = starts.reset()
    assert 7 not in told.get("action_mask", ())
    assert isinstance(again, np.integer | int) or (again["image"].any() and again["mission"])
    assert not starts._placer.replayed, "observations of several parts can be compared, so snapshots can be tried"


@pytest.mark.parametrize("source", [CARTPOLE, "env"])
def test_a_copy_of_one_that_is_in_use_is_put_into_situations_by_itself(source) -> None:
    env = SituationStarts(source if source is CARTPOLE else cart_pole(), TRACES, 1.0, 0)
    env.reset(options={"situation": 0})
    copied = copy.deepcopy(env)
    for number in (1, 0):
        expected = [env.reset(options={"situation": number})[0], *(env.step(1)[0] for _ in range(3))]
        found = [copied.reset(options={"situation": number})[0], *(copied.step(1)[0] for _ in range(3))]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["Taxi-v4", "BipedalWalker-v3"])
def test_it_passes_gymnasiums_own_check_on_tasks_with_wrappers_of_their_own(name) -> None:
    pytest.importorskip("Box2D")
    task = tr.make_task(name)
    trace = ActionTrace(task.label, 0, task.search_actions[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(SituationStarts(task, [trace], 0.5, 0), skip_render_check=True)


def test_observations_of_a_situation_can_be_changed_in_place() -> None:
    env = SituationStarts(CARTPOLE, TRACES, 1.0, 0)
    observation, _ = env.reset(options={"situation": 1})
    before = observation.copy()
    observation /= 2
    np.testing.assert_array_equal(env.reset(options={"situation": 1})[0], before)


def test_the_same_seed_gives_the_same_starts() -> None:
    def starts(seed):
        env = SituationStarts(CARTPOLE, TRACES, 0.5)
        first = env.reset(seed=seed)
        return [first[0].tolist(), *(env.reset()[0].tolist() for _ in range(10))]

    assert starts(1) == starts(1)
    assert starts(1) != starts(2)


@pytest.mark.parametrize("backend", ["dummy", "subprocesses"])
def test_stable_baselines3_trains_on_it(backend) -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

    def make():
        return Monitor(SituationStarts(cart_pole(), TRACES, 0.5, 0), info_keywords=("situation",))

    venv = DummyVecEnv([make, make]) if backend == "dummy" else SubprocVecEnv([make, make])
    try:
        model = sb3.PPO("MlpPolicy", venv, n_steps=64, batch_size=64, device="cpu", seed=0)
        model.learn(256)
        assert any("situation" in episode for episode in model.ep_info_buffer)
    finally:
        venv.close()


def test_a_vector_of_them_begins_in_different_situations() -> None:
    envs = SituationStartsVector(cart_pole, TRACES, 4, share=1.0, seed=0)
    _, infos = envs.reset()
    assert len(set(infos["situation"])) > 1
    for _ in range(40):
        envs.step(np.zeros(4, dtype=int))
    envs.close()


def test_situations_come_from_results_suites_and_files(tmp_path) -> None:
    task = corridor_task()
    reference = tr.probe_boundary(task, tr.search(task).reference)
    suite = simple_suite(reference)
    agent = tr.load_agent(lambda observation: 0, task, name="walks")
    result = tr.run_suite(task, agent, suite)
    failing = situations_from(result)
    assert {s.trace.id for s in failing} == {case.case.id for case in result.cases if case.fails}
    assert all(s.weight == 1 for s in failing)
    assert len(situations_from(suite, result, suite.cases[0])) == len(suite)
    tr.save_suite(suite, tmp_path / "kept.suite.json")
    tr.write_traces(tmp_path / "traces.json", [reference.actions])
    assert len(situations_from(tmp_path / "kept.suite.json", str(tmp_path / "traces.json"))) == len(suite) + 1
    earlier = situations_from(result, steps_before=1)
    assert {len(s.trace) for s in earlier} == {len(s.trace) - 1 for s in failing}


def test_situations_come_from_groups_explanations_and_searches() -> None:
    task = corridor_task()
    reference = tr.probe_boundary(task, tr.search(task).reference)
    agent = tr.load_agent(lambda observation: 0, task, name="walks")
    result = tr.run_suite(task, agent, simple_suite(reference))
    assert situations_from(result.failure_groups) == situations_from(result)
    assert situations_from(result, agent="somebody else") == ()
    assert situations_from(result, survivable=True) == situations_from(result)  # each has an escape
    unasked = tr.run_suite(task, agent, simple_suite(reference), survivable=False)
    assert situations_from(unasked)
    assert not situations_from(unasked, survivable=True)
    [case, *_] = result.failing_cases
    why = tr.explain(task, agent, case)
    [blame_point] = situations_from(why)
    assert blame_point.trace == why.trace.prefix(why.depth)
    assert situations_from(why, steps_before=1)[0].trace == why.trace.prefix(why.depth - 1)
    plain = tr.evaluate(task, agent, episodes=3)
    assert [s.trace for s in situations_from(plain)] == [episode.trace for episode in plain.failing_episodes] != []
    found = tr.search_failures(task, agent, tr.Budget(steps=2_000))
    assert (
        {s.trace for s in situations_from(found)}
        == {each.trace.prefix(each.moment.depth) for each in found.failures if each.avoidable}
        != set()
    )


def test_situations_come_from_a_run_and_of_one_agent_of_it(tmp_path) -> None:
    run = tr.run_campaign(
        tr.CampaignConfig(
            task="FrozenLake-v1",
            options={"is_slippery": True},
            agents=[{"source": f"agents/gallery/frozenlake-{stage}.onnx"} for stage in ("early", "late")],
            plain={"episodes": 5},
            search={"references": 1},
            safety={"suites": ["simple"], "repetitions": 2, "explain_steps": 0},
            fuzzing={"enabled": False},
            report={"videos": 0},
        ),
        tmp_path / "run",
    )
    everybody, early = situations_from(run), situations_from(run, agent="frozenlake-early")
    assert (
        {s.trace for s in early}
        == {case.case.prefix for case in run.safety["simple"]["frozenlake-early"].failing_cases}
        != set()
    )
    assert {s.trace for s in early} <= {s.trace for s in everybody}
    controls = situations_from(run.safety["uniform"], run.safety["random"])
    assert {s.trace for s in controls} - {s.trace for s in everybody}, "it fails in controls, too; these are left out"
    assert SituationStarts(run.task, run, share=1.0, seed=0).reset()[1]["situation"] in range(len(everybody))
    with pytest.raises(UsageError, match=r"open_run\("):
        situations_from(tmp_path / "run")


@pytest.mark.parametrize(
    ("error", "rule", "options"),
    [
        (UsageError, "share is a part", {"share": 1.5}),
        (UsageError, "no situations", {"situations": []}),
        (UnknownName, "adaptve", {"weights": "adaptve"}),
        (UsageError, "what failing is", {"env": None, "weights": "adaptive"}),
        (UsageError, "not from 7", {"situations": [7]}),
    ],
)
def test_wrong_use_is_named(error, rule, options) -> None:
    arguments = {"env": CARTPOLE, "situations": TRACES, **options}
    if arguments["env"] is None:
        arguments["env"] = cart_pole()
    with pytest.raises(error, match=rule):
        SituationStarts(**arguments)


def test_a_situation_that_cannot_be_reached_is_named() -> None:
    gone = ActionTrace(CARTPOLE.label, 0, (0,) * 50)
    env = SituationStarts(CARTPOLE, [gone], share=1.0, seed=0)
    with pytest.raises(UsageError, match="the episode is over after"):
        env.reset()


def test_a_situation_in_which_nothing_is_left_to_do_is_told_from_one_of_another_environment() -> None:
    task = tr.make_task("CartPole-v1")
    whole = tr.evaluate(task, tr.load_agent(lambda observation: 0, task, name="left"), episodes=2).failing_episodes
    env = SituationStarts(task, whole, share=1.0, seed=0)
    with pytest.raises(UsageError, match=r"is the end of an episode .unsafe., after [0-9]+ actions.*steps_before=20"):
        env.reset()
    SituationStarts(task, situations_from(whole, steps_before=1), share=1.0, seed=0).reset()
