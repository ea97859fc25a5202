import csv
import json
from pathlib import Path

import numpy as np
import pytest

import tightrope as tr
from tightrope.cli import run_command
from tightrope_mario.game import MarioEnv
from tightrope_mario.training.export import read_onnx, write_onnx
from tightrope_mario.training.shipping import mean_of, try_out

pytest.importorskip("stable_retro")
pytest.importorskip("onnxruntime")

FOLDER = Path(__file__).parents[2] / "agents" / "mario"
DESCRIPTIONS = {path.name: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*-training.json"))}
STAGES = {stage["file"]: name for name, description in DESCRIPTIONS.items() for stage in description["stages"]}


def test_every_shipped_agent_says_how_it_was_trained():
    assert {path.name for path in FOLDER.glob("*.onnx")} == set(STAGES)
    for name, description in DESCRIPTIONS.items():
        # The command line of the version that trained.
        assert description["command"].startswith(("python -m tightrope_mario.training.train", "tightrope mario train"))
        with (FOLDER / name.replace(".json", "-log.csv")).open() as file:
            assert int(list(csv.DictReader(file))[-1]["episodes"]) == description["episodes"]


def play_greedily(name):
    settings = DESCRIPTIONS[STAGES[name]]["config"]
    task = tr.make_task("mario", level=settings["level"], actions=settings["actions"])
    agent = tr.load_agent(FOLDER / name, task)
    env = MarioEnv(level=settings["level"], actions=settings["actions"], lazy=True)
    observation, info = env.reset()
    for _ in range(320):
        (action,) = agent.act([observation], [None], [None], [None]).actions
        observation, _, terminated, _, info = env.step(action)
        if terminated:
            break
    return info


@pytest.mark.parametrize("name", sorted(STAGES))
def test_every_shipped_agent_plays(name):
    assert play_greedily(name)["x"] > 400


@pytest.mark.parametrize(
    "name", ["1-1-dense-2-moves", "1-1-dense-basic", "1-2-dense-2-moves", "1-2-dense-right-complex"]
)
def test_late_agents_reach_the_flag_from_the_start(name):
    assert play_greedily(f"{name}-late.onnx")["flag"]


def test_trying_an_agent_out_counts_its_flags():
    trial = try_out(FOLDER / "1-2-dense-2-moves-late.onnx", games=2, epsilon=0.0)
    assert (trial.games, trial.flags, trial.unfinished) == (2, 2, 0)
    assert trial.mean_x > 3000


def test_shipping_stores_half_the_size_and_tells_how_both_play(tmp_path, capsys):
    trained, stored = tmp_path / "trained.onnx", tmp_path / "new" / "stored.onnx"
    write_onnx(trained, *read_onnx(FOLDER / "1-2-dense-2-moves-late.onnx"), half=False)
    small = ["--observations", "40", "--games", "2"]
    assert run_command(["mario", "ship", str(trained), str(stored), *small, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert stored.stat().st_size < 0.51 * trained.stat().st_size
    assert told["half_precision"] == {"observations": 40, "same_greedy_action": 40, "largest_difference": 0.0}
    assert told["trial"] == told["trial_before_rounding"]
    assert told["trial"]["games"] == 2


def test_the_mean_of_two_stages_has_the_mean_of_their_weights(tmp_path):
    stages = [FOLDER / f"1-1-dense-2-moves-{stage}.onnx" for stage in ("early", "late")]
    mean, known = read_onnx(mean_of(stages, tmp_path / "mean.onnx"))
    early, late = (read_onnx(stage) for stage in stages)
    assert known == late[1]
    assert set(mean) == set(early[0])
    for name, value in mean.items():
        np.testing.assert_allclose(value, (early[0][name] + late[0][name]) / 2, rtol=1e-6)
