"""Turn a trained agent into a file worth keeping: half the size, shown to behave the same, and tried out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope import load_agent
from tightrope.extending import derive_seed
from tightrope_mario.game.environment import MarioEnv
from tightrope_mario.training import defaults
from tightrope_mario.training.export import INPUT, read_onnx, write_onnx

EPSILONS = (0.0, 0.02, 0.1, 0.3)
"""The shares of random actions of the episodes that observations are taken from, so that they go far and wide."""
LONGEST_EPISODE = 600
GAMES_EPSILON = 0.02
"""The share of random actions when an agent is tried out; as few as the reproduction of the paper's figures uses."""


@dataclass(frozen=True, kw_only=True)
class StoredDifference:
    """How the stored agent differs from the trained one."""

    observations: int
    same_greedy_action: int
    largest_difference: float
    """Of any two values of an action."""


@dataclass(frozen=True, kw_only=True)
class TrialGames:
    """How games of a stored agent went, from the start of its level."""

    games: int
    epsilon: float
    flags: int
    mean_x: float
    """How far it came."""
    unfinished: int
    """Games that were stopped after ``LONGEST_EPISODE`` steps."""


@dataclass(frozen=True, kw_only=True)
class _Episode:
    seen: list[Any]
    furthest: int
    flag: bool
    ended: bool


def mean_of(agents: Sequence[Path], target: Path) -> Path:
    """An agent whose weights are the mean of those of agents that went on from one another.

    From one stage of a training to the next an agent forgets some of what it knew; the mean often plays better than
    either. The metadata is that of the last.
    """
    parts = [read_onnx(agent) for agent in agents]
    weights = {name: np.mean([part[name] for part, _ in parts], axis=0) for name in parts[0][0]}
    write_onnx(target, weights, parts[-1][1], half=False)
    return target


def ship(
    source: Path, target: Path, *, observations: int = defaults.SHIP_OBSERVATIONS, rom: str | None = None
) -> StoredDifference:
    """Store an agent with 16-bit weights and compare the two on observations from the agent's own episodes."""
    weights, metadata = read_onnx(source)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_onnx(target, weights, metadata, half=True)
    seen = _observations(source, metadata, observations, rom)
    trained, stored = _values(source, seen), _values(target, seen)
    return StoredDifference(
        observations=len(seen),
        same_greedy_action=int((trained.argmax(1) == stored.argmax(1)).sum()),
        largest_difference=float(np.abs(trained - stored).max()),
    )


def try_out(
    path: Path,
    *,
    games: int = defaults.SHIP_GAMES,
    first: int = 0,
    epsilon: float = GAMES_EPSILON,
    rom: str | None = None,
) -> TrialGames:
    """Play some games with an agent and a few random actions; ``first`` counts the games whose randomness they have.

    Where one of several agents is to be chosen, choose by other games than those that are told of.
    """
    played = list(islice(_episodes(path, read_onnx(path)[1], epsilon, rom, first), games))
    return TrialGames(
        games=games,
        epsilon=epsilon,
        flags=sum(episode.flag for episode in played),
        mean_x=round(fmean(episode.furthest for episode in played), 1),
        unfinished=sum(not episode.ended for episode in played),
    )


def _observations(source: Path, metadata: dict[str, str], count: int, rom: str | None) -> NDArray[np.uint8]:
    seen: list[NDArray[np.uint8]] = []
    for epsilon in EPSILONS:
        episodes = _episodes(source, metadata, epsilon, rom)
        quota = len(seen) + count // len(EPSILONS)
        while len(seen) < quota:
            seen += next(episodes).seen[: quota - len(seen)]
    return np.stack(seen)


def _episodes(
    source: Path, metadata: dict[str, str], epsilon: float, rom: str | None, first: int = 0
) -> Iterator[_Episode]:
    from tightrope_mario.game.task import mario_task

    task = mario_task(level=metadata["level"], actions=metadata["actions"], rom=rom)
    agent = load_agent(source, task, epsilon=epsilon)
    env = MarioEnv(level=metadata["level"], actions=metadata["actions"], rom=rom)
    episode = first
    while True:
        generator = np.random.default_rng(derive_seed("shipping", episode))
        observation, info = env.reset()
        seen: list[Any] = []
        over, memory, furthest = False, None, info["x"]
        while not over and len(seen) < LONGEST_EPISODE:
            seen.append(observation)
            answer = agent.act([observation], [memory], [generator], [None])
            memory = answer.memories[0]
            observation, _, over, _, info = env.step(answer.actions[0])
            furthest = max(furthest, info["x"])
        episode += 1
        yield _Episode(seen=seen, furthest=furthest, flag=info["flag"], ended=over)


def _values(path: Path, observations: NDArray[np.uint8]) -> NDArray[np.float32]:
    from tightrope.extending import OnnxFile

    network = OnnxFile(path)
    parts = [network.answer({INPUT: block})[0] for block in np.array_split(observations, 20)]
    return np.concatenate(parts)
