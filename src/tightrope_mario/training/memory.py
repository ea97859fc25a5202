"""What was played, kept on the device that learns; torch comes into the case study here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import UsageError, require_extra
from tightrope_mario.game.pictures import SIZE, STACK


def import_torch() -> Any:
    """The library, or the error that says how to get it."""
    return require_extra("torch", "torch", "training")


def choose_device(name: str) -> str:
    """Resolve ``"auto"`` and refuse a GPU that is not there."""
    torch = import_torch()
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise UsageError(f"device={name!r}: torch sees no GPU here; use device='cpu' or install a CUDA build of torch")
    return name


class Memory:
    """What was played, on the device: each frame once; stacks of four are put together when asked for.

    Row ``tick % ticks`` holds, for every game, the newest frame of a situation, how many steps its episode is old, and
    the action, reward and end of the step taken there.

    ``earlier`` are the frames before the first one of an episode, for each place where one can begin; without them the
    first frame stands in, as it does at the start of a level. ``places`` are further ones, written later.
    """

    def __init__(
        self, ticks: int, games: int, device: str, earlier: NDArray[np.uint8] | None = None, places: int = 0
    ) -> None:
        torch = self._torch = import_torch()
        self.ticks, self.games, self.device = ticks, games, device
        self.now = 0
        self.frame = torch.zeros((ticks, games, SIZE, SIZE), dtype=torch.uint8, device=device)
        self.age = torch.zeros((ticks, games), dtype=torch.int64, device=device)
        self.start = torch.zeros((ticks, games), dtype=torch.int64, device=device)
        self._earlier: Any = None
        if earlier is not None:
            shape = (len(earlier) + places, *earlier.shape[1:])
            self._earlier = torch.zeros(shape, dtype=torch.uint8, device=device)
            self._earlier[: len(earlier)].copy_(torch.from_numpy(earlier))
        self.action = torch.zeros((ticks, games), dtype=torch.int64, device=device)
        self.reward = torch.zeros((ticks, games), dtype=torch.float32, device=device)
        self.alive = torch.zeros((ticks, games), dtype=torch.float32, device=device)

    def write_situation(
        self, frame: NDArray[np.uint8], age: NDArray[np.int32], start: NDArray[np.int32] | None = None
    ) -> None:
        """Where every game stands now, and the number of the place where its episode began."""
        row = self.now % self.ticks
        if start is not None:
            self.start[row].copy_(self._torch.from_numpy(start))
        self.frame[row].copy_(self._torch.from_numpy(frame))
        self.age[row].copy_(self._torch.from_numpy(age))

    def write_earlier(self, place: int, frames: NDArray[np.uint8]) -> None:
        """What was seen before the first frame of the episodes that begin at this place."""
        self._earlier[place].copy_(self._torch.from_numpy(frames))

    def write_step(self, action: NDArray[Any], reward: NDArray[np.float32], over: NDArray[np.uint8]) -> None:
        """What every game did there and got for it; time goes on."""
        row, torch = self.now % self.ticks, self._torch
        self.action[row].copy_(torch.from_numpy(action))
        self.reward[row].copy_(torch.from_numpy(reward))
        self.alive[row].copy_(torch.from_numpy(1 - over))
        self.now += 1

    def stacks(self, tick: Any, game: Any) -> Any:
        """The observations at these ticks in these games, scaled to 0 … 1."""
        torch = self._torch
        back = torch.arange(STACK - 1, -1, -1, device=self.device)[None, :]
        age = self.age[tick % self.ticks, game][:, None]
        # Before an episode's first frame there is nothing; the first frame stands in, as it does in the game.
        rows = (tick[:, None] - torch.minimum(back, age)) % self.ticks
        frames = self.frame[rows, game[:, None]]
        if self._earlier is not None:
            start = self.start[tick % self.ticks, game][:, None]
            place = (STACK - 1 - (back - age)).clamp(0, STACK - 2)
            frames = torch.where((back > age)[:, :, None, None], self._earlier[start, place], frames)
        return frames.float().div_(255)

    def newest_stacks(self) -> Any:
        """The observations of all games now."""
        games = self._torch.arange(self.games, device=self.device)
        return self.stacks(self._torch.full_like(games, self.now), games)

    def drawable(self, n_step: int) -> tuple[int, int]:
        """The first tick whose stack is still kept, and the first after those whose n steps are complete."""
        return max(0, self.now - self.ticks + STACK), self.now - n_step + 1
