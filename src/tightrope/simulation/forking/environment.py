"""An environment in another process, which can be taken to a situation without playing all that leads there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gymnasium as gym

from tightrope.simulation.forking.family import ForkedEvent, family_of
from tightrope.simulation.forking.process import Branch
from tightrope.simulation.forking.serving import RESEED, RESET, STEP
from tightrope.tasks.task import Task


class ForkCosts(NamedTuple):
    """Seconds of processor time."""

    reset: float
    step: float
    fork: float
    """A copy of the process and what it copies at its first step."""
    ask: float
    """What a question to the other process takes, beside the answering."""

    def of(self, events: Sequence[ForkedEvent]) -> float:
        """What playing these events takes."""
        kinds = [kind for kind, _ in events]
        return kinds.count(STEP) * self.step + kinds.count(RESET) * self.reset


class ForkedEnv(gym.Env[Any, Any]):
    """Stands for an environment of the task that lives in a process of its own.

    ``prepare(way)`` takes it to where the way's last event has just happened, from the last copy that is kept on the
    way or from where it stands, whichever is cheaper; the next ``reset`` or ``step`` is that event and answers at once.
    Where what was played costs more than a fork, a copy is kept for those who come after.
    """

    def __init__(self, task: Task, costs: ForkCosts) -> None:
        self._family, self._costs = family_of(task), costs
        self._branch: Branch | None = self._family.copy_before(())[0]
        self._prepared: Any = None
        self.played_steps = 0
        """Steps that were executed to prepare something."""
        for name, value in self.ask("describe").items():
            setattr(self, name, value)

    def prepare(self, way: Sequence[ForkedEvent], decode: Callable[[Any], Any], standing: int | None = None) -> None:
        """Take the environment along the way.

        Args:
            way: What leads there, beginning with a reset; its last event is a reset or a step.
            decode: Makes of an action what the environment takes.
            standing: After how many events of the way the environment stands already; None: elsewhere.
        """
        self._prepared = None
        rest = way[self._begin(way, standing) :]
        self._prepared, _ = self.ask("play", [(kind, decode(value) if kind == STEP else value) for kind, value in rest])
        self.played_steps += sum(kind == STEP for kind, _ in rest)
        if self._costs.of(rest) > self._costs.fork:
            assert self._branch is not None
            self._family.keep(self._branch, way)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode: with a seed as a new environment does, without one by going on."""
        if seed is None:
            self._prepared, _ = self.ask("play", [(RESET, None)], options)
        elif options is not None:
            self._replace(self._family.copy_before(())[0])
            self._prepared, _ = self.ask("play", [(RESET, seed)], options)
        elif self._prepared is None:
            self.prepare([(RESET, seed)], _as_it_is)
        return self._taken()  # type: ignore[no-any-return]

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Play one action."""
        if self._prepared is None:
            self._prepared, _ = self.ask("play", [(STEP, action)])
        return self._taken()  # type: ignore[no-any-return]

    def reseed(self, seed: int) -> None:
        """Fresh randomness in this situation."""
        self.ask("play", [(RESEED, seed)])

    def render(self) -> Any:
        """What the environment shows."""
        return self.ask("render")

    def ask(self, name: str, *arguments: Any) -> Any:
        """What the process of the environment answers; see ``Server``. One that has ended is replaced by a new one."""
        if self._branch is None:
            self._branch = self._family.copy_before(())[0]
        try:
            return self._branch.ask(name, *arguments)
        finally:
            if self._branch.closed:
                self._branch = None

    def close(self) -> None:
        """End the process of this environment; copies that are kept stay for others of the task."""
        self._replace(None)

    def _begin(self, way: Sequence[ForkedEvent], standing: int | None) -> int:
        """Stand somewhere on the way, so that what is left costs the least; after how many events that is."""
        kept = self._family.depth_kept(way)
        here = -1 if standing is None or self._branch is None else standing
        if here >= kept or (here >= 0 and self._costs.of(way[here:]) < self._costs.of(way[kept:]) + self._costs.fork):
            return here
        branch, at = self._family.copy_before(way)
        self._replace(branch)
        return at

    def _replace(self, branch: Branch | None) -> None:
        if self._branch is not None:
            self._branch.close()
        self._branch = branch

    def _taken(self) -> Any:
        prepared, self._prepared = self._prepared, None
        return prepared


def _as_it_is(value: Any) -> Any:
    return value
