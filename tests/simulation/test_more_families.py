"""Worlds of other packages, each as its users have it. Those that are not installed here were tried by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tests.simulation.broken import Line, line_task
from tightrope.errors import AgentFailure, MissingExtra, NotReproducible, TaskError
from tightrope.simulation.snapshots import OwnMethodsSnapshotter
from tightrope.tasks import Task
from tightrope.testing import SnapshotterContract

pytestmark = pytest.mark.filterwarnings("ignore")


def a_task(make_env: Callable[[], Any], **fields: Any) -> Task:
    settings: dict[str, Any] = {
        "name": "world", "goal": lambda t: False, "unsafe": lambda t: bool(t.terminated), "max_steps": 60,
    }  # fmt: skip
    return Task(make_env=make_env, **{**settings, **fields})


def registered(library: str, name: str, **options: Any) -> Any:
    gym.register_envs(pytest.importorskip(library))
    return gym.make(name, disable_env_checker=True, **options)


# By attributes or a snapshotter, out of the box.


@pytest.mark.parametrize(
    ("library", "name", "method", "options"),
    [
        ("gymnasium_robotics", "PointMaze_UMaze-v3", "mujoco", {}),
        ("gymnasium_robotics", "AdroitHandDoor-v1", "mujoco with its model", {}),
        ("flappy_bird_gymnasium", "FlappyBird-v0", "attributes", {"use_lidar": False}),
        ("vizdoom.gymnasium_wrapper", "VizdoomBasic-v1", "replay", {}),
        ("panda_gym", "PandaReach-v3", "replay", {}),
    ],
)
def test_families_of_gymnasium(library: str, name: str, method: str, options: dict[str, Any]) -> None:
    pytest.importorskip(library)
    assert tr.check_task(a_task(partial(registered, library, name, **options))).method == method


@pytest.mark.parametrize("options", [{"use_lidar": False}, {"use_lidar": True}])
def test_pipes_that_random_flights_never_meet_are_random(options: dict[str, Any]) -> None:
    """The first new pipe is drawn at step 85; uniformly random flights end at 50."""
    pytest.importorskip("flappy_bird_gymnasium")
    make_env = partial(registered, "flappy_bird_gymnasium", "FlappyBird-v0", **options)
    assert not tr.check_task(a_task(make_env, max_steps=300), seconds=100).deterministic


@pytest.mark.parametrize("name", ["FetchReach-v4", "HandReach-v3"])
def test_robots_that_need_an_older_mujoco(name: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    if int(mujoco.__version__.split(".")[0]) >= 4:
        pytest.skip("gymnasium-robotics 1.4 cannot make Fetch, Hand and Kitchen with MuJoCo 4")
    pytest.importorskip("gymnasium_robotics")
    assert tr.check_task(a_task(partial(registered, "gymnasium_robotics", name))).method == "mujoco"


class FromOne(gym.Wrapper[Any, Any, Any, Any]):
    """For environments that take the seed 0 for none, as Tetris does."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return self.env.reset(seed=None if seed is None else seed + 1, options=options)


def test_tetris_takes_the_seed_0_for_none() -> None:
    pytest.importorskip("tetris_gymnasium.envs")
    name = "tetris_gymnasium/Tetris"
    with pytest.raises(NotReproducible):
        tr.check_task(a_task(partial(registered, "tetris_gymnasium.envs", name)))
    verdict = tr.check_task(a_task(lambda: FromOne(registered("tetris_gymnasium.envs", name))))
    assert (verdict.method, verdict.deterministic) == ("attributes", False)


# Made anew at every reset.


class Leaving(Line):
    """Its reset leaves something behind that nobody can see: a Python generator that goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.kicks = self._kicks()

    def _kicks(self) -> Iterator[float]:
        number = 0.0
        while True:
            number += 0.25
            yield number

    def reward(self, move: float) -> float:
        return next(self.kicks)


def test_what_no_reset_brings_back_is_refused_and_works_when_made_anew() -> None:
    with pytest.raises(NotReproducible, match=r"renewed_env"):
        tr.check_task(line_task(Leaving))
    verdict = tr.check_task(line_task(lambda: tr.renewed_env(Leaving)))
    assert (verdict.method, verdict.deterministic) == ("replay", True)
    assert "made anew at every reset" in verdict.rejected[0].reason


def test_an_environment_is_made_anew_at_every_reset_but_the_first() -> None:
    made: list[Leaving] = []

    def make() -> Leaving:
        made.append(Leaving())
        return made[-1]

    env = tr.renewed_env(make)
    rewards = []
    for _ in range(3):
        env.reset(seed=0)
        rewards.append([env.step(1)[1] for _ in range(3)])
    assert len(made) == 3
    assert rewards == [[0.25, 0.5, 0.75]] * 3
    assert env.unwrapped is made[-1]


def test_a_robot_of_bullet_works_when_made_anew() -> None:
    pytest.importorskip("panda_gym")
    make = partial(registered, "panda_gym", "PandaPush-v3")
    assert tr.check_task(a_task(lambda: tr.renewed_env(make), max_steps=20)).method == "replay"


# Crafter.


class TestCrafter(SnapshotterContract):
    snapshotter = OwnMethodsSnapshotter
    task: ClassVar[Task] = a_task(partial(tr.crafter_env, size=(36, 36), area=(32, 32)))

    @pytest.fixture(autouse=True)
    def _installed(self) -> None:
        pytest.importorskip("crafter")


def test_crafter_says_how_the_player_is() -> None:
    pytest.importorskip("crafter")
    env = tr.crafter_env(size=(36, 36), area=(32, 32), length=3)
    observation, info = env.reset(seed=3)
    assert (observation.shape, info["health"]) == ((36, 36, 3), 9)
    told = [env.step(0) for _ in range(3)]
    assert [one[2:4] for one in told] == [(False, False), (False, False), (False, True)]
    assert {"health", "inventory", "achievements", "player_pos"} <= set(told[-1][4])


def test_crafter_draws_creatures_in_an_order_of_its_own() -> None:
    """The game's own sets are ordered by addresses in memory: without the adapter, a game differs from itself."""
    pytest.importorskip("crafter")

    def played() -> list[bytes]:
        env = tr.crafter_env(size=(36, 36))
        env.reset(seed=1)
        rng = np.random.default_rng(0)
        return [env.step(int(rng.integers(17)))[0].tobytes() for _ in range(80)]

    keep = [object() for _ in range(1000)]
    first = played()
    del keep[::3]
    assert played() == first


