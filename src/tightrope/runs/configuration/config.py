"""The configuration of a campaign: the settings of all steps together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from tightrope.settings import (
    AgentConfig,
    ExecutionConfig,
    FuzzingConfig,
    Natural,
    PerformanceConfig,
    PlainConfig,
    ReportConfig,
    SafetyConfig,
    SearchConfig,
    Section,
    Setting,
    Share,
)
from tightrope.settings.section import About


class CampaignConfig(BaseModel):
    """All four steps on one task, for one or more agents."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Defaults by their keyword: type checkers look for nothing else.
    task: str = Field(description="name of the task: `tightrope tasks` lists them")
    options: dict[str, Any] = Field(default_factory=dict, description="options of the task")
    agents: tuple[AgentConfig, ...] = Field(default=(), description="the agents under test")
    seed: Natural = Field(default=0, description="seed of all randomness")
    effort: Share | None = Field(
        default=None,
        description="share of the steps of all default budgets to spend; null: all, and less where a step or an "
        "agent's answer is slow",
    )
    plain: PlainConfig = PlainConfig()
    search: SearchConfig = SearchConfig()
    safety: SafetyConfig = SafetyConfig()
    fuzzing: FuzzingConfig = FuzzingConfig()
    performance: PerformanceConfig = PerformanceConfig()
    execution: ExecutionConfig = ExecutionConfig()
    report: ReportConfig = ReportConfig()

    def with_gates_of(self, other: CampaignConfig | None) -> CampaignConfig:
        """The same with another's gates; None: with none."""
        changed = {}
        for name, section in sections().items():
            gates = section.gates()
            if other is not None:
                gates = {gate: getattr(getattr(other, name), gate) for gate in gates}
            changed[name] = getattr(self, name).changed(**gates)
        return self.model_copy(update=changed)


def sections() -> dict[str, type[Section]]:
    """The parts of a configuration, by the names they have in it."""
    found = {name: field.annotation for name, field in CampaignConfig.model_fields.items()}
    return {name: part for name, part in found.items() if isinstance(part, type) and issubclass(part, Section)}


def settings_in(model: type[BaseModel] | type[Section] | None) -> Mapping[str, Setting]:
    """The settings of a configuration, or of a part of it, by name; of what is none, nothing."""
    if model is None or issubclass(model, Section):
        return {} if model is None else model.settings()
    return {
        name: Setting(
            name=name,
            type=Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation,
            default=MISSING if field.is_required() else field.get_default(call_default_factory=True),
            about=About(sentence=field.description or ""),
        )
        for name, field in model.model_fields.items()
    }


def deciding(config: CampaignConfig, made: str) -> dict[str, Any]:
    """The settings that decide how something is made, as JSON will give them back.

    ``made`` is a step, or what else a setting says that it decides.
    """
    return {
        f"{part}.{name}": json.loads(json.dumps(getattr(getattr(config, part), name), default=str))
        for part, section in sections().items()
        for name, decided in section.deciding().items()
        if made in (decided or (part,))
    }


def default_of(name: str) -> Any:
    """What a setting is where nobody says anything, by the name under which results remember it; None: unknown."""
    part, _, rest = name.partition(".")
    last = rest.rpartition(".")[2]
    section = AgentConfig if part == "agents" else sections().get(part)
    known = {} if section is None else section.settings()
    return json.loads(json.dumps(known[last].default, default=str)) if last in known else None
