"""A pole on a cart and an agent for it, both written in JAX and small enough to compile in a second."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.tasks.jaxworlds import Moment, World, jax_task
from tightrope.tasks.task import Task

LIMIT = 40
"""Steps of an episode, unless the caller says otherwise."""


def pole_world(wind: float = 0.0, limit: int = LIMIT) -> World:
    """A pole on a cart: drop it and harm is done, keep it up to the time limit and the goal is reached."""
    import jax
    import jax.numpy as jnp

    def reset(key: Any) -> tuple[Any, Any]:
        place = jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05)
        return (place, jnp.int32(0)), place

    def step(key: Any, state: Any, action: Any) -> Moment:
        (x, speed, lean, turn), time = state
        force = jnp.where(action == 1, 10.0, -10.0) + (wind * jax.random.normal(key) if wind else 0.0)
        cosine, sine = jnp.cos(lean), jnp.sin(lean)
        push = (force + 0.05 * turn**2 * sine) / 1.1
        twist = (9.8 * sine - cosine * push) / (0.5 * (4.0 / 3.0 - 0.1 * cosine**2 / 1.1))
        pull = push - 0.05 * twist * cosine / 1.1
        place = jnp.stack([x + 0.02 * speed, speed + 0.02 * pull, lean + 0.02 * turn, turn + 0.02 * twist])
        time = time + 1
        dropped = (jnp.abs(place[0]) > 2.4) | (jnp.abs(place[2]) > 0.2095)
        return Moment((place, time), place, jnp.float32(1.0), dropped, time >= limit)

    return World(
        name="pole",
        reset=reset,
        step=step,
        observation_space=gym.spaces.Box(-np.inf, np.inf, (4,), np.float32),
        action_space=gym.spaces.Discrete(2),
        goal=lambda moment: moment.truncated & ~moment.terminated,
        unsafe=lambda moment: moment.terminated,
        max_steps=limit,
    )


@cache
def pole_task(wind: float = 0.0, limit: int = LIMIT) -> Task:
    """The pole as a task, with wind or without."""
    return jax_task(partial(pole_world, wind, limit), name=f"pole-{wind}-{limit}")


def policy(weights: Any, observations: Any) -> Any:
    """Scores for left and right: pushes under the pole, with a small network that disagrees now and then."""
    import jax.numpy as jnp

    lean = observations @ jnp.array([0.0, 0.2, 1.0, 0.6])
    doubt = (jnp.tanh(observations @ weights["in"]) @ weights["out"]) * weights["doubt"]
    return doubt + jnp.stack([-lean, lean], axis=-1)


def weights(doubt: float = 0.02, seed: int = 0) -> dict[str, Any]:
    """Parameters of the policy; the more doubt, the more it drops the pole."""
    rng = np.random.default_rng(seed)
    return {
        "in": rng.normal(size=(4, 32)).astype(np.float32),
        "out": rng.normal(size=(32, 2)).astype(np.float32),
        "doubt": np.float32(doubt),
    }
