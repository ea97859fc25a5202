import csv
import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from tightrope.cli import run_command
from tightrope.errors import UnknownName, UsageError
from tightrope.trace import ActionTrace
from tightrope.tracefiles import write_traces
from tightrope_mario.game import MarioEnv
from tightrope_mario.training.exploration import Exploration
from tightrope_mario.training.games import Games, GameSettings
from tightrope_mario.training.recipe import PRESETS, TrainingConfig, find_recipe, parse_changes
from tightrope_mario.training.starts import starts_from
from tightrope_mario.training.train import train

pytest.importorskip("stable_retro")
torch = pytest.importorskip("torch")

AGENTS = Path(__file__).parents[2] / "agents" / "mario"


def test_games_and_memory_show_the_network_what_the_environment_shows_an_agent():
    from tightrope_mario.training.memory import Memory

    generator = np.random.default_rng(0)
    env = MarioEnv(actions="basic")
    observation, _ = env.reset()
    settings = GameSettings(level="1-1", actions="basic", reward="dense", patience=None, cut_reward=0.0, rom=None)
    games = Games(settings, 1, 2)
    try:
        games.finish_step()
        memory, ends = Memory(30, 2, "cpu"), 0
        for _ in range(70):
            memory.write_situation(games.board["frame"], games.board["age"])
            stacks = (memory.newest_stacks() * 255).round().to(torch.uint8).numpy()
            assert np.array_equal(stacks[1], observation)
            action = np.array([generator.integers(7), 4 if generator.random() < 0.1 else 3], np.int32)
            games.start_step(action)
            games.finish_step()
            memory.write_step(action, games.board["reward"], games.board["over"])
            observation, reward, terminated, _, _ = env.step(action[1])
            assert (games.board["reward"][1], games.board["over"][1]) == (reward, terminated)
            if terminated:
                observation, _ = env.reset()
                ends += 1
        assert ends > 0
    finally:
        games.close()


def test_standing_still_ends_a_game_and_counts_as_the_recipe_says():
    settings = GameSettings(level="1-1", actions="basic", reward="sparse", patience=5, cut_reward=-25.0, rom=None)
    games = Games(settings, 1, 1)
    try:
        games.finish_step()
        seen = []
        for _ in range(7):
            games.start_step(np.array([0], np.int32))
            games.finish_step()
            seen.append((float(games.board["reward"][0]), int(games.board["over"][0]), int(games.board["age"][0])))
        assert seen == [(0, 0, 1), (0, 0, 2), (0, 0, 3), (0, 0, 4), (-25, 1, 0), (0, 0, 1), (0, 0, 2)]
        assert games.board["episode_return"][0] == 0
    finally:
        games.close()


def test_training_exports_stages_logs_and_goes_on_where_it_stopped(tmp_path):
    recipe = find_recipe("fast", workers=1, lanes=2, batch=4, updates=1, memory_ticks=60, burn_in_ticks=10)
    options = {"folder": tmp_path, "recipe": recipe, "device": "cpu", "log_seconds": 0.5}
    first = train(TrainingConfig(max_episodes=2, stages=(1, 2), **options))
    again = train(TrainingConfig(max_episodes=first["episodes"] + 1, stages=(1, 2), **options))
    assert again["steps"] > first["steps"]
    stages = [stage["episodes"] for stage in again["stages"]]
    assert stages[: len(first["stages"])] == [stage["episodes"] for stage in first["stages"]]
    assert stages == sorted(set(stages))
    assert stages[-1] == again["episodes"] > first["episodes"]
    assert all((tmp_path / stage["file"]).exists() for stage in again["stages"])
    assert json.loads((tmp_path / "training.json").read_text())["stages"] == again["stages"]
    with (tmp_path / "training-log.csv").open() as file:
        rows = list(csv.DictReader(file))
    steps = [int(row["steps"]) for row in rows]
    assert steps == sorted(steps)
    assert int(rows[-1]["updates"]) > 0


def test_the_folder_of_another_training_is_refused(tmp_path):
    described = TrainingConfig(folder=tmp_path).described()
    (tmp_path / "training.json").write_text(json.dumps({"config": described, "stages": []}))
    (tmp_path / "checkpoint.pt").touch()
    with pytest.raises(UsageError, match=r"another agent \(level was 1-1, now 1-2; reward was dense, now sparse\)"):
        train(TrainingConfig(folder=tmp_path, level="1-2", reward="sparse"))


