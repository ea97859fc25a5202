"""Several references: other starts, other searches, and the runs of agents.

A suite on one reference stands on one way through the task that a search happened to find. References that differ are
what "in situations like these" is measured over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

from tightrope.agents.agent import Agent
from tightrope.budget import Budget, Meter
from tightrope.errors import UsageError
from tightrope.execution import Engine, Episode, begun_again_if_stochastic, borrowed_engine
from tightrope.failures import Disturbance, FoundFailure, search_failures
from tightrope.failures.moments import find_moments
from tightrope.outcome import Outcome
from tightrope.progress import ProgressCallback
from tightrope.reference import BoundaryState, Reference
from tightrope.references.probing import probe_boundary
from tightrope.references.taking_over import TakingOver
from tightrope.references.ways import IN_VAIN, Ways, played_reference, whose, with_noise
from tightrope.settings import FINDING_STEPS, LIBRARY_BACKEND, BackendName, Count, SearchConfig, require
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

FINDING_SHARE, PROBING_SHARE = 0.4, 0.3
"""Of the budget, for finding ways and for proving their boundary states; the rest, and what is left of these, goes to
moments on the agents' runs where too few have any."""
OWN_RUNS_SHARE = 0.5
"""Of what is left for moments, at most so much for runs that failed by themselves: a weak agent's are often lost from
the start on, and must not leave a good agent's near failures unlooked for."""
TAKING_OVER_SHARE = 0.5
"""Of what is left for moments, at most so much for where agents go wrong on ways that others found."""
FAILURE_STEPS = 20_000
"""Most steps for failures near one agent's runs: a handful of moments is wanted, and a weak agent fails everywhere."""


