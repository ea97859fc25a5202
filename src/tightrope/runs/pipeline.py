"""The four steps in order, each kept in its run, none repeated.

A step reads what it needs from the run and stores what it found, with what it was made from. What is there and still
valid is not made again; within a step, finished episodes are answered from the store. So a killed run continues where
it was, and a single step is the same function on the same run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from tightrope.agents import Agent, own_actions
from tightrope.agents.fingerprints import file_fingerprint
from tightrope.budget import Budget
from tightrope.errors import UsageError
from tightrope.evaluation import Evaluation, evaluate
from tightrope.fuzzing import FuzzResult, fuzz
from tightrope.outcome import StopReason
from tightrope.performance import Robustness, compare_robustness
from tightrope.progress import ProgressCallback
from tightrope.reference import Reference
from tightrope.references import SearchResult, find_references, probe_boundary, search, with_keys
from tightrope.runs import layout
from tightrope.runs.artefacts import Artefact
from tightrope.runs.config import CampaignConfig
from tightrope.runs.manifest import Cost, Source
from tightrope.runs.run import Run
from tightrope.runs.store import RememberingEngine
from tightrope.runs.vouching import require_unbroken, vouch
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
from tightrope.safety.replay import replayed_reference
from tightrope.safety.survival import find_survival
from tightrope.safety.watching import choose_watch
from tightrope.safety.whys import explain_groups, with_whys
from tightrope.settings import SafetyConfig
from tightrope.simulation import RandomnessMet, turn_stochastic
from tightrope.trace import Action

T = TypeVar("T")

STATES_OF_SEVERAL = 40
"""Boundary states that are tested where there are several references and nobody says otherwise: what varies in general
are references, and more states on the same ones say little about that."""


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """A run, and what is to be done in it now."""

    run: Run
    config: CampaignConfig
    """Of this call: a single step may ask for a part of what the run holds."""
    agents: Mapping[str, Agent]
    on_progress: ProgressCallback | None = None
    given: TestSuite | None = None
    """A suite made elsewhere, to be run instead of those made from a reference."""

    @contextmanager
    def engine(self) -> Iterator[RememberingEngine]:
        """An engine for the agents; at its end a sample of what it did is played again in other processes."""
        require_unbroken(self.run)
        begun = time.monotonic()
        with self.run.engine(self.agents) as engine, engine.replanned():
            self.run.note_stochastic()
            yield engine
            vouch(self.run, engine, time.monotonic() - begun)

    def with_engine(self, work: Callable[[RememberingEngine], T]) -> T:
        """What ``work`` makes of an engine.

        Should randomness be seen on the way in a task that was taken for deterministic, that is recorded, and all is
        done again from the reference on, which was found in that belief.
        """
        try:
            with self.engine() as engine:
                return work(engine)
        except RandomnessMet as met:
            turn_stochastic(self.run.task, str(met))
            self.run.note_stochastic()
        if self.given is None:
            self.search()
        with self.engine() as engine:
            return work(engine)

    def plain(self, engine: RememberingEngine) -> dict[str, Evaluation]:
        """Before the steps: each agent in plain episodes, as it is used. Returns agent → result."""
        return {name: self._played(engine, agent) for name, agent in self.agents.items()}

    def search(self) -> SearchResult:
        """Step 1: find a reference and prove its boundary states, then find others."""
        result = self._searched()
        if self.config.search.references > 1:
            self._others(result)
        # Randomness that finding the others was the first to see.
        return result if self.run.outdated(layout.SEARCH) is None else self.search()

    def _searched(self) -> SearchResult:
        found = self._made(
            Artefact(
                path=layout.SEARCH,
                settings=layout.search_settings(self.config),
                sources=(self.run.source(layout.TASK), *self._demonstration()),
                codec=layout.SEARCH_CODEC,
            ),
            self._search,
            spent=lambda result: {"steps_executed": result.stats.steps},
        )
        if found.reference is None:
            # One found before, with other settings, is not what this search found.
            self.run.remove(layout.REFERENCE)
            return found
        reference = self._made(
            Artefact(
                path=layout.REFERENCE,
                settings=layout.probing_settings(self.config),
                sources=(self.run.source(layout.TASK), self.run.source(layout.FOUND, layout.SEARCH)),
                codec=layout.REFERENCE_CODEC,
            ),
            lambda: self._probed(found),
            spent=lambda known: {"steps_executed": 0 if known.probing is None else known.probing.steps},
        )
        # Randomness that probing was the first to see.
        return replace(found, reference=reference) if self.run.outdated(layout.SEARCH) is None else self._searched()

    def _others(self, found: SearchResult) -> tuple[Reference, ...]:
        """References that differ from the main one; where that was not found, all there are."""
        config, known = self.config.search, () if found.reference is None else (found.reference,)

        def find() -> tuple[Reference, ...]:
            with self.run.engine(self.agents) as engine:
                everything = find_references(
                    self.run.task,
                    config.references,
                    tuple(self.agents.values()),
                    Budget(seconds=config.seconds, steps=config.reference_steps),
                    self.config.seed,
                    known=known,
                    reset_seeds=config.reset_seeds,
                    engine=engine,
                    on_progress=self.on_progress,
                )
            return everything[len(known) :]

        artefact = Artefact(
            path=layout.OTHERS,
            settings=layout.others_settings(self.config),
            sources=(self.run.source(layout.TASK), self.run.source(layout.FOUND, layout.SEARCH)),
            codec=layout.OTHERS_CODEC,
        )
        whose = map(layout.agent_source, self.agents)
        # An agent that joins later is tested on the references there are, or nobody could be compared with it.
        if not self.run.is_current(artefact) or self.run.outdated(layout.OTHERS) is not None:
            artefact = replace(artefact, sources=(*artefact.sources, *map(self.run.source, whose)))
        return self._made(artefact, find, spent=lambda others: {"steps_executed": sum(map(_steps_probed, others))})

    def safety(self, engine: RememberingEngine) -> dict[str, dict[str, SafetyResult]]:
        """Step 2: every suite for every agent, and the control. Returns suite → agent → result."""
        by_set = {own_actions(agent): self.suites(own_actions(agent)) for agent in self.agents.values()}
        results: dict[str, dict[str, SafetyResult]] = {}
        for spec in next(iter(by_set.values()), {}):
            for name, agent in self.agents.items():
                suite = by_set[own_actions(agent)][spec]
                results.setdefault(spec, {})[name] = self._tested(engine, spec, suite, agent)
        for agent in self.agents.values():
            self._explained(engine, agent)
        return {
            spec: {name: with_whys(result, self.run.whys(name)) for name, result in row.items()}
            for spec, row in results.items()
        }

    def fuzzing(self, engine: RememberingEngine, actions: tuple[Action, ...] | None = None) -> FuzzResult:
        """Step 3: breed fuzz traces from the reference, of the given actions or of the task's."""
        reference = self.reference()

        def breed() -> FuzzResult:
            result = fuzz(
                self.run.task,
                reference.actions,
                seed=self.config.seed,
                actions=actions,
                engine=engine,
                on_progress=self.on_progress,
                **self.config.fuzzing.how(),
            )
            _go_on_only_if_finished(result.stop_reason)
            return result

        artefact = Artefact(
            path=layout.fuzzing_path(actions),
            settings=layout.fuzzing_settings(self.config),
            sources=(self.run.source(layout.TASK), *self._main_sources()),
            codec=layout.FUZZING_CODEC,
        )
        return self._made(artefact, breed, engine)

    def performance(self, engine: RememberingEngine) -> dict[str, Robustness]:
        """Step 4: each agent against the fuzz traces of its set of actions. Returns agent → result."""
        return {name: self._compared(engine, agent) for name, agent in self.agents.items()}

    def reference(self) -> Reference:
        """The reference found by step 1; an error when there is none."""
        reference = self.run.reference
        if reference is None:
            raise UsageError(
                f"{self.run.path} has no reference yet; look for one: "
                f"tightrope search {self.config.task} --out {self.run.path}"
            )
        return reference

    def suites(self, actions: tuple[Action, ...] | None = None) -> dict[str, TestSuite]:
        """The suites for a set of actions (default: the task's), by their short names, the control last."""
        if self.given is not None:
            return {self.given.name: self.given}
        self.reference()
        config, task = self.config.safety, self.run.task
        references = tested_states(self.run.references, config)
        suites = {spec: self._suite(spec, references, actions) for spec in config.suites}
        if _with_control(config) and suites and any(reference.boundary_states for reference in references):
            like = next(iter(suites.values()))
            cases = len({case.id for case in like.cases})
            suites[layout.UNIFORM] = uniform_suite(references, cases, self.config.seed)
            suites[layout.RANDOM] = random_suite(task, len(like), self.config.seed, like=like)
        return suites

    def _suite(self, spec: str, references: Sequence[Reference], actions: tuple[Action, ...] | None) -> TestSuite:
        """One suite over all references; those of a number of cases have as many, however many references there are."""
        kind, number = parse_spec(spec)
        if kind.name == layout.UNIFORM:
            return uniform_suite(references, number, self.config.seed)
        chosen = references[:1] if kind.name == layout.RANDOM else references
        task, seed = self.run.task, self.config.seed
        return TestSuite.joined([make_suite(spec, each, actions=actions, task=task, seed=seed) for each in chosen])

    def _main_sources(self) -> tuple[Source, ...]:
        """The reference that fuzzing begins from: the main one, or the first there is."""
        if layout.REFERENCE in self.run.manifest.artefacts:
            return (self.run.source(layout.ACTIONS, layout.REFERENCE),)
        return (self.run.source(layout.FURTHER, layout.OTHERS),)

    def _reference_sources(self) -> tuple[Source, ...]:
        """All references, with their boundary states."""
        main = tuple(self.run.source(name, layout.REFERENCE) for name in (layout.ACTIONS, layout.BOUNDARY))
        several = layout.OTHERS in self.run.manifest.artefacts
        return (*main, self.run.source(layout.FURTHER, layout.OTHERS)) if several else main

    def planned(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """What is asked for now: the path of each thing that would be made, and its settings."""
        config, agents = self.config, self.run.agents
        for name in self.agents if config.plain.episodes else ():
            yield layout.plain_path(name), layout.plain_settings(config, name, agents[name].settings)
        yield layout.SEARCH, layout.search_settings(config)
        yield layout.REFERENCE, layout.probing_settings(config)
        if config.search.references > 1:
            yield layout.OTHERS, layout.others_settings(config)
        for name in self.agents:
            for spec in (*config.safety.suites, *(layout.CONTROLS if _with_control(config.safety) else ())):
                yield layout.safety_path(name, spec), layout.safety_settings(config, name, agents[name].settings)
            if config.performance.enabled:
                yield layout.performance_path(name), layout.performance_settings(config, name, agents[name].settings)
        if config.fuzzing.enabled:
            for actions in self.run.manifest.action_sets:
                yield layout.fuzzing_path(actions), layout.fuzzing_settings(config)

    def _made(
        self,
        artefact: Artefact[T],
        make: Callable[[], T],
        engine: RememberingEngine | None = None,
        spent: Callable[[T], dict[str, float]] = lambda value: {},
    ) -> T:
        """The stored thing, made now unless it is there, still valid, and nothing raised when it was made."""
        known = self.run.get(artefact)
        if known is not None and not self.run.manifest.artefacts[artefact.path].errors:
            return known
        started = time.monotonic()
        before = {} if engine is None else engine.counters.as_dict()
        believed = self.run.manifest.task.stochastic
        value = make()
        self.run.note_stochastic()
        if self.run.manifest.task.stochastic is not believed:
            # It was made anew when that was seen, but not what it was made from.
            artefact = self.run.renewed(artefact)
        counters = dict(spent(value))
        if engine is not None:
            # A mean is not a count.
            counters |= {key: n - before[key] for key, n in engine.counters.as_dict().items() if key != "mean_batch"}
        self.run.put(artefact, value, Cost(seconds=round(time.monotonic() - started, 3), counters=counters))
        return value

    def _demonstration(self) -> tuple[Source, ...]:
        """A file of the same name may hold another trace by now; one that is gone is no reason to search again."""
        given = self.config.search.demonstration
        if given is None:
            return ()
        if given.is_file():
            return (Source(name=layout.DEMONSTRATION, id=file_fingerprint(given)),)
        entry = self.run.manifest.artefacts.get(layout.SEARCH)
        return () if entry is None else tuple(source for source in entry.sources if source.name == layout.DEMONSTRATION)

    def _search(self) -> SearchResult:
        config = self.config.search
        result = search(
            self.run.task,
            method=config.method,
            repetitions=config.repetitions,
            budget=Budget(seconds=config.seconds, steps=config.steps),
            seed=self.config.seed,
            demonstration=config.demonstration,
            probe=False,
            on_progress=self.on_progress,
        )
        _go_on_only_if_finished(result.stop_reason)
        return result

    def _probed(self, found: SearchResult) -> Reference:
        assert found.reference is not None
        reference, config = with_keys(self.run.task, found.reference), self.config.search
        budgets = []
        if found.unprobed:
            # What was not found by backtracking has no boundary states yet, and gets what is left of the budget.
            left = None if config.seconds is None else max(0.0, config.seconds - found.stats.seconds)
            steps = None if config.steps is None else max(0, config.steps - found.stats.steps)
            budgets.append((Budget(seconds=left, steps=steps), self.config.seed))
        if config.probe_steps:
            # A budget in steps, not in seconds: the boundary states must not depend on how busy the machine is.
            budgets.append((Budget(steps=config.probe_steps), 0))
        for budget, seed in budgets:
            reference = probe_boundary(self.run.task, reference, budget=budget, seed=seed, on_progress=self.on_progress)
            assert reference.probing is not None
            _go_on_only_if_finished(reference.probing.stop_reason)
        return reference

    def _played(self, engine: RememberingEngine, agent: Agent) -> Evaluation:
        run, config = self.run, self.config

        def play() -> Evaluation:
            return evaluate(
                run.task,
                agent,
                config.plain.episodes,
                config.seed,
                budget=Budget(steps=config.plain.steps),
                engine=engine,
                on_progress=self.on_progress,
            )

        artefact = Artefact(
            path=layout.plain_path(agent.name),
            settings=layout.plain_settings(config, agent.name, run.agents[agent.name].settings),
            sources=(run.source(layout.TASK), run.source(layout.agent_source(agent.name))),
            codec=run.plain_codec(),
        )
        return self._made(artefact, play, engine)

    def _tested(self, engine: RememberingEngine, spec: str, suite: TestSuite, agent: Agent) -> SafetyResult:
        """One suite for one agent; the suite, and what is known of its cases, are shared by all agents."""
        config, run, path = self.config, self.run, layout.suite_path(spec, suite, own_actions(agent))
        origin: tuple[Source, ...] = (run.source(layout.TASK),)
        if self.given is None:
            origin += self._reference_sources()
        stored = Artefact(path=path, settings={"id": suite.id}, sources=origin, codec=layout.SUITE_CODEC)
        suite = self._made(stored, lambda: suite)
        survival = self._survival(engine, suite, path, origin)

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
            return run_suite(run.task, agent, suite, **how)

        artefact = Artefact(
            path=layout.safety_path(agent.name, spec),
            settings=layout.safety_settings(config, agent.name, run.agents[agent.name].settings),
            sources=(
                *origin,
                run.source(layout.SUITE, path),
                run.source(layout.SURVIVAL, layout.survival_path(path, self._watched(suite))),
                run.source(layout.agent_source(agent.name)),
            ),
            codec=run.safety_codec(suite, survival),
        )
        return self._made(artefact, test, engine)

    def _explained(self, engine: RememberingEngine, agent: Agent) -> None:
        """Why an agent failed, in all that the run holds of it; random cases are not worth asking."""
        run, name = self.run, agent.name
        found = {suite: run.safety_of(suite, name) for suite in run.suites if suite not in layout.CONTROLS}
        results = {suite: result for suite, result in found.items() if result is not None}
        if not any(result.fails for result in results.values()):
            return
        made_from = (
            (layout.result_source(result), layout.safety_path(name, suite)) for suite, result in results.items()
        )
        # Causes before what follows from them, so that a change is told by its first cause.
        origin = () if self.given is not None else self._reference_sources()
        artefact = Artefact(
            path=layout.why_path(name),
            settings={},
            sources=(
                run.source(layout.TASK),
                *origin,
                run.source(layout.agent_source(name)),
                *(run.source(*result) for result in made_from),
            ),
            codec=layout.WHY_CODEC,
        )
        self._made(artefact, lambda: explain_groups(engine, agent, [*results.values()]), engine)

    def _watched(self, suite: TestSuite) -> int:
        return choose_watch(self.run.task, suite, self.config.safety.length).steps

    def _survival(
        self, engine: RememberingEngine, suite: TestSuite, path: str, origin: tuple[Source, ...]
    ) -> SuiteSurvival:
        length = self._watched(suite)

        def find() -> SuiteSurvival:
            if suite.kind in layout.CONTROLS and not engine.deterministic:
                # Nobody is blamed for a control, and where chance decides it would cost more than all else.
                return SuiteSurvival()
            reference = replayed_reference(engine, suite)
            return find_survival(engine, suite, length, reference=reference, on_progress=self.on_progress)

        artefact = Artefact(
            path=layout.survival_path(path, length),
            settings=layout.survival_settings(self.config),
            sources=(*origin, self.run.source(layout.SUITE, path)),
            codec=layout.SURVIVAL_CODEC,
        )
        return self._made(artefact, find, engine)

    def _compared(self, engine: RememberingEngine, agent: Agent) -> Robustness:
        run, config, actions = self.run, self.config.performance, own_actions(agent)
        bred = self.fuzzing(engine, actions)

        def compare() -> Robustness:
            return compare_robustness(
                run.task,
                agent,
                bred.fittest,
                tests=config.tests,
                episodes=config.episodes,
                step_width=config.step_width,
                seed=self.config.seed,
                engine=engine,
                on_progress=self.on_progress,
            )

        artefact = Artefact(
            path=layout.performance_path(agent.name),
            settings=layout.performance_settings(self.config, agent.name, run.agents[agent.name].settings),
            sources=(
                run.source(layout.TASK),
                *self._main_sources(),
                run.source(layout.TRACES, layout.fuzzing_path(actions)),
                run.source(layout.agent_source(agent.name)),
            ),
            codec=layout.PERFORMANCE_CODEC,
        )
        return self._made(artefact, compare, engine)


def tested_states(references: Sequence[Reference], config: SafetyConfig) -> list[Reference]:
    """The references with those of their boundary states that are to be tested: evenly along each of them."""
    most = config.states or (STATES_OF_SEVERAL if len(references) > 1 else None)
    kept = []
    for number, reference in enumerate(references):
        states = [state for state in reference.boundary_states if state.proven or config.boundary_states == "all"]
        if most is not None:
            share = most // len(references) + (number < most % len(references))
            places = {round(place) for place in np.linspace(0, len(states) - 1, min(share, len(states)))}
            states = [state for place, state in enumerate(states) if place in places]
        kept.append(replace(reference, boundary_states=tuple(states)))
    return kept


def _steps_probed(reference: Reference) -> int:
    return 0 if reference.probing is None else reference.probing.steps


def _with_control(config: SafetyConfig) -> bool:
    """A gate that runs no more than it needs has no use for random cases beside it."""
    return config.control and not config.until_decided


def _go_on_only_if_finished(reason: StopReason) -> None:
    """A step that the user interrupted returns what it knows; as a finished step it must not be stored."""
    if reason is StopReason.CANCELLED:
        raise KeyboardInterrupt