def test_exploration_is_spread_over_the_games_and_resumes():
    recipe = find_recipe("fast", workers=1, lanes=3)
    exploring = Exploration(recipe, seed=0)
    assert exploring.share.tolist() == [1, 1, 1]
    exploring.skip(5000)
    np.testing.assert_allclose(exploring.share, [0.4, 0.4 * (0.01 / 0.4) ** 0.5, 0.01])
    chosen = np.stack([exploring.choose(np.ones(3, np.int64), 2) for _ in range(4000)])
    np.testing.assert_allclose((chosen == 0).mean(0), exploring.share / 2, atol=0.03)


def test_the_paper_preset_is_the_papers():
    paper = PRESETS["paper"]
    assert (paper.games, paper.discount, paper.batch, paper.memory_ticks) == (1, 0.9, 20, 30_000)
    assert (paper.learn_every, paper.target_every, paper.burn_in_ticks) == (3, 1000, 100)
    assert (paper.exploration_decay, paper.last_exploration) == (0.9999995, (0.1, 0.1))


@pytest.mark.parametrize(
    ("actions", "since"), [("2-moves", {"cut_reward": -25.0}), ("basic", {}), ("right-complex", {})]
)
def test_the_sparse_preset_is_what_trained_the_sparse_agents(actions, since):
    stored = json.loads((AGENTS / f"1-1-sparse-{actions}-training.json").read_text())["config"]["recipe"]
    later = {"last_learning_rate": None, "slips": 0.0, "averaging": 0.0, "rewind": 0.0, "rewind_steps": (8, 60)}
    stored |= later
    assert asdict(PRESETS["fast-sparse"]) == {**stored, "last_exploration": tuple(stored["last_exploration"]), **since}


@pytest.mark.parametrize(
    ("options", "preset"),
    [
        ([], "fast"),
        (["--reward", "sparse"], "fast-sparse"),
        (["--reward", "sparse", "--preset", "fast"], "fast"),
        (["--preset", "paper"], "paper"),
        (["--continue", str(AGENTS / "1-1-dense-2-moves-early.onnx")], "continue"),
        (["--continue", str(AGENTS / "1-1-sparse-2-moves-early.onnx"), "--reward", "sparse"], "continue-sparse"),
        (["--continue", str(AGENTS / "1-1-dense-2-moves-early.onnx"), "--preset", "fast"], "fast"),
    ],
)
def test_the_preset_follows_from_what_is_trained_unless_it_is_named(tmp_path, monkeypatch, options, preset):
    trained = []
    monkeypatch.setattr("tightrope_mario.training.train.train", lambda config: trained.append(config) or {})
    assert run_command(["mario", "train", "--out", str(tmp_path), *options]) == 0
    assert [config.recipe for config in trained] == [PRESETS[preset]]


def test_the_command_line_changes_a_preset(tmp_path, monkeypatch):
    trained = []
    monkeypatch.setattr("tightrope_mario.training.train.train", lambda config: trained.append(config) or {})
    options = ["--lanes", "2", "--stages", "5", "--stages", "9", "--set", "updates=8", "--set", "patience=null"]
    changes = ["--set", "last_exploration=[0.2, 0.01]", "--set", "learning_rate=1e-4"]
    assert run_command(["mario", "train", "--out", str(tmp_path), *options, *changes]) == 0
    (config,) = trained
    changed = {
        "lanes": 2,
        "updates": 8,
        "patience": None,
        "last_exploration": (0.2, 0.01),
        "learning_rate": 1e-4,
    }
    assert config.recipe == replace(PRESETS["fast"], **changed)
    assert (config.stages, config.name) == ((5, 9), "1-1-dense-2-moves")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("udpates=8", "Did you mean 'updates'"),
        ("updates", "takes NAME=VALUE"),
        ("updates=8.5", "no such value; in the preset continue it is 12"),
        ("last_exploration=0.2", r"it is \[0.2, 0.005\]"),
    ],
)
def test_a_change_of_a_preset_that_cannot_be_is_refused(change, told):
    with pytest.raises(UsageError, match=told):
        parse_changes([change])


def test_what_the_numbers_of_a_file_press_can_be_said(tmp_path, monkeypatch):
    trained = []
    monkeypatch.setattr("tightrope_mario.training.train.train", lambda config: trained.append(config) or {})
    write_traces(tmp_path / "ways.json", [ActionTrace("mario", 0, (0, 1))])
    options = ["mario", "train", "--out", str(tmp_path), "--situations", str(tmp_path / "ways.json")]
    for more in ([], ["--situation-actions", "combined"]):
        assert run_command([*options, *more]) == 0
    assert [config.starts.ways for config in trained] == [(("right+B", "right+A+B"),), (("none", "right"),)]


