"""Plain evaluation: full episodes from many reset seeds, as the agent is used in practice."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tightrope.agents.agent import Agent
from tightrope.budget import Budget, Meter
from tightrope.evaluation.result import Evaluation
from tightrope.execution import Engine, Episode, Rollout, begun_again_if_stochastic, borrowed_engine
from tightrope.outcome import Outcome
from tightrope.progress import Progress, ProgressCallback
from tightrope.seeding import derive_seed
from tightrope.settings import LIBRARY_BACKEND, BackendName, Count, PlainConfig, require
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

SAMPLE_OF_STARTS = 8
"""Where nothing after the reset is random and so many reset seeds give one and the same episode, no further seed is
tried: tasks whose start is fixed (a level, a maze) would execute the same steps again and again."""
BATCH = 32
"""Most episodes between two looks at the budget; enough to keep the lanes full."""


@begun_again_if_stochastic
def evaluate(
    task: Task,
    agent: Agent,
    episodes: int = PlainConfig.episodes,
    seed: int = 0,
    *,
    length: int | None = None,
    budget: Budget | None = None,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
    workers: int | None = None,
    on_progress: ProgressCallback | None = None,
) -> Evaluation:
    """How the agent does plainly: full episodes from many reset seeds.

    Two agents evaluated with the same ``seed`` meet the same starts and the same randomness.

    Args:
        task: The task to be solved.
        agent: The agent that plays.
        episodes: How many episodes, each from a reset seed of its own.
        seed: Determines everything random, the reset seeds included.
        length: Watch at most so many steps of an episode; None: until it ends.
        budget: Stops between batches of episodes once it is spent; what was played by then counts. The last batch is
            no larger than what is left should be enough for.
        engine: The engine to run on; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
        on_progress: Called with a ``Progress`` as the work goes on.
    """
    require("episodes", episodes, Count)
    require("length", length, Count | None, "; None watches until the episode ends")
    with borrowed_engine(task, {agent.name: agent}, engine, backend, workers) as runner:
        rollouts = plain_rollouts(task.label, agent.name, episodes, seed, length)
        played, alike = _played(runner, agent, rollouts, (budget or Budget()).start(), on_progress)
    return Evaluation(
        task=task.label,
        agent=agent.name,
        fingerprint=agent.fingerprint,
        episodes=tuple(played),
        seed=seed,
        length=length,
        starts_alike=alike,
    )


def plain_rollouts(task: str, agent: str, episodes: int, seed: int, length: int | None) -> list[Rollout]:
    """The work of an evaluation; it does not depend on the agent, so that two agents meet the same starts."""
    return [
        Rollout(
            start=ActionTrace(task, derive_seed("plain start", seed, number)),
            agent=agent,
            length=length,
            seed=derive_seed("plain", seed, number),
            record_keys=number < SAMPLE_OF_STARTS,
        )
        for number in range(episodes)
    ]


def _played(
    engine: Engine, agent: Agent, rollouts: list[Rollout], meter: Meter, on_progress: ProgressCallback | None
) -> tuple[list[Episode], bool]:
    """The episodes, and whether all starts are alike; later batches run only while the budget lasts."""
    played: list[Episode] = []
    quiet = engine.deterministic and agent.deterministic
    while len(played) < len(rollouts):
        batch = rollouts[len(played) : len(played) + (_affordable(meter, len(played)) if played else SAMPLE_OF_STARTS)]
        played += engine.run(batch)
        meter.spend(steps=sum(len(episode.actions) for episode in played[-len(batch) :]))
        if on_progress is not None:
            unsafe = sum(episode.outcome is Outcome.UNSAFE for episode in played)
            on_progress(Progress("plain episodes", len(played), len(rollouts), f"{agent.name}: {unsafe} unsafe"))
        if quiet and 1 < len(played) <= SAMPLE_OF_STARTS and _alike(played):
            return played, True
        if meter.spent:
            break
    return played, False


def _affordable(meter: Meter, played: int) -> int:
    """How many more to play at once: no more than the rest of the budget is expected to be enough for."""
    left = meter.remaining().steps
    return BATCH if left is None else max(1, min(BATCH, math.ceil(left * played / max(1, meter.steps))))


def _alike(episodes: Sequence[Episode]) -> bool:
    """Whether every reset seed led through the same situations."""
    first = episodes[0]
    return all(
        episode.error is None
        and episode.actions == first.actions
        and episode.rewards == first.rewards
        and episode.outcome is first.outcome
        and episode.keys is not None
        and first.keys is not None
        and episode.keys.tolist() == first.keys.tolist()
        for episode in episodes
    )
