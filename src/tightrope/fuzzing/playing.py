"""Executing action traces in the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np

from tightrope.execution import Engine, Episode, Rollout
from tightrope.fuzzing import masks
from tightrope.fuzzing.actions import ActionSource
from tightrope.fuzzing.fitness import NO_KEYS, Played
from tightrope.seeding import derive_seed
from tightrope.trace import ActionTrace


class TracePlayer:
    """Plays action traces from reset, each once.

    Where the environment is stochastic, the randomness of that one execution is derived from the seed and the trace,
    so that a trace means the same in every generation and on every back end.
    """

    def __init__(self, engine: Engine, source: ActionSource, seed: int) -> None:
        self.engine, self.source, self.seed = engine, source, seed
        self.masked = bool(engine.map(masks.has_masks, [None])[0])

    def __call__(self, traces: Sequence[ActionTrace]) -> list[Played]:
        """What became of each trace."""
        return [played_of(episode) for episode in self.play(self.rollouts(traces))]

    def rollouts(self, traces: Sequence[ActionTrace]) -> list[Rollout]:
        """How each is played."""
        return [self._rollout(trace) for trace in traces]

    def play(self, rollouts: Sequence[Rollout]) -> list[Episode]:
        """Run rollouts of fixed actions; on a task with action masks the actions are made to keep to them."""
        if not self.masked:
            return self.engine.run(rollouts)
        chunks = masks.chunked(rollouts, self.source, self.engine.deterministic)
        return [episode for played in self.engine.map(masks.play_masked, chunks) for episode in played]

    def _rollout(self, trace: ActionTrace) -> Rollout:
        return Rollout(
            start=ActionTrace(trace.task, trace.seed),
            actions=trace.actions,
            seed=derive_seed("fuzz", self.seed, trace.id),
            record_keys=True,
        )


class Together:
    """Plays traces of several seeds at a time, by the places of their players."""

    def __init__(self, players: Sequence[TracePlayer]) -> None:
        self.players = players

    def __call__(self, asked: Mapping[int, Sequence[ActionTrace]]) -> dict[int, list[Played]]:
        """What became of each trace."""
        rollouts = [rollout for place, traces in asked.items() for rollout in self.players[place].rollouts(traces)]
        # They differ in how they make rollouts, not in how they play them.
        played = map(played_of, self.players[0].play(rollouts))
        return {place: list(islice(played, len(traces))) for place, traces in asked.items()}


def played_of(episode: Episode) -> Played:
    """What was played in an episode from reset."""
    return Played(
        trace=episode.trace,
        rewards=episode.rewards,
        keys=NO_KEYS if episode.keys is None else np.asarray(episode.keys, dtype=np.uint64),
        outcome=episode.outcome,
        error=episode.error,
    )
