"""What run.json says of a run that begins, goes on, or grows by a step."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from tightrope.agents import Agent, arithmetic_of, own_actions
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.runs.storage.manifest import AgentRecord, Manifest, TaskRecord
from tightrope.runs.storage.provenance import machine, seen_versions, versions
from tightrope.settings import SafetyConfig
from tightrope.tasks import Task

LOG = logging.getLogger("tightrope")


def present_manifest(
    earlier: Manifest | None,
    config: CampaignConfig,
    task: Task,
    agents: Mapping[str, Agent],
    *,
    command: str = "",
    joins: bool = False,
) -> Manifest:
    """The run as it is with this configuration; what is stored in it stays.

    ``joins``: a single step adds its agents and suites to those there are. A whole run names all that count.
    """
    records = _agents(earlier, config, agents)
    if earlier is not None and joins:
        config = config.model_copy(update={"safety": _joined(earlier, config.safety)})
        if config == config.with_gates_of(None):
            # A step without a gate of its own does not lift the run's.
            config = config.with_gates_of(earlier.settings)
        records = {**earlier.agents, **records}
    return Manifest(
        status="running" if earlier is None else earlier.status,
        command=command or ("" if earlier is None else earlier.command),
        settings=config.model_copy(update={"agents": ()}),
        task=TaskRecord(
            name=task.name,
            label=task.label,
            options={key: str(value) for key, value in task.options.items()},
            fingerprint=dict(task.fingerprint),
            seed=task.seed,
            stochastic=earlier is not None and earlier.task.stochastic,
        ),
        agents=records,
        versions=seen_versions({} if earlier is None else earlier.versions, versions()),
        machine=machine(),
        cross_check=None if earlier is None else earlier.cross_check,
        artefacts={} if earlier is None else earlier.artefacts,
    )


def _joined(earlier: Manifest, safety: SafetyConfig) -> SafetyConfig:
    before = earlier.settings.safety
    suites = (*(before.suites if earlier.agents else ()), *safety.suites)
    return safety.changed(suites=tuple(dict.fromkeys(suites)))


def _agents(earlier: Manifest | None, config: CampaignConfig, agents: Mapping[str, Agent]) -> dict[str, AgentRecord]:
    known = {} if earlier is None else earlier.agents
    return {
        name: AgentRecord(
            settings=settings.changed(name=name),
            fingerprint=agent.fingerprint,
            actions=own_actions(agent),
            arithmetic=arithmetic_of(agent),
            earlier=_earlier(name, agent, known.get(name)),
        )
        for settings, (name, agent) in zip(config.agents, agents.items(), strict=True)
    }


def _earlier(name: str, agent: Agent, known: AgentRecord | None) -> tuple[str, ...]:
    """The fingerprints that the agent of this name had before; says so where it is another now."""
    if known is None or known.fingerprint == agent.fingerprint:
        return () if known is None else known.earlier
    LOG.warning(
        "agent %r is not the one this run tested before (its file or its options changed): it is tested again, and the "
        "new results replace the earlier ones",
        name,
    )
    return (*known.earlier, known.fingerprint)
