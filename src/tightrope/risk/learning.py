"""Learning where harm is near: from episodes in which the agent's actions are replaced at random ever more often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tightrope.agents.agent import Agent
from tightrope.agents.noisy import NoisyAgent
from tightrope.risk.guides import Guide, LearnedGuide, NoGuide
from tightrope.risk.swarm import Path, Swarm
from tightrope.seeding import derive_seed
from tightrope.tasks.task import Task

NOISE_LADDER = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
"""Shares of random actions, tried from below: the first rungs at which the agent fails are closest to its own ways."""
EPISODES_PER_RUNG = 24
ENOUGH_FAILURES = 40
"""Failing episodes to learn from; more hardly change the guide."""
SOON = 0.3
"""A moment counts as close to harm by how many steps before it lies, relative to this share of the typical episode."""
MOST_MOMENTS = 6000


def noisy_lessons(
    task: Task, agent: Agent, *, length: int | None, seed: int, most_steps: int, known: Sequence[Path] = ()
) -> tuple[list[Path], int]:
    """Episodes to learn from, the ``known`` ones among them, until enough of them fail; and the steps it took."""
    paths, spent = list(known), 0
    for rung, share in enumerate(NOISE_LADDER):
        if sum(path.failed for path in paths) >= ENOUGH_FAILURES or spent >= most_steps:
            break
        swarm = Swarm(task, NoisyAgent(agent, share, task.action_space), NoGuide(), length=length, watch=True)
        try:
            paths += swarm.from_resets(
                [derive_seed("guide", seed, rung, number) for number in range(EPISODES_PER_RUNG)]
            )
            spent += swarm.steps
        finally:
            swarm.close()
    return paths, spent


def fitted_guide(task: Task, paths: Sequence[Path]) -> Guide:
    """A guide fitted to watched episodes; none where no episode failed, or all did at once."""
    watched = [path for path in paths if path.watched]
    if not any(path.failed for path in watched) or not watched:
        return NoGuide()
    typical = float(np.median([len(path.watched or ()) for path in watched]))
    horizon = max(2.0, SOON * typical)
    observations: list[Any] = []
    depths: list[int] = []
    targets: list[float] = []
    for path in watched:
        moments = path.watched or []
        for place, (observation, depth) in enumerate(moments[:-1]):
            left = len(moments) - 1 - place
            observations.append(observation)
            depths.append(depth)
            targets.append(float(np.exp(-(left - 1) / horizon)) if path.failed else 0.0)
    stride = max(1, len(targets) // MOST_MOMENTS)
    return LearnedGuide(task, observations[::stride], depths[::stride], np.asarray(targets[::stride]))