def find_references(
    task: Task,
    count: int = SearchConfig.references,
    agents: Sequence[Agent] = (),
    budget: Budget | None = None,
    seed: int = 0,
    *,
    demonstrations: Sequence[ActionTrace] = (),
    known: Sequence[Reference] = (),
    reset_seeds: int | None = None,
    probe: bool = True,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
    workers: int | None = None,
    on_progress: ProgressCallback | None = None,
) -> tuple[Reference, ...]:
    """Up to ``count`` references that differ, each with its boundary states.

    In turn: given traces, runs of the agents that reach the goal (from many reset seeds, as they are and with a little
    noise), and searches from other reset seeds, with other seeds and orders of the actions. Where no way reaches the
    goal, the agents' longest runs serve, as their ``trace.outcome`` says. Where probing finds boundary states on too
    few of them, the agents take over on those that a search found, and the last moment from which one fails is a
    boundary state; and runs in which an agent fails, by itself or after a small disturbance, serve up to before the
    harm, with the moment that it was lost as boundary state (both are ``by_failing``).

    Args:
        task: The task to be solved.
        count: How many are wanted; fewer come back when the budget does not reach for more, or no more differ.
        agents: Whose runs to take: the tested ones and any others at hand.
        budget: What all of it may cost; default: 200,000 steps.
        seed: Determines everything random.
        demonstrations: Traces that reach the goal, fuzz traces or recorded ones; those that do not are left out.
        known: References at hand, which come first and from which the others are to differ.
        reset_seeds: From how many resets to begin, the task's own first; default: as many as references are wanted.
        probe: Whether to look for boundary states, with three fifths of the budget.
        engine: The engine to run on; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
        on_progress: Called with a ``Progress`` as the work goes on.
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
    backend: BackendName = LIBRARY_BACKEND,
    workers: int | None = None,
    on_progress: ProgressCallback | None = None,
) -> tuple[tuple[Reference, ...], int]:
    """What ``find_references`` gives, and the steps that all of it took."""
    require("count", count, Count)
    require("reset_seeds", reset_seeds, Count | None)
    _require_of_task(task, demonstrations, known)
    noisy = with_noise(task, agents)
    with borrowed_engine(task, {agent.name: agent for agent in (*agents, *noisy)}, engine, backend, workers) as runner:
        ways = Ways(task, count, seed, runner, reset_seeds or count, list(known), on_progress)
        gathering = _Gathering(ways, (budget or Budget(steps=FINDING_STEPS)).start(), [agent.name for agent in agents])
        found = gathering.gather([agent.name for agent in noisy], demonstrations, probe)
        return tuple(found), gathering.meter.steps


def _require_of_task(task: Task, demonstrations: Sequence[ActionTrace], known: Sequence[Reference]) -> None:
    """Refuse what is of another task, or no trace or reference at all."""
    for name, given, kind in (("demonstrations", demonstrations, ActionTrace), ("known", known, Reference)):
        wrong = next((each for each in given if not isinstance(each, kind)), None)
        if wrong is not None:
            raise UsageError(
                f"{name} takes {kind.__name__}s, not {type(wrong).__name__}; reference.actions is an ActionTrace"
            )
    for one in (*demonstrations, *(reference.actions for reference in known)):
        if one.task != task.label:
            raise UsageError(
                f"a demonstration or a known reference is of task {one.task!r}, not {task.label!r}; leave it out"
            )


@dataclass
class _Gathering:
    """Ways, and what it takes to give each of them boundary states."""

    ways: Ways
    meter: Meter
    agents: Sequence[str]

    def gather(self, noisy: Sequence[str], demonstrations: Sequence[ActionTrace], probe: bool) -> list[Reference]:
        """Find ways, then their boundary states with the share of the budget that was kept for them."""
        ways, given = self.ways, len(self.ways.found)
        finding = self.meter.remaining().share(FINDING_SHARE if probe else 1.0).start()
        failed = ways.find(self.agents, noisy, demonstrations, finding)
        self.meter.spend(finding.steps)
        if not probe:
            return ways.found
        probed = self._probed(ways.found[given:], self.meter.budget.share(PROBING_SHARE))
        return [*ways.found[:given], *self._with_moments(probed, failed, ways.count - given)]

    def _with_moments(self, references: list[Reference], failed: Sequence[Episode], count: int) -> list[Reference]:
        """So many of the references, and in place of those without boundary states moments of runs that fail."""
        good = [reference for reference in references if reference.boundary_states]
        if self.agents:
            good += self._taken_over(references, count - len(good))
        seen = {reference.checksums for reference in good}
        for found in self._failures(failed) if self.agents and len(good) < count else ():
            if len(good) >= count:
                break
            reference = self._of_failure(found)
            if reference is not None and reference.checksums not in seen:
                seen.add(reference.checksums)
                good.append(reference)
        others = [each for each in references if not each.boundary_states and each.checksums not in seen]
        return (good + others)[:count]

    def _taken_over(self, references: Sequence[Reference], most: int) -> list[Reference]:
        """Ways to the goal on which no boundary state was found, with the moment at which an agent that takes over
        there loses it; what was known before is not changed, but stands there once more."""
        ways, found = self.ways, list[Reference]()
        known = [way for way in ways.found if way not in references]
        apart = [
            way
            for way in (*references, *known)
            if way.agent is None and way.trace.outcome is Outcome.GOAL and not way.boundary_states
        ]
        share = self.meter.remaining().share(TAKING_OVER_SHARE).share(1 / max(1, len(apart)))
        for number, way in enumerate(apart):
            if len(found) >= most:
                break
            ways.tell(f"where agents fail on way {number + 1} of {len(apart)}")
            meter = share.start()
            # Another agent first on each way, so that none crowds out another.
            turn = number % len(self.agents)
            order = [*self.agents[turn:], *self.agents[:turn]]
            lost = TakingOver(engine=ways.engine, seed=ways.seed, meter=meter).lost(way, order)
            self.meter.spend(meter.steps)
            found += [] if lost is None else [lost]
        return found

    def _failures(self, failed: Sequence[Episode]) -> Iterator[FoundFailure]:
        """Failures with the moments they were lost: of the runs at hand, then of a search near the agents' own."""
        ways, engine = self.ways, self.ways.engine
        runs = self.meter.remaining().share(OWN_RUNS_SHARE).start()
        for episode in failed[: ways.count]:
            if runs.spent:
                break
            ways.tell("when failed runs were lost")
            left = runs.remaining().share(1 / 2).steps
            [moment], steps = find_moments(engine, [episode], self.agents, limit=math.inf if left is None else left)
            runs.spend(steps)
            self.meter.spend(steps)
            start = Disturbance(reset=episode.trace.seed, depth=0)
            yield FoundFailure(episode=episode, disturbance=start, moment=moment, looked=True)
        # One of each agent in turn, so that none crowds out another.
        near = [self._near(name, len(self.agents) - place) for place, name in enumerate(self.agents)]
        for found in chain.from_iterable(zip_longest(*near)):
            if found is not None:
                yield found

    def _near(self, name: str, agents: int) -> Sequence[FoundFailure]:
        """Failures near the runs of the first of so many agents."""
        if self.meter.spent:
            return ()
        ways = self.ways
        ways.tell(f"failures near the runs of {name}")
        searched = search_failures(
            ways.task,
            ways.engine.agents[name],
            self._for_failures(agents),
            ways.seed,
            reset_seeds=ways.resets,
            engine=ways.engine,
        )
        self.meter.spend(searched.steps)
        # What was lost while the agent was disturbed it may well survive by itself.
        return searched.avoidable

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
        name = found.episode.rollout.agent
        reference = played_reference(self.ways.task, trace.prefix(len(trace) - 1), f"failing run of {name}{told}")
        self.meter.spend(len(reference))
        if moment.depth >= len(reference):
            return None
        state = BoundaryState(
            depth=moment.depth,
            key=reference.trace.keys[moment.depth],
            actions=(moment.action,),
            proven=False,
            evidence={"unsafe": 1},
        )
        return replace(reference, boundary_states=(state,), agent=whose(self.ways.engine, name), by_failing=True)

    def _probed(self, references: Sequence[Reference], budget: Budget) -> list[Reference]:
        """The references, those without boundary states probed for a share each, until that is seen to be in vain."""
        ways = self.ways
        # Where situations are put back by replay, probing tries one successor for the price of hundreds of steps.
        if ways.engine.conformance.method == REPLAY:
            return list(references)
        share = budget.share(1 / max(1, sum(not reference.boundary_states for reference in references)))
        probed, in_vain = list[Reference](), 0
        for number, reference in enumerate(references):
            if not reference.boundary_states and in_vain < IN_VAIN:
                ways.tell(f"boundary states of {number + 1} of {len(references)}")
                reference = probe_boundary(ways.task, reference, budget=share, engine=ways.engine, seed=ways.seed)
                self.meter.spend(0 if reference.probing is None else reference.probing.steps)
                in_vain = 0 if reference.boundary_states else in_vain + 1
            probed.append(reference)
        return probed
