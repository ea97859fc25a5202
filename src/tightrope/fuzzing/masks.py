"""Keeping to the actions that the environment says are available.

An action that ``info["action_mask"]`` forbids where it would be played is replaced by the next one of the action set
that is allowed there, in order and round the corner. Which actions are forbidden shows only on the way, so the traces
of such tasks are played by an agent that looks at the mask.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tightrope.agents.agent import Answer
from tightrope.execution import Episode, Rollout
from tightrope.execution.naive import run_naively
from tightrope.fuzzing.actions import ActionSource
from tightrope.simulation import exploring, open_simulator
from tightrope.tasks.task import Task
from tightrope.trace import Action

CHUNK = 16
"""Rollouts for one call of a worker: enough that opening a simulator does not count."""


@dataclass(frozen=True)
class MaskedPlay:
    """Rollouts of fixed actions that are to keep to the masks."""

    rollouts: tuple[Rollout, ...]
    source: ActionSource
    deterministic: bool


def has_masks(task: Task, _: object = None) -> bool:
    """Whether the environment says at reset which actions are available."""
    simulator = open_simulator(task)
    try:
        return "action_mask" in simulator.reset().info
    finally:
        simulator.close()


def chunked(rollouts: Sequence[Rollout], source: ActionSource, deterministic: bool) -> Iterable[MaskedPlay]:
    """The rollouts as work for ``play_masked``."""
    for begin in range(0, len(rollouts), CHUNK):
        yield MaskedPlay(tuple(rollouts[begin : begin + CHUNK]), source, deterministic)


def play_masked(task: Task, work: MaskedPlay) -> list[Episode]:
    """Play the rollouts; each episode's rollout has the actions that were really played."""
    with exploring(task) as simulator:
        return [_play_one(simulator, rollout, work) for rollout in work.rollouts]


def _play_one(simulator: Any, rollout: Rollout, work: MaskedPlay) -> Episode:
    player = _MaskedPlayer(rollout.actions, work.source)
    plan = replace(rollout, actions=(), agent=player.name, length=len(rollout.actions))
    episode = run_naively(simulator, {player.name: player}, plan, deterministic=work.deterministic)
    return replace(episode, rollout=replace(rollout, actions=episode.actions))


class _MaskedPlayer:
    """Plays a list of actions, its memory being the place in it."""

    name, fingerprint = "masked player", "masked player"
    deterministic, recurrent = True, False

    def __init__(self, actions: tuple[Action, ...], source: ActionSource) -> None:
        self.actions, self.source = actions, source

    def act(
        self,
        observations: Sequence[Any],
        memories: Sequence[Any],
        generators: Sequence[np.random.Generator | None],
        masks: Sequence[Any],
    ) -> Answer:
        places = [memory or 0 for memory in memories]
        actions = [
            allowed_action(self.actions[place], mask, self.source) for place, mask in zip(places, masks, strict=True)
        ]
        return Answer(actions, [place + 1 for place in places])


def allowed_action(action: Action, mask: Any, source: ActionSource) -> Action:
    """The action, or the next one of the set that the mask allows; the action itself where it allows none."""
    if mask is None or source.listed is None or source.allows(action, mask):
        return action
    order = source.listed
    begin = order.index(action) if action in order else 0
    return next((other for other in order[begin:] + order[:begin] if source.allows(other, mask)), action)
