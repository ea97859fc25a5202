"""The environments that make up an environment."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from tightrope.simulation.snapshots.capture import IS_WORLD

STATIC_ATTRIBUTES: Mapping[str, frozenset[str]] = {"gymnasium.envs.toy_text": frozenset({"P"})}
"""Tables that the classes of a package build once and only read. P has up to 12,000 entries, the rest of a toy-text
environment ten. Other classes name theirs in ``static_attributes``."""


def environment_layers(env: Any) -> list[Any]:
    """The wrappers from the outside in, the innermost environment, and environments kept in other attributes."""
    layers = [env]
    for layer in layers:
        for value in vars(layer).values():
            if IS_WORLD[type(value)] and not any(value is known for known in layers):
                layers.append(value)
    return layers


def speed_up_attributes(layers: Iterable[Any]) -> None:
    """Make the attributes of environments whose ``__dict__`` was looked at as quick to read as they were before.

    The attributes of objects of one class share a table of names. Up to Python 3.12 a look at ``__dict__``, which
    saving takes, leaves a dict on that table, and the interpreter's short cuts do not know such: CartPole's step takes
    an eighth longer from then on. Filled anew, the dict has names of its own, and there are short cuts for that.
    """
    if sys.version_info >= (3, 13):
        return
    for layer in layers:
        attributes = vars(layer)
        values = dict(attributes)
        attributes.clear()
        attributes.update(values)


def static_attributes(layer: Any) -> frozenset[str]:
    """The attributes of a layer that its class only reads after construction."""
    return _STATIC[type(layer)]


class _StaticAttributes(dict[type, frozenset[str]]):
    """By class; worked out once for each."""

    def __missing__(self, kind: type) -> frozenset[str]:
        declared = frozenset(getattr(kind, "static_attributes", ()))
        for package, names in STATIC_ATTRIBUTES.items():
            if kind.__module__.startswith(package):
                declared |= names
        self[kind] = declared
        return declared


_STATIC: Mapping[type, frozenset[str]] = _StaticAttributes()
