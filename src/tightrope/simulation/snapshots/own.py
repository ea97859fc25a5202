"""Environments that bring their own ``save_state()`` and ``load_state(saved)``; their wrappers are saved too."""

from __future__ import annotations

from typing import Any, ClassVar

from tightrope.guards.calls import calls_out
from tightrope.simulation.snapshots.attributes import AttributesSnapshotter
from tightrope.simulation.snapshots.base import draws_nothing
from tightrope.simulation.snapshots.randomness import (
    gymnasium_generator_state,
    put_back_gymnasium_generator,
    reseed_environment,
    reseed_wrappers,
)


class OwnMethodsSnapshotter:
    """Calls the environment's methods, and saves the attributes of the layers outside it.

    ``reseed(seed)``, where the environment has it, sets its random generators anew. Where it has not, or where wrappers
    may draw from it, Gymnasium's own generator is saved beside what the environment hands out: one that never draws may
    leave it out, and then nobody could see, in a situation put back, that nothing was drawn on the way to it.
    """

    name: ClassVar[str] = "own methods"

    def __init__(self, env: Any) -> None:
        self.env = env
        self.owner = _owner(env)
        outside = _layers_outside(env, self.owner)
        self._wrappers = AttributesSnapshotter(env, outside) if outside else None
        self._outside = outside
        may_be_drawn_from = (outside or self.reseeds_all_in_sight) and not draws_nothing(env)
        self._drawn_from = env.unwrapped if may_be_drawn_from else None

    @classmethod
    def applies(cls, env: Any) -> bool:
        """Whether some layer has both methods."""
        return _owner(env) is not None

    @calls_out("the environment", save_state="save_state()")
    def save(self) -> Any:
        """What the environment hands out, where its generator stands, and the wrappers' attributes."""
        generator = None if self._drawn_from is None else gymnasium_generator_state(self._drawn_from)
        return self.owner.save_state(), generator, None if self._wrappers is None else self._wrappers.save()

    @calls_out("the environment", load_state="load_state()")
    def load(self, payload: Any) -> None:
        """Hand it back."""
        own, generator, wrappers = payload
        self.owner.load_state(own)
        if generator is not None:
            put_back_gymnasium_generator(self._drawn_from, generator)
        if self._wrappers is not None:
            self._wrappers.load(wrappers)

    @property
    def reseeds_all_in_sight(self) -> bool:
        """What the environment's own method sets, it alone knows."""
        return not callable(getattr(self.owner, "reseed", None))

    def reseed(self, seed: int) -> None:
        """Call ``reseed`` where there is one, after the wrappers; set the generators in the attributes where not."""
        if self.reseeds_all_in_sight:
            reseed_environment(self.env, seed)
            return
        if self._outside:
            reseed_wrappers(self._outside, self.env.unwrapped, seed)
        self.owner.reseed(seed)


def _owner(env: Any) -> Any:
    """The outermost layer with both methods; an environment that is kept in another attribute is not all there is."""
    while env is not None and not _saves_itself(type(env)):
        env = getattr(env, "env", None)
    return env


def _saves_itself(kind: type) -> bool:
    return all(callable(getattr(kind, name, None)) for name in ("save_state", "load_state"))


def _layers_outside(env: Any, owner: Any) -> list[Any]:
    outside = []
    while env is not owner:
        outside.append(env)
        env = env.env
    return outside
