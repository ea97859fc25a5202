"""A run: one folder, opened once. What is in it is read when it is asked for, and then not again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TypeVar

from tightrope.agents.agent import Agent
from tightrope.display import Shown
from tightrope.errors import FormatError, UnknownName
from tightrope.evaluation import Evaluation
from tightrope.fuzzing import FuzzResult
from tightrope.performance import Robustness
from tightrope.reference import Reference
from tightrope.references import SearchResult
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.runs.gates import Evidence, Gate, judged_gates
from tightrope.runs.storage import layout
from tightrope.runs.storage.artefacts import Codec
from tightrope.runs.storage.episode_results import plain_codec, safety_codec
from tightrope.runs.storage.folder import RunFolder
from tightrope.runs.storage.manifest import AgentRecord, Manifest, read_manifest
from tightrope.runs.storage.store import EpisodeStore, RememberingEngine
from tightrope.runs.storage.stored_things import StoredThings
from tightrope.runs.trust import require_trust
from tightrope.safety import SafetyResult, SuiteSurvival, TestSuite
from tightrope.safety.failing.explained_groups import Why, with_whys
from tightrope.safety.judging.agreement import agreeing_on_proofs
from tightrope.settings import BackendName
from tightrope.simulation import is_known_stochastic, remember_stochastic
from tightrope.tasks import Task, make_task

T = TypeVar("T")


def open_run(path: str | PathLike[str], *, trust: bool = False) -> Run:
    """Open a run folder to look at what is in it.

    Args:
        path: The folder.
        trust: Let the run's own files say which code to import, where its task is one of your own modules. Only what
            plays episodes needs the task: replays, maps and films.
    """
    return Run(RunFolder.open(path), trust=trust)


class Run(StoredThings, Shown):
    """One run folder: what was tested, and what came of it. ``open_run`` and ``run_campaign`` make it.

    Args:
        folder: Where it is.
        manifest: What it is; None: what its run.json says.
        task: Its task; None: made from what run.json says, when it is needed.
        trust: Whether run.json may say which code to import for that.
    """

    _shown = ("path", "task_label", "status", "suites", "report_path")

    def __init__(
        self, folder: RunFolder, manifest: Manifest | None = None, *, task: Task | None = None, trust: bool = False
    ) -> None:
        super().__init__(folder, read_manifest(folder.manifest_path) if manifest is None else manifest)
        self._task, self._trust = task, trust

    # What a run is.

    @property
    def report_path(self) -> Path:
        """Where the report is, or will be."""
        return self.folder.report_path

    @property
    def status(self) -> str:
        """How far the run is."""
        return self.manifest.status

    @property
    def config(self) -> CampaignConfig:
        """Every setting."""
        return self.manifest.config

    @property
    def task_label(self) -> str:
        """The task's name and options in one line."""
        return self.manifest.task.label

    @property
    def agents(self) -> Mapping[str, AgentRecord]:
        """The agents under test by name: fingerprint and settings of each. They are not loaded to be talked about."""
        return self.manifest.agents

    @property
    def suites(self) -> tuple[str, ...]:
        """The short names of the suites, controls last."""
        return (*self.config.safety.suites, *layout.CONTROLS)

    @cached_property
    def task(self) -> Task:
        """The task itself."""
        if self._task is None:
            config = self.manifest.settings
            require_trust(self.folder.manifest_path, config.task, trust=self._trust)
            self._task = make_task(config.task, **config.options)
        if self.manifest.task.stochastic:
            remember_stochastic(self._task, "that was seen earlier in this run")
        return self._task

    # What came of it.

    @property
    def plain(self) -> dict[str, Evaluation]:
        """Before the steps: agent → how it does in plain episodes."""
        found = {name: self.stored(layout.plain_path(name), self.plain_codec()) for name in self.agents}
        return {name: result for name, result in found.items() if result is not None}

    @property
    def search(self) -> SearchResult | None:
        """Step 1; its reference has all the boundary states that are known."""
        found = self.stored(layout.SEARCH, layout.SEARCH_CODEC)
        main = self.stored(layout.REFERENCE, layout.REFERENCE_CODEC)
        return None if found is None else replace(found, reference=main)

    @property
    def reference(self) -> Reference | None:
        """The main way through the task, with its boundary states; None when none is known."""
        return next(iter(self.references), None)

    @property
    def references(self) -> tuple[Reference, ...]:
        """All ways through the task that suites are made on, the main one first."""
        main = self.stored(layout.REFERENCE, layout.REFERENCE_CODEC)
        wanted = self.config.search.references > 1
        others = (self.stored(layout.OTHERS, layout.OTHERS_CODEC) if wanted else None) or ()
        return others if main is None else (main, *others)

    @property
    def safety(self) -> dict[str, dict[str, SafetyResult]]:
        """Step 2: suite → agent → result, controls last; no proof excuses anybody that another result refutes."""
        return agreeing_on_proofs(self.each_safety())

    def each_safety(self) -> dict[str, dict[str, SafetyResult]]:
        """The same, each result as its own executions have it."""
        results: dict[str, dict[str, SafetyResult]] = {}
        for suite in self.suites:
            for agent in self.agents:
                result = self.safety_of(suite, agent)
                if result is not None:
                    results.setdefault(suite, {})[agent] = result
        return results

    def safety_of(self, suite: str, agent: str) -> SafetyResult | None:
        """The result of one suite for one agent."""
        path = layout.safety_path(agent, suite)
        if self.outdated(path) is not None:
            return None
        tested = self.stored(self._made_from(path, layout.SUITE), layout.SUITE_CODEC)
        known = self.stored(self._made_from(path, layout.SURVIVAL), layout.SURVIVAL_CODEC)
        result = None if tested is None or known is None else self.stored(path, self.safety_codec(tested, known))
        return None if result is None else with_whys(result, self.whys(agent))

    def _made_from(self, path: str, name: str) -> str:
        for source in self.manifest.artefacts[path].sources:
            if source.name == name and source.path is not None:
                return source.path
        raise FormatError(f"{self.folder.manifest_path} does not say what {name} of {path} was")

    def whys(self, agent: str) -> dict[str, Why]:
        """Why the representatives of an agent's groups of failures failed, by case id."""
        return self.stored(layout.why_path(agent), layout.WHY_CODEC) or {}

    @property
    def fuzzing(self) -> FuzzResult | None:
        """Step 3: the fuzz traces of the first agent's actions."""
        return self.stored(layout.fuzzing_path(self.manifest.action_sets[0]), layout.FUZZING_CODEC)

    def fuzzing_for(self, agent: str) -> FuzzResult | None:
        """The fuzz traces of an agent's own actions."""
        if agent not in self.agents:
            raise UnknownName("agent in this run", agent, self.agents)
        return self.stored(layout.fuzzing_path(self.agents[agent].actions), layout.FUZZING_CODEC)

    @property
    def performance(self) -> dict[str, Robustness]:
        """Step 4: agent → its comparison with the fuzz traces."""
        found = {name: self.stored(layout.performance_path(name), layout.PERFORMANCE_CODEC) for name in self.agents}
        return {name: result for name, result in found.items() if result is not None}

    @property
    def gates(self) -> tuple[Gate, ...]:
        """Every condition that the user set, and whether it holds."""
        return judged_gates(self.config, Evidence(safety=self.safety, plain=self.plain))

    # How it is stored.

    def missing(self) -> Iterator[str]:
        """The paths of what the run's settings ask for and is not there, or not valid any more."""
        config = self.config
        wanted = [layout.plain_path(agent) for agent in self.agents] if config.plain.episodes else []
        wanted, found = [*wanted, layout.SEARCH], self.stored(layout.SEARCH, layout.SEARCH_CODEC)
        if config.search.references > 1:
            wanted += [layout.OTHERS]
        if found is not None and found.reference is not None:
            wanted += [layout.REFERENCE]
        if self.references:
            wanted += [layout.safety_path(agent, suite) for agent in self.agents for suite in config.safety.suites]
            if config.fuzzing.enabled:
                wanted += map(layout.fuzzing_path, self.manifest.action_sets)
                wanted += [layout.performance_path(agent) for agent in self.agents if config.performance.enabled]
        return (path for path in wanted if self.outdated(path) is not None)

    def plain_codec(self) -> Codec[Evaluation]:
        """How plain episodes are stored here."""
        return plain_codec(self.folder.episodes_path, self.manifest.task)

    def safety_codec(self, suite: TestSuite, survival: SuiteSurvival) -> Codec[SafetyResult]:
        """How results of a suite are stored here."""
        return safety_codec(self.folder.episodes_path, self.manifest.task, suite, survival)

    # Work on it.

    @contextmanager
    def engine(
        self, agents: Mapping[str, Agent] | None = None, backend: BackendName | None = None
    ) -> Iterator[RememberingEngine]:
        """An engine on this run's task that remembers its episodes in the folder."""
        execution = self.config.execution
        with closing(EpisodeStore(self.folder.episodes_path)) as store:
            engine = RememberingEngine(
                store,
                self.task,
                agents or {},
                self.note_stochastic,
                backend=backend or execution.backend,
                workers=execution.workers,
                ray_address=execution.ray_address,
                step_timeout=execution.step_timeout,
            )
            with engine:
                yield engine

    def note_stochastic(self) -> None:
        """Record that randomness was seen, once that is known: what was executed once for many is forgotten."""
        if is_known_stochastic(self.task) and not self.manifest.task.stochastic:
            # In this order: a run that is killed between the two has lost episodes, and not kept wrong ones.
            with closing(EpisodeStore(self.folder.episodes_path)) as store:
                store.clear()
            self.save(task=self.manifest.task.model_copy(update={"stochastic": True}))
