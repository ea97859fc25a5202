"""An agent's network in 8 bits: made from what the agent sees, and compared with it where it goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.agents import Agent, Answer, TranslatedAgent, load_agent
from tightrope.agents.formats.onnx import OnnxNetwork
from tightrope.agents.formats.onnx_int8 import add_metadata, require_writing, write_int8
from tightrope.agents.networks.batch_invariance import Arrays
from tightrope.agents.networks.network_agent import NetworkAgent
from tightrope.agents.networks.scores import argmax, masked
from tightrope.agents.objects.fingerprints import file_fingerprint
from tightrope.agents.observations import ObservationStacker
from tightrope.agents.wrapped import StandIn, Streams
from tightrope.display import Shown
from tightrope.errors import AgentError
from tightrope.evaluation.plain import plain_rollouts
from tightrope.execution import Engine
from tightrope.progress import Progress, ProgressCallback
from tightrope.settings import LIBRARY_BACKEND
from tightrope.statistics import IN_PLAIN_EPISODES, Estimate, mean_estimate
from tightrope.tasks.task import Task

EPISODES = 24
MEASURED = 8
"""Of the episodes, those that the ranges come from; in the others the two networks are compared."""
KEPT = 128
"""Observations of an episode at most, spread over it."""
NOISE = 0.05
"""Share of random actions, without which the episodes of many tasks would be one and the same."""
BATCH = 32
ROUNDS = 5


@dataclass(frozen=True, kw_only=True, repr=False)
class Quantised(Shown):
    """A network in 8 bits beside the one it was made from."""

    _shown = ("file", "equal_actions", "times_faster")
    _shares = ("equal_actions",)

    file: str
    """Where the new network is: an agent of its own, which is another one than that of the old file."""
    equal_actions: Estimate
    """How often the two do the same where the old one comes to: the mean over episodes."""
    observations: int
    """Which the two were compared on, in these episodes."""
    microseconds_before: float
    """Of processor time, for an observation in a batch of 32."""
    microseconds_after: float

    @property
    def times_faster(self) -> float:
        """How much less an answer costs."""
        return self.microseconds_before / self.microseconds_after

    def sentence(self) -> str:
        """All of it in words, as the new file says it too."""
        return (
            f"int8: the same action as in 32 bits {self.equal_actions:share} "
            f"({self.observations} observations, with {NOISE:.0%} of random actions)"
        )


def quantise_agent(
    task: Task,
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    seed: int = 0,
    *,
    on_progress: ProgressCallback | None = None,
) -> Quantised:
    """Write an agent's ``.onnx`` network in 8 bits, and tell how often it still does the same.

    What comes out is another agent, to be tested as such: verdicts are of the agent that was asked. The agent plays
    24 episodes with 5 % of random actions; ranges are measured on 8 of them and actions compared on the others.

    Args:
        task: The task that the agent plays.
        source: An ``.onnx`` file whose agent chooses among numbered actions.
        out: The ``.onnx`` file to write. It says what it is made from and how often it does the same.
        seed: Of the episodes.
        on_progress: Called with a ``Progress`` after each episode.
    """
    require_writing()
    agent = load_agent(source, task, epsilon=NOISE)
    inner = _checked(agent, source)
    target = _checked_target(out)
    seen = _episodes(task, agent, seed, on_progress)
    measured = _joined([observed for observed, _ in seen[:MEASURED]])
    network = inner.network
    assert isinstance(network, OnnxNetwork)
    write_int8(network, target, measured)
    found = _compared(task, source, target, seen[MEASURED:], measured)
    add_metadata(target, {"arithmetic": found.sentence(), "made_from": file_fingerprint(network.path)})
    return found


def _checked(agent: Agent, source: Any) -> NetworkAgent:
    inner = agent.agent if isinstance(agent, TranslatedAgent) else agent
    if not isinstance(inner, NetworkAgent) or not isinstance(inner.network, OnnxNetwork):
        raise AgentError(f"only networks in .onnx files can be written in 8 bits, and {source} is none; export it")
    if not inner.picks_the_best_of_numbered:
        raise AgentError(
            f"agent {agent.name!r} does more than choose one of numbered actions, or its observations are normalised "
            f"before its file sees them; only for the others it can be told how often 8 bits do the same"
        )
    return inner


def _checked_target(out: str | os.PathLike[str]) -> Path:
    target = Path(out)
    if target.suffix != ".onnx":
        raise AgentError(f"a network is written to a file that ends in .onnx, not to {target}")
    return target


class _Watching(StandIn):
    """An agent, and what it was asked in one episode."""

    def __init__(self, agent: Agent, stack: Callable[[Sequence[Any]], Arrays]) -> None:
        super().__init__(agent, agent.name)
        self._stack = stack
        self.begin()

    def begin(self) -> None:
        """Forget the episode before."""
        self._every, self._met = 1, 0
        self.rows: list[tuple[Arrays, Any]] = []

    def act(
        self, observations: Sequence[Any], memories: Sequence[Any], generators: Streams, masks: Sequence[Any]
    ) -> Answer:
        """Keep what is shown, and ask the agent."""
        for observation, mask in zip(observations, masks, strict=True):
            if self._met % self._every == 0:
                self.rows.append((self._stack([observation]), mask))
            self._met += 1
        if len(self.rows) > KEPT:
            # Every second one goes, so that what is kept is spread over an episode of any length.
            self.rows, self._every = self.rows[::2], 2 * self._every
        return super().act(observations, memories, generators, masks)


EpisodeViews = tuple[Arrays, list[Any]]
"""What an agent saw in an episode, stacked, and the masks of actions."""


def _episodes(task: Task, agent: Agent, seed: int, on_progress: ProgressCallback | None) -> list[EpisodeViews]:
    watching = _Watching(agent, ObservationStacker(task.observation_space))
    seen = []
    with Engine(task, {agent.name: watching}, backend=LIBRARY_BACKEND, lanes=1) as engine:
        for number, rollout in enumerate(plain_rollouts(task.label, agent.name, EPISODES, seed, None)):
            watching.begin()
            [episode] = engine.run([rollout])
            if episode.error is not None:
                raise AgentError(f"an episode of agent {agent.name!r} did not come to its end: {episode.error.message}")
            seen.append((_joined([row for row, _ in watching.rows]), [mask for _, mask in watching.rows]))
            if on_progress is not None:
                on_progress(Progress("episodes", number + 1, EPISODES, f"{sum(len(masks) for _, masks in seen)} kept"))
    return seen


def _joined(rows: Sequence[Arrays]) -> Arrays:
    return tuple(np.concatenate(part) for part in zip(*rows, strict=True))


def _compared(task: Task, source: Any, target: Path, seen: Sequence[EpisodeViews], measured: Arrays) -> Quantised:
    before, after = _Asked(task, source), _Asked(task, target)
    shares = [float(np.mean(before.actions(*each) == after.actions(*each))) for each in seen]
    # In turns, and the best of each: what else the machine does comes and goes.
    spent = [(before.microseconds(measured), after.microseconds(measured)) for _ in range(ROUNDS)]
    return Quantised(
        file=str(target),
        equal_actions=mean_estimate(shares, bounds=(0.0, 1.0)).answering(IN_PLAIN_EPISODES),
        observations=sum(len(masks) for _, masks in seen),
        microseconds_before=min(one for one, _ in spent),
        microseconds_after=min(one for _, one in spent),
    )


class _Asked:
    """The network of a file, and which action it likes best."""

    def __init__(self, task: Task, source: Any) -> None:
        self._agent = load_agent(source, task)
        self._network = _checked(self._agent, source).network

    def actions(self, observed: Arrays, masks: Sequence[Any]) -> NDArray[np.int64]:
        """The best of its own actions in each situation."""
        own_mask = self._agent.own_mask if isinstance(self._agent, TranslatedAgent) else lambda mask: mask
        rows = zip(self._network(observed)[0], masks, strict=True)
        return np.array([argmax(masked(scores, own_mask(mask))) for scores, mask in rows])

    def microseconds(self, observed: Arrays) -> float:
        """Of processor time, for an observation."""
        batches = range(0, len(observed[0]), BATCH)
        began = process_time()
        for at in batches:
            self._network(tuple(part[at : at + BATCH] for part in observed))
        return (process_time() - began) / len(observed[0]) * 1e6
