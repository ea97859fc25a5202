"""Ways through a task that differ: given traces, runs of agents, and searches from other starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import zip_longest

import gymnasium as gym

from tightrope.agents.agent import Agent
from tightrope.agents.noisy import NoisyAgent
from tightrope.budget import Meter
from tightrope.execution import Engine, Episode, Rollout
from tightrope.exploration.playing import replay
from tightrope.outcome import Outcome, StopReason
from tightrope.progress import Progress, ProgressCallback
from tightrope.reference import GIVEN, Reference
from tightrope.references.searching import search
from tightrope.seeding import derive_seed, generator
from tightrope.simulation import conformance_of, open_simulator
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

RUNS_SHARE = 0.5
"""Of what finding ways may cost, at most so much for the runs of agents; searches get the rest."""
RUNS_PER_AGENT = 2
"""Runs of each agent for every reference that is wanted, half of them noisy: some do not get there, some agree."""
NOISE = 0.05
"""Share of random actions in noisy runs: enough to leave the agent's own path, seldom enough to end it."""

IN_VAIN = 2
"""Searches, or probings, in a row that find nothing, after which no more are made: the next would be like them."""


def with_noise(task: Task, agents: Sequence[Agent]) -> list[NoisyAgent]:
    """The agents with a little noise, where actions can be drawn at random."""
    space = task.action_space
    if isinstance(space, gym.spaces.Box) and not space.is_bounded():
        return []
    return [NoisyAgent(agent, NOISE, space) for agent in agents]


