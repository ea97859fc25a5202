"""Atari games. Their own stickiness is switched off: the action it repeats cannot be saved; a wrapper's can."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

import gymnasium as gym

from tightrope.tasks.builtin.making import make_environment
from tightrope.tasks.keys import LossyKey
from tightrope.tasks.task import Task, Transition

STEP_SECONDS = 0.0005
FRAME_SKIP = 4
"""Frames an action is held, as in Gymnasium's v5 environments."""

# Addresses in the console's memory, most of them after the AtariARI annotations (Anand et al. 2019).
FREEWAY_CHICKEN, FREEWAY_STUNNED, FREEWAY_CARS = 14, 106, slice(108, 118)
PACMAN_X, PACMAN_Y, PACMAN_DOTS = 10, 16, 119

PACMAN_OPENING = 66
"""Steps during which the game plays its tune and nobody moves."""


class ScoreInInfo(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Adds the score since reset and the console's memory to ``info``.

    ``opening``: steps without action that a reset plays, for games that make one wait.
    """

    def __init__(self, env: Any, opening: int = 0) -> None:
        gym.utils.RecordConstructorArgs.__init__(self, opening=opening)
        gym.Wrapper.__init__(self, env)
        self.opening = opening
        self.score = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin at zero."""
        observation, info = self.env.reset(seed=seed, options=options)
        for _ in range(self.opening):
            observation, _, _, _, info = self.env.step(0)
        self.score = 0.0
        return observation, {**info, "score": self.score, "memory": memory_of(self.env)}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step and count."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.score += float(reward)
        return observation, reward, terminated, truncated, {**info, "score": self.score, "memory": memory_of(self.env)}


def memory_of(env: Any) -> bytes:
    """The console's 128 bytes."""
    return bytes(env.unwrapped.ale.getRAM())


def atari_environment(name: str, obs_type: str, sticky: float, preprocessed: bool, opening: int = 0) -> Any:
    """The game without ALE's own sticky actions; with the wrappers of the usual agents when ``preprocessed``."""
    env = make_environment(
        name,
        "ale_py",
        "atari",
        obs_type=obs_type,
        repeat_action_probability=0.0,
        frameskip=1 if preprocessed else FRAME_SKIP,
    )
    if sticky:
        env = gym.wrappers.StickyAction(env, sticky)
    if preprocessed:
        env = gym.wrappers.AtariPreprocessing(env, frame_skip=FRAME_SKIP, noop_max=0)
        env = gym.wrappers.FrameStackObservation(env, 4)
    return ScoreInInfo(env, opening)


def freeway(
    *, points: int = 2, obs_type: str = "rgb", sticky: float = 0.0, preprocessed: bool = False, max_steps: int = 2000
) -> Task:
    """Bring the chicken across the road so many times; being hit by a car is unsafe."""
    return Task(
        name="ALE/Freeway-v5",
        make_env=partial(atari_environment, "ALE/Freeway-v5", obs_type, sticky, preprocessed),
        goal=partial(scored, points),
        step_seconds=STEP_SECONDS,
        unsafe=hit_by_a_car,
        state_key=chicken_and_cars,
        identity=memory_key,
        actions=(1, 0, 2),
        action_names=("no-op", "up", "down"),
        max_steps=max_steps,
        position=chicken_position,
        position_names=("game time (frames)", "height of the chicken (pixels)"),
    )


def scored(points: int, transition: Transition) -> bool:
    """The score since reset."""
    return bool(transition.info.get("score", 0.0) >= points)


def hit_by_a_car(transition: Transition) -> bool:
    """The chicken lies stunned: the game counts down to 64 (after an arrival, to 128)."""
    return bool(0 < transition.info["memory"][FREEWAY_STUNNED] < 128)


@LossyKey
def chicken_and_cars(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """Height of the chicken and places of the ten cars."""
    memory = info["memory"]
    return memory[FREEWAY_CHICKEN], memory[FREEWAY_CARS]


def memory_key(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """All of the console's memory."""
    return info["memory"]  # type: ignore[no-any-return]


def chicken_position(env: Any, observation: Any, info: Mapping[str, Any]) -> tuple[float, float]:
    """Game time in frames, and the height of the chicken."""
    return float(env.unwrapped.ale.getEpisodeFrameNumber()), float(info["memory"][FREEWAY_CHICKEN])


def ms_pacman(
    *, points: int = 500, obs_type: str = "rgb", sticky: float = 0.0, preprocessed: bool = False, max_steps: int = 2000
) -> Task:
    """Eat dots for so many points; losing a life is unsafe."""
    return Task(
        name="ALE/MsPacman-v5",
        make_env=partial(atari_environment, "ALE/MsPacman-v5", obs_type, sticky, preprocessed, PACMAN_OPENING),
        goal=partial(scored, points),
        step_seconds=STEP_SECONDS,
        unsafe=lost_a_life,
        state_key=pacman_and_dots,
        identity=memory_key,
        actions=(1, 2, 3, 4),
        action_names=("no-op", "up", "right", "left", "down", "up-right", "up-left", "down-right", "down-left"),
        max_steps=max_steps,
        position=pacman_position,
        position_names=("x (pixels)", "y (pixels)"),
    )


PACMAN_LIVES = 3


def lost_a_life(transition: Transition) -> bool:
    """Fewer lives than at the start, or caught: the game then plays the end of a life."""
    return bool(transition.info["lives"] < PACMAN_LIVES)


@LossyKey
def pacman_and_dots(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """Where Ms. Pac-Man is and how many dots she has eaten, not where the ghosts are."""
    memory = info["memory"]
    return memory[PACMAN_X], memory[PACMAN_Y], memory[PACMAN_DOTS]


def pacman_position(env: Any, observation: Any, info: Mapping[str, Any]) -> tuple[float, float]:
    """Where Ms. Pac-Man is, in the game's own coordinates."""
    return float(info["memory"][PACMAN_X]), float(info["memory"][PACMAN_Y])
