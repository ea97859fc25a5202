"""The task ``mario``: what is goal, what is unsafe, and how the search looks at the game."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from os import PathLike, fspath
from typing import Any

from tightrope import LossyKey, Task, Transition, Visit
from tightrope.extending import Action
from tightrope_mario.game import ram
from tightrope_mario.game.actions import ACTION_SETS, SEARCH_SET, action_names, positions_in
from tightrope_mario.game.environment import FrameSkip, MarioEnv, checked_frame_skip
from tightrope_mario.game.levels import find_level
from tightrope_mario.game.map import draw_level, with_area
from tightrope_mario.game.rewards import find_reward
from tightrope_mario.game.rom import ROM_SHA1

CASTLE = 3
"""The last stage of each world, counted from 0."""
STUCK_STEPS = 4
"""Steps without a change of x after which a branch of the search is given up."""


def mario_task(
    *,
    level: str = "1-1",
    actions: str | Sequence[str] = "2-moves",
    reward: str = "dense",
    frame_skip: FrameSkip | str = 4,
    search_actions: str | Sequence[str] | None = None,
    rom: str | PathLike[str] | None = None,
) -> Task:
    """Super Mario Bros., one of its 32 levels; ``frame_skip="random"`` (3 to 5 frames) makes it stochastic.

    ``search_actions`` is what the search tries, of the actions there are: 2-moves where they are among them, else all.
    """
    find_level(level)
    find_reward(reward)
    names, skip = action_names(actions), checked_frame_skip(frame_skip)
    return Task(
        name="mario",
        make_env=partial(
            MarioEnv,
            level=level,
            actions=names,
            reward=reward,
            frame_skip=skip,
            rom=None if rom is None else fspath(rom),
            lazy=True,
        ),
        goal=won,
        unsafe=died,
        state_key=place_and_motion,
        cell=coarse_place,
        actions=_search_actions(search_actions, names),
        action_names=names,
        action_sets=ACTION_SETS,
        identity=memory_fingerprint,
        stuck=not_moving,
        order_actions=default_action_flipped,
        position=position,
        draw_map=draw_level,
        one_per_process=True,
        step_seconds=0.001,
        fingerprint={"rom sha1": ROM_SHA1},
    )


def won(transition: Transition) -> bool:
    """The flag was reached, or the axe."""
    return bool(transition.info["flag"])


def died(transition: Transition) -> bool:
    """Mario died: hit, fallen or out of time."""
    return bool(transition.info["dying"])


@LossyKey
def place_and_motion(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """Where Mario is, to the sub-pixel, and how fast he moves; not where the enemies are, nor the clock."""
    blob = env.unwrapped.blob
    return ram.place(blob) + ram.motion(blob)


def coarse_place(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """Where Mario is, to the block of 16 pixels; in water and mazes, where backtracking drowns, enough to get on.

    In castles a coin means that a hidden block was hit: in 8-4 the only way on leads over one.
    """
    blob = env.unwrapped.blob
    hidden_blocks_hit = ram.coins(blob) if blob[ram.STAGE] == CASTLE else 0
    return (*ram.place(blob), hidden_blocks_hit, ram.x(blob) // 16, ram.y(blob) // 16)


def memory_fingerprint(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """A hash of the console's memory: all that the game's future depends on."""
    return hashlib.blake2b(ram.work_ram(env.unwrapped.blob), digest_size=16).digest()


def position(env: Any, observation: Any, info: Mapping[str, Any]) -> tuple[float, float]:
    """Where Mario is in his area, in pixels; y is the height above the bottom, and the fraction of x tells the area."""
    return with_area(info["x"], ram.area(env.unwrapped.blob)), float(info["y"])


def not_moving(path: Sequence[Visit]) -> bool:
    """Whether x has not changed for `STUCK_STEPS` steps."""
    if len(path) <= STUCK_STEPS:
        return False
    x = path[-1].info["x"]
    return all(visit.info["x"] == x for visit in path[-STUCK_STEPS - 1 : -1])


def default_action_flipped(actions: Sequence[Action], path: Sequence[Visit], backtracks: int) -> Sequence[Action]:
    """Begin with another action after each backtrack: whatever led to the dead end is no longer the first choice."""
    first = backtracks % len(actions)
    return (*actions[first:], *actions[:first])


def _search_actions(wanted: str | Sequence[str] | None, offered: Sequence[str]) -> tuple[int, ...] | None:
    if wanted is not None:
        return positions_in(wanted, offered)
    if set(action_names(SEARCH_SET)) <= set(offered):
        return positions_in(SEARCH_SET, offered)
    return None
