"""What a run folder holds: where each thing is, how it is asked for, and how it is written.

::

    0-plain/AGENT.json
    1-search/search.json ─┬→ 1-search/reference.json ─┬─→ 2-safety/SUITE.suite.json ─┬─→ 2-safety/SUITE.survival.json
                          └→ 1-search/others.json ────┤                              │
                                                      │                              └─→ 2-safety/AGENT/SUITE.json
                                                      │                                  └─→ 2-safety/AGENT.why.json
                                                      └─→ 3-fuzzing/fuzzing.json ──────→ 4-performance/AGENT.json
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tightrope.fuzzing import FuzzResult
from tightrope.outcome import StopReason
from tightrope.performance import Robustness
from tightrope.reference import Reference
from tightrope.references import SearchResult, reference_from_json, reference_to_json
from tightrope.references.result import SearchStats
from tightrope.runs.configuration.config import CampaignConfig, deciding
from tightrope.runs.storage.artefacts import Codec
from tightrope.runs.storage.names import file_name, suite_file_name
from tightrope.safety import SafetyResult, SuiteSurvival, TestSuite
from tightrope.safety.failing.explained_groups import Why, whys_from_json, whys_to_json
from tightrope.safety.judging.storage import survival_from_json, survival_to_json
from tightrope.safety.suites import controls
from tightrope.safety.suites.files import suite_from_json, suite_to_json
from tightrope.settings import AgentConfig, SafetyConfig
from tightrope.trace import Action, content_id

SEARCH, REFERENCE, OTHERS = "1-search/search.json", "1-search/reference.json", "1-search/others.json"
STEPS = {
    "0-plain": "plain",
    "1-search": "search",
    "2-safety": "safety",
    "3-fuzzing": "fuzzing",
    "4-performance": "performance",
}
"""The folders, and the steps whose files are in them."""
UNIFORM, RANDOM, CONTROLS = controls.UNIFORM, controls.RANDOM, controls.CONTROLS

TASK, DEMONSTRATION = "the task", "the demonstration"
FOUND, ACTIONS, BOUNDARY = "the way that was found", "the reference", "the boundary states"
FURTHER = "the other references"
SUITE, SURVIVAL, TRACES = "the suite", "what is known of its cases", "the fuzz traces"
"""What things are made from, as people call it."""

UNTIL_DECIDED = "safety.until_decided"
"""The one setting that a run may be continued with and without: it leaves out executions, and those that were made are
kept. So the command that began a run goes on after a quick look at a gate."""

SettingValues = dict[str, Any]


def with_control(config: SafetyConfig) -> bool:
    """A gate that runs no more than it needs has no use for random cases beside it."""
    return config.control and not config.until_decided


def agent_source(name: str) -> str:
    """An agent as something that results are made from."""
    return f"agent {name}"


def result_source(result: SafetyResult) -> str:
    """The result of a suite as something that explanations are made from."""
    return f"the result of {result.suite.name}"


def plain_path(agent: str) -> str:
    """Where an agent's plain episodes are."""
    return f"0-plain/{file_name(agent)}.json"


def suite_path(spec: str, suite: TestSuite, actions: tuple[Action, ...] | None) -> str:
    """Where a suite is; one that is made of an agent's own set of actions has a file of its own."""
    own = "" if actions is None or "actions" not in suite.parameters else f"-{content_id(actions)[:8]}"
    return f"2-safety/{suite_file_name(spec)}{own}.suite.json"


def survival_path(suite: str, length: int) -> str:
    """Where is what is known of a suite's cases, whoever plays."""
    return f"{suite.removesuffix('.suite.json')}.{length}.survival.json"


def safety_path(agent: str, spec: str) -> str:
    """Where the result of one suite for one agent is."""
    return f"2-safety/{file_name(agent)}/{suite_file_name(spec)}.json"


def why_path(agent: str) -> str:
    """Where is why an agent failed, in all suites."""
    return f"2-safety/{file_name(agent)}.why.json"


def fuzzing_path(actions: tuple[Action, ...] | None) -> str:
    """Where the fuzz traces of a set of actions are; None: those of the task."""
    return "3-fuzzing/fuzzing.json" if actions is None else f"3-fuzzing/fuzzing-{content_id(actions)[:8]}.json"


def performance_path(agent: str) -> str:
    """Where an agent's comparison with the fuzz traces is."""
    return f"4-performance/{file_name(agent)}.json"


def plain_settings(config: CampaignConfig, name: str, agent: AgentConfig) -> SettingValues:
    """What decides which plain episodes are played."""
    return _of_step(config, "plain") | _of_agent(name, agent)


