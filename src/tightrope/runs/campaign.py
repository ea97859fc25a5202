"""A campaign: the four steps in order, each kept in the run folder, none repeated."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from tightrope.agents import Agent, load_agent
from tightrope.agents.fingerprints import file_fingerprint
from tightrope.budget import Budget
from tightrope.errors import UsageError
from tightrope.fuzzing import FuzzResult, fuzz
from tightrope.outcome import StopReason
from tightrope.performance import Robustness, compare_robustness
from tightrope.progress import ProgressCallback
from tightrope.reference import Reference
from tightrope.references import (
    SearchResult,
    find_method,
    load_reference,
    probe_boundary,
    save_reference,
    search,
)
from tightrope.runs.config import AgentConfig, CampaignConfig
from tightrope.runs.folder import RunFolder
from tightrope.runs.provenance import (
    describe_agents,
    describe_task,
    machine,
    replaced_agents,
    seen_versions,
    versions,
)
from tightrope.runs.steps import costs, file_name, once, step_files
from tightrope.runs.store import EpisodeStore, RememberingEngine
from tightrope.runs.vouching import require_unbroken, vouch
from tightrope.safety import SafetyResult, TestSuite, make_suite, random_suite, run_suite, save_suite
from tightrope.safety.files import frozen_action
from tightrope.safety.shorthand import parse_spec
from tightrope.tasks import Task, make_task
from tightrope.trace import Action, ActionTrace, content_id

CONTROL = "random"

ActionSet: TypeAlias = tuple[Action, ...] | None


class Campaign:
    """One task, its agents and a run folder.

    Each step reads what it needs from the folder and writes what it found as a file that names the settings it was made
    with. A step whose file is there with the same settings is not done again; within a step, finished episodes are
    answered from the store. So a killed campaign continues where it was.
    """

    def __init__(
        self, config: CampaignConfig, folder: RunFolder, *, on_progress: ProgressCallback | None = None
    ) -> None:
        self.config = config
        self.folder = folder
        self.on_progress = on_progress
        self.task: Task = make_task(config.task, **config.options)
        # Said now, not after a search of minutes.
        find_method(config.search.method)
        for spec in config.safety.suites:
            parse_spec(spec)

    @cached_property
    def agents(self) -> dict[str, Agent]:
        """The agents under test, by name."""
        agents: dict[str, Agent] = {}
        for agent_config in self.config.agents:
            agent = self._load(agent_config)
            same = next((name for name in agents if file_name(name) == file_name(agent.name)), None)
            if same is not None:
                both = repr(same) if same == agent.name else f"{same!r} and {agent.name!r}, which share a file name"
                raise UsageError(
                    f"two agents are named {both}; name them apart, as in --agent late={agent_config.source}"
                )
            agents[agent.name] = agent
        return agents

    @property
    def known_agents(self) -> dict[str, str]:
        """Name and fingerprint of each agent as run.json has them: its agents are not loaded to be talked about."""
        return dict(self.folder.manifest().get("agents", {})) if self.folder.manifest_path.exists() else {}

    @contextmanager
    def engine(self, agents: Mapping[str, Agent] | None = None) -> Iterator[RememberingEngine]:
        """An engine on this campaign's task and agents (or those given) that remembers its episodes in the folder."""
        testing = agents is None
        if testing:
            require_unbroken(self.folder)
        store = EpisodeStore(self.folder.episodes_path)
        execution, begun = self.config.execution, time.monotonic()
        try:
            engine = RememberingEngine(
                store,
                self.task,
                self.agents if agents is None else agents,
                backend=execution.backend,
                workers=execution.workers,
                ray_address=execution.ray_address,
            )
            with engine:
                yield engine
                if testing:
                    found = self.reference() if self._reference_path.exists() else None
                    vouch(self.folder, engine, found, time.monotonic() - begun)
        finally:
            store.close()

    def reference(self) -> Reference:
        """The reference found by step 1; an error when there is none."""
        if not self._reference_path.exists():
            raise UsageError(
                f"{self.folder.path} has no reference yet; look for one: "
                f"tightrope search {self.config.task} --out {self.folder.path}"
            )
        return load_reference(self._reference_path)

    @property
    def reference_id(self) -> str | None:
        """The id of the reference found by step 1; None when there is none."""
        return self.reference().actions.id if self._reference_path.exists() else None

    @property
    def boundary_id(self) -> str | None:
        """What tells its boundary states from others on the same way, which more or less probing finds."""
        if not self._reference_path.exists():
            return None
        return content_id([[state.depth, state.proven] for state in self.reference().boundary_states])

    @property
    def _reference_path(self) -> Path:
        return self.folder.path / "1-search" / "reference.json"

    def search_step(self) -> dict[str, Any]:
        """Step 1: find a reference, prove its boundary states. Returns the summary; the reference is in the folder."""
        given = self.config.search.demonstration
        # A file of the same name may hold another trace by now; one that is gone is no reason to search again.
        demonstration = None if given is None or not given.is_file() else file_fingerprint(given)
        made_with = {"demonstration": demonstration}
        return once(self.folder, "1-search/search.json", self._settings("search"), self._search, made_with=made_with)

    @property
    def action_sets(self) -> tuple[ActionSet, ...]:
        """The different action sets of the agents; None stands for that of the task."""
        return tuple(dict.fromkeys(map(actions_of, self.agents.values()))) or (None,)

    @property
    def known_action_sets(self) -> tuple[ActionSet, ...]:
        """The same as run.json has them: its agents need not be loaded to breed traces for them."""
        known = self.folder.manifest().get("action_sets") or [None]
        return tuple(None if actions is None else tuple(map(frozen_action, actions)) for actions in known)

    def safety_step(self, engine: RememberingEngine) -> dict[str, dict[str, SafetyResult]]:
        """Step 2: every suite for every agent, and the control. Returns suite → agent → result."""
        shared = self.suites(None)
        by_set = {actions: self.suites(actions) for actions in self.action_sets}
        results: dict[str, dict[str, SafetyResult]] = {}
        for spec in shared:
            for name, agent in self.agents.items():
                suite = by_set[actions_of(agent)][spec]
                # A suite that depends on the agent's action set is kept with the agent.
                where = "" if suite.id == shared[spec].id else f"{file_name(name)}/"
                (self.folder.path / "2-safety" / where).mkdir(parents=True, exist_ok=True)
                save_suite(suite, self.folder.path / "2-safety" / f"{where}{file_name(spec)}.suite.json")
                results.setdefault(spec, {})[name] = self._safety(engine, spec, suite, name, agent)
        return results

    def fuzzing_step(self, engine: RememberingEngine, actions: ActionSet = None) -> FuzzResult | None:
        """Step 3: breed fuzz traces from the reference, of the given actions or of the task's."""
        config = self.config.fuzzing
        if not config.enabled:
            return None
        reference = self.reference()

        def breed() -> dict[str, Any]:
            result = fuzz(
                self.task,
                reference.actions,
                seed=self.config.seed,
                actions=actions,
                engine=engine,
                on_progress=self.on_progress,
                **config.model_dump(exclude={"enabled"}),
            )
            _go_on_only_if_finished(result.stop_reason)
            return result.to_json()

        settings = self._settings("fuzzing", reference.actions.id, actions)
        made_with = {"reference": reference.actions.id}
        return FuzzResult.from_json(once(self.folder, fuzzing_file(actions), settings, breed, engine, made_with))

    def performance_step(self, engine: RememberingEngine) -> dict[str, Robustness]:
        """Step 4: each agent against the fuzz traces of its action set. Returns agent → result."""
        results = {}
        for name, agent in self.agents.items():
            bred = self.fuzzing_step(engine, actions_of(agent)) if self.config.performance.enabled else None
            if bred is not None:
                results[name] = self._performance(engine, name, agent, bred.fittest)
        return results

    def suites(self, actions: ActionSet = None) -> dict[str, TestSuite]:
        """The suites for an action set (default: the task's), by their short names, the control last."""
        reference, seed = self.reference(), self.config.seed
        if self.config.safety.boundary_states == "proven":
            proven = tuple(state for state in reference.boundary_states if state.proven)
            reference = replace(reference, boundary_states=proven)
        suites = {
            spec: make_suite(spec, reference, actions=actions, task=self.task, seed=seed)
            for spec in self.config.safety.suites
        }
        if self.config.safety.control and suites and reference.boundary_states:
            like = next(iter(suites.values()))
            suites[CONTROL] = random_suite(self.task, len(like), seed, like=like)
        return suites

    def write_manifest(self, status: str, **more: Any) -> None:
        """Record what is needed to believe the results."""
        earlier = self.folder.manifest() if self.folder.manifest_path.exists() else {}
        replaced = replaced_agents(earlier, describe_agents(self.agents))
        self.folder.write_manifest(
            {
                **{key: value for key, value in earlier.items() if key not in ("format", "version")},
                "status": status,
                "config": self.config.model_dump(mode="json"),
                "task": describe_task(self.task),
                "agents": describe_agents(self.agents),
                "seed": self.config.seed,
                "reset_seed": self.task.seed,
                "action_sets": self.action_sets,
                "fuzzing": [fuzzing_file(actions) for actions in self.action_sets],
                "versions": seen_versions(earlier.get("versions", {}), versions()),
                "machine": machine(),
                **costs(step_files(self.folder)),
                **({"replaced_agents": replaced} if replaced else {}),
                **more,
            }
        )

    def _load(self, config: AgentConfig) -> Agent:
        return load_agent(
            config.source,
            self.task,
            name=config.name,
            behaviour=config.behaviour,
            epsilon=config.epsilon,
            trust=config.trust,
        )

    def _search(self) -> dict[str, Any]:
        config = self.config.search
        result = search(
            self.task,
            method=config.method,
            repetitions=config.repetitions,
            budget=Budget(seconds=config.seconds, steps=config.steps),
            seed=self.config.seed,
            demonstration=config.demonstration,
            on_progress=self.on_progress,
        )
        _go_on_only_if_finished(result.stop_reason)
        if result.reference is not None:
            _go_on_only_if_probed(result.reference)
            reference = self._probed(result.reference)
            _go_on_only_if_probed(reference)
            save_reference(reference, self._reference_path)
        else:
            # One found before, with other settings, is not what this search found.
            self._reference_path.unlink(missing_ok=True)
        return search_summary(result)

    def _probed(self, reference: Reference) -> Reference:
        steps = self.config.search.probe_steps
        if not steps:
            return reference
        # A budget in steps, not in seconds: the boundary states must not depend on how busy the machine is.
        return probe_boundary(self.task, reference, budget=Budget(steps=steps), on_progress=self.on_progress)

    def _safety(self, engine: RememberingEngine, spec: str, suite: TestSuite, name: str, agent: Agent) -> SafetyResult:
        config = self.config.safety

        def judge() -> dict[str, Any]:
            result = run_suite(
                self.task,
                agent,
                suite,
                repetitions=config.repetitions,
                length=config.length,
                seed=self.config.seed,
                fixed_prefix=config.fixed_prefix,
                engine=engine,
                on_progress=self.on_progress,
            )
            return result.to_json()

        settings = self._settings("safety", suite.id, agent.fingerprint)
        path = f"2-safety/{file_name(name)}/{file_name(spec)}.json"
        made_with = {"agent": agent.fingerprint, "reference": self.reference_id, "boundary": self.boundary_id}
        return SafetyResult.from_json(once(self.folder, path, settings, judge, engine, made_with))

    def _performance(
        self, engine: RememberingEngine, name: str, agent: Agent, traces: Sequence[ActionTrace]
    ) -> Robustness:
        config = self.config.performance

        def compare() -> dict[str, Any]:
            result = compare_robustness(
                self.task,
                agent,
                traces,
                tests=config.tests,
                episodes=config.episodes,
                step_width=config.step_width,
                seed=self.config.seed,
                engine=engine,
                on_progress=self.on_progress,
            )
            return result.to_json()

        settings = self._settings("performance", agent.fingerprint, [trace.id for trace in traces])
        path = f"4-performance/{file_name(name)}.json"
        made_with = {"agent": agent.fingerprint, "reference": self.reference_id, "traces": traces_id(traces)}
        return Robustness.from_json(once(self.folder, path, settings, compare, engine, made_with))

    def _settings(self, section: str, *depends_on: Any) -> str:
        config = getattr(self.config, section).model_dump(
            mode="json", exclude={"suites", "boundary_states", "max_fail", "gate_on", "control"}
        )
        return content_id(self.task.label, dict(self.task.fingerprint), self.config.seed, config, depends_on)


def actions_of(agent: Agent) -> ActionSet:
    """The task's actions that an agent can take; None for all of them."""
    return getattr(agent, "mapping", None)


def fuzzing_file(actions: ActionSet) -> str:
    """Where the fuzz traces of an action set are kept."""
    return "3-fuzzing/fuzzing.json" if actions is None else f"3-fuzzing/fuzzing-{content_id(actions)[:8]}.json"


def traces_id(traces: Sequence[ActionTrace]) -> str:
    """What tells one set of fuzz traces from another."""
    return content_id([trace.id for trace in traces])


def search_summary(result: SearchResult) -> dict[str, Any]:
    """Step 1 in plain values."""
    return {
        "found": result.reference is not None,
        "method": result.method,
        "stop_reason": str(result.stop_reason),
        "stats": asdict(result.stats),
    }


def _go_on_only_if_finished(reason: StopReason) -> None:
    """A step that the user interrupted returns what it knows; as a finished step it must not be stored."""
    if reason is StopReason.CANCELLED:
        raise KeyboardInterrupt


def _go_on_only_if_probed(reference: Reference) -> None:
    """Probing, too, returns what it knows when it is interrupted."""
    if reference.probing is not None:
        _go_on_only_if_finished(reference.probing.stop_reason)
