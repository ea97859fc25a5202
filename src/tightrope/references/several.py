"""Several references: other starts, other searches, and the runs of agents.

A suite on one reference stands on one way through the task that a search happened to find. References that differ are
what "in situations like these" is measured over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import zip_longest

import gymnasium as gym

from tightrope.agents.agent import Agent
from tightrope.agents.noisy import NoisyAgent
from tightrope.budget import Budget, Meter
from tightrope.errors import UsageError
from tightrope.execution import Engine, Episode, Rollout, begun_again_if_stochastic, borrowed_engine
from tightrope.exploration.playing import replay
from tightrope.failures import Disturbance, FoundFailure, search_failures
from tightrope.failures.moments import find_moments
from tightrope.outcome import Outcome, StopReason
from tightrope.progress import Progress, ProgressCallback
from tightrope.reference import BoundaryState, Reference
from tightrope.references.probing import probe_boundary
from tightrope.references.searching import search
from tightrope.seeding import derive_seed, generator
from tightrope.settings import LIBRARY_BACKEND
from tightrope.simulation import conformance_of, open_simulator
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

DEFAULT_BUDGET = Budget(steps=200_000)
FINDING_SHARE, PROBING_SHARE = 0.4, 0.3
"""Of the budget, for finding ways and for proving their boundary states; the rest, and what is left of these, goes to
moments on the agents' runs where too few have any."""
RUNS_SHARE = 0.5
"""Of what finding ways may cost, at most so much for the runs of agents; searches get the rest."""
RUNS_PER_AGENT = 2
"""Runs of each agent for every reference that is wanted, half of them noisy: some do not get there, some agree."""
NOISE = 0.05
"""Share of random actions in noisy runs: enough to leave the agent's own path, seldom enough to end it."""

IN_VAIN = 2
"""Searches, or probings, in a row that find nothing, after which no more are made: the next would be like them."""

FAILURE_STEPS = 20_000
"""Most steps for failures near one agent's runs: a handful of moments is wanted, and a weak agent fails everywhere."""


def find_references(
    task: Task,
    count: int = 8,
    agents: Sequence[Agent] = (),
    budget: Budget | None = None,
    seed: int = 0,
    *,
    demonstrations: Sequence[ActionTrace] = (),
    known: Sequence[Reference] = (),
    reset_seeds: int | None = None,
    probe: bool = True,
    engine: Engine | None = None,
    backend: str = LIBRARY_BACKEND,
    workers: int | None = None,
    on_progress: ProgressCallback | None = None,
) -> tuple[Reference, ...]:
    """Up to ``count`` references that differ, each with its boundary states.

    In turn: given traces, runs of the agents that reach the goal (from many reset seeds, as they are and with a little
    noise), and searches from other reset seeds, with other seeds and orders of the actions. Where no way reaches the
    goal, the agents' longest runs serve, and their ``method`` says so. Where probing finds boundary states on too few
    of them, runs in which an agent fails, by itself or after a small disturbance, serve as well: up to before the harm,
    with the moment that it was lost as boundary state.

    Args:
        task: What is to be solved.
        count: How many are wanted; fewer come back when the budget does not reach for more, or no more differ.
        agents: Whose runs to take: the tested ones and any others at hand.
        budget: What all of it may cost; default: 200,000 steps.
        seed: All randomness follows from it.
        demonstrations: Traces that reach the goal: fuzz traces, recorded ones.
        known: References at hand, which come first and from which the others are to differ.
        reset_seeds: From how many resets to begin, the task's own first; default: as many as references are wanted.
        probe: Whether to look for boundary states, with three fifths of the budget.
        engine: Where to run; default: one made for the occasion.
        backend: Of an engine made for the occasion, by its name.
        workers: Of an engine made for the occasion; default: one for each core.
        on_progress: Told how far the work has come.
    """
    found, _ = gather_references(
        task,
        count,
        agents,
        budget,
        seed,
        demonstrations=demonstrations,
        known=known,
        reset_seeds=reset_seeds,
        probe=probe,
        engine=engine,
        backend=backend,
        workers=workers,
        on_progress=on_progress,
    )
    return found


@begun_again_if_stochastic
def gather_references(
    task: Task,
    count: int,
    agents: Sequence[Agent],
    budget: Budget | None,
    seed: int,
    *,
    demonstrations: Sequence[ActionTrace] = (),
    known: Sequence[Reference] = (),
    reset_seeds: int | None = None,
    probe: bool = True,
    engine: Engine | None = None,
    backend: str = LIBRARY_BACKEND,
    workers: int | None = None,
    on_progress: ProgressCallback | None = None,
) -> tuple[tuple[Reference, ...], int]:
    """What ``find_references`` gives, and the steps that all of it took."""
    for name, value in (("count", count), ("reset_seeds", reset_seeds)):
        if value is not None and value < 1:
            raise UsageError(f"{name} must be 1 or more, not {value}")
    noisy = _noisy(task, agents)
    with borrowed_engine(task, {agent.name: agent for agent in (*agents, *noisy)}, engine, backend, workers) as runner:
        gathering = _Gathering(task, count, seed, runner, (budget or DEFAULT_BUDGET).start(), on_progress)
        gathering.resets = reset_seeds or count
        gathering.found += known
        gathering.gather([agent.name for agent in agents], [agent.name for agent in noisy], demonstrations, probe)
        return tuple(gathering.found), gathering.meter.steps


