"""Learning where harm is near: from episodes in which some of the agent's actions are replaced at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tightrope.agents.agent import Agent
from tightrope.agents.noisy import NoisyAgent
from tightrope.risk.guides import Guide, LearnedGuide, NoGuide
from tightrope.risk.swarm import EpisodePath, Swarm
from tightrope.seeding import derive_seed
from tightrope.tasks.task import Task

HALF, FEWER, MORE = 0.5, (0.35, 0.2, 0.1, 0.05), (0.75, 1.0)
"""Shares of random actions. From the half on there are fewer, towards the agent's own ways, while episodes fail; and
then more, until enough have failed."""
EPISODES_PER_SHARE = 24
FEW_FAILURES = 2
"""Of one share; with still fewer random actions there would be none."""
ENOUGH_FAILURES = 40
"""Failing episodes to learn from; more hardly change the guide."""
ENOUGH_TAUGHT = 12
"""The same where episodes of the agent itself, or of its suites, are known: they say more than random actions do."""
SOON = 0.3
"""A moment counts as close to harm by how many steps before it lies, relative to this share of a failing episode."""
MOST_MOMENTS = 6000


def noisy_lessons(
    task: Task,
    agent: Agent,
    *,
    length: int | None,
    seed: int,
    most_steps: int,
    known: Sequence[EpisodePath] = (),
    enough: int = ENOUGH_FAILURES,
) -> tuple[list[EpisodePath], int]:
    """Episodes to learn from, the ``known`` ones among them, until enough of them fail; and the steps it took."""
    paths, spent, failures = list(known), 0, 0
    for share in (HALF, *FEWER, *MORE):
        if spent >= most_steps or sum(path.failed for path in paths) >= enough:
            break
        if share in FEWER and failures <= FEW_FAILURES:
            continue
        played, steps = _noisy_episodes(task, agent, share, length, seed)
        failures = sum(path.failed for path in played)
        paths, spent = [*paths, *played], spent + steps
    return paths, spent


def _noisy_episodes(
    task: Task, agent: Agent, share: float, length: int | None, seed: int
) -> tuple[list[EpisodePath], int]:
    swarm = Swarm(task, NoisyAgent(agent, share, task.action_space), NoGuide(), length=length, watch=True)
    try:
        seeds = [derive_seed("guide", seed, share, number) for number in range(EPISODES_PER_SHARE)]
        return swarm.from_resets(seeds), swarm.steps
    finally:
        swarm.close()


def fitted_guide(task: Task, paths: Sequence[EpisodePath], *, taught: bool = False) -> Guide:
    """A guide fitted to watched episodes, none where none failed; ``taught``: no random actions were needed."""
    lengths = [len(path.watched) for path in paths if path.failed and path.watched]
    if not lengths:
        return NoGuide()
    horizon = max(2.0, SOON * float(np.median(lengths)))
    observations: list[Any] = []
    targets: list[float] = []
    for path in paths:
        # The last one is the end itself, at which nothing is decided any more.
        before_the_end = (path.watched or [])[:-1]
        observations += before_the_end
        left = np.arange(len(before_the_end))[::-1]
        near = np.exp(-left / horizon) if path.failed else np.zeros(len(left))
        for depth, chance in path.losing:
            near[depth : depth + 1] = np.maximum(near[depth : depth + 1], chance)
        if path.lost_at is not None:
            near[path.lost_at + 1 :] = 1.0
        targets += list(near)
    stride = max(1, len(targets) // MOST_MOMENTS)
    name = "learned from what was given" if taught else "learned from failures"
    return LearnedGuide(task, observations[::stride], np.asarray(targets[::stride]), name)
