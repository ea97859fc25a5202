"""What a run does, one stage after the other, under the names that its progress has."""

from __future__ import annotations

from collections.abc import Mapping

from tightrope.runs.configuration.config import CampaignConfig
from tightrope.runs.storage import layout

CHECKS, CROSS_CHECK, REPORT = "checks", "cross-check", "report"
PLAIN, SEARCH, PROBING, REFERENCES = "plain episodes", "search", "probing", "references"
SURVIVAL, SAFETY, WHY = "survival", "safety", "explanations"
FUZZING, FUZZING_CONTROL, PERFORMANCE = "fuzzing", "fuzzing control", "performance"


def stage_of(path: str) -> tuple[str, str]:
    """The stage in which a file of the run folder is made, and whose it is; nothing where that takes no time."""
    step, _, name = path.partition("/")
    if step == "2-safety":
        return _in_safety(name)
    told = {layout.SEARCH: SEARCH, layout.REFERENCE: PROBING, layout.OTHERS: REFERENCES}
    by_step = {"0-plain": PLAIN, "3-fuzzing": FUZZING, "4-performance": PERFORMANCE}
    whose = f"for {name.removesuffix('.json')}" if step in ("0-plain", "4-performance") else ""
    return told.get(path) or by_step.get(step, ""), whose


def _in_safety(name: str) -> tuple[str, str]:
    agent, _, suite = name.rpartition("/")
    if agent:
        return SAFETY, f"{suite.removesuffix('.json')}, {agent}"
    if name.endswith(".why.json"):
        return WHY, f"for {name.removesuffix('.why.json')}"
    return (SURVIVAL, name.split(".")[0]) if name.endswith(".survival.json") else ("", "")


def stages(config: CampaignConfig, agents: int) -> Mapping[str, int]:
    """The stages of a whole run in their order, and how often each of them is gone through."""
    suites = len(config.safety.suites) + (len(layout.CONTROLS) if layout.with_control(config.safety) else 0)
    asked = {
        CHECKS: 1,
        PLAIN: agents if config.plain.episodes else 0,
        SEARCH: 1,
        PROBING: 1,
        REFERENCES: 1 if config.search.references > 1 else 0,
        SURVIVAL: suites,
        SAFETY: suites * agents,
        WHY: agents,
        FUZZING: 1 if config.fuzzing.enabled else 0,
        FUZZING_CONTROL: 1 if config.fuzzing.enabled else 0,
        PERFORMANCE: agents if config.fuzzing.enabled and config.performance.enabled else 0,
        CROSS_CHECK: 1,
        REPORT: 1,
    }
    return {stage: times for stage, times in asked.items() if times}
