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
from tightrope.references.recovering import Recovering
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
NEAR_MISSES_KEPT = 0.25
"""Of what is left for moments, so much is kept for near misses where an agent survived its runs: where it stands firm,
looking for failures may take all there is and find none."""
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
        seen, survived = {reference.checksums for reference in good}, _survived(references)
        chosen = chain(self._failures(failed, survived), self._near_misses(survived))
        for reference in chosen if self.agents and len(good) < count else ():
            if reference.checksums not in seen:
                seen.add(reference.checksums)
                good.append(reference)
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

    def _near_misses(self, runs: Sequence[Reference]) -> Iterator[Reference]:
        """Runs that the agents survived, each with the moment at which it came closest to failing."""
        ways = self.ways
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

    def _failures(self, failed: Sequence[Episode], survived: Sequence[Reference]) -> Iterator[Reference]:
        """Failing runs with the moments they were lost: of those at hand, then of a search near the agents' own."""
        kept = int((self.meter.remaining().steps or 0) * NEAR_MISSES_KEPT) if survived else 0
        share = self._left(kept).share(OWN_RUNS_SHARE).start()
        for episode in failed[: self.ways.count]:
            if share.spent:
                break
            self.ways.tell("when failed runs were lost")
            reference = self._lost(episode, share)
            if reference is not None:
                yield reference
        # One of each agent in turn, so that none crowds out another.
        near = [self._near(name, len(self.agents) - place, kept) for place, name in enumerate(self.agents)]
        for found in chain.from_iterable(zip_longest(*near)):
            if found is not None and found.moment is not None:
                reference = self._failing(found.episode, found.moment.depth, found.disturbance)
                if reference is not None:
                    yield reference

    def _lost(self, episode: Episode, share: Meter) -> Reference | None:
        """A failed run with the moment it was lost, for half of what is left of the share."""
        engine, left = self.ways.engine, share.remaining().share(1 / 2)
        meter, depth = left.start(), None
        if engine.deterministic and engine.conformance.method == REPLAY:
            own = engine.agents[str(episode.rollout.agent)]
            # Without noise it would do the same again.
            others = [name for name in self.agents if engine.agents[name] is not own]
            recovering = Recovering(engine=engine, seed=self.ways.seed, meter=meter)
            depth = recovering.last_survived(episode.trace, others) if others else None
        if depth is None:
            limit = meter.remaining().steps
            [moment], steps = find_moments(engine, [episode], self.agents, limit=math.inf if limit is None else limit)
            meter.spend(steps)
            depth = None if moment is None else moment.depth
        share.spend(meter.steps)
        self.meter.spend(meter.steps)
        return None if depth is None else self._failing(episode, depth)

    def _near(self, name: str, agents: int, kept: int) -> Sequence[FoundFailure]:
        """Failures near the runs of the first of so many agents."""
        ways, budget = self.ways, self._for_failures(agents, kept)
        if self.meter.spent or budget.steps == 0:
            return ()
        ways.tell(f"failures near the runs of {name}")
        searched = search_failures(
            ways.task,
            ways.engine.agents[name],
            budget,
            ways.seed,
            method="search",  # its plain runs have been played, and those that failed are at hand
            reset_seeds=ways.resets,
            engine=ways.engine,
        )
        self.meter.spend(searched.steps)
        # What was lost while the agent was disturbed it may well survive by itself.
        return searched.avoidable

    def _left(self, kept: int) -> Budget:
        """What is left but for so many steps."""
        left = self.meter.remaining()
        return replace(left, steps=None if left.steps is None else max(0, left.steps - kept))

    def _for_failures(self, agents: int, kept: int) -> Budget:
        """What one of so many agents' failures may cost."""
        left = self._left(kept).share(1 / agents)
        return replace(left, steps=FAILURE_STEPS if left.steps is None else min(left.steps, FAILURE_STEPS))

    def _failing(self, episode: Episode, depth: int, disturbance: Disturbance | None = None) -> Reference | None:
        """A failed run up to before its harm, with the moment it was lost as boundary state."""
        trace = episode.trace
        if not len(trace) > 1:
            return None
        told = f" after {disturbance}" if disturbance is not None and disturbance.steps else ""
        name = episode.rollout.agent
        reference = played_reference(self.ways.task, trace.prefix(len(trace) - 1), f"failing run of {name}{told}")
        self.meter.spend(len(reference))
        # What is lost with the last action of all is lost where the way ends.
        if depth > len(reference):
            return None
        state = unproven(reference, depth, trace.actions[depth])
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


def _survived(references: Sequence[Reference]) -> list[Reference]:
    """Agents' runs that ended well, and have no boundary states."""
    over = (Outcome.GOAL, Outcome.TRUNCATED)
    return [way for way in references if way.agent and not way.boundary_states and way.trace.outcome in over]
