"""Putting a training environment into a situation: by exact snapshot where that was seen to work, else by replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from tightrope.errors import UsageError
from tightrope.simulation import Simulator, Snapshot, Snapshotter, conformance_of, is_known_stochastic
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.simulation.conformance.trial_walk import leaves
from tightrope.simulation.player import play
from tightrope.simulation.snapshots import applicable_snapshotters, find_snapshotter
from tightrope.simulation.snapshots.layers import environment_layers, speed_up_attributes
from tightrope.tasks.observations import own_copy, own_info
from tightrope.tasks.predicates import at_end_only
from tightrope.tasks.task import Task, Transition
from tightrope.trace import ActionTrace

TRIED_STEPS = 24
"""Steps after a situation that must be the same by snapshot and by replay before snapshots are used."""


class Placer:
    """Puts one environment, wrappers included, into situations."""

    def __init__(self, env: gym.Env[Any, Any], task: Task | None) -> None:
        self._env = env
        self._task = task or Task(name="training", make_env=lambda: env, goal=_never, unsafe=_never)
        self._trusted = task is not None
        self._simulator: Simulator | None = None
        self._snapshots: dict[str, Snapshot] = {}
        self.replayed = False
        """Whether situations are put back by replay, which costs their length in steps."""

    def __getstate__(self) -> dict[str, Any]:
        """Without what belongs to this very environment: a copy of it finds its own ways."""
        return {**vars(self), "_simulator": None, "_snapshots": {}}

    def put(self, trace: ActionTrace, seed: int, *, asked_for: bool = False) -> tuple[Any, Mapping[str, Any]]:
        """Put the environment there with fresh randomness; what an agent sees there.

        ``asked_for``: whether the randomness follows from a seed that the caller gave, and is to be seen to.
        """
        simulator = self._opened(trace)
        known = self._snapshots.get(trace.id)
        if known is None:
            self._replay(simulator, trace)
            if not self.replayed:
                self._snapshots[trace.id] = simulator.save()
        else:
            simulator.load(known)
        # Where nothing is random after a reset, there is no randomness to make fresh, and looking for it takes time.
        if asked_for or self._random():
            simulator.reseed(seed)
        # The snapshot keeps what it has shown; whoever trains may change what it is given.
        return own_copy(simulator.observation), own_info(simulator.info)

    def _random(self) -> bool:
        return not self._trusted or is_known_stochastic(self._task) or not conformance_of(self._task).deterministic

    def _opened(self, trace: ActionTrace) -> Simulator:
        if self._simulator is None:
            speed_up_attributes(environment_layers(self._env))
            snapshotter = self._checked(trace)
            self.replayed = snapshotter is None
            self._simulator = Simulator(self._task, self._env, snapshotter)
        return self._simulator

    def _checked(self, trace: ActionTrace) -> Snapshotter | None:
        """The way of saving that conformance found for the task, or one that is tried on this very environment."""
        if self._trusted:
            method = conformance_of(self._task).method
            return None if method == REPLAY else find_snapshotter(method)(self._env)
        expected = self._continuation(Simulator(self._task, self._env, None), trace, None)
        for family in applicable_snapshotters(self._env):
            try:
                snapshotter = family(self._env)
                shown = self._continuation(Simulator(self._task, self._env, snapshotter), trace, snapshotter)
            except Exception:
                # A way of saving that fails on this environment is one that cannot be used.
                continue
            if shown == expected:
                return snapshotter
        return None

    def _continuation(self, simulator: Simulator, trace: ActionTrace, snapshotter: Snapshotter | None) -> list[Any]:
        """What follows the situation; with a snapshotter after wandering off and being put back."""
        self._replay(simulator, trace)
        if snapshotter is not None:
            here = simulator.save()
            self._walk(simulator, 1)
            simulator.load(here)
        return self._walk(simulator, 0)

    def _walk(self, simulator: Simulator, seed: int) -> list[Any]:
        space = simulator.env.action_space
        space.seed(seed)
        simulator.reseed(seed)
        shown = []
        for _ in range(TRIED_STEPS):
            observation, reward, terminated, truncated, _ = simulator.env.step(space.sample())
            shown.append((leaves("observation", observation), float(reward), bool(terminated), bool(truncated)))
            if terminated or truncated:
                break
        return shown

    def _replay(self, simulator: Simulator, trace: ActionTrace) -> None:
        depth = 0
        for moment in play(simulator, trace):
            depth = moment.depth
        if depth == len(trace) and simulator.outcome.terminal:
            raise UsageError(
                f"situation {trace.id} of {trace.task} is the end of an episode ({simulator.outcome}), after {depth} "
                f"actions; to begin before it, say how far: situations_from(…, steps_before=20)"
            )
        if depth < len(trace):
            raise UsageError(
                f"situation {trace.id} of {trace.task} cannot be reached here: the episode is over after {depth} of "
                f"{len(trace)} actions. Was it found on another environment, or with other wrappers?"
            )


@at_end_only
def _never(transition: Transition) -> bool:
    return False