@dataclass
class Ways:
    """Ways that were found so far, no two alike, as references without boundary states.

    Args:
        task: The task to be solved.
        count: How many are wanted.
        seed: Determines everything random.
        engine: Where agents play.
        resets: From how many resets to begin, the task's own first.
        found: What is known already.
        on_progress: Told of each that is found.
    """

    task: Task
    count: int
    seed: int
    engine: Engine
    resets: int
    found: list[Reference] = field(default_factory=list)
    on_progress: ProgressCallback | None = None

    @property
    def enough(self) -> bool:
        """Whether as many are found as were wanted."""
        return len(self.found) >= self.count

    def find(
        self, agents: Sequence[str], noisy: Sequence[str], demonstrations: Sequence[ActionTrace], meter: Meter
    ) -> list[Episode]:
        """Take what each source gives in turn, so that no kind of reference crowds out another; the runs that fail."""
        for trace in demonstrations:
            self._take(played_reference(self.task, trace, GIVEN), meter, only_to_goal=True)
        runs = [] if self.enough else self._runs([*agents, *noisy], meter)
        for searched, solved in zip_longest(self._searches(meter), _goals(runs)):
            # A search comes with boundary states; a good agent's run may stay away from all of them.
            if searched is not None:
                self._add(searched)
            if solved is not None:
                self._take(self._run_of(solved), meter)
            if self.enough:
                break
        for episode in sorted(runs, key=lambda episode: -len(episode.actions)):
            if episode.outcome is not Outcome.GOAL:
                self._take(self._run_of(episode), meter)
        failed = [episode for episode in runs if episode.outcome is Outcome.UNSAFE]
        often = Counter(episode.rollout.agent for episode in failed)
        # What an agent does by itself comes before what noise made of it; and who seldom fails was seldom lost from the
        # start on, so that there is a moment to be found.
        return sorted(failed, key=lambda run: (run.rollout.agent not in agents, often[run.rollout.agent]))

    def _reset(self, number: int) -> int:
        """The reset seed of a source: the task's own, then others."""
        number %= self.resets
        return self.task.seed if number == 0 else derive_seed("reference start", self.seed, number)

    def _runs(self, agents: Sequence[str], meter: Meter) -> list[Episode]:
        """Runs of the agents from the resets, the goals among them in the order of their seeds, while steps last."""
        episodes: list[Episode] = []
        share = meter.remaining().share(RUNS_SHARE).start()
        for number in range(RUNS_PER_AGENT * self.count // 2):
            if share.spent:
                break
            self.tell(f"runs of the agents, round {number + 1}")
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
        meter.spend(share.steps)
        return episodes

    def _searches(self, meter: Meter) -> Iterator[Reference]:
        """Searches from the task's own start, then from others, while the budget lasts.

        The actions' own order and others take turns, and each is given up by itself: on CartPole a search that begins
        with the second action never ends, and two such in a row had stood for all.
        """
        in_vain = {False: 0, True: 0}
        for number in range(1 if self.found else 0, 2 * self.count):
            left, shuffled = self.count - len(self.found), _is_shuffled(number)
            if meter.spent or left < 1:
                return
            if in_vain[shuffled] == IN_VAIN:
                continue
            # Who finds a way leaves what he does not need; an even share may be just too little for any of them.
            self.tell(f"search {number + 1}")
            share = meter.remaining().share(1 / (left + 1) if shuffled or in_vain[shuffled] else 1 / 2)
            result = search(
                self._varied(number), seed=derive_seed(self.seed, number), budget=share, probe=False, engine=None
            )
            # What was found was played once more to see that it holds.
            meter.spend(result.stats.steps + (0 if result.reference is None else len(result.reference)))
            if self.engine.conformance.method == REPLAY:
                meter.spend(result.stats.replayed_steps)
            if result.stop_reason is StopReason.CANCELLED:
                raise KeyboardInterrupt
            in_vain[shuffled] = in_vain[shuffled] + 1 if result.reference is None else 0
            if result.reference is not None:
                yield result.reference

    def _varied(self, number: int) -> Task:
        """The task as it is, then from other resets, every second time with the actions in another order."""
        if number == 0:
            return self.task
        actions = list(self.task.search_actions)
        if _is_shuffled(number):
            generator("reference actions", self.seed, number).shuffle(actions)
        varied = replace(self.task, seed=self._reset(number), actions=tuple(actions))
        # Its environments are the same, so what is known of them need not be found out again.
        conformance_of(varied, conformance_of(self.task))
        return varied

    def _run_of(self, episode: Episode) -> Reference:
        """An agent's run up to its end, or to before it became unsafe."""
        name = episode.rollout.agent
        return replace(
            played_reference(self.task, _before_harm(episode), f"run of {name}"), agent=whose(self.engine, name)
        )

    def _take(self, reference: Reference, meter: Meter, *, only_to_goal: bool = False) -> None:
        meter.spend(len(reference))
        if reference.trace.outcome is Outcome.GOAL or not only_to_goal:
            self._add(reference)

    def _add(self, reference: Reference) -> None:
        # The same situations in the same order are the same way, whatever the reset seed was.
        seen = {other.checksums for other in self.found}
        if not len(reference) or reference.checksums in seen or self.enough:
            return
        self.found.append(reference)
        self.tell(f"{reference.method}, {len(reference)} actions")

    def tell(self, note: str) -> None:
        """Say what was found, or is being done."""
        if self.on_progress is not None:
            self.on_progress(Progress("references", len(self.found), self.count, note))


def _is_shuffled(number: int) -> bool:
    """Whether the search of this number tries the actions in another order."""
    return number > 0 and number % 2 == 0


def played_reference(task: Task, trace: ActionTrace, method: str) -> Reference:
    """The way along a trace, as far as it can be gone, played once to see where it leads."""
    with closing(open_simulator(task)) as simulator:
        played = replay(simulator, trace)
    return Reference(
        trace=played,
        actions=trace.prefix(len(played)),
        boundary_states=(),
        method=method,
        search_actions=task.search_actions,
    )


def whose(engine: Engine, name: str | None) -> str | None:
    """The agent that played under a name, which may be that of its noisy copy; None: nobody did."""
    played = None if name is None else engine.agents[name]
    return played.agent.name if isinstance(played, NoisyAgent) else name


def _goals(episodes: Sequence[Episode]) -> Iterator[Episode]:
    return (episode for episode in episodes if episode.outcome is Outcome.GOAL)


def _before_harm(episode: Episode) -> ActionTrace:
    """The run up to its end, or to the last moment before it became unsafe: nothing can be tested after that."""
    trace = episode.trace
    return trace.prefix(len(trace) - 1) if episode.outcome is Outcome.UNSAFE else trace
