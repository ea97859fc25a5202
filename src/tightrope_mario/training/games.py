"""Many games at once: processes that each step some games and leave what happened in shared memory."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import EnvironmentFailure
from tightrope_mario.game import ram
from tightrope_mario.game.environment import MarioEnv, SavedState
from tightrope_mario.game.pictures import SIZE, STACK
from tightrope_mario.training.starts import ActionNames, saved_states

FIELDS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "frame": (np.uint8, (SIZE, SIZE)),
    "earlier": (np.uint8, (STACK - 1, SIZE, SIZE)),
    "action": (np.int32, ()),
    "start": (np.int32, ()),
    "rewind": (np.int32, ()),
    "reward": (np.float32, ()),
    "over": (np.uint8, ()),
    "age": (np.int32, ()),
    "episode_return": (np.float32, ()),
    "episode_steps": (np.int32, ()),
    "episode_x": (np.int32, ()),
    "episode_flag": (np.uint8, ()),
    "episode_died": (np.uint8, ()),
    "rewound": (np.uint8, ()),
}
"""What each game shares. ``frame`` and ``age`` are of the situation now; ``start`` is where the next episode begins: a
situation, counted from 1, or 0 for the start of the level. Where ``rewind`` is not 0 and Mario dies, the next episode
begins so many steps before that instead: ``rewound`` tells, and ``earlier`` has the frames before its first one. The
rest is of the step that led to it."""

GO, STOP = b"go", b"stop"


@dataclass(frozen=True, kw_only=True)
class GameSettings:
    """What the games have in common."""

    level: str
    actions: str
    reward: str
    patience: int | None
    cut_reward: float
    rom: str | None
    starts: tuple[ActionNames, ...] = ()
    """The ways to the situations that games can begin in."""
    rewinds: int = 0
    """How many steps before a loss a game begins again at the most."""


class Board:
    """The shared memory as one array per field, a row per game."""

    def __init__(self, games: int, name: str | None = None) -> None:
        sizes = [int(np.prod(shape, dtype=int)) * np.dtype(kind).itemsize * games for kind, shape in FIELDS.values()]
        self._memory = SharedMemory(name=name, create=name is None, size=sum(sizes))
        self.name = self._memory.name
        self.fields: dict[str, NDArray[Any]] = {}
        # Largest items first in FIELDS keeps every array aligned.
        offsets = np.cumsum([0, *sizes[:-1]])
        for (field, (kind, shape)), offset in zip(FIELDS.items(), offsets, strict=True):
            self.fields[field] = np.ndarray((games, *shape), kind, self._memory.buf, int(offset))

    def __getitem__(self, field: str) -> NDArray[Any]:
        return self.fields[field]

    def close(self, *, remove: bool) -> None:
        """Let go of the memory; the owner also removes it."""
        self.fields.clear()
        self._memory.close()
        if remove:
            self._memory.unlink()


class Games:
    """All games of a training run; between ``start_step`` and ``finish_step`` they are emulated."""

    def __init__(self, settings: GameSettings, workers: int, lanes: int) -> None:
        self.board = Board(workers * lanes)
        context = multiprocessing.get_context("spawn")
        self._pipes: list[Connection] = []
        self._processes = []
        # One thread each: the pictures are too small for a linear algebra library to share out.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        for worker in range(workers):
            ours, theirs = context.Pipe()
            rows = range(worker * lanes, (worker + 1) * lanes)
            process = context.Process(
                target=_play, args=(theirs, self.board.name, workers * lanes, rows, settings), daemon=True
            )
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)

    def start_step(self, actions: NDArray[np.int32]) -> None:
        """Hand every game its next action."""
        self.board["action"][:] = actions
        for pipe in self._pipes:
            pipe.send_bytes(GO)

    def finish_step(self) -> None:
        """Wait until every game has taken its step (or, the first time, stands at its start)."""
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            try:
                pipe.recv_bytes()
            except EOFError:
                process.join()
                raise EnvironmentFailure(
                    f"a process with games ended by itself (exit code {process.exitcode}); its error is printed above. "
                    f"Training goes on from the last checkpoint when started again."
                ) from None

    def close(self) -> None:
        """End the processes and remove the shared memory."""
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            if process.is_alive():
                pipe.send_bytes(STOP)
            process.join()
            pipe.close()
        self.board.close(remove=True)


def _play(pipe: Connection, memory: str, games: int, rows: range, settings: GameSettings) -> None:
    board = Board(games, memory)
    states = saved_states(settings.level, settings.starts, settings.rom)
    lanes = [_Lane(board, row, settings, states) for row in rows]
    pipe.send_bytes(GO)
    for _ in _orders(pipe):
        for lane in lanes:
            lane.step()
        pipe.send_bytes(GO)
    del lanes
    board.close(remove=False)


def _orders(pipe: Connection) -> Iterator[bytes]:
    try:
        while (order := pipe.recv_bytes()) != STOP:
            yield order
    except EOFError:
        return


class _Lane:
    """One game and its line on the board."""

    def __init__(self, board: Board, row: int, settings: GameSettings, states: Sequence[SavedState]) -> None:
        self._board = board
        self._row = row
        self._states = states
        self._patience, self._cut_reward = settings.patience, settings.cut_reward
        self._return, self._steps, self._furthest, self._without_progress = 0.0, 0, 0, 0
        self._way: deque[SavedState] = deque(maxlen=settings.rewinds + 1)
        """The latest situations of this game, the one now included."""
        self._env = MarioEnv(
            level=settings.level, actions=settings.actions, reward=settings.reward, rom=settings.rom, lazy=True
        )
        self._begin()

    def step(self) -> None:
        """Take the step the board asks for, and begin again where it ended the episode."""
        board, row = self._board, self._row
        observation, reward, terminated, truncated, info = self._env.step(int(board["action"][row]))
        self._return += reward
        self._steps += 1
        self._without_progress = 0 if info["x"] > self._furthest else self._without_progress + 1
        self._furthest = max(self._furthest, info["x"])
        over = terminated or truncated
        cut = not over and self._without_progress == self._patience
        board["reward"][row] = reward + self._cut_reward if cut else reward
        board["over"][row] = over or cut
        if over or cut:
            self._write_episode(info["flag"], info["dying"])
            self._begin(died=info["dying"])
        else:
            self._way.append(self._env.save_state())
            board["frame"][row] = observation.newest()  # type: ignore[union-attr]
            board["age"][row] = self._steps

    def _begin(self, *, died: bool = False) -> None:
        back = int(self._board["rewind"][self._row]) if died else 0
        self._board["rewound"][self._row] = bool(back and self._way)
        if back and self._way:
            self._rewind(back)
        else:
            self._begin_anew()
        self._return, self._steps, self._without_progress = 0.0, 0, 0
        self._furthest = ram.x(self._env.blob)
        self._board["frame"][self._row] = self._env.observation.newest()  # type: ignore[union-attr]
        self._board["age"][self._row] = 0

    def _begin_anew(self) -> None:
        self._env.reset()
        start = int(self._board["start"][self._row])
        if start:
            self._env.load_state(self._states[start - 1])
        self._way.clear()
        self._way.append(self._env.save_state())

    def _rewind(self, back: int) -> None:
        """Go back on the game's own way, which stays known: who dies again at once can be put further back."""
        for _ in range(min(back, len(self._way)) - 1):
            self._way.pop()
        self._env.load_state(self._way[-1])
        self._board["earlier"][self._row] = np.asarray(self._env.observation)[:-1]

    def _write_episode(self, flag: bool, died: bool) -> None:
        board, row = self._board, self._row
        board["episode_return"][row] = self._return
        board["episode_steps"][row] = self._steps
        board["episode_x"][row] = self._furthest
        board["episode_flag"][row] = flag
        board["episode_died"][row] = died
