"""Games that begin in situations instead of at the start of the level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tightrope import open_run
from tightrope.errors import UsageError
from tightrope.training import Situation, StartWeights, situations_from
from tightrope_mario.game.actions import action_names
from tightrope_mario.game.environment import MarioEnv, SavedState
from tightrope_mario.game.pictures import SIZE, STACK
from tightrope_mario.training import defaults

WATCHED = 40
"""Steps in which dying counts as failing in the situation, as a suite has it by default; later deaths are others."""

ActionNames = tuple[str, ...]
"""What is pressed from the start of the level to a situation."""


@dataclass(frozen=True, kw_only=True)
class Starts:
    """Where a share of the games begin."""

    situations: tuple[Situation, ...]
    actions: tuple[str, ...]
    """What the numbers in their traces press."""
    share: float = defaults.SHARE
    weights: StartWeights = defaults.WEIGHTS
    watched: int = WATCHED

    @property
    def ways(self) -> tuple[ActionNames, ...]:
        """The situations as button names, which every action set understands."""
        return tuple(
            tuple(self.actions[cast(int, action)] for action in known.trace.actions) for known in self.situations
        )

    def described(self) -> dict[str, Any]:
        """What a reader needs to know of them."""
        return {"situations": len(self.situations), "share": self.share, "weights": self.weights}


def starts_from(
    path: Path,
    level: str,
    actions: str,
    *,
    share: float = defaults.SHARE,
    weights: StartWeights = defaults.WEIGHTS,
    steps_before: int = 0,
) -> Starts:
    """The failing situations of a run folder, or all situations of a suite or trace file of the same level.

    Args:
        path: The run folder or the file.
        level: That is trained on.
        actions: What the numbers in a file press; a run has its own.
        share: The share of games that begin in a situation.
        weights: How one is chosen: equal, fails or adaptive.
        steps_before: Begin so many steps earlier.
    """
    names = action_names(actions)
    if path.is_dir():
        run = open_run(path)
        names = _names_in(run.manifest.settings.task, run.manifest.settings.options, level, path)
        situations = situations_from(run, steps_before=steps_before)
    else:
        situations = situations_from(path, steps_before=steps_before)
    if not situations:
        raise UsageError(f"{path} has no situations to begin in: no case of it fails and is survivable")
    return Starts(situations=situations, actions=names, share=share, weights=weights, watched=WATCHED + steps_before)


def saved_states(level: str, ways: Sequence[ActionNames], rom: str | None) -> list[SavedState]:
    """The situations these ways lead to; what several have in common is played once."""
    names = tuple(sorted({name for way in ways for name in way})) or ("none",)
    env = MarioEnv(level=level, actions=names, rom=rom, lazy=True)
    path: list[str] = []
    states = [env.save_state()]
    found: dict[int, SavedState] = {}
    for number in sorted(range(len(ways)), key=lambda number: ways[number]):
        common = _in_common(path, ways[number])
        del path[common:], states[common + 1 :]
        env.load_state(states[-1])
        for name in ways[number][common:]:
            _, _, over, left, _ = env.step(names.index(name))
            path.append(name)
            if over or left:
                raise UsageError(
                    f"situation {number} cannot be reached on level {level}: the game is over after {len(path)} of "
                    f"{len(ways[number])} actions. Was it found on another level, or with another frame skip?"
                )
            states.append(env.save_state())
        found[number] = states[-1]
    return [found[number] for number in range(len(ways))]


def earlier_frames(level: str, ways: Sequence[ActionNames], rom: str | None) -> NDArray[np.uint8]:
    """What an agent sees besides the newest frame where games begin: the start of the level, then the situations."""
    env = MarioEnv(level=level, rom=rom)
    frames = np.zeros((1 + len(ways), STACK - 1, SIZE, SIZE), np.uint8)
    frames[0] = np.asarray(env.observation)[:-1]
    for number, state in enumerate(saved_states(level, ways, rom), start=1):
        env.load_state(state)
        frames[number] = np.asarray(env.observation)[:-1]
    return frames


def _in_common(first: Sequence[str], second: Sequence[str]) -> int:
    """How many names both begin with."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((number for number, (one, other) in pairs if one != other), min(len(first), len(second)))


def _names_in(task: str, options: dict[str, Any], level: str, path: Path) -> ActionNames:
    """What the actions of a run press; it must be of this level."""
    if task != "mario" or options.get("level", "1-1") != level:
        there = f"{task} {options.get('level', '1-1')}" if task == "mario" else task
        raise UsageError(f"{path} is a run of {there}; situations of mario {level} are needed")
    return action_names(options.get("actions", "2-moves"))
