"""A task is the same task in every process, also where its environment was registered in one of them only."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import ClassVar

import gymnasium as gym
import pytest

from tests.simulation.broken import Line, line_task
from tightrope.errors import EnvironmentFailure
from tightrope.simulation.conformance.second_process import ask_all
from tightrope.simulation.snapshots import (
    AttributesSnapshotter,
    base,
    pack_snapshotters,
    register_snapshotter,
    registered_snapshotters,
    unpack_snapshotters,
)
from tightrope.tasks.travelling import TravellingTask

ENVIRONMENT = """
import gymnasium as gym

class Steps(gym.Env):
    def __init__(self):
        self.observation_space, self.action_space, self.place = gym.spaces.Discrete(9), gym.spaces.Discrete(2), 0
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return 0, {}
    def step(self, action):
        self.place += action
        return self.place, 1.0, self.place == 8, False, {}
"""
REGISTER = 'gym.register("mine/Steps-v0", entry_point={entry})\n'
SCRIPT = """
import gymnasium as gym
import tightrope as tr
{beginning}
task = tr.Task(
    name="mine", make_env=lambda: gym.make("mine/Steps-v0"), goal=lambda t: t.terminated, unsafe=lambda t: False
)
if __name__ == "__main__":
    check = tr.check_task(task).cross_check
    print(check.processes, check.skipped)
    with tr.Engine(task, backend="processes", workers=1) as engine:
        (episode,) = engine.run([tr.Rollout(start=tr.ActionTrace("mine", 0), actions=(1,) * 9)])
    print(episode.outcome, len(episode.actions), episode.error)
"""


@pytest.mark.parametrize(
    "beginning",
    [
        "import my_envs",
        ENVIRONMENT + REGISTER.format(entry="Steps"),
        ENVIRONMENT + REGISTER.format(entry='"__main__:Steps"'),
    ],
    ids=["by a module", "in the script", "in the script, by name"],
)
def test_what_a_script_has_registered_is_known_to_its_workers(tmp_path: Path, beginning: str) -> None:
    (tmp_path / "my_envs.py").write_text(ENVIRONMENT + REGISTER.format(entry='"my_envs:Steps"'))
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(beginning=beginning))
    run = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert run.stdout.splitlines() == ["2 ", "goal 8 None"], run.stderr


def test_an_environment_that_nobody_registered_is_told_with_what_to_write() -> None:
    with pytest.raises(EnvironmentFailure, match=r"mine.*Import the module that registers it inside make_env"):
        line_task(lambda: gym.make("mine/Steps-v7")).open_env()


def test_registrations_that_cannot_travel_stay_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    lock = threading.Lock()
    known = dict(gym.registry)
    monkeypatch.setattr(gym.envs.registration, "registry", known)
    monkeypatch.setattr(gym, "registry", known)
    gym.register("mine/Line-v0", entry_point=lambda: Line())
    gym.register("mine/Locked-v0", entry_point=lambda: lock)
    travelling = TravellingTask.of(line_task(lambda: gym.make("mine/Line-v0")))
    del known["mine/Line-v0"], known["mine/Locked-v0"]
    assert isinstance(travelling.arrived().open_env().unwrapped, Line)
    assert "mine/Locked-v0" not in known


class Noted(AttributesSnapshotter):
    name: ClassVar[str] = "noted"


def known_snapshotters(packed: bytes) -> list[str]:
    unpack_snapshotters(packed)
    return [snapshotter.name for snapshotter in registered_snapshotters()]


def test_a_snapshotter_that_a_user_registered_travels_too() -> None:
    register_snapshotter(Noted)
    try:
        (there,) = ask_all(known_snapshotters, (pack_snapshotters(),), seconds=1.0, count=1)
        assert there == known_snapshotters(pack_snapshotters())
        assert there[0] == "noted"
    finally:
        base._snapshotters.remove(Noted)
