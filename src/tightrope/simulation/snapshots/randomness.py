"""Setting the random generators of an environment anew.

What a seed means here must be the same whichever way the environment is saved, because a recorded trace names the seeds
of its random events and is replayed anywhere.
"""

from __future__ import annotations

import hashlib
import pickle
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from tightrope.seeding import derive_seed
from tightrope.simulation.snapshots.capture import IS_LIVE, find_generators
from tightrope.simulation.snapshots.layers import environment_layers, static_attributes

PLAIN_TYPES = frozenset(
    {bool, bytes, float, int, np.bool_, np.float32, np.float64, np.int32, np.int64, str, type(None)}
)
"""Values that hold no generator; leaving them out makes a search for generators three times as fast."""


def reseed_environment(env: Any, seed: int) -> None:
    """Give every random generator in the attributes of the environment and its wrappers a new state, in place."""
    _have_gymnasium_generator(env.unwrapped)
    for index, generator in enumerate(environment_generators(env)):
        set_generator(generator, seed, index)


def reseed_wrappers(wrappers: Sequence[Any], innermost: Any, seed: int) -> None:
    """Set what wrappers draw from: generators of their own, and Gymnasium's, which they share with the environment."""
    _have_gymnasium_generator(innermost)
    values = [value for layer in wrappers for value in _holders(layer)]
    layers = {id(layer): index for index, layer in enumerate(wrappers)}
    for index, generator in enumerate(find_generators([*values, innermost._np_random], layers)):
        set_generator(generator, seed, index)


def environment_generators(env: Any) -> list[Any]:
    """Every random generator that the attributes lead to."""
    layers = environment_layers(env)
    values = [value for layer in layers for value in _holders(layer)]
    if len(values) == 1 and type(values[0]) is np.random.Generator:
        return values
    return find_generators(values, {id(layer): index for index, layer in enumerate(layers)})


def generator_states(env: Any) -> tuple[Any, ...]:
    """Where each of these generators stands: equal as long as nothing was drawn from any."""
    return tuple(_standing(generator) for generator in environment_generators(env))


def gymnasium_generator_state(innermost: Any) -> Any:
    """Where ``np_random`` stands; None where nobody has asked for it yet, or where it is not Gymnasium's."""
    generator = vars(innermost).get("_np_random")
    return generator.bit_generator.state if _is_gymnasiums(generator) else None


def put_back_gymnasium_generator(innermost: Any, state: Any) -> None:
    """Let ``np_random`` stand where it stood."""
    if not _is_gymnasiums(vars(innermost).get("_np_random")):
        innermost._np_random = np.random.Generator(np.random.PCG64(0))
    innermost._np_random.bit_generator.state = state


def _have_gymnasium_generator(innermost: Any) -> None:
    if vars(innermost).get("_np_random") is None:
        innermost._np_random = np.random.Generator(np.random.PCG64(0))


def _holders(layer: Any) -> list[Any]:
    """Values of attributes that may hold a generator."""
    static = static_attributes(layer)
    holders = {
        name: value
        for name, value in vars(layer).items()
        if not ((kind := type(value)) in PLAIN_TYPES or IS_LIVE[kind] or name in static or _is_plain(value, kind))
    }
    # Sorted, because the order in which attributes came to be can differ between equal situations.
    return [holders[name] for name in sorted(holders)]


def _is_gymnasiums(generator: Any) -> bool:
    return type(generator) is np.random.Generator and type(generator.bit_generator) is np.random.PCG64


def _standing(generator: Any) -> Any:
    if isinstance(generator, random.Random):
        return generator.getstate()
    if isinstance(generator, np.random.RandomState):
        return pickle.dumps(generator.get_state())
    state = generator.bit_generator.state
    if isinstance(generator.bit_generator, np.random.PCG64):
        return state["state"]["state"], state["state"]["inc"], state["has_uint32"], state["uinteger"]
    return pickle.dumps(state)


def _is_plain(value: Any, kind: type) -> bool:
    if kind is np.ndarray:
        return not value.dtype.hasobject
    if kind is tuple or kind is list:
        return all(type(part) in PLAIN_TYPES for part in value)
    return kind is dict and all(type(part) in PLAIN_TYPES for part in value.values())


def set_generator(generator: Any, seed: int, index: int = 0) -> None:
    """Set one generator to a state that depends on seed and index alone."""
    if isinstance(generator, random.Random | np.random.RandomState):
        generator.seed(derive_seed("reseed", seed, index))
    elif isinstance(generator.bit_generator, np.random.PCG64):
        generator.bit_generator.state = _pcg64_state(seed, index)
    else:
        bits = generator.bit_generator
        bits.state = type(bits)(derive_seed("reseed", seed, index)).state


def _pcg64_state(seed: int, index: int) -> Any:
    """256 hashed bits as state and increment: as good a start as NumPy's seeding, at a fifth of its cost."""
    digest = hashlib.blake2b(f"reseed {seed} {index}".encode(), digest_size=32).digest()
    state, increment = int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:], "big") | 1
    return {
        "bit_generator": "PCG64",
        "state": {"state": state, "inc": increment},
        "has_uint32": 0,
        "uinteger": 0,
    }
