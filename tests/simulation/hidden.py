"""Environments that hang on something outside of themselves, each on one thing; importable elsewhere."""

from __future__ import annotations

import datetime
import functools
import os
import tempfile
import threading
import time
import uuid
from pathlib import Path
from typing import Any

import numpy as np

from tests.simulation.broken import Line

LATE = 150
"""Where rare things happen: a random walk does not come so far."""


class SetOrder(Line):
    """Goes through a set of words in the order it comes."""

    def reward(self, move: float) -> float:
        words = {"north", "south", "east", "west", "up", "down", "left", "right"}
        return float(sum(place * len(word) for place, word in enumerate(words)) + list(words).index("north") / 8)


class StringHash(Line):
    """Looks at the hash of a word."""

    def reward(self, move: float) -> float:
        return float(hash("north") % 1000)


class ProcessId(Line):
    """Looks at its process id."""

    def reward(self, move: float) -> float:
        return float(os.getpid())


class Address(Line):
    """Looks at where a class lies in memory, as unsorted objects in a set do."""

    def reward(self, move: float) -> float:
        return float(id(Address) % 100_003)


class HourOfDay(Line):
    """Looks at the hour."""

    def reward(self, move: float) -> float:
        return float(int(time.time()) // 3600 % 24)


class Weekday(Line):
    """Looks at the day of the week."""

    def reward(self, move: float) -> float:
        return float(datetime.datetime.now().weekday())


class LocalMonth(Line):
    """Looks at the month, in words."""

    def reward(self, move: float) -> float:
        return float(sum(map(ord, time.strftime("%B"))))


class Ticking(Line):
    """Looks at a clock that never stands still."""

    def reward(self, move: float) -> float:
        return time.perf_counter()


class ClassCounter(Line):
    """Gets harder after many episodes, counted in the class."""

    episodes = 0
    patience = 10**9

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        type(self).episodes += 1
        return super().reset(seed=seed)

    def reward(self, move: float) -> float:
        return move - 10.0 * (self.episodes > self.patience)


class ClassPlace(Line):
    """Keeps where it is in the class, for all instances."""

    shared = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        type(self).shared = 0.0
        return super().reset(seed=seed)

    def reward(self, move: float) -> float:
        type(self).shared += move
        return self.shared


class ClassObservation(Line):
    """Shows the same array in all instances."""

    shown = np.zeros(1)

    def observe(self) -> Any:
        self.shown[0] = self.place
        return self.shown


class ClassMask(Line):
    """Allows one action or both, in an array that all instances share."""

    mask = np.ones(2, np.int8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, _ = super().reset(seed=seed)
        return observation, self.allowed()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, _ = super().step(action)
        return observation, reward, terminated, truncated, self.allowed()

    def allowed(self) -> dict[str, Any]:
        self.mask[0] = self.place % 3 == 0
        return {"action_mask": self.mask}


_steps = 0


class ModuleCounter(Line):
    """Wears out with every step ever made, counted in a global of the module."""

    patience = 10**9

    def reward(self, move: float) -> float:
        global _steps
        _steps += 1
        return move - 10.0 * (_steps > self.patience)


class SeededGlobal(Line):
    """Draws from NumPy's global generator, which its reset sets: two of them draw from the same stream."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        np.random.seed(seed)
        return super().reset(seed=seed)

    def reward(self, move: float) -> float:
        return float(np.random.random())


class FileCounter(Line):
    """Counts episodes in a file."""

    path = Path(tempfile.gettempdir()) / f"tightrope-test-{uuid.uuid4().hex}"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.count = 1 + (int(self.path.read_text()) if self.path.exists() else 0)
        self.path.write_text(str(self.count))
        return super().reset(seed=seed)

    def reward(self, move: float) -> float:
        return float(self.count)


class FirstRun(Line):
    """Behaves in another way as long as a file is not there, which it then writes."""

    path = Path(tempfile.gettempdir()) / f"tightrope-test-{uuid.uuid4().hex}"

    def __init__(self) -> None:
        super().__init__()
        self.first = not self.path.exists()
        self.path.touch()

    def reward(self, move: float) -> float:
        return float(self.first)


class Threaded(Line):
    """Is moved on by a thread, as time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.drift, self.closed = 0, threading.Event()
        threading.Thread(target=self._blow, daemon=True).start()

    def _blow(self) -> None:
        while not self.closed.wait(0.0005):
            self.drift += 1

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.drift = 0
        return super().reset(seed=seed)

    def reward(self, move: float) -> float:
        time.sleep(0.0002)
        return float(self.drift)

    def close(self) -> None:
        self.closed.set()


class UnseededGenerator(Line):
    """Draws from a generator that was made without a seed and is never set."""

    def __init__(self) -> None:
        super().__init__()
        self.dice = np.random.default_rng()

    def reward(self, move: float) -> float:
        return float(self.dice.random())


class SystemRandom(Line):
    """Asks the operating system for random bytes."""

    def reward(self, move: float) -> float:
        return float(os.urandom(1)[0])


@functools.lru_cache(maxsize=64)
def first_seen(place: float, *, order: list[float] = []) -> int:  # noqa: B006 - this is the fault
    order.append(place)
    return len(order)


class Remembering(Line):
    """Numbers places in the order in which any instance ever saw them, in a default argument."""

    def reward(self, move: float) -> float:
        return float(first_seen(self.place))


class RareHash(Line):
    """Hangs on the hash of a word, far out."""

    def reward(self, move: float) -> float:
        return move if abs(self.place) < LATE else float(hash("north") % 1000)


class RareClock(Line):
    """Hangs on the date, far out."""

    def reward(self, move: float) -> float:
        return move if abs(self.place) < LATE else float(datetime.date.today().toordinal())


class Place:
    """A state key that is equal where it should be, but what it prints hangs on the hash seed."""

    def __init__(self, place: float) -> None:
        self.words = {"north", "south", "east", f"{place}"}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and self.words == other.words

    def __hash__(self) -> int:
        return hash(frozenset(self.words))

    def __repr__(self) -> str:
        return f"Place({self.words})"


def word_key(env: Any, observation: Any, info: Any) -> Place:
    return Place(float(observation[0]))