# Procgen.


def test_procgen_is_saved_exactly_and_its_seed_is_its_level() -> None:
    pytest.importorskip("procgen")
    env = tr.procgen_env("coinrun")
    starts = [env.reset(seed=seed)[0].tobytes() for seed in (0, 1, 0)]
    assert starts[0] == starts[2] != starts[1]
    saved: Any = env.save_state()  # type: ignore[attr-defined]
    walk = [7, 7, 4, 8, 5, 7] * 8
    first = [env.step(action)[:3] for action in walk]
    env.reset(seed=1)
    env.load_state(saved)  # type: ignore[attr-defined]
    again = [env.step(action)[:3] for action in walk]
    assert all(np.array_equal(a[0], b[0]) and a[1:] == b[1:] for a, b in zip(first, again, strict=True))


# PettingZoo.


def first_free(observation: Any) -> int:
    return int(np.flatnonzero(observation["action_mask"])[0])


def any_free(observation: Any, rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(observation["action_mask"])))


def connect_four(others: Any, agent: str = "player_0") -> Any:
    return tr.one_agent_env(pytest.importorskip("pettingzoo.classic.connect_four_v3").env(), agent, others)


@pytest.mark.parametrize(("others", "deterministic"), [(first_free, True), (any_free, False)])
def test_one_agent_of_a_board_game(others: Any, deterministic: bool) -> None:
    connect_four(others)
    verdict = tr.check_task(a_task(partial(connect_four, others), goal=lambda t: t.reward > 0))
    assert (verdict.method, verdict.deterministic) == ("attributes", deterministic)


def test_the_others_play_until_it_is_the_agents_turn() -> None:
    env = connect_four(first_free, "player_1")
    observation, info = env.reset(seed=0)
    # The first player has put its stone into the first column.
    assert observation[..., 1].sum() == 1
    assert observation[5, 0, 1] == 1
    assert info["action_mask"].tolist() == [1] * 7
    assert env.observation_space.contains(observation)
    rewards = []
    for action in (6, 6, 6):
        _, reward, terminated, truncated, _ = env.step(action)
        rewards.append((reward, terminated, truncated))
    # The other has four stones in a column by then.
    assert rewards == [(0.0, False, False), (0.0, False, False), (-1.0, True, False)]


class Together:
    """A parallel world: two walkers, and who steps on the other's place ends it."""

    possible_agents: ClassVar[list[str]] = ["a", "b"]
    render_mode = None

    def observation_space(self, agent: str) -> Any:
        return gym.spaces.Discrete(9)

    def action_space(self, agent: str) -> Any:
        return gym.spaces.Discrete(2)

    def reset(self, seed: Any = None, options: Any = None) -> Any:
        self.agents, self.places = ["a", "b"], {"a": 0, "b": 8}
        return dict(self.places), {"a": {}, "b": {}}

    def step(self, actions: Any) -> Any:
        self.places = {"a": self.places["a"] + actions["a"], "b": self.places["b"] - actions["b"]}
        met = dict.fromkeys("ab", self.places["a"] >= self.places["b"])
        return dict(self.places), {"a": 1.0, "b": 0.0}, met, dict.fromkeys("ab", False), {"a": {}, "b": {}}

    def close(self) -> None:
        pass


def test_agents_that_act_together() -> None:
    env = tr.one_agent_env(Together(), "a", lambda observation: 1)
    assert env.reset(seed=0) == (0, {})
    told = [env.step(1)[:4] for _ in range(4)]
    assert told == [(1, 1.0, False, False), (2, 1.0, False, False), (3, 1.0, False, False), (4, 1.0, True, False)]
    verdict = tr.check_task(a_task(lambda: tr.one_agent_env(Together(), "a", lambda observation: 1)))
    assert verdict.exact


def test_the_others_must_be_given_and_are_named_when_they_fail() -> None:
    with pytest.raises(TaskError, match=r"no agent 'c'.*a, b"):
        tr.one_agent_env(Together(), "c", {})
    with pytest.raises(TaskError, match="what does the other agent 'b' do"):
        tr.one_agent_env(Together(), "a", {})
    env = tr.one_agent_env(Together(), "a", {"b": lambda observation: 1 // 0})
    env.reset(seed=0)
    with pytest.raises(AgentFailure, match="other agent 'b' raised ZeroDivisionError"):
        env.step(1)


@pytest.mark.parametrize(
    ("library", "make"), [("crafter", tr.crafter_env), ("procgen", lambda: tr.procgen_env("maze"))]
)
def test_without_the_library_its_extra_is_named(library: str, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, library, None)  # type: ignore[arg-type]
    with pytest.raises(MissingExtra, match=library):
        make().reset(seed=0)
