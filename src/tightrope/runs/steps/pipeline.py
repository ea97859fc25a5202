"""The four steps in order, each kept in its run, none repeated.

A step reads what it needs from the run and stores what it found, with what it was made from. What is there and still
valid is not made again; within a step, finished episodes are answered from the store. So a killed run continues where
it was, and a single step is the same function on the same run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from tightrope.agents import Agent, own_actions
from tightrope.budget import Budget
from tightrope.evaluation import Evaluation, evaluate
from tightrope.fuzzing import FuzzResult, fuzz
from tightrope.fuzzing.job import breeding_budget
from tightrope.performance import Robustness, compare_robustness
from tightrope.performance.robust import expect_comparison
from tightrope.runs.steps import stages
from tightrope.runs.steps.cross_check import cross_check_run, require_unbroken
from tightrope.runs.steps.making import go_on_only_if_finished
from tightrope.runs.steps.safety_step import SafetyStep
from tightrope.runs.storage import layout
from tightrope.runs.storage.artefacts import Artefact
from tightrope.runs.storage.store import RememberingEngine
from tightrope.simulation import RandomnessMet, turn_stochastic
from tightrope.trace import Action

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Pipeline(SafetyStep):
    """All steps of a run, and the engine they share."""

    @contextmanager
    def engine(self) -> Iterator[RememberingEngine]:
        """An engine for the agents; at its end a sample of what it did is played again in other processes."""
        require_unbroken(self.run)
        begun = time.monotonic()
        self.tell(stages.CHECKS, "is the task repeatable?")
        with self.run.engine(self.agents) as engine, engine.replanned():
            self.run.note_stochastic()
            yield engine
            self.tell(stages.CROSS_CHECK, "a sample, in other processes")
            cross_check_run(self.run, engine, time.monotonic() - begun)

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

    def fuzzing(self, engine: RememberingEngine, actions: tuple[Action, ...] | None = None) -> FuzzResult:
        """Step 3: breed fuzz traces from the reference, of the given actions or of the task's."""
        reference = self.reference()

        def breed() -> FuzzResult:
            how = self.config.fuzzing.how()
            result = fuzz(
                self.run.task,
                reference.actions,
                seed=self.config.seed,
                budget=breeding_budget(self.run.task, how.pop("steps")),
                actions=actions,
                engine=engine,
                on_progress=self.on_progress,
                **how,
            )
            go_on_only_if_finished(result.stop_reason)
            return result

        artefact = Artefact(
            path=layout.fuzzing_path(actions),
            settings=layout.fuzzing_settings(self.config),
            sources=(self.run.source(layout.TASK), *self.main_sources()),
            codec=layout.FUZZING_CODEC,
        )
        return self.made(artefact, breed, engine)

    def expect_performance(self, engine: RememberingEngine) -> None:
        """What step 4 will ask of the agents, as far as it is known before: work for those that fuzzing leaves idle."""
        for agent in self.agents.values():
            expect_comparison(
                engine, agent, self.reference().actions, self.config.performance.episodes, self.config.seed
            )

    def performance(self, engine: RememberingEngine) -> dict[str, Robustness]:
        """Step 4: each agent against the fuzz traces of its set of actions. Returns agent → result."""
        return {name: self._compared(engine, agent) for name, agent in self.agents.items()}

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
            for spec in (*config.safety.suites, *(layout.CONTROLS if layout.with_control(config.safety) else ())):
                yield layout.safety_path(name, spec), layout.safety_settings(config, name, agents[name].settings)
            if config.performance.enabled:
                yield layout.performance_path(name), layout.performance_settings(config, name, agents[name].settings)
        if config.fuzzing.enabled:
            for actions in self.run.manifest.action_sets:
                yield layout.fuzzing_path(actions), layout.fuzzing_settings(config)

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
        return self.made(artefact, play, engine)

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
                *self.main_sources(),
                run.source(layout.TRACES, layout.fuzzing_path(actions)),
                run.source(layout.agent_source(agent.name)),
            ),
            codec=layout.PERFORMANCE_CODEC,
        )
        return self.made(artefact, compare, engine)
