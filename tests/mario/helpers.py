import random

import numpy as np

from tightrope_mario.game import MarioEnv

EVERY_BUTTON = ("none", "right", "right+A", "right+B", "right+A+B", "A", "left", "down", "up")


def random_actions(seed, count, choices):
    """Held for a few steps each, so that Mario gets somewhere."""
    generator = random.Random(seed)
    actions = []
    while len(actions) < count:
        actions += [generator.randrange(choices)] * generator.randint(1, 8)
    return actions[:count]


def play(env, actions):
    """Every step's observation, reward, flags and info, up to the end of the episode."""
    steps = []
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(action)
        steps.append((np.asarray(observation), reward, terminated, truncated, info))
        if terminated or truncated:
            break
    return steps


def same(first, second):
    return len(first) == len(second) and all(
        np.array_equal(a[0], b[0]) and a[1:] == b[1:] for a, b in zip(first, second, strict=True)
    )


def fresh(**options):
    env = MarioEnv(**{"actions": EVERY_BUTTON, **options})
    env.reset(seed=0)
    return env
