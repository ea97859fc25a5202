"""Agents that remember, draw, or both, in every way a user may write one. Importable, so that workers find them."""

from __future__ import annotations

import itertools
import os
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np


def digest(observation: Any) -> int:
    return int.from_bytes(np.asarray(observation).tobytes()[:6], "little") // 7


class StepCounter:
    """Plays by the number of steps since reset."""

    def __init__(self) -> None:
        self.steps = -999

    def reset(self) -> None:
        self.steps = 0

    def act(self, observation: Any) -> int:
        self.steps += 1
        return (self.steps + self.steps // 3) % 2


class Frames:
    """Called, without a reset: remembers the last four observations."""

    def __init__(self) -> None:
        self.frames: deque[int] = deque(maxlen=4)

    def __call__(self, observation: Any) -> int:
        self.frames.append(digest(observation))
        return sum(self.frames) // 3 % 2


class Predicting:
    """Stable-Baselines3's way of remembering, in an array that it changes in place."""

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False
    ) -> Any:
        state = np.zeros(1, np.int64) if state is None else state
        state[0] = (31 * state[0] + digest(observation)) % 1009
        return np.array(state[0] // 3 % 2), state


def listing(observation: Any, memory: Any) -> tuple[int, list[int]]:
    """Hands its memory back, having changed it in place."""
    memory = [] if memory is None else memory
    memory.append(digest(observation))
    return sum(memory) // 3 % 2, memory


def enclosing() -> Callable[[Any], int]:
    """A function that changes what it encloses."""
    seen = [0]
    total = 0

    def act(observation: Any) -> int:
        nonlocal total
        seen[0] += digest(observation)
        total += 1
        return (seen[0] + total) // 3 % 2

    return act


def defaulting(observation: Any, seen: list[int] = []) -> int:  # noqa: B006 - that is the point
    seen.append(digest(observation))
    return sum(seen) // 3 % 2


class Locked(StepCounter):
    """Holds what cannot be copied, nor sent to another process: a lock."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def act(self, observation: Any) -> int:
        with self.lock:
            return super().act(observation)


class WithNetwork(Frames):
    """A network that is too large to be copied for every episode, and what it saw last."""

    def __init__(self) -> None:
        import torch

        super().__init__()
        torch.manual_seed(0)
        self.network = torch.nn.Linear(4, 2)

    def __call__(self, observation: Any) -> int:
        import torch

        self.frames.append(digest(observation) % 97)
        frames = [*self.frames, 0, 0, 0][:4]
        return int(self.network(torch.tensor(frames, dtype=torch.float32)).argmax())


class Learning(WithNetwork):
    """Changes its network while it plays."""

    def __call__(self, observation: Any) -> int:
        import torch

        with torch.no_grad():
            self.network.bias.add_(torch.tensor([1.0, -1.0]))
        return super().__call__(observation)


REMEMBERING: dict[str, Callable[[], Any]] = {
    "step counter": StepCounter, "frames": Frames, "predicting": Predicting, "listing": lambda: listing,
    "enclosing": enclosing, "defaulting": lambda: defaulting, "a method": lambda: Frames().__call__,
}  # fmt: skip


class OwnStream:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(7)

    def act(self, observation: Any) -> int:
        return int(self.rng.integers(2))


class OldStreams:
    def __init__(self) -> None:
        self.streams = {"numpy": np.random.RandomState(3), "python": random.Random(3)}

    def predict(self, observation: Any) -> int:
        return int(self.streams["numpy"].randint(2)) ^ self.streams["python"].randrange(2)


class SeededAtReset(StepCounter):
    """Makes its generator at reset, and counts."""

    def reset(self, seed: int | None = None) -> None:
        super().reset()
        self.rng = np.random.default_rng(seed)

    def act(self, observation: Any) -> int:
        return super().act(observation) ^ int(self.rng.random() < 0.3)


def global_numpy(observation: Any) -> int:
    return int(np.random.rand() < 0.3)


def global_python(observation: Any) -> int:
    return random.randrange(2)


def global_torch(observation: Any) -> int:
    import torch

    return int(torch.rand(()) < 0.3)


MODULE_STREAM = np.random.default_rng(1)


def module_stream(observation: Any) -> int:
    return int(MODULE_STREAM.integers(2))


def a_space() -> Callable[[Any], int]:
    space = gym.spaces.Discrete(2)
    return lambda observation: int(space.sample())


def rarely(observation: Any) -> int:
    """Draws at every step, and plays what it drew once in a thousand."""
    return int(np.random.rand() < 0.001)


def given_stream(observation: Any, rng: np.random.Generator) -> int:
    return int(rng.integers(2))


class CountingAndDrawing(Frames):
    def __call__(self, observation: Any) -> int:
        return super().__call__(observation) ^ random.randrange(2)


DRAWING: dict[str, Callable[[], Any]] = {
    "own": OwnStream, "old": OldStreams, "at reset": SeededAtReset, "numpy's": lambda: global_numpy,
    "python's": lambda: global_python, "the module's": lambda: module_stream, "a space's": a_space,
    "given": lambda: given_stream, "and counts": CountingAndDrawing,
}  # fmt: skip


COUNT = 0


def global_counter(observation: Any) -> int:
    global COUNT
    COUNT += 1
    return COUNT // 2 % 2


class ClassCounter:
    count = 0

    def act(self, observation: Any) -> int:
        ClassCounter.count += 1
        return ClassCounter.count // 2 % 2


def planned() -> Iterator[int]:
    yield from itertools.cycle((0, 0, 1))


class ByGenerator:
    """Its place in a plan is held by a Python generator, which cannot be copied."""

    def __init__(self) -> None:
        self.plan = planned()

    def act(self, observation: Any) -> int:
        return next(self.plan)


def fresh_stream(observation: Any) -> int:
    return int(np.random.default_rng().integers(2))


def from_the_system(observation: Any) -> int:
    return os.urandom(1)[0] % 2


def clock(observation: Any) -> int:
    return time.perf_counter_ns() // 64 % 2


class OnFile:
    """Counts in a file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def act(self, observation: Any) -> int:
        with open(self.path, "a+") as file:
            file.write("x")
            return file.tell() // 2 % 2


REFUSED: dict[str, Callable[[], Any]] = {
    "a global counter": lambda: global_counter, "a counter in the class": ClassCounter, "a generator": ByGenerator,
    "a stream made at every step": lambda: fresh_stream, "the system's": lambda: from_the_system,
    "the clock": lambda: clock,
}  # fmt: skip


def steady(observation: Any) -> int:
    return digest(observation) % 2


class Table:
    """Holds values and changes nothing."""

    def __init__(self) -> None:
        self.actions = np.array([0, 1, 1, 0, 1])

    def act(self, observation: Any) -> int:
        return int(self.actions[digest(observation) % 5])


STEADY: dict[str, Callable[[], Any]] = {"function": lambda: steady, "table": Table}
