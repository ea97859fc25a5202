"""A run: one folder, opened once. What is in it is read when it is asked for, and then not again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from tightrope.agents.agent import Agent
from tightrope.display import Shown
from tightrope.errors import FormatError, UnknownName
from tightrope.evaluation import Evaluation
from tightrope.execution import Episode
from tightrope.files import DAMAGE, json_bytes, parse_json, read_content, require_fields, write_whole
from tightrope.files.limits import JSON_FILE
from tightrope.fuzzing import FuzzResult
from tightrope.performance import Robustness
from tightrope.reference import Reference
from tightrope.references import SearchResult
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.runs.gates import Evidence, Gate, judged_gates
from tightrope.runs.storage import layout
from tightrope.runs.storage.artefacts import Artefact, Change, Codec, changes, checksum
from tightrope.runs.storage.episode_results import LostEpisode, plain_codec, safety_codec
from tightrope.runs.storage.folder import RunFolder
from tightrope.runs.storage.manifest import AgentRecord, Cost, Entry, Manifest, Source, read_manifest, write_manifest
from tightrope.runs.storage.store import EpisodeStore, RememberingEngine
from tightrope.runs.trust import require_trust
from tightrope.safety import SafetyResult, SuiteSurvival, TestCase, TestSuite
from tightrope.safety.failing.whys import Why, with_whys
from tightrope.simulation import is_known_stochastic, remember_stochastic
from tightrope.tasks import Task, make_task

T = TypeVar("T")

FILE, EPISODES = "its file", "its episodes"
"""What makes a stored thing invalid although it would be made from the same again."""


def open_run(path: str | PathLike[str], *, trust: bool = False) -> Run:
    """Open a run folder to look at what is in it.

    Args:
        path: The folder.
        trust: Let the run's own files say which code to import, where its task is one of your own modules. Only what
            plays episodes needs the task: replays, maps and films.
    """
    return Run(RunFolder.open(path), trust=trust)


class Run(Shown):
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
        self.folder = folder
        self.manifest = read_manifest(folder.manifest_path) if manifest is None else manifest
        self._task, self._trust = task, trust
        self._values: dict[str, Any] = {}
        self._lost: dict[str, str] = {}
        """Stored things that were read and are not what they were, and in what."""
        self._judged: tuple[Any, dict[str, Change | None]] = (None, {})
        """Which stored things are outdated, as long as run.json and what is lost stay the same."""

    # What a run is.

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.folder.path

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
        """Step 2: suite → agent → result, controls last."""
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

    # What is stored, and whether it is still valid.

    def is_current(self, artefact: Artefact[T]) -> bool:
        """Whether a thing is stored, and would be made from the same now."""
        entry = self.manifest.artefacts.get(artefact.path)
        if entry is None or artefact.path in self._lost:
            return False
        return not any(changes(entry, artefact.settings, artefact.sources))

    def get(self, artefact: Artefact[T]) -> T | None:
        """A stored thing, if it is still valid."""
        return self._read(artefact.path, artefact.codec) if self.is_current(artefact) else None

    def put(self, artefact: Artefact[T], value: T, cost: Cost) -> None:
        """Store a thing, with what it was made from."""
        content = json_bytes(artefact.codec.write(value))
        (self.path / artefact.path).parent.mkdir(parents=True, exist_ok=True)
        # A run that is killed between the two has a file that run.json does not believe.
        write_whole(self.path / artefact.path, content)
        entry = Entry(
            checksum=checksum(content),
            ids=dict(artefact.codec.ids(value)),
            settings=dict(artefact.settings),
            sources=artefact.sources,
            cost=cost,
            errors=artefact.codec.errors(value),
        )
        self._values[artefact.path] = value
        self._lost.pop(artefact.path, None)
        self.save(artefacts={**self.manifest.artefacts, artefact.path: entry})

    def remove(self, path: str) -> None:
        """Let go of a stored thing."""
        self._values.pop(path, None)
        self.save(artefacts={name: entry for name, entry in self.manifest.artefacts.items() if name != path})
        (self.path / path).unlink(missing_ok=True)

    def stored(self, path: str, codec: Codec[T]) -> T | None:
        """What a stored file holds, if it is still valid for what is in the run now."""
        return None if self.outdated(path) is not None else self._read(path, codec)

    def outdated(self, path: str) -> Change | None:
        """Why a stored thing says nothing about the run any more, by the first cause; None: it is valid."""
        try:
            return self._judgement(path, ())
        except RecursionError as error:
            raise FormatError(f"{self.folder.manifest_path}: {path} is made from too much to be followed") from error

    def _judgement(self, path: str, asked: tuple[str, ...]) -> Change | None:
        """Whether something is outdated, found out once for each: a forged run.json could ask for it for ever."""
        state = (self.manifest, len(self._lost))
        if self._judged[0] is None or self._judged[0][0] is not state[0] or self._judged[0][1] != state[1]:
            self._judged = (state, {})
        known = self._judged[1]
        if path not in known:
            if path in asked:
                raise FormatError(f"{self.folder.manifest_path} says that {path} is made from itself; nothing is")
            known[path] = self._change(path, (*asked, path))
        return known[path]

    def _change(self, path: str, asked: tuple[str, ...]) -> Change | None:
        entry = self.manifest.artefacts.get(path)
        if entry is None or path in self._lost:
            return Change(name=self._lost.get(path, FILE), was="there", now="lost", setting=False)
        now = tuple(source.model_copy(update={"id": self._now(source, asked)}) for source in entry.sources)
        return next(changes(entry, entry.settings, now), None)

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

    def source(self, name: str, path: str | None = None) -> Source:
        """Something as it is now, for what is made from it."""
        return Source(name=name, path=path, id=self._now(Source(name=name, path=path, id=None)))

    def save(self, **changed: Any) -> None:
        """Change what run.json says."""
        self.manifest = self.manifest.model_copy(update=changed)
        write_manifest(self.folder.manifest_path, self.manifest)

    def plain_codec(self) -> Codec[Evaluation]:
        """How plain episodes are stored here."""
        return plain_codec(self.folder.episodes_path, self.manifest.task)

    def safety_codec(self, suite: TestSuite, survival: SuiteSurvival) -> Codec[SafetyResult]:
        """How results of a suite are stored here."""
        return safety_codec(self.folder.episodes_path, self.manifest.task, suite, survival)

    # Work on it.

    @contextmanager
    def engine(
        self, agents: Mapping[str, Agent] | None = None, backend: str | None = None
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

    def renewed(self, artefact: Artefact[T]) -> Artefact[T]:
        """A thing to be stored, made from what there is now."""
        sources = (source.model_copy(update={"id": self._now(source)}) for source in artefact.sources)
        return replace(artefact, sources=tuple(sources))

    def _now(self, source: Source, asked: tuple[str, ...] = ()) -> str | None:
        """The present id of something that a stored thing was made from."""
        if source.path is not None:
            entry = self.manifest.artefacts.get(source.path)
            if entry is None or self._judgement(source.path, asked) is not None:
                return None
            return entry.ids.get(source.name)
        if source.name == layout.TASK:
            return self.manifest.task.id
        agents = {layout.agent_source(name): agent.fingerprint for name, agent in self.agents.items()}
        return agents.get(source.name, source.id)

    def _read(self, path: str, codec: Codec[T]) -> T | None:
        """What a file holds, read once; None when it is not the file that was written."""
        if path not in self._values and path not in self._lost:
            try:
                content = read_content(self.path / path, JSON_FILE)
                if checksum(content) != self.manifest.artefacts[path].checksum:
                    raise FileNotFoundError
                value = codec.read(parse_json(content, path))
                require_fields(value, believed=(Episode, TestCase))
                self._values[path] = value
            except FileNotFoundError:
                self._lost[path] = FILE
            except LostEpisode:
                self._lost[path] = EPISODES
            except DAMAGE as error:
                raise FormatError(f"{self.path / path} is damaged ({type(error).__name__}: {error})") from error
        stored: T | None = self._values.get(path)
        return stored
