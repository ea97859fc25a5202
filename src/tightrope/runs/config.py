"""The configuration of a campaign: one commented model from which the file, its schema and the command line follow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from tightrope.budget import SEARCH_BUDGET
from tightrope.guards.watchdog import STEP_TIMEOUT

Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Weight = Annotated[float, Field(ge=0)]


class Section(BaseModel):
    """A part of the configuration: frozen, and a misspelt key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    gates: ClassVar[frozenset[str]] = frozenset()
    """Settings that judge results and change none."""

    @classmethod
    def gate_settings(cls) -> dict[str, Any]:
        """The settings that are gates, and what they are when none is asked for."""
        return {name: field.default for name, field in cls.model_fields.items() if name in cls.gates}


class AgentConfig(Section):
    """One agent under test."""

    source: str = Field(description="file (.onnx, .zip, weights.pt@module:Class) or pkg.module:factory")
    name: str | None = Field(None, description="what the report calls it; default: from the source")
    behaviour: Literal["greedy", "sampled"] = Field("greedy", description="take the best action, or draw one")
    epsilon: Fraction = Field(0.0, description="share of steps in which a random action is played instead")
    trust: bool = Field(False, description="allow the file to run code when it is loaded (pickles)")


class PlainConfig(Section):
    """Before the steps: how each agent does in plain episodes, from many reset seeds."""

    gates: ClassVar[frozenset[str]] = frozenset({"max_fail"})

    episodes: int = Field(100, ge=0, description="full episodes of each agent; 0: none")
    steps: int | None = Field(50_000, gt=0, description="begin no more episodes of an agent after so many steps")
    max_fail: Fraction | None = Field(None, description="gate: fail when more of the episodes end unsafe")


class SearchConfig(Section):
    """Step 1: a way to solve the task and its boundary states."""

    method: str = Field(
        "auto", description="how to find a reference: auto, dfs, archive, demonstration, or what a package brings"
    )
    seconds: float | None = Field(
        SEARCH_BUDGET.seconds,
        gt=0,
        description="stop searching after so many seconds, for environments with slow steps",
    )
    steps: int | None = Field(
        SEARCH_BUDGET.steps,
        gt=0,
        description="stop searching after so many environment steps: the same way on every machine",
    )
    repetitions: Count | None = Field(None, description="samples of each action; default: 1, or 22 when stochastic")
    demonstration: Path | None = Field(None, description="file with an action trace that reaches the goal")
    probe_steps: int = Field(20_000, ge=0, description="steps to prove boundary states by probing; 0: do not")


class SafetyConfig(Section):
    """Step 2: how often each agent fails at the boundary states."""

    gates: ClassVar[frozenset[str]] = frozenset({"max_fail", "gate_on", "until_decided"})

    suites: tuple[str, ...] = Field(
        ("simple", "interval:1", "coverage:1"),
        description="simple, interval:SIZE, coverage:K, or what a package brings",
    )
    boundary_states: Literal["all", "proven"] = Field("all", description="test at all boundary states, or proven ones")
    repetitions: Count = Field(10, description="executions of each case (n)")
    length: Count | None = Field(
        None, description="steps the agent must survive (l); default: to the task's time limit, at most 500"
    )
    fixed_prefix: bool = Field(True, description="stochastic tasks: lead to the very situation of the case every time")
    control: bool = Field(True, description="run as many random cases beside, to see what the search is worth")
    max_fail: Fraction | None = Field(None, description="gate: fail when an agent's fail frequency is above")
    gate_on: Literal["value", "high"] = Field("value", description="gate on the estimate, or on its upper limit")
    until_decided: bool = Field(False, description="draw executions only until the gate is decided, without a control")


class FuzzingConfig(Section):
    """Step 3: many other ways through the task."""

    enabled: bool = Field(True, description="whether to fuzz at all (step 4 needs it)")
    generations: Count = Field(50, description="how many generations to breed (g)")
    population: Count = Field(50, description="traces in each generation (p)")
    mutation_stop: Annotated[float, Field(gt=0, le=1)] = Field(
        0.2, description="chance to stop after each mutation (pmstop)"
    )
    mutation_size: Count = Field(15, description="longest run of actions that a mutation touches (ms)")
    crossover: Annotated[float, Field(ge=0, lt=0.5)] = Field(0.25, description="chance of crossover (pc)")
    weights: tuple[Weight, Weight, Weight] = Field((2.0, 1.5, 1.0), description="of coverage, gains and losses (λ)")
    truncation: Annotated[float, Field(gt=0, le=1)] | None = Field(None, description="only the best share are parents")
    independent_actions: bool = Field(False, description="a mutated run holds independent actions")
    append_only_unfinished: bool = Field(False, description="append only to traces that did not finish")


class PerformanceConfig(Section):
    """Step 4: the agent against the fuzz traces, from the start and from their middle."""

    enabled: bool = Field(True, description="whether to compare performance")
    episodes: Count = Field(10, description="executions from each situation (n_ep)")
    tests: Count = Field(10, description="situations for each prefix length (n_test)")
    step_width: Count = Field(20, description="distance between prefix lengths (w)")


class ExecutionConfig(Section):
    """Where the work is done. Results do not depend on it."""

    backend: str = Field("processes", description="inline, processes or ray")
    workers: Count | None = Field(None, description="default: one for each core")
    ray_address: str | None = Field(None, description="address of a running cluster; default: start a local one")
    step_timeout: float = Field(
        STEP_TIMEOUT, ge=0, description="seconds that a step, a reset or an answer may take; 0: no limit"
    )

    @property
    def cluster(self) -> str | None:
        """The cluster that the work is sent to."""
        return self.ray_address if self.backend == "ray" else None


class ReportConfig(Section):
    """What the report shows."""

    videos: int = Field(6, ge=0, description="how many failures to film")
    title: str | None = Field(None, description="headline; default: the task")


class CampaignConfig(Section):
    """All four steps on one task, for one or more agents."""

    task: str = Field(description="name of the task: `tightrope tasks` lists them")
    options: dict[str, Any] = Field(default_factory=dict, description="options of the task")
    agents: tuple[AgentConfig, ...] = Field((), description="the agents under test")
    seed: int = Field(0, ge=0, description="all randomness follows from it")
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
        for name in type(self).model_fields:
            section = getattr(self, name)
            if isinstance(section, Section) and section.gate_settings():
                gates = section.gate_settings()
                if other is not None:
                    gates = {gate: getattr(getattr(other, name), gate) for gate in gates}
                changed[name] = section.model_copy(update=gates)
        return self.model_copy(update=changed)
