"""The worlds of pgx for one player in which something can be harmed: ``pgx:minatar-breakout`` and others of MinAtar.

They repeat the last action with a chance of one in ten, as pgx makes them; what is drawn hangs on the step's key.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.errors import require_extra
from tightrope.tasks.jaxworlds.rows import import_jax, key_of
from tightrope.tasks.jaxworlds.rules import WorldRule, rule_of
from tightrope.tasks.jaxworlds.tasks import jax_task
from tightrope.tasks.jaxworlds.world import Array, Moment, World
from tightrope.tasks.keys import LossyKey, freeze
from tightrope.tasks.task import Task

LIMIT = 1000
"""Steps of an episode, as gymnax has them; pgx sets none."""


@LossyKey
def seen_and_time(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """The picture and how long it has lasted: the goal is to last, so coming back is no cycle."""
    _, time = env.unwrapped.situation[1]
    return (freeze(observation), int(time))


_GAME = WorldRule(fields={"state_key": seen_and_time})
KNOWN: Mapping[str, WorldRule] = {
    "minatar-asterix": _GAME,
    "minatar-breakout": _GAME,
    "minatar-seaquest": _GAME,
    "minatar-space_invaders": _GAME,
}


def pgx_task(name: str, *, max_episode_steps: int = LIMIT) -> Task:
    """A world of pgx as a task.

    Args:
        name: As pgx calls it.
        max_episode_steps: Its time limit, which is what has to be reached.
    """
    rule = rule_of("pgx", KNOWN, name, max_episode_steps)
    return jax_task(partial(pgx_world, name, max_episode_steps), name=f"pgx:{name}", **rule.fields)


def pgx_world(name: str, max_episode_steps: int = LIMIT) -> World:
    """A world of pgx as it is; it starts nothing anew unless asked to."""
    jax = import_jax()
    env = require_extra("pgx", "pgx", f"task pgx:{name}").make(name)

    def reset(key: Array) -> tuple[Any, Array]:
        state = env.init(key)
        return (state, np.int32(0)), state.observation

    def step(key: Array, state: Any, action: Array) -> Moment:
        game, time = state
        game, time = env.step(game, action, key), time + 1
        return Moment((game, time), game.observation, game.rewards[0], game.terminated, time >= max_episode_steps)

    (state, _), observation = jax.eval_shape(reset, key_of(0))
    return World(
        name=f"pgx:{name}",
        reset=reset,
        step=step,
        observation_space=gym.spaces.Box(0.0, 1.0, observation.shape, np.float32),
        action_space=gym.spaces.Discrete(int(state.legal_action_mask.shape[0])),
        goal=KNOWN[name].goal,
        unsafe=KNOWN[name].unsafe,
        max_steps=max_episode_steps,
    )
