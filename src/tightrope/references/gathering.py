"""Boundary states for ways that were found: by probing, and where that shows too few, by how agents do there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

from tightrope.budget import Budget, Meter
from tightrope.execution import Episode
from tightrope.failures import Disturbance, FoundFailure, search_failures
from tightrope.failures.moments import find_moments
from tightrope.outcome import Outcome
from tightrope.reference import Reference
from tightrope.references.near_misses import Nearest, NearMiss
from tightrope.references.probing import probe_boundary
from tightrope.references.taking_over import TakingOver, unproven
from tightrope.references.ways import IN_VAIN, Ways, played_reference, whose
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.trace import ActionTrace

FINDING_SHARE, PROBING_SHARE = 0.4, 0.3
"""Of the budget, for finding ways and for proving their boundary states; the rest, and what is left of these, goes to
moments on the agents' runs where too few have any."""
OWN_RUNS_SHARE = 0.5
"""Of what is left for moments, at most so much for runs that failed by themselves: a weak agent's are often lost from
the start on, and must not leave a good agent's near failures unlooked for."""
NEAR_MISS_SHARE = 0.5
"""Of what is left after all else, at most so much for the near miss of one run: one that is known is worth more than
many begun."""
TAKING_OVER_SHARE = 0.5
"""Of what is left for moments, at most so much for where agents go wrong on ways that others found."""
FAILURE_STEPS = 20_000
"""Most steps for failures near one agent's runs: a handful of moments is wanted, and a weak agent fails everywhere."""


@dataclass
class Gathering:
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
        for missed in self._near_misses(references) if self.agents and len(good) < count else ():
            if missed.checksums not in seen:
                seen.add(missed.checksums)
                good.append(missed)
            if len(good) >= count:
                break
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

    def _near_misses(self, references: Sequence[Reference]) -> Iterator[Reference]:
        """Runs that the agents survived, each with the moment at which it came closest to failing."""
        ways = self.ways
        over = (Outcome.GOAL, Outcome.TRUNCATED)
        runs = [way for way in references if way.agent and not way.boundary_states and way.trace.outcome in over]
        for number, run in enumerate(runs):
            if self.meter.spent:
                return
            ways.tell(f"near misses on run {number + 1} of {len(runs)}")
            meter, agent = self.meter.remaining().share(NEAR_MISS_SHARE).start(), str(run.agent)
            missed = Nearest(ways.engine, agent, run.actions, ways.seed, meter).find()
            self.meter.spend(meter.steps)
            reference = None if missed is None else self._of_near_miss(missed, agent)
            if reference is not None:
                yield reference

    def _of_near_miss(self, missed: NearMiss, agent: str) -> Reference | None:
        """The run as it is survived, with the last moment before it would not be as boundary state."""
        reference = played_reference(self.ways.task, missed.survived.trace, missed.told(agent))
        self.meter.spend(len(reference))
        depth = missed.depth + missed.steps - 1
        if depth >= len(reference) or reference.actions.actions[depth] == missed.action:
            return None
        return replace(
            reference, boundary_states=(unproven(reference, depth, missed.action),), agent=agent, near_miss=True
        )

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
        state = unproven(reference, moment.depth, moment.action)
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
