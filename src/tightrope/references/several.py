"""Several references: other starts, other searches, and the runs of agents.

A suite on one reference stands on one way through the task that a search happened to find. References that differ are
what "in situations like these" is measured over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from tightrope.agents.agent import Agent
from tightrope.agents.noisy import NoisyAgent
from tightrope.budget import Budget, Meter
from tightrope.errors import UsageError
from tightrope.execution import Engine, Episode, Rollout, begun_again_if_stochastic, borrowed_engine
from tightrope.exploration.playing import replay
from tightrope.outcome import Outcome, StopReason
from tightrope.progress import Progress, ProgressCallback
from tightrope.reference import Reference
from tightrope.references.probing import probe_boundary
from tightrope.references.searching import search
from tightrope.seeding import derive_seed, generator
from tightrope.settings import LIBRARY_BACKEND
from tightrope.simulation import conformance_of, open_simulator
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

DEFAULT_BUDGET = Budget(steps=200_000)
PROBING_SHARE = 0.4
"""Of the budget, kept for the boundary states of what is found."""
RUNS_PER_AGENT = 2
"""Runs of each agent for every reference that is wanted, half of them noisy: some do not get there, some agree."""
NOISE = 0.05
"""Share of random actions in noisy runs: enough to leave the agent's own path, seldom enough to end it."""


@begun_again_if_stochastic
def find_references(
    task: Task,
    count: int = 8,
    agents: Sequence[Agent] = (),
    budget: Budget | None = None,
    seed: int = 0,
    *,
    demonstrations: Sequence[ActionTrace] = (),
    probe: bool = True,
    engine: Engine | None = None,
    backend: str = LIBRARY_BACKEND,
    workers: int | None = None,
    on_progress: ProgressCallback | None = None,
) -> tuple[Reference, ...]:
    """Up to ``count`` references that differ, each with its boundary states.

    In turn: given traces, runs of the agents that reach the goal (from many reset seeds, as they are and with a little
    noise), and searches from other reset seeds, with other seeds and orders of the actions. Where no way reaches the
    goal, the agents' longest runs serve, and their ``method`` says so.

    Args:
        task: What is to be solved.
        count: How many are wanted; fewer come back when the budget does not reach for more, or no more differ.
        agents: Whose runs to take: the tested ones and any others at hand.
        budget: What all of it may cost; default: 200,000 steps.
        seed: All randomness follows from it.
        demonstrations: Traces that reach the goal: fuzz traces, recorded ones.
        probe: Whether to look for boundary states, with two fifths of the budget.
        engine: Where to run; default: one made for the occasion.
        backend: Of an engine made for the occasion: inline, processes or ray.
        workers: Of an engine made for the occasion; default: one for each core.
        on_progress: Told how far the work has come.
    """
    if count < 1:
        raise UsageError(f"count must be 1 or more, not {count}")
    whole = budget or DEFAULT_BUDGET
    noisy = [NoisyAgent(agent, NOISE, task.action_space) for agent in agents]
    known = {agent.name: agent for agent in (*agents, *noisy)}
    with borrowed_engine(task, known, engine, backend, workers) as runner:
        meter = (whole.share(1 - PROBING_SHARE) if probe else whole).start()
        gathering = _Gathering(task, count, seed, runner, meter, on_progress)
        gathering.gather([agent.name for agent in agents], [agent.name for agent in noisy], demonstrations)
        if not probe:
            return tuple(gathering.found)
        share = whole.share(PROBING_SHARE / max(1, len(gathering.found)))
        return tuple(_probed(task, reference, share, runner, seed) for reference in gathering.found)


def _probed(task: Task, reference: Reference, budget: Budget, engine: Engine, seed: int) -> Reference:
    if reference.boundary_states:
        return reference
    return probe_boundary(task, reference, budget=budget, engine=engine, seed=seed)


@dataclass
class _Gathering:
    """References that were found so far, no two alike."""

    task: Task
    count: int
    seed: int
    engine: Engine
    meter: Meter
    on_progress: ProgressCallback | None
    found: list[Reference] = field(default_factory=list)
    _seen: set[tuple[int, ...]] = field(default_factory=set)

    @property
    def enough(self) -> bool:
        return len(self.found) >= self.count

    def gather(self, agents: Sequence[str], noisy: Sequence[str], demonstrations: Sequence[ActionTrace]) -> None:
        """Take what each source gives in turn, so that no kind of reference crowds out another."""
        for trace in demonstrations:
            self._take(trace, "demonstration")
        runs = self._runs([*agents, *noisy])
        for solved, searched in zip_longest(_goals(runs), self._searches()):
            if solved is not None:
                self._take(*solved)
            if searched is not None:
                self._add(searched)
            if self.enough:
                return
        for episode in sorted(runs, key=lambda episode: -len(episode.actions)):
            if not self.enough and episode.outcome is not Outcome.GOAL:
                self._take(_before_harm(episode), f"run of {episode.rollout.agent}, which does not reach the goal")

    def _runs(self, agents: Sequence[str]) -> list[Episode]:
        """Runs of the agents from many reset seeds, the goals among them in the order of their seeds."""
        rollouts = [
            Rollout(
                start=ActionTrace(self.task.label, derive_seed("reference start", self.seed, number)),
                agent=name,
                seed=derive_seed("reference run", self.seed, number),
                fixed_prefix=True,
            )
            for number in range(RUNS_PER_AGENT * self.count // 2)
            for name in agents
        ]
        episodes = [episode for episode in self.engine.run(rollouts) if episode.error is None]
        self.meter.spend(sum(len(episode.actions) for episode in episodes))
        return episodes

    def _searches(self) -> Iterator[Reference]:
        """Searches from the task's own start, then from others, while the budget lasts."""
        for number in range(2 * self.count):
            left = self.count - len(self.found)
            if self.meter.spent or left < 1:
                return
            share = self.meter.remaining().share(1 / (left + 1))
            result = search(
                self._varied(number), seed=derive_seed(self.seed, number), budget=share, probe=False, engine=None
            )
            self.meter.spend(result.stats.steps)
            if result.stop_reason is StopReason.CANCELLED:
                raise KeyboardInterrupt
            if result.reference is not None:
                yield result.reference

    def _varied(self, number: int) -> Task:
        """The task as it is, then from another reset with the actions in another order."""
        if number == 0:
            return self.task
        actions = list(self.task.search_actions)
        generator("reference actions", self.seed, number).shuffle(actions)
        varied = replace(self.task, seed=derive_seed("reference start", self.seed, number), actions=tuple(actions))
        # Its environments are the same, so what is known of them need not be found out again.
        conformance_of(varied, conformance_of(self.task))
        return varied

    def _take(self, trace: ActionTrace, method: str) -> None:
        with closing(open_simulator(self.task)) as simulator:
            played = replay(simulator, trace)
        self.meter.spend(len(played))
        self._add(
            Reference(
                trace=played,
                actions=trace.prefix(len(played)),
                boundary_states=(),
                method=method,
                search_actions=self.task.search_actions,
            )
        )

    def _add(self, reference: Reference) -> None:
        # The same situations in the same order are the same way, whatever the reset seed was.
        if not len(reference) or reference.checksums in self._seen or self.enough:
            return
        self._seen.add(reference.checksums)
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
