"""Plain Python environments: the attributes of every wrapper layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tightrope.errors import UsageError
from tightrope.simulation.snapshots.capture import IS_LIVE, Capture, capture, revive
from tightrope.simulation.snapshots.layers import environment_layers, static_attributes
from tightrope.simulation.snapshots.randomness import reseed_environment

FATAL_MODULES = frozenset({"Box2D"})
"""Libraries whose objects crash the process when used after their world destroyed them."""


class AttributesPayload(NamedTuple):
    """The attributes of all layers at one moment."""

    values: Capture
    widths: Sequence[int]
    """How many attributes each layer had, those that were not saved included."""


class AttributesSnapshotter:
    """Saves every attribute of every layer, except those that hold a live object or are declared static.

    A live object (a space, a window, an emulator) belongs to the instance, not to the situation, and stays where it is;
    so a situation can be loaded into another instance of the same environment.

    Args:
        env: The environment, with all its wrappers.
        layers: Only these of its layers; None: all.
    """

    name: ClassVar[str] = "attributes"

    def __init__(self, env: Any, layers: Sequence[Any] | None = None) -> None:
        self.env = env
        self._layers = environment_layers(env) if layers is None else layers
        self._layer_index = {id(layer): index for index, layer in enumerate(self._layers)}
        self._static = [static_attributes(layer) for layer in self._layers]
        self._handles = _fatal_handles(self._layers)
        self._pool: list[np.random.Generator] = []

    @classmethod
    def applies(cls, env: Any) -> bool:
        """Every environment has attributes; whether they are all there is, the round trip shows."""
        return True

    def save(self) -> Any:
        """Everything the attributes hold."""
        if self._handles:
            raise UsageError(self._handles)
        layers = [vars(layer) for layer in self._layers]
        values = [
            {name: value for name, value in attributes.items() if not (IS_LIVE[type(value)] or name in static)}
            for attributes, static in zip(layers, self._static, strict=True)
        ]
        return AttributesPayload(capture(values, self._layer_index), [len(attributes) for attributes in layers])

    def load(self, payload: Any) -> None:
        """Write the attributes back in place."""
        values = revive(payload.values, self._layers, self._pool)
        for layer, saved, static, width in zip(self._layers, values, self._static, payload.widths, strict=True):
            attributes = vars(layer)
            attributes.update(saved)
            if len(attributes) != width:
                _drop_younger(attributes, saved, static)

    def reseed(self, seed: int) -> None:
        """Set every generator found in the attributes."""
        reseed_environment(self.env, seed)

    @property
    def reseeds_all_in_sight(self) -> bool:
        """Whether reseeding sets nothing but generators that can be looked at."""
        return True


def _fatal_handles(layers: Sequence[Any]) -> str | None:
    """Why nothing may be put back here, if so."""
    if any(getattr(type(layer), "replay_only", False) for layer in layers):
        return "the environment is made anew at every reset, so that nothing in it can be put back later"
    values = [value for layer in layers for value in vars(layer).values()]
    for base in (base for value in values for base in type(value).__mro__):
        library = base.__module__.split(".")[0]
        if library in FATAL_MODULES:
            return f"the environment keeps {library} objects, which die at reset and cannot be put back"
    return None


def _drop_younger(attributes: dict[str, Any], saved: Mapping[str, Any], static: frozenset[str]) -> None:
    for name in [name for name in attributes if name not in saved and name not in static]:
        if not IS_LIVE[type(attributes[name])]:
            del attributes[name]
