"""The environments that make up an environment."""

from __future__ import annotations

from collections.abc import Mapping
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


def static_attributes(layer: Any) -> frozenset[str]:
    """The attributes of a layer that its class only reads after construction."""
    declared = frozenset(getattr(type(layer), "static_attributes", ()))
    for package, names in STATIC_ATTRIBUTES.items():
        if type(layer).__module__.startswith(package):
            declared |= names
    return declared
