"""The paper's experiments for the agents there are, and one report with the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

import tightrope as tr
from tightrope.errors import UsageError
from tightrope.report import Published, Results, RunResults, write_report
from tightrope_mario.findings import LevelFindings, findings
from tightrope_mario.published import published
from tightrope_mario.seeds import repeated_fuzzing
from tightrope_mario.shipped import SHIPPED, ShippedAgent, find_agents

ALL_ACTIONS = "combined"
"""The action set that holds those of all agents, so that they are tested in the same situations."""
PROPORTIONAL = "proportional"

FromOneOn = Annotated[int, Field(ge=1)]
FromZeroToOne = Annotated[float, Field(ge=0, le=1)]
OnProgress = Callable[[tr.Progress], None]


class ReproductionConfig(BaseModel):
    """What to reproduce. The defaults are the paper's settings for all agents there are."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agents: Path = Field(SHIPPED, description="folder with the trained agents")
    only: tuple[str, ...] = Field((), description="names of agents to take, as in '2-moves late'; default: all")
    levels: tuple[str, ...] = Field((), description="levels to take; default: all that agents were trained on")
    epsilon: FromZeroToOne = Field(0.02, description="share of random actions: without, ten executions would be one")
    suites: tuple[str, ...] = Field(("simple", "interval:1", "coverage:1", "coverage:2"), description="suites")
    repetitions: FromOneOn = Field(10, description="executions of each case (n)")
    length: FromOneOn = Field(40, description="steps the agent must survive (l)")
    probe_steps: int = Field(20_000, ge=0, description="steps to prove boundary states")
    explain_steps: int = Field(0, ge=0, description="steps for explaining the fails of each agent; the paper has none")
    generations: FromOneOn = Field(50, description="g")
    population: FromOneOn = Field(50, description="p")
    truncation: FromZeroToOne = Field(0.25, description="share of a generation that become parents")
    proportional: bool = Field(True, description="also fuzz with selection by fitness alone, as printed in the paper")
    fuzz_seeds: FromOneOn = Field(
        5, description="seeds to fuzz with, for the spread; step 4 takes the traces of the first"
    )
    tests: FromOneOn = Field(10, description="n_test")
    episodes: FromOneOn = Field(10, description="n_ep")
    step_width: FromOneOn = Field(20, description="w")
    seed: int = Field(0, ge=0, description="seed of all randomness")
    videos: int = Field(12, ge=0, description="how many fails to film")
    execution: tr.ExecutionConfig = tr.ExecutionConfig()


def reproduce(config: ReproductionConfig, out: Path, *, on_progress: OnProgress | None = None) -> Path:
    """Run what is not finished yet and write the report; returns its path."""
    agents = _chosen(config)
    runs, extra, repeated = {}, {}, {}
    for level in dict.fromkeys(agent.level for agent in agents):
        settings = _settings(config, [agent for agent in agents if agent.level == level])
        runs[level] = run = tr.run_campaign(settings, out / level, on_progress=on_progress)
        if config.proportional and run.reference is not None:
            extra[level] = _proportional(run, settings, on_progress)
        repeated[level] = repeated_fuzzing(run, config.fuzz_seeds, on_progress=on_progress)
    results = _results(runs, extra, repeated)
    return write_report(results, out / "report", tasks=[run.task for run in runs.values()], videos=config.videos)


def _chosen(config: ReproductionConfig) -> list[ShippedAgent]:
    found = find_agents(config.agents)
    unknown = set(config.only) - {agent.name for agent in found}
    if unknown:
        raise UsageError(
            f"there is no agent named {', '.join(sorted(unknown))} in {config.agents}; there are: "
            f"{', '.join(dict.fromkeys(agent.name for agent in found))}"
        )
    chosen = [
        agent
        for agent in found
        if (not config.only or agent.name in config.only) and (not config.levels or agent.level in config.levels)
    ]
    if not chosen:
        raise UsageError(f"no agent in {config.agents} was trained on {', '.join(config.levels)}")
    return chosen


