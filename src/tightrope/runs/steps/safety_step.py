"""Step 2 in a run: suites over all references, every one of them for every agent, and why they fail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tightrope.agents import Agent, own_actions
from tightrope.exploration.watch_length import choose_watch
from tightrope.reference import BoundaryState, Reference, Survivability
from tightrope.runs.steps.search_step import SearchStep
from tightrope.runs.storage import layout
from tightrope.runs.storage.artefacts import Artefact
from tightrope.runs.storage.manifest import Source
from tightrope.runs.storage.store import RememberingEngine
from tightrope.safety import (
    SafetyResult,
    SuiteSurvival,
    TestSuite,
    decide_gate,
    make_suite,
    parse_spec,
    random_suite,
    run_suite,
    uniform_suite,
)
from tightrope.safety.failing.explained_groups import explain_groups, with_whys
from tightrope.safety.judging.agreement import agreeing_on_proofs
from tightrope.safety.judging.survival import find_survival
from tightrope.safety.suites.replay import replayed_reference
from tightrope.settings import STATES_OF_SEVERAL, SafetyConfig
from tightrope.trace import Action


@dataclass(frozen=True, kw_only=True)
class SafetyStep(SearchStep):
    """Tests agents around the boundary states that were found."""

    def safety(self, engine: RememberingEngine) -> dict[str, dict[str, SafetyResult]]:
        """Step 2: every suite for every agent, and the control. Returns suite → agent → result."""
        known: list[SuiteSurvival] = []
        by_set = {own_actions(agent): self.suites(own_actions(agent)) for agent in self.agents.values()}
        results: dict[str, dict[str, SafetyResult]] = {}
        for spec in next(iter(by_set.values()), {}):
            for name, agent in self.agents.items():
                suite = by_set[own_actions(agent)][spec]
                results.setdefault(spec, {})[name] = self._tested(engine, spec, suite, agent, known)
        results = self._agreed(engine, results)
        for name, agent in self.agents.items():
            self._explained(engine, agent, {spec: row[name] for spec, row in results.items()})
        return {
            spec: {name: with_whys(result, self.run.whys(name)) for name, result in row.items()}
            for spec, row in results.items()
        }

    def _agreed(
        self, engine: RememberingEngine, results: dict[str, dict[str, SafetyResult]]
    ) -> dict[str, dict[str, SafetyResult]]:
        """The results without proofs that anything in the run refutes, earlier results of other agents included.

        A gate that was decided while such a proof was believed is decided again, now that its cases count.
        """
        everything = dict(results)
        if any(result.survivability[Survivability.NO] or _open_again(result) for result in _each(results)):
            for spec, row in self.run.each_safety().items():
                everything[spec] = {**row, **results.get(spec, {})}
        agreed = agreeing_on_proofs(everything)
        return {
            spec: {name: self._decided_again(engine, spec, agreed[spec][name]) for name in row}
            for spec, row in results.items()
        }

    def _decided_again(self, engine: RememberingEngine, spec: str, result: SafetyResult) -> SafetyResult:
        if not _open_again(result):
            return result
        agent, claims = self.agents[result.agent], result.survival
        path = layout.suite_path(spec, result.suite, own_actions(agent))
        # What the executions left of the claims: also an agent's own can refute them.
        left = {case.case.id: case.survival for case in result.distinct_cases if case.case.id in claims.by_case}
        known = replace(claims, by_case=left, findings=result.findings)
        self.run.remove(layout.safety_path(agent.name, spec))
        return self._executed(engine, spec, result.suite, path, agent, known)

    def suites(self, actions: tuple[Action, ...] | None = None) -> dict[str, TestSuite]:
        """The suites for a set of actions (default: the task's), by their short names, the control last."""
        if self.given is not None:
            return {self.given.name: self.given}
        self.reference()
        config, task = self.config.safety, self.run.task
        references = tested_states(self.run.references, config)
        untested = _untested(self.run.references, references, config)
        suites = {spec: self._suite(spec, references, actions, untested) for spec in config.suites}
        if layout.with_control(config) and suites and any(reference.boundary_states for reference in references):
            like = next(iter(suites.values()))
            cases = len({case.id for case in like.cases})
            suites[layout.UNIFORM] = uniform_suite(references, cases, self.config.seed)
            suites[layout.RANDOM] = random_suite(task, len(like), self.config.seed, like=like)
        return suites

    def _suite(
        self, spec: str, references: Sequence[Reference], actions: tuple[Action, ...] | None, untested: int
    ) -> TestSuite:
        """One suite over all references; those of a number of cases have as many, however many references there are.

        ``untested``: boundary states that the references have besides.
        """
        kind, number = parse_spec(spec)
        if kind.name == layout.UNIFORM:
            return uniform_suite(references, number, self.config.seed)
        at_random = kind.name == layout.RANDOM
        task, seed = self.run.task, self.config.seed
        suites = [
            make_suite(spec, each, actions=actions, task=task, seed=seed)
            for each in (references[:1] if at_random else references)
        ]
        return replace(TestSuite.joined(suites), left_out_states=0 if at_random else untested)

    def _tested(
        self, engine: RememberingEngine, spec: str, suite: TestSuite, agent: Agent, known: list[SuiteSurvival]
    ) -> SafetyResult:
        """One suite for one agent; the suite, and what is known of its cases, are shared by all agents.

        ``known``: what was found out for the suites before it, to which this one's is added.
        """
        path, origin = layout.suite_path(spec, suite, own_actions(agent)), self._origin()
        stored = Artefact(path=path, settings={"id": suite.id}, sources=origin, codec=layout.SUITE_CODEC)
        suite = self.made(stored, lambda: suite)
        control = spec in layout.CONTROLS
        survival = self._survival(engine, suite, path, origin, None if control else known)
        known.append(survival)
        return self._executed(engine, spec, suite, path, agent, survival)

    def _executed(
        self,
        engine: RememberingEngine,
        spec: str,
        suite: TestSuite,
        path: str,
        agent: Agent,
        survival: SuiteSurvival,
    ) -> SafetyResult:
        """The suite under one agent, given what is known of its cases."""
        config, run = self.config, self.run

        def test() -> SafetyResult:
            limit = config.safety.max_fail if config.safety.until_decided else None
            how: dict[str, Any] = {
                "repetitions": config.safety.repetitions,
                "length": config.safety.length,
                "seed": config.seed,
                "fixed_prefix": config.safety.fixed_prefix,
                "survivable": survival,
                "engine": engine,
                "on_progress": self.on_progress,
            }
            if limit is not None:
                return decide_gate(run.task, agent, suite, limit, **how)
            # Why it fails is asked of all suites together, which have one budget for that.
            return run_suite(run.task, agent, suite, explain=False, **how)

        artefact = Artefact(
            path=layout.safety_path(agent.name, spec),
            settings=layout.safety_settings(config, agent.name, run.agents[agent.name].settings),
            sources=(
                *self._origin(),
                run.source(layout.SUITE, path),
                run.source(layout.SURVIVAL, layout.survival_path(path, self._watched(suite))),
                run.source(layout.agent_source(agent.name)),
            ),
            codec=run.safety_codec(suite, survival),
        )
        return self.made(artefact, test, engine)

    def _explained(self, engine: RememberingEngine, agent: Agent, newest: Mapping[str, SafetyResult]) -> None:
        """Why an agent failed, in all that the run holds of it; random cases are not worth asking."""
        run, name = self.run, agent.name
        suites = [suite for suite in run.suites if suite not in layout.CONTROLS]
        found = {suite: newest[suite] if suite in newest else run.safety_of(suite, name) for suite in suites}
        results = {suite: result for suite, result in found.items() if result is not None}
        steps = self.config.safety.explain_steps
        if not steps or not any(result.fails for result in results.values()):
            return
        made_from = (
            (layout.result_source(result), layout.safety_path(name, suite)) for suite, result in results.items()
        )
        # Causes before what follows from them, so that a change is told by its first cause.
        origin = () if self.given is not None else self.reference_sources()
        artefact = Artefact(
            path=layout.why_path(name),
            settings=layout.why_settings(self.config),
            sources=(
                run.source(layout.TASK),
                *origin,
                run.source(layout.agent_source(name)),
                *(run.source(*result) for result in made_from),
            ),
            codec=layout.WHY_CODEC,
        )
        tell = self.on_progress
        self.made(
            artefact,
            lambda: explain_groups(engine, agent, [*results.values()], steps=steps, on_progress=tell),
            engine,
        )

    def _origin(self) -> tuple[Source, ...]:
        """What suites are made from."""
        task = (self.run.source(layout.TASK),)
        return task if self.given is not None else (*task, *self.reference_sources())

    def _watched(self, suite: TestSuite) -> int:
        return choose_watch(self.run.task, suite.longest_way, self.config.safety.length).steps

    def _survival(
        self,
        engine: RememberingEngine,
        suite: TestSuite,
        path: str,
        origin: tuple[Source, ...],
        known: Sequence[SuiteSurvival] | None,
    ) -> SuiteSurvival:
        """What is known of the cases; ``known``: that of other suites, None for a control: nobody is blamed for it."""
        length = self._watched(suite)

        def find() -> SuiteSurvival:
            if known is None:
                return SuiteSurvival()
            reference = replayed_reference(engine, suite)
            steps, tell = self.config.safety.survival_steps, self.on_progress
            return find_survival(
                engine,
                suite,
                length,
                seed=self.config.seed,
                reference=reference,
                steps=steps,
                known=known,
                on_progress=tell,
            )

        artefact = Artefact(
            path=layout.survival_path(path, length),
            settings=layout.survival_settings(self.config),
            sources=(*origin, self.run.source(layout.SUITE, path)),
            codec=layout.SURVIVAL_CODEC,
        )
        return self.made(artefact, find, engine)


def _each(results: Mapping[str, Mapping[str, SafetyResult]]) -> Iterator[SafetyResult]:
    return (result for row in results.values() for result in row.values())


def _open_again(result: SafetyResult) -> bool:
    """Whether it has a gate that was decided about other cases than those that count now."""
    return result.decision is not None and not result.decision.stands


def tested_states(references: Sequence[Reference], config: SafetyConfig) -> list[Reference]:
    """The references with those of their boundary states that are to be tested: evenly along each of them."""
    states = [_eligible(reference, config) for reference in references]
    most = config.states or (STATES_OF_SEVERAL if len(references) > 1 else None)
    if most is not None:
        shares = _shares([len(each) for each in states], most)
        states = [_evenly(each, share) for each, share in zip(states, shares, strict=True)]
    return [replace(reference, boundary_states=tuple(kept)) for reference, kept in zip(references, states, strict=True)]


def _eligible(reference: Reference, config: SafetyConfig) -> list[BoundaryState]:
    return [state for state in reference.boundary_states if state.proven or config.boundary_states == "all"]


def _untested(every: Sequence[Reference], tested: Sequence[Reference], config: SafetyConfig) -> int:
    """How many boundary states were left out, of references that are a sample."""
    return sum(
        len(_eligible(whole, config)) - len(part.boundary_states)
        for whole, part in zip(every, tested, strict=True)
        if not whole.chosen
    )


def _shares(sizes: Sequence[int], most: int) -> list[int]:
    """Equal shares of what may be tested; what one reference has no use for goes to the others."""
    shares = [0] * len(sizes)
    ordered = sorted(range(len(sizes)), key=lambda place: sizes[place])
    for number, place in enumerate(ordered):
        shares[place] = min(sizes[place], (most - sum(shares)) // (len(sizes) - number))
    return shares


def _evenly(states: Sequence[BoundaryState], share: int) -> list[BoundaryState]:
    return [states[round(place)] for place in np.linspace(0, len(states) - 1, share)]