def test_wrong_configurations_are_refused(tmp_path):
    with pytest.raises(UnknownName, match="fast"):
        find_recipe("fst")
    with pytest.raises(UsageError, match="cannot learn"):
        find_recipe("fast", memory_ticks=3)
    with pytest.raises(UnknownName, match="2-moves"):
        TrainingConfig(folder=tmp_path, actions="2-move")
    with pytest.raises(UsageError, match="counted from 1"):
        TrainingConfig(folder=tmp_path, stages=(0,))


def test_games_that_begin_in_situations_show_what_the_environment_shows_there():
    from tightrope_mario.training.memory import Memory
    from tightrope_mario.training.starts import earlier_frames

    ways = (("right+B",) * 12 + ("right+A+B",) * 3, ("right+B",) * 7)
    settings = GameSettings(
        level="1-1", actions="basic", reward="dense", patience=None, cut_reward=0.0, rom=None, starts=ways
    )
    env = MarioEnv(actions="basic")
    games = Games(settings, 1, 1)
    try:
        games.finish_step()
        memory, began = Memory(60, 1, "cpu", earlier_frames("1-1", ways, None)), np.zeros(1, np.int32)
        games.board["start"][0] = 1
        observation, _ = env.reset()
        episodes, compared = [0], 0
        while len(episodes) < 4:
            memory.write_situation(games.board["frame"], games.board["age"], began)
            stack = (memory.newest_stacks() * 255).round().to(torch.uint8).numpy()[0]
            assert np.array_equal(stack, observation), (episodes, compared)
            compared += 1
            games.start_step(np.array([3], np.int32))
            games.finish_step()
            memory.write_step(np.array([3]), games.board["reward"], games.board["over"])
            observation, reward, terminated, _, _ = env.step(3)
            assert (games.board["reward"][0], games.board["over"][0]) == (reward, terminated)
            if terminated:
                assert games.board["episode_died"][0]
                began[0] = games.board["start"][0]
                observation, _ = env.reset()
                for name in ways[began[0] - 1]:
                    observation = env.step(env.action_names.index(name))[0]
                episodes.append(int(began[0]))
                games.board["start"][0] = 2 if began[0] == 1 else 1
        assert episodes == [0, 1, 2, 1]
    finally:
        games.close()


def test_games_that_are_put_back_before_a_loss_show_what_the_environment_shows_there():
    from tightrope_mario.training.memory import Memory
    from tightrope_mario.training.starts import earlier_frames

    settings = GameSettings(
        level="1-1", actions="basic", reward="dense", patience=None, cut_reward=0.0, rom=None, rewinds=12
    )
    env, right = MarioEnv(actions="basic"), 3
    games = Games(settings, 1, 1)
    try:
        games.finish_step()
        memory, began = Memory(90, 1, "cpu", earlier_frames("1-1", (), None), places=1), np.zeros(1, np.int32)
        observation, _ = env.reset()
        way = [env.save_state()]
        deaths, put_back = 0, (9, 9, 0, 5)
        while deaths < len(put_back):
            memory.write_situation(games.board["frame"], games.board["age"], began)
            stack = (memory.newest_stacks() * 255).round().to(torch.uint8).numpy()[0]
            assert np.array_equal(stack, observation), deaths
            back = games.board["rewind"][0] = put_back[deaths]
            games.start_step(np.array([right], np.int32))
            games.finish_step()
            memory.write_step(np.array([right]), games.board["reward"], games.board["over"])
            observation, reward, terminated, _, _ = env.step(right)
            assert (games.board["reward"][0], games.board["over"][0]) == (reward, terminated)
            if not terminated:
                way.append(env.save_state())
                continue
            assert bool(games.board["rewound"][0]) == bool(back)
            deaths += 1
            way = way[: len(way) - back + 1] if back else way[:1]
            env.load_state(way[-1])
            observation, began[0] = np.asarray(env.observation), 1 if back else 0
            if back:
                memory.write_earlier(1, games.board["earlier"][0])
    finally:
        games.close()


def test_losses_are_taken_back_as_often_and_as_far_as_the_recipe_says():
    from tightrope_mario.training.rewinding import Rewinding

    recipe = find_recipe("fast", workers=1, lanes=400, memory_ticks=64, rewind=0.3, rewind_steps=(4, 9))
    rewinding = Rewinding(recipe, 7, 0)
    drawn = rewinding.draw(0)
    assert set(drawn.tolist()) == {0, 4, 5, 6, 7, 8, 9}
    assert 0.22 < (drawn > 0).mean() < 0.38
    assert not Rewinding(replace(recipe, rewind=0.0), 7, 0).draw(0).any()


