"""Super Mario Bros. as a Gymnasium environment with exact snapshots that cost nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple, TypeAlias

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from tightrope.errors import TaskError, UsageError
from tightrope_mario.game import ram
from tightrope_mario.game.actions import action_names, buttons
from tightrope_mario.game.emulator import GameMoment, shared_machine
from tightrope_mario.game.levels import find_level
from tightrope_mario.game.pictures import SHAPE, STACK, FrameRecord, LazyFrames
from tightrope_mario.game.rewards import find_reward
from tightrope_mario.game.rom import find_rom

FrameSkip: TypeAlias = int | tuple[int, int]
"""Frames an action is held: a number, or (fewest, most) to draw from at each step."""

RANDOM_FRAME_SKIP = (3, 5)

Observation: TypeAlias = NDArray[np.uint8] | LazyFrames


class SavedState(NamedTuple):
    """An immutable snapshot. It shares the emulator's states instead of copying them."""

    moment: GameMoment
    rewarded: bytes
    furthest: int
    steps: int
    over: bool
    records: tuple[FrameRecord, ...]
    generator: Mapping[str, Any] | None


class MarioEnv(gym.Env[Any, Any]):
    """One level; an episode ends when Mario dies or wins it.

    ``lazy=True`` returns observations that are rendered only when looked at.
    """

    _moment: GameMoment
    _rewarded: bytes
    """The state that the last frame's reward was computed at; scenes that play themselves are not rewarded."""
    _furthest: int
    _steps: int
    _over: bool
    _records: tuple[FrameRecord, ...]

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012 - Gymnasium's own convention

    def __init__(
        self,
        *,
        level: str = "1-1",
        actions: str | Sequence[str] = "2-moves",
        reward: str = "dense",
        frame_skip: FrameSkip = 4,
        rom: str | PathLike[str] | None = None,
        lazy: bool = False,
        render_mode: str | None = "rgb_array",
    ) -> None:
        self.level = find_level(level)
        self.action_names = action_names(actions)
        self._masks = [buttons(name) for name in self.action_names]
        self._reward = find_reward(reward)
        self._skip = checked_frame_skip(frame_skip)
        self._machine = shared_machine(find_rom(rom))
        self._lazy = lazy
        self.render_mode = render_mode
        self.action_space = gym.spaces.Discrete(len(self._masks))
        self.observation_space = gym.spaces.Box(0, 255, SHAPE, np.uint8)
        self._begin()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Put Mario at the start of the level."""
        super().reset(seed=seed)
        self._begin()
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Hold a button combination for some frames, and run through whatever the game then plays by itself."""
        if self._over:
            raise gym.error.ResetNeeded("the episode is over: Mario died or won the level; call reset() first")
        pressed, machine, length = self._masks[action], self._machine, self.level.length
        total, moment = 0.0, self._moment
        for _ in range(self._frames_to_hold()):
            blob = machine.run(moment.blob, pressed)
            total += self._reward(self._rewarded, blob, self._furthest, length)
            self._rewarded, moment = blob, GameMoment(blob, moment.blob, pressed)
            self._furthest = max(self._furthest, ram.x(blob))
            if ram.dying(blob) or ram.flag(blob):
                self._over = True
                break
            if blob[ram.AREA_CHANGE_TIMER] > 1 or blob[ram.PLAYER_STATE] in ram.BUSY:
                moment = machine.through_scenes(moment)
        self._moment = moment
        self._remember_frame()
        self._steps += 1
        return self._observation(), total, self._over, self._left_the_level(), self._info()

    def render(self) -> Any:
        """The newest frame in colour, 224 × 240."""
        return self._machine.screen(self._moment.before, self._moment.pressed)

    def save_state(self) -> SavedState:
        """Everything the future depends on, in about a microsecond."""
        generator = self.np_random.bit_generator.state if self._is_random else None
        return SavedState(
            self._moment, self._rewarded, self._furthest, self._steps, self._over, self._records, generator
        )

    def load_state(self, saved: SavedState) -> None:
        """Go back to exactly where ``save_state`` was called, also from another environment of the same level."""
        self._moment, self._rewarded, self._furthest, self._steps, self._over, self._records, generator = saved
        if generator is not None:
            self.np_random.bit_generator.state = generator

    @property
    def blob(self) -> bytes:
        """The emulator's state; `tightrope_mario.game.ram` reads it."""
        return self._moment.blob

    @property
    def observation(self) -> Observation:
        """What an agent sees now."""
        return self._observation()

    @property
    def draws_nothing(self) -> bool:
        """Whether no step draws at random: only a frame skip between two numbers does."""
        return not self._is_random

    @property
    def _is_random(self) -> bool:
        return self._skip[0] != self._skip[1]

    def _frames_to_hold(self) -> int:
        fewest, most = self._skip
        return fewest if fewest == most else int(self.np_random.integers(fewest, most + 1))

    def _begin(self) -> None:
        self._moment = self._machine.level_start(self.level)
        self._rewarded = self._moment.blob
        self._furthest = ram.x(self._moment.blob)
        self._steps = 0
        self._over = False
        self._records = (FrameRecord(self._moment.before, self._moment.pressed),) * STACK

    def _remember_frame(self) -> None:
        newest = FrameRecord(self._moment.before, self._moment.pressed)
        # Whoever looked at the last observation will want this one too, and now its screen needs no second run.
        if self._records[-1].looked_at:
            newest.draw(self._machine)
        self._records = (*self._records[1:], newest)

    def _observation(self) -> Observation:
        frames = LazyFrames(self._machine, self._records)
        return frames if self._lazy else np.asarray(frames)

    def _left_the_level(self) -> bool:
        """A warp pipe led to another world, where this level's goal can no longer be reached."""
        blob = self._moment.blob
        return blob[ram.WORLD] != self.level.world - 1 and not self._over

    def _info(self) -> dict[str, Any]:
        blob = self._moment.blob
        return {
            "x": ram.x(blob),
            "y": ram.y(blob),
            "level": ram.level(blob),
            "time": ram.clock(blob),
            "lives": blob[ram.LIVES],
            "status": ram.status(blob),
            "score": ram.score(blob),
            "flag": ram.flag(blob),
            "dying": ram.dying(blob),
            "steps": self._steps,
        }


def checked_frame_skip(frame_skip: FrameSkip | Sequence[int] | str) -> tuple[int, int]:
    """Turn what the user wrote into (fewest, most) frames."""
    if frame_skip == "random":
        return RANDOM_FRAME_SKIP
    if isinstance(frame_skip, str):
        raise UsageError(f"frame_skip is a number, a pair of numbers or 'random', not {frame_skip!r}")
    pair = (frame_skip, frame_skip) if isinstance(frame_skip, int) else tuple(frame_skip)
    if len(pair) != 2 or not 1 <= pair[0] <= pair[1]:
        raise TaskError(f"frame_skip holds an action for one frame or more, fewest first; {frame_skip!r} does not")
    return pair[0], pair[1]
