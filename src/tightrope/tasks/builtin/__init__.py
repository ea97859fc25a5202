"""The tasks that come with tightrope, by name. Their libraries are imported when an environment is made."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tightrope.tasks.builtin import atari, box2d, classic_control, highway, minigrid, mujoco, toy_text
from tightrope.tasks.task import Task

BUILTIN_TASKS: dict[str, Callable[..., Task]] = {
    "FrozenLake-v1": toy_text.frozen_lake_4x4,
    "FrozenLake8x8-v1": toy_text.frozen_lake_8x8,
    # Some are registered under two versions; the installed libraries have one or both.
    **{name: partial(toy_text.cliff_walking, name) for name in ("CliffWalking-v0", "CliffWalking-v1")},
    **{name: partial(toy_text.taxi, name) for name in ("Taxi-v3", "Taxi-v4")},
    "CartPole-v1": classic_control.cart_pole,
    "MountainCar-v0": classic_control.mountain_car,
    "Acrobot-v1": classic_control.acrobot,
    "LunarLander-v3": box2d.lunar_lander,
    "BipedalWalker-v3": box2d.bipedal_walker,
    **{name: partial(minigrid.lava_crossing, name) for name in minigrid.LAVA_CROSSINGS},
    **{name: partial(minigrid.dynamic_obstacles, name) for name in minigrid.DYNAMIC_OBSTACLES},
    "highway-v0": partial(highway.highway, "highway-v0"),
    "highway-fast-v0": partial(highway.highway, "highway-fast-v0"),
    **{name: partial(highway.merge, name) for name in ("merge-v0", "merge-v1")},
    "ALE/Freeway-v5": atari.freeway,
    "ALE/MsPacman-v5": atari.ms_pacman,
    "Hopper-v5": mujoco.hopper,
    "Walker2d-v5": mujoco.walker2d,
    "HalfCheetah-v5": mujoco.half_cheetah,
}
