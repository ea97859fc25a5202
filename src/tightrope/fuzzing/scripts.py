"""Executing scripts of perturbations, stretch by stretch.

The agent acts up to the next perturbation, is disturbed for its length, acts on. Every stretch is a rollout that starts
from the actions played so far, so the engine needs to know nothing of scripts, and the stretches of all individuals run
together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tightrope.agents.agent import Agent
from tightrope.execution import Episode, EpisodeError, Rollout
from tightrope.fuzzing.actions import ActionSource
from tightrope.fuzzing.disturbed import DisturbedAgent
from tightrope.fuzzing.fitness import NO_KEYS, Keys, Played
from tightrope.fuzzing.perturbation import Perturbation, PerturbationKind, Script
from tightrope.fuzzing.playing import TracePlayer
from tightrope.outcome import Outcome
from tightrope.seeding import derive_seed
from tightrope.trace import ActionTrace


def cast(agent: Agent, source: ActionSource) -> dict[str, Agent]:
    """The agent and its disturbed versions, by name."""
    disturbed = (DisturbedAgent(agent, kind, source) for kind in (PerturbationKind.OTHER, PerturbationKind.NOISE))
    return {actor.name: actor for actor in (agent, *disturbed)}


@dataclass(frozen=True)
class _Path:
    """What a script has led to so far."""

    trace: ActionTrace
    rewards: tuple[float, ...] = ()
    keys: Keys | None = None
    outcome: Outcome = Outcome.ONGOING
    error: EpisodeError | None = None

    def then(self, episode: Episode) -> _Path:
        return _Path(episode.trace, self.rewards + episode.rewards, episode.keys, episode.outcome, episode.error)

    def up_to(self, step: int) -> _Path:
        """The path before ``step``; all of it when it ended earlier."""
        if step >= len(self.trace):
            return self
        return _Path(self.trace.prefix(step), self.rewards[:step])

    @property
    def over(self) -> bool:
        return self.outcome.terminal or self.error is not None

    def played(self) -> Played:
        keys = NO_KEYS if self.keys is None else self.keys
        return Played(trace=self.trace, rewards=self.rewards, keys=keys, outcome=self.outcome, error=self.error)


@dataclass(frozen=True, kw_only=True)
class _Stage:
    """Who plays, and for how long."""

    agent: str
    disturbed: Mapping[PerturbationKind, str]
    seed: int
    max_length: int | None


class _Run:
    """One script on its way: plans the next stretch from the path so far."""

    def __init__(self, script: Script, finished: int, path: _Path, stage: _Stage) -> None:
        self.script, self.path, self.stage = script, path, stage
        self._left = list(script.perturbations[finished:])

    def next_stretch(self) -> Rollout | None:
        """The next rollout; None when the episode is over."""
        position, limit = len(self.path.trace), self.stage.max_length
        if self.path.over or position == limit:
            return None
        own_seed = derive_seed("fuzz policy", self.stage.seed, self.script.id)
        if not self._left:
            return self._acting(self.stage.agent, None if limit is None else limit - position, own_seed)
        until = self._left[0].start if limit is None else min(limit, self._left[0].start)
        if position < until:
            return self._acting(self.stage.agent, until - position, own_seed)
        part = self._left.pop(0)
        length = part.length if limit is None else min(part.length, limit - position)
        if part.kind is PerturbationKind.HELD:
            return self._rollout(actions=(part.action,) * length, seed=part.seed)
        return self._acting(self.stage.disturbed[part.kind], length, part.seed)

    def _acting(self, agent: str, length: int | None, seed: int) -> Rollout:
        return self._rollout(agent=agent, length=length, seed=seed)

    def _rollout(self, **fields: Any) -> Rollout:
        # The path so far is fixed, whatever randomness it took; fresh randomness begins with this stretch.
        return Rollout(start=self.path.trace, fixed_prefix=True, record_keys=True, **fields)


class ScriptPlayer:
    """Executes scripts. With a deterministic agent and environment, what a script shares with one executed before is
    known and not run again.
    """

    def __init__(self, traces: TracePlayer, start: ActionTrace, agent: Agent, max_length: int | None) -> None:
        self.traces, self.start = traces, start
        self.repeatable = traces.engine.deterministic and agent.deterministic
        self._stage = _Stage(
            agent=agent.name,
            disturbed={
                kind: DisturbedAgent(agent, kind, traces.source).name
                for kind in (PerturbationKind.OTHER, PerturbationKind.NOISE)
            },
            seed=traces.seed,
            max_length=max_length,
        )
        self._known: dict[tuple[Perturbation, ...], _Path] = {}

    def __call__(self, scripts: Sequence[Script]) -> list[Played]:
        """What became of each script; the stretches of all of them run together, round by round."""
        runs = [_Run(script, *self._known_part(script), self._stage) for script in scripts]
        while waiting := [(run, stretch) for run in runs if (stretch := run.next_stretch()) is not None]:
            episodes = self._play([stretch for _, stretch in waiting])
            for (run, _), episode in zip(waiting, episodes, strict=True):
                run.path = run.path.then(episode)
        if self.repeatable:
            for run in runs:
                self._remember(run.script, run.path)
        return [run.path.played() for run in runs]

    def _play(self, rollouts: Sequence[Rollout]) -> list[Episode]:
        """Agents' stretches go to the engine; held actions too, but they may have to keep to action masks."""
        episodes = iter(self.traces.engine.run([rollout for rollout in rollouts if rollout.agent is not None]))
        held = iter(self.traces.play([rollout for rollout in rollouts if rollout.agent is None]))
        return [next(held if rollout.agent is None else episodes) for rollout in rollouts]

    def _known_part(self, script: Script) -> tuple[int, _Path]:
        """How many of the script's perturbations are behind a path that is known, and that path."""
        parts = script.perturbations
        for count in range(len(parts), -1, -1):
            path = self._known.get(parts[:count])
            if path is not None and (path.over or count == len(parts) or len(path.trace) >= parts[count].start):
                return count, path if count == len(parts) else path.up_to(parts[count].start)
        return 0, _Path(self.start)

    def _remember(self, script: Script, path: _Path) -> None:
        parts = script.perturbations
        self._known[parts] = path
        for count, perturbation in enumerate(parts):
            known = self._known.get(parts[:count])
            if known is None or (not known.over and len(known.trace) < perturbation.start):
                self._known[parts[:count]] = path.up_to(perturbation.start)