def search_settings(config: CampaignConfig) -> SettingValues:
    """What decides which way a search finds."""
    return _of_step(config, "search")


def probing_settings(config: CampaignConfig) -> SettingValues:
    """What decides which boundary states are found on the way."""
    return deciding(config, "probing")


def others_settings(config: CampaignConfig) -> SettingValues:
    """What decides which other references are found."""
    return _of_step(config, "others")


def safety_settings(config: CampaignConfig, name: str, agent: AgentConfig) -> SettingValues:
    """What decides how an agent is tested."""
    # Of a gate that stops when it is decided, the limit decides what is executed.
    limit = {UNTIL_DECIDED: config.safety.max_fail} if config.safety.until_decided else {}
    return _of_step(config, "safety") | limit | _of_agent(name, agent)


def survival_settings(config: CampaignConfig) -> SettingValues:
    """What decides how long one has to survive, and with which luck."""
    return {"seed": config.seed} | deciding(config, "survival")


def why_settings(config: CampaignConfig) -> SettingValues:
    """What decides how well failures are explained."""
    return deciding(config, "whys")


def fuzzing_settings(config: CampaignConfig) -> SettingValues:
    """What decides which traces are bred."""
    return _of_step(config, "fuzzing")


def performance_settings(config: CampaignConfig, name: str, agent: AgentConfig) -> SettingValues:
    """What decides how an agent is compared."""
    return _of_step(config, "performance") | _of_agent(name, agent)


def _of_step(config: CampaignConfig, step: str) -> SettingValues:
    return {"seed": config.seed} | deciding(config, step)


def _of_agent(name: str, agent: AgentConfig) -> SettingValues:
    return {f"agents.{name}.{each}": getattr(agent, each) for each in agent.deciding()}


def _reference_ids(reference: Reference) -> dict[str, str]:
    states = [
        [state.depth, state.actions, state.proven, [[other.action, other.survivable] for other in state.successors]]
        for state in reference.boundary_states
    ]
    return {ACTIONS: content_id(reference.actions.id, reference.checksums), BOUNDARY: content_id(states)}


def _search_to_json(result: SearchResult) -> dict[str, Any]:
    return {
        "format": "tightrope/search",
        "version": 1,
        "found": result.reference is not None,
        "method": result.method,
        "stop_reason": str(result.stop_reason),
        "deterministic": result.deterministic,
        "unprobed": result.unprobed,
        "stats": asdict(result.stats),
        "reference": None if result.reference is None else reference_to_json(result.reference),
    }


def _search_from_json(data: Mapping[str, Any]) -> SearchResult:
    return SearchResult(
        reference=None if data["reference"] is None else reference_from_json(data["reference"]),
        stop_reason=StopReason(data["stop_reason"]),
        stats=SearchStats(**data["stats"]),
        method=data["method"],
        deterministic=data["deterministic"],
        unprobed=data["unprobed"],
    )


def _found_id(result: SearchResult) -> str:
    return content_id(None if result.reference is None else _reference_ids(result.reference))


SEARCH_CODEC = Codec(write=_search_to_json, read=_search_from_json, ids=lambda result: {FOUND: _found_id(result)})
REFERENCE_CODEC = Codec(write=reference_to_json, read=reference_from_json, ids=_reference_ids)
OTHERS_CODEC: Codec[tuple[Reference, ...]] = Codec(
    write=lambda found: {
        "format": "tightrope/references",
        "version": 1,
        "references": [reference_to_json(reference) for reference in found],
    },
    read=lambda data: tuple(reference_from_json(reference) for reference in data["references"]),
    ids=lambda found: {FURTHER: content_id([_reference_ids(reference) for reference in found])},
)
SUITE_CODEC = Codec(write=suite_to_json, read=suite_from_json, ids=lambda suite: {SUITE: suite.id})
SURVIVAL_CODEC: Codec[SuiteSurvival] = Codec(
    write=survival_to_json,
    read=survival_from_json,
    ids=lambda known: {SURVIVAL: content_id(survival_to_json(known))},
)
WHY_CODEC: Codec[dict[str, Why]] = Codec(write=whys_to_json, read=whys_from_json)
FUZZING_CODEC: Codec[FuzzResult] = Codec(
    write=FuzzResult.to_json,
    read=FuzzResult.from_json,
    ids=lambda result: {TRACES: content_id([trace.id for trace in result.fittest])},
)
PERFORMANCE_CODEC: Codec[Robustness] = Codec(
    write=Robustness.to_json,
    read=Robustness.from_json,
    errors=lambda result: sum(point.errors for point in result.points),
)
