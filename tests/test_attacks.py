"""No file does anything but be read: every loader, every attack we know, under an audit hook."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")
pytest.importorskip("h5py")

import numpy as np
import torch

import tightrope as tr
from tests.agents.networks import dense_network
from tests.agents.test_sb3 import saved
from tests.attacks import OWNED, PICKLE, Attacks, all_attacks, data_sets, minari_data, trusted_harm
from tightrope.agents.networks.normalisation import Normalisation, save_normalisation
from tightrope.references import save_reference

ROOM = 150
"""Mebibytes that a refused file may take at most while it is looked at."""


def watched(folder: Path, honest: list[tuple[str, Path]], others: list[tuple[str, Path]]) -> list[dict[str, Any]]:
    for name, files in (("honest.json", honest), ("attacks.json", others)):
        (folder / name).write_text(json.dumps([[loader, str(path)] for loader, path in files]))
    # An import of what lies in the working folder would be the easiest to plant.
    (folder / "planted.py").write_text(f"import os\nos.mkdir({OWNED!r})\n")
    (folder / "harm.pkl").write_bytes(PICKLE)
    here = Path(__file__).parent.parent
    paths = os.pathsep.join([str(here), str(Path(tr.__file__).parent.parent), str(folder)])
    command = [sys.executable, "-m", "tests.watched", "honest.json", "attacks.json"]
    ended = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, timeout=280
    )
    assert ended.returncode == 0, ended.stderr
    return list(json.loads(ended.stdout.splitlines()[-1]))


def honest_files(folder: Path) -> list[tuple[str, Path]]:
    lake = tr.make_task("FrozenLake-v1", is_slippery=False)
    reference = tr.search(lake).reference
    assert reference is not None
    save_reference(reference, folder / "reference.json")
    tr.save_suite(tr.simple_suite(reference), folder / "lake.suite.json")
    tr.write_traces(folder / "traces.npz", [reference.actions])
    tr.write_traces(folder / "traces.json", [reference.actions])
    (folder / "campaign.yaml").write_text("task: FrozenLake-v1\n")
    (folder / "campaign.toml").write_text("task = 'FrozenLake-v1'\n")
    save_normalisation(
        Normalisation(means={"observation": np.zeros(5)}, variances={"observation": np.ones(5)}), folder / "n.npz"
    )
    torch.save({"w": torch.zeros(3)}, folder / "weights.pt")
    layers = torch.nn.ModuleDict({"network": torch.nn.Sequential(
        torch.nn.Linear(5, 120), torch.nn.ReLU(), torch.nn.Linear(120, 84), torch.nn.ReLU(), torch.nn.Linear(84, 4)
    )})  # fmt: skip
    torch.save(layers.state_dict(), folder / "dqn.cleanrl_model")
    agents = [saved(name) for name in ("ppo", "qrdqn", "recurrent")]
    return [
        ("agent", folder / "dqn.cleanrl_model"),
        *(("agent", path) for path in agents),
        ("agent", dense_network(folder / "moves.onnx", 5, 4)),
        ("agent", folder / "weights.pt"),
        ("normalisation", folder / "n.npz"),
        ("traces", folder / "traces.npz"),
        ("traces", folder / "traces.json"),
        ("reference", folder / "reference.json"),
        ("suite", folder / "lake.suite.json"),
        ("campaign", folder / "campaign.yaml"),
        ("campaign", folder / "campaign.toml"),
        ("minari", minari_data(folder / "lake", lambda episode: episode.create_dataset("actions", data=[1, 1, 2]))),
    ]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("attacks")
    honest, attacks = honest_files(folder), all_attacks(folder)
    outcomes = watched(folder, honest, [(attack.loader, attack.path) for attack in attacks])
    harmful = list(zip(attacks, outcomes[len(honest) :], strict=True))
    return {"folder": folder, "honest": outcomes[: len(honest)], "attacks": harmful}


def test_honest_files_load_and_do_nothing_else(told: dict[str, Any]) -> None:
    for outcome in told["honest"]:
        assert not outcome["alarms"]
        assert re.match("loaded|AgentError: .*weights.pt holds weights without a network", outcome["outcome"])


def test_every_attack_ends_as_it_should(told: dict[str, Any]) -> None:
    wrong = [
        f"{attack.name}: {outcome['outcome'][:300]}"
        for attack, outcome in told["attacks"]
        if not re.match(attack.ends, outcome["outcome"], re.S)
    ]
    assert len(told["attacks"]) > 150
    assert not wrong, "\n".join(wrong)


def test_no_attack_does_anything_but_be_read(told: dict[str, Any]) -> None:
    alarms = [f"{attack.name}: {outcome['alarms'][:3]}" for attack, outcome in told["attacks"] if outcome["alarms"]]
    assert not alarms, "\n".join(alarms)
    assert not list(told["folder"].glob(f"**/{OWNED}"))


def test_no_attack_takes_more_memory_than_its_share(told: dict[str, Any]) -> None:
    large = [
        f"{attack.name}: {outcome['mebibytes']}" for attack, outcome in told["attacks"] if outcome["mebibytes"] > ROOM
    ]
    assert not large, "\n".join(large)


def test_the_watch_sees_what_a_trusted_file_does(tmp_path: Path) -> None:
    """Or the tests above could not fail."""
    outcomes = watched(
        tmp_path, [("agent", saved("ppo"))], [("trusted agent", path) for path in trusted_harm(tmp_path)]
    )
    for outcome in outcomes[1:]:
        assert any(alarm.startswith("pickle.find_class") for alarm in outcome["alarms"])
        assert any(alarm.startswith("os.mkdir") for alarm in outcome["alarms"])
    assert (tmp_path / OWNED).is_dir()


def test_the_data_set_that_is_a_function_is_a_real_attack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minari = pytest.importorskip("minari")
    monkeypatch.chdir(tmp_path)
    attacks = Attacks(tmp_path)
    data_sets(attacks)
    with pytest.raises(Exception):  # noqa: B017 - whatever it makes of the folder, by then it is there
        minari.MinariDataset(attacks.found[0].path / "data")
    assert (tmp_path / OWNED).is_dir()