def _noisy(task: Task, agents: Sequence[Agent]) -> list[NoisyAgent]:
    """The agents with a little noise, where actions can be drawn at random."""
    space = task.action_space
    if isinstance(space, gym.spaces.Box) and not space.is_bounded():
        return []
    return [NoisyAgent(agent, NOISE, space) for agent in agents]


@dataclass
class _Gathering:
    """References that were found so far, no two alike."""

    task: Task
    count: int
    seed: int
    engine: Engine
    meter: Meter
    on_progress: ProgressCallback | None
    resets: int = 1
    found: list[Reference] = field(default_factory=list)

    @property
    def enough(self) -> bool:
        return len(self.found) >= self.count

    def gather(
        self, agents: Sequence[str], noisy: Sequence[str], demonstrations: Sequence[ActionTrace], probe: bool
    ) -> None:
        """Find ways, then their boundary states with the share of the budget that was kept for them."""
        whole, self.meter = self.meter, self.meter.remaining().share(FINDING_SHARE if probe else 1.0).start()
        given = len(self.found)
        failed = self._gather(agents, noisy, demonstrations)
        whole.spend(self.meter.steps)
        share, self.meter = whole.budget.share(PROBING_SHARE), whole
        if probe:
            probed = self._probed(self.found[given:], share)
            self.found = self._with_moments([*self.found[:given], *probed], agents, failed)[: self.count]

    def _with_moments(
        self, references: list[Reference], agents: Sequence[str], failed: Sequence[Episode]
    ) -> list[Reference]:
        """The references, and in place of those without boundary states moments of runs in which an agent fails."""
        good = [reference for reference in references if reference.boundary_states]
        seen = {reference.checksums for reference in good}
        for found in self._failures(agents, failed) if agents else ():
            if len(good) >= self.count:
                break
            reference = self._of_failure(found)
            if reference is not None and reference.checksums not in seen:
                seen.add(reference.checksums)
                good.append(reference)
        return good + [reference for reference in references if not reference.boundary_states]

    def _failures(self, agents: Sequence[str], failed: Sequence[Episode]) -> Iterator[FoundFailure]:
        """Failures with the moments they were lost: of the runs at hand, then of a search near the agents' own."""
        for episode in failed[: self.count]:
            if self.meter.spent:
                return
            left = self.meter.remaining().share(1 / 2).steps
            limit = math.inf if left is None else left
            [moment], steps = find_moments(self.engine, [episode], agents, limit=limit)
            self.meter.spend(steps)
            start = Disturbance(reset=episode.trace.seed, depth=0)
            yield FoundFailure(episode=episode, disturbance=start, moment=moment, looked=True)
        for place, name in enumerate(agents):
            if self.meter.spent:
                return
            searched = search_failures(
                self.task,
                self.engine.agents[name],
                self._for_failures(len(agents) - place),
                self.seed,
                reset_seeds=self.resets,
                engine=self.engine,
            )
            self.meter.spend(searched.steps)
            # What was lost while the agent was disturbed it may well survive by itself.
            yield from searched.avoidable

    def _for_failures(self, agents: int) -> Budget:
        """What one of so many agents' failures may cost."""
        left = self.meter.remaining().share(1 / agents)
        return replace(left, steps=FAILURE_STEPS if left.steps is None else min(left.steps, FAILURE_STEPS))

    def _of_failure(self, found: FoundFailure) -> Reference | None:
        """A failed run up to before its harm, with the moment it was lost as boundary state."""
        moment, trace = found.moment, found.trace
        if moment is None or not len(trace) > 1:
            return None
        told = f" after {found.disturbance}" if found.disturbance.steps else ""
        reference = self._played(trace.prefix(len(trace) - 1), f"failure of {found.episode.rollout.agent}{told}")
        if moment.depth >= len(reference):
            return None
        state = BoundaryState(
            depth=moment.depth,
            key=reference.trace.keys[moment.depth],
            actions=(moment.action,),
            proven=False,
            evidence={"unsafe": 1},
        )
        return replace(reference, boundary_states=(state,))

    def _probed(self, references: Sequence[Reference], budget: Budget) -> list[Reference]:
        """The references, those without boundary states probed for a share each, until that is seen to be in vain."""
        # Where situations are put back by replay, probing tries one successor for the price of hundreds of steps.
        if self.engine.conformance.method == REPLAY:
            return list(references)
        share = budget.share(1 / max(1, sum(not reference.boundary_states for reference in references)))
        probed, in_vain = list[Reference](), 0
        for reference in references:
            if not reference.boundary_states and in_vain < IN_VAIN:
                reference = probe_boundary(self.task, reference, budget=share, engine=self.engine, seed=self.seed)
                self.meter.spend(0 if reference.probing is None else reference.probing.steps)
                in_vain = 0 if reference.boundary_states else in_vain + 1
            probed.append(reference)
        return probed

    def _gather(
        self, agents: Sequence[str], noisy: Sequence[str], demonstrations: Sequence[ActionTrace]
    ) -> list[Episode]:
        """Take what each source gives in turn, so that no kind of reference crowds out another; the runs that fail."""
        for trace in demonstrations:
            self._take(trace, "demonstration")
        runs = [] if self.enough else self._runs([*agents, *noisy])
        for solved, searched in zip_longest(_goals(runs), self._searches()):
            if solved is not None:
                self._take(*solved)
            if searched is not None:
                self._add(searched)
            if self.enough:
                break
        for episode in sorted(runs, key=lambda episode: -len(episode.actions)):
            if episode.outcome is not Outcome.GOAL:
                self._take(_before_harm(episode), f"run of {episode.rollout.agent}, which does not reach the goal")
        # What an agent does by itself comes before what noise made of it.
        failed = [episode for episode in runs if episode.outcome is Outcome.UNSAFE]
        return sorted(failed, key=lambda episode: episode.rollout.agent not in agents)

    def _reset(self, number: int) -> int:
        """The reset seed of a source: the task's own, then others."""
        number %= self.resets
        return self.task.seed if number == 0 else derive_seed("reference start", self.seed, number)

    def _runs(self, agents: Sequence[str]) -> list[Episode]:
        """Runs of the agents from the resets, the goals among them in the order of their seeds, while steps last."""
        episodes: list[Episode] = []
        share = self.meter.remaining().share(RUNS_SHARE).start()
        for number in range(RUNS_PER_AGENT * self.count // 2):
            if share.spent:
                break
            rollouts = [
                Rollout(
                    # What is known begins where the task does, so runs begin elsewhere first.
                    start=ActionTrace(self.task.label, self._reset(number + len(self.found))),
                    agent=name,
                    seed=derive_seed("reference run", self.seed, number),
                    fixed_prefix=True,
                )
                for name in agents
            ]
            played = [episode for episode in self.engine.run(rollouts) if episode.error is None]
            share.spend(sum(len(episode.actions) for episode in played))
            episodes += played
        self.meter.spend(share.steps)
        return episodes

    def _searches(self) -> Iterator[Reference]:
        """Searches from the task's own start, then from others, while the budget lasts."""
        first, in_vain = 1 if self.found else 0, 0
        for number in range(first, 2 * self.count):
            left = self.count - len(self.found)
            if self.meter.spent or left < 1 or in_vain == IN_VAIN:
                return
            share = self.meter.remaining().share(1 / (left + 1))
            result = search(
                self._varied(number), seed=derive_seed(self.seed, number), budget=share, probe=False, engine=None
            )
            # What was found was played once more to see that it holds.
            self.meter.spend(result.stats.steps + (0 if result.reference is None else len(result.reference)))
            if self.engine.conformance.method == REPLAY:
                self.meter.spend(result.stats.replayed_steps)
            if result.stop_reason is StopReason.CANCELLED:
                raise KeyboardInterrupt
            in_vain = in_vain + 1 if result.reference is None else 0
            if result.reference is not None:
                yield result.reference

    def _varied(self, number: int) -> Task:
        """The task as it is, then from another reset with the actions in another order."""
        if number == 0:
            return self.task
        actions = list(self.task.search_actions)
        generator("reference actions", self.seed, number).shuffle(actions)
        varied = replace(self.task, seed=self._reset(number), actions=tuple(actions))
        # Its environments are the same, so what is known of them need not be found out again.
        conformance_of(varied, conformance_of(self.task))
        return varied

    def _take(self, trace: ActionTrace, method: str) -> None:
        self._add(self._played(trace, method))

    def _played(self, trace: ActionTrace, method: str) -> Reference:
        with closing(open_simulator(self.task)) as simulator:
            played = replay(simulator, trace)
        self.meter.spend(len(played))
        return Reference(
            trace=played,
            actions=trace.prefix(len(played)),
            boundary_states=(),
            method=method,
            search_actions=self.task.search_actions,
        )

    def _add(self, reference: Reference) -> None:
        # The same situations in the same order are the same way, whatever the reset seed was.
        seen = {other.checksums for other in self.found}
        if not len(reference) or reference.checksums in seen or self.enough:
            return
        self.found.append(reference)
        if self.on_progress is not None:
            note = f"{reference.method}, {len(reference)} actions"
            self.on_progress(Progress("references", len(self.found), self.count, note))


def _goals(episodes: Sequence[Episode]) -> Iterator[tuple[ActionTrace, str]]:
    for episode in episodes:
        if episode.outcome is Outcome.GOAL:
            yield episode.trace, f"run of {episode.rollout.agent}"


def _before_harm(episode: Episode) -> ActionTrace:
    """The run up to its end, or to the last moment before it became unsafe: nothing can be tested after that."""
    trace = episode.trace
    return trace.prefix(len(trace) - 1) if episode.outcome is Outcome.UNSAFE else trace
