"""The agents that come with the project load for their tasks and play as well as they are said to."""

from __future__ import annotations

from pathlib import Path

import pytest

import tightrope as tr
from tightrope.errors import AgentError

GALLERY = Path(__file__).parent.parent.parent / "agents" / "gallery"
TASKS = {
    "frozenlake": ("FrozenLake-v1", {}),
    "cartpole": ("CartPole-v1", {}),
    "freeway": ("ALE/Freeway-v5", {"obs_type": "ram"}),
    "hopper": ("Hopper-v5", {}),
    "lunarlander": ("LunarLander-v3", {}),
    "highway": ("highway-fast-v0", {}),
    "minigrid": ("MiniGrid-LavaCrossingS9N1-v0", {"observation": "image"}),
}


@pytest.mark.parametrize("path", sorted(GALLERY.glob("*.onnx")), ids=lambda path: path.stem)
def test_an_agent_of_the_gallery_plays_its_task(path: Path) -> None:
    name, options = TASKS[path.stem.partition("-")[0]]
    task = tr.make_task(name, **options)
    agent = tr.load_agent(path, task)
    rollout = tr.Rollout(start=tr.ActionTrace(task.label, 0), agent=agent.name, length=20)
    with tr.Engine(task, {agent.name: agent}) as engine:
        (episode,) = engine.run([rollout])
    assert episode.error is None
    assert episode.actions


def test_there_are_two_agents_for_each_task() -> None:
    stems = {path.stem for path in GALLERY.glob("*.onnx")}
    assert stems == {f"{name}-{stage}" for name in TASKS for stage in ("early", "late")}


def test_an_agent_of_a_small_lake_is_refused_on_a_large_one() -> None:
    with pytest.raises(AgentError, match="of 16 values"):
        tr.load_agent(GALLERY / "frozenlake-late.onnx", tr.make_task("FrozenLake-v1", map_name="8x8"))