def test_a_place_for_earlier_frames_is_given_out_again_only_when_nothing_remembers_it():
    from tightrope_mario.training.rewinding import Rewinding

    recipe = find_recipe("fast", workers=1, lanes=2, memory_ticks=64, rewind=1.0)
    rewinding = Rewinding(recipe, 7, 0)
    given = [rewinding.place(0, now) for now in range(5)]
    assert given == [7, 8, 9, 10, 11]
    assert rewinding.places == 10
    # All five of the first game are in use for as long as its steps are remembered; the second has its own.
    assert (rewinding.draw(64) > 0).tolist() == [False, True]
    assert (rewinding.draw(65) > 0).tolist() == [True, True]


def test_an_agent_goes_on_from_shortly_before_its_own_losses(tmp_path):
    agent = AGENTS / "1-1-dense-2-moves-early.onnx"
    recipe = find_recipe(
        "continue", workers=1, lanes=2, batch=4, updates=1, memory_ticks=400, burn_in_ticks=150, rewind=1.0
    )
    described = train(TrainingConfig(folder=tmp_path, recipe=recipe, device="cpu", max_steps=600, agent=agent))
    # Only the first game of each lane began at the start of the level.
    assert described["stages"][-1]["recent_episodes"] == 2 < described["episodes"]


def test_a_situation_that_ends_on_the_way_is_named():
    from tightrope_mario.training.starts import saved_states

    with pytest.raises(UsageError, match="cannot be reached on level 1-1: the game is over after"):
        saved_states("1-1", [("right+B",) * 200], None)


def test_an_agent_goes_on_from_failing_situations(tmp_path):
    from tightrope_mario.training.export import read_onnx

    agent = AGENTS / "1-1-dense-2-moves-late.onnx"
    ways = tmp_path / "ways.json"
    write_traces(ways, [ActionTrace("mario", 0, (0,) * 8), ActionTrace("mario", 0, (0,) * 12)])
    recipe = find_recipe("fast", workers=1, lanes=2, batch=4, updates=1, memory_ticks=60, burn_in_ticks=150)
    described = train(
        TrainingConfig(
            folder=tmp_path,
            recipe=recipe,
            device="cpu",
            max_steps=320,
            agent=agent,
            starts=starts_from(ways, "1-1", "2-moves", share=1.0, steps_before=2),
        )
    )
    assert described["config"]["agent"] == agent.name
    assert described["config"]["starts"] == {"situations": 2, "share": 1.0, "weights": "adaptive"}
    assert described["steps"] == 320
    last = described["stages"][-1]
    # The first game of each lane began at the start of the level, and is told apart from those that did not.
    assert last["recent_episodes"] <= 2
    assert last["recent_episodes"] + last["situation_episodes"] == described["episodes"]
    assert last["exploration"] < 0.25
    before, after = read_onnx(agent)[0], read_onnx(tmp_path / last["file"])[0]
    drift = max(float(np.abs(before[name] - after[name]).max()) for name in before)
    assert 0 < drift < 0.1


def test_the_command_takes_agent_and_situations(tmp_path, monkeypatch):
    trained = []
    monkeypatch.setattr("tightrope_mario.training.train.train", lambda config: trained.append(config) or {})
    agent, ways = AGENTS / "1-2-dense-basic-late.onnx", tmp_path / "ways.json"
    write_traces(ways, [ActionTrace("mario", 0, (3,) * 8)])
    options = ["--continue", str(agent), "--situations", str(ways), "--share", "0.3", "--steps-before", "2"]
    assert run_command(["mario", "train", "--out", str(tmp_path), *options, "--max-steps", "9"]) == 0
    (config,) = trained
    assert (config.level, config.actions, config.agent, config.max_steps) == ("1-2", "basic", agent, 9)
    assert (config.starts.share, config.starts.watched) == (0.3, 42)
    assert config.starts.ways == (("right+B",) * 6,)


def test_another_action_set_cannot_go_on(tmp_path):
    from tightrope_mario.training.recipe import trained_for

    agent = AGENTS / "1-2-dense-basic-late.onnx"
    assert trained_for(agent, level=None) == {"level": "1-2", "actions": "basic", "reward": "dense"}
    assert trained_for(None, reward="sparse") == {"level": "1-1", "actions": "2-moves", "reward": "sparse"}
    with pytest.raises(UsageError, match="cannot go on with 2-moves"):
        trained_for(agent, actions="2-moves")


def test_the_learning_rate_goes_down_in_stairs():
    recipe = find_recipe("fast", learning_rate=1e-3, last_learning_rate=1e-4)
    rates = [recipe.learning_rate_at(part / 100) for part in range(101)]
    assert (rates[0], rates[-1]) == (1e-3, pytest.approx(1e-4))
    assert len(set(rates)) == 10
    assert rates == sorted(rates, reverse=True)
    assert find_recipe("fast").learning_rate_at(1.0) == find_recipe("fast").learning_rate
