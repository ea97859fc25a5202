"""Trials: policies played from a situation, each run with randomness of its own. Runs where the environments are."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field, replace

from tightrope.errors import EnvironmentFailure
from tightrope.exploration.learnt_model import Transitions
from tightrope.exploration.policies import Policy
from tightrope.outcome import Outcome
from tightrope.seeding import derive_seed, generator, stable_hash
from tightrope.simulation import Simulator, Snapshot, open_simulator, play
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A situation, who is to play on from it, and how often."""

    prefix: ActionTrace
    policies: tuple[Policy, ...]
    runs: int
    first: Action | None = None
    """What is played first, whatever the policies say; None: nothing is."""
    seeds: tuple[int, ...] = ()
    """The randomness of each run, the same for all policies; none: each run has its own."""


@dataclass(frozen=True, kw_only=True)
class Trials:
    """Work for one worker."""

    trials: tuple[Trial, ...]
    length: int
    """How many steps are to be survived."""
    actions: tuple[Action, ...]
    """What may be played."""
    purpose: str
    """Runs of different purposes share no randomness."""
    learn: bool = False
    """Whether to count what followed what."""


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What a trial showed."""

    survivals: tuple[tuple[bool, ...], ...]
    """Of each policy, whether it survived, run by run."""
    checksum: int
    """Hash of the state key they started from."""
    escapes: tuple[ActionTrace | None, ...] = ()
    """Of each policy a run that survived, from reset on and with its luck; None where none did."""

    @property
    def survived(self) -> tuple[int, ...]:
        """How often each policy did."""
        return tuple(map(sum, self.survivals))


@dataclass(frozen=True, kw_only=True)
class TrialsAnswer:
    """What each trial showed; None for one whose prefix ends early or raises."""

    tried: tuple[Tried | None, ...]
    seen: Transitions = field(default_factory=Transitions, repr=False)


def run_trials(task: Task, work: Trials) -> TrialsAnswer:
    """Play them all."""
    seen = Transitions()
    with closing(open_simulator(task)) as simulator:
        runner = _Runner(simulator, work, seen)
        return TrialsAnswer(tried=tuple(runner.tried(trial) for trial in work.trials), seen=seen)


def run_seed(purpose: str, policy: str, prefix: ActionTrace, number: int) -> int:
    """The randomness of one run: what was chosen by luck is not lucky again when it is counted."""
    return derive_seed("survival", purpose, policy, prefix.id, number)


class _Runner:
    """Plays trials on one simulator."""

    def __init__(self, simulator: Simulator, work: Trials, seen: Transitions) -> None:
        self.simulator, self.work, self.seen = simulator, work, seen

    def tried(self, trial: Trial) -> Tried | None:
        """Go to the situation and let each policy play on from it."""
        try:
            for _ in play(self.simulator, trial.prefix):
                pass
            if self.simulator.outcome.terminal:
                return None
            start, checksum = self.simulator.save(), stable_hash(self.simulator.key())
            runs = [
                [self._survivor(start, trial, policy, number) for number in range(trial.runs)]
                for policy in trial.policies
            ]
            return Tried(
                survivals=tuple(tuple(run is not None for run in of_one) for of_one in runs),
                checksum=checksum,
                escapes=tuple(next((run for run in of_one if run is not None), None) for of_one in runs),
            )
        except EnvironmentFailure:
            return None

    def _survivor(self, start: Snapshot, trial: Trial, policy: Policy, number: int) -> ActionTrace | None:
        """One run; how it went, if it survived."""
        simulator, work, prefix = self.simulator, self.work, trial.prefix
        seed = trial.seeds[number] if trial.seeds else run_seed(work.purpose, policy.name, prefix, number)
        simulator.load(start, reseed=seed)
        rng = generator("policy", seed)
        key = simulator.key() if work.learn else None
        actions: list[Action] = []
        while len(actions) < work.length and not simulator.outcome.terminal:
            available = simulator.available_actions(work.actions)
            if not available:
                break
            played = len(actions)
            forced = trial.first if played == 0 else None
            action = policy.act(simulator, available, played, work.length - played, rng) if forced is None else forced
            simulator.advance(action)
            actions.append(action)
            if work.learn:
                before, key = key, simulator.key()
                self.seen.add(before, action, simulator.outcome if simulator.outcome.terminal else key)
        if simulator.outcome is Outcome.UNSAFE:
            return None
        return replace(prefix.then(actions), reseeds=(*prefix.reseeds, (len(prefix), seed)))