def _settings(config: ReproductionConfig, agents: Sequence[ShippedAgent]) -> tr.CampaignConfig:
    return tr.CampaignConfig.model_validate(
        {
            "task": "mario",
            "options": {"level": agents[0].level, "actions": ALL_ACTIONS},
            "agents": [{"source": str(agent.path), "name": agent.name, "epsilon": config.epsilon} for agent in agents],
            "seed": config.seed,
            # The paper's budgets are spent whole, however long the network takes for an answer.
            "effort": 1.0,
            # The paper plays no plain episodes; with noise they would take as long as all its suites.
            "plain": {"episodes": 0},
            "search": {"method": "dfs", "probe_steps": config.probe_steps, "references": 1},
            "safety": {
                "suites": config.suites,
                "boundary_states": "proven",
                "repetitions": config.repetitions,
                "length": config.length,
                "explain_steps": config.explain_steps,
            },
            "fuzzing": {
                "generations": config.generations,
                "population": config.population,
                "truncation": config.truncation,
            },
            "performance": {"tests": config.tests, "episodes": config.episodes, "step_width": config.step_width},
            "execution": config.execution,
            "report": {"title": f"Super Mario Bros. {agents[0].level}", "videos": config.videos},
        }
    )


def _proportional(run: tr.Run, settings: tr.CampaignConfig, on_progress: OnProgress | None) -> tr.FuzzResult | None:
    """Step 3 once more with selection by fitness alone: a run of its own beside the other, from the same reference."""
    assert run.reference is not None
    folder = run.path / PROPORTIONAL
    trace = run.path / f"{PROPORTIONAL}-reference.json"
    tr.write_traces(trace, [run.reference.actions])
    changed: dict[str, Any] = settings.model_dump() | {
        "agents": [settings.agents[0]],
        # Nothing is left of a budget of one step, so nothing is spent on boundary states.
        "search": {
            "method": "demonstration",
            "demonstration": trace,
            "steps": 1,
            "probe_steps": 0,
            "references": 1,
        },
        "performance": {"enabled": False},
    }
    changed["safety"] |= {"suites": (), "control": False}
    changed["fuzzing"] |= {"truncation": None}
    changed["report"] |= {"videos": 0}
    return tr.run_campaign(tr.CampaignConfig.model_validate(changed), folder, on_progress=on_progress).fuzzing


def _results(
    runs: Mapping[str, tr.Run],
    extra: Mapping[str, tr.FuzzResult | None],
    repeated: Mapping[str, Mapping[str, Sequence[tr.FuzzResult]]],
) -> Results:
    results = tr.report_results(
        list(runs.values()), title="Search-Based Testing of Reinforcement Learning, reproduced on Super Mario Bros."
    )
    shown = tuple(_beside_the_paper(run, level) for run, level in zip(results.runs, runs, strict=True))
    evidence = [
        LevelFindings(
            level=level,
            safety=run.safety,
            performance=list(run.performance.values()),
            fuzzing=repeated[level],
            proportional=extra.get(level),
            boundary_states=len(run.reference.boundary_states),
            proven=run.reference.proven,
        )
        for level, run in runs.items()
        if run.reference is not None
    ]
    return replace(results, runs=shown, findings=findings(evidence, results.correlation))


def _beside_the_paper(run: RunResults, level: str) -> RunResults:
    numbers = published(level)
    if numbers is None:
        return run
    ours = {agent.name for agent in run.agents}
    return replace(run, name=f"level {level}", published=_restricted(numbers, ours))


def _restricted(numbers: Published, ours: set[str]) -> Published:
    """Only what stands beside something of ours, and the paper's fuzz traces."""
    return replace(
        numbers,
        fail_frequency=_kept(numbers.fail_frequency, ours),
        boundary=_kept(numbers.boundary, ours),
        mean_return=_kept(numbers.mean_return, ours),
        robust={name: points for name, points in numbers.robust.items() if name in {*ours, "fuzz traces"}},
    )


Value = TypeVar("Value")


def _kept(rows: Mapping[str, Mapping[str, Value]], ours: set[str]) -> dict[str, dict[str, Value]]:
    return {suite: {name: value for name, value in row.items() if name in ours} for suite, row in rows.items()}
