"""The paper's experiments for the agents there are, and one report with the paper's numbers beside ours."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pydantic import Field

from tightrope.errors import UsageError
from tightrope.fuzzing import FuzzResult
from tightrope.progress import ProgressCallback
from tightrope.report import Published, Results, RunResults, write_report
from tightrope.runs.assembly import assemble, stored_performance, stored_safety
from tightrope.runs.campaign import Campaign, actions_of, fuzzing_file
from tightrope.runs.config import CampaignConfig, Count, ExecutionConfig, Fraction, Section
from tightrope.runs.folder import RunFolder
from tightrope.runs.pipeline import run_campaign
from tightrope.runs.steps import step_files
from tightrope_mario.findings import LevelFindings, findings
from tightrope_mario.published import published
from tightrope_mario.shipped import ShippedAgent, find_agents

ALL_ACTIONS = "combined"
"""The action set that holds those of all agents, so that they are tested in the same situations."""
PROPORTIONAL = "proportional"


class ReproductionConfig(Section):
    """What to reproduce. The defaults are the paper's settings for all agents there are."""

    agents: Path = Field(Path("agents/mario"), description="folder with the trained agents")
    only: tuple[str, ...] = Field((), description="names of agents to take, as in '2-moves late'; default: all")
    levels: tuple[str, ...] = Field((), description="levels to take; default: all that agents were trained on")
    epsilon: Fraction = Field(0.02, description="share of random actions: without, ten executions would be one")
    suites: tuple[str, ...] = Field(("simple", "interval:1", "coverage:1", "coverage:2"), description="suites")
    repetitions: Count = Field(10, description="executions of each case (n)")
    length: Count = Field(40, description="steps the agent must survive (l)")
    probe_steps: int = Field(20_000, ge=0, description="steps to prove boundary states")
    generations: Count = Field(50, description="g")
    population: Count = Field(50, description="p")
    truncation: Fraction = Field(0.25, description="share of a generation that become parents")
    proportional: bool = Field(True, description="also fuzz with selection by fitness alone, as printed in the paper")
    tests: Count = Field(10, description="n_test")
    episodes: Count = Field(10, description="n_ep")
    step_width: Count = Field(20, description="w")
    seed: int = Field(0, ge=0, description="all randomness follows from it")
    videos: int = Field(12, ge=0, description="how many falls to film")
    execution: ExecutionConfig = ExecutionConfig()


def reproduce(config: ReproductionConfig, out: Path, *, on_progress: ProgressCallback | None = None) -> Path:
    """Run what is not finished yet and write the report; returns its path."""
    agents = _chosen(config)
    campaigns = {
        level: _campaign(config, out / level, [agent for agent in agents if agent.level == level], on_progress)
        for level in dict.fromkeys(agent.level for agent in agents)
    }
    solved = {
        level
        for level, campaign in campaigns.items()
        if run_campaign(campaign.config, campaign.folder.path, on_progress=on_progress).found_reference
    }
    extra = {level: _proportional(config, campaigns[level]) for level in campaigns if level in solved}
    results = _results(campaigns, extra)
    return write_report(
        results, out / "report", tasks=[campaign.task for campaign in campaigns.values()], videos=config.videos
    )


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


def _campaign(
    config: ReproductionConfig, folder: Path, agents: Sequence[ShippedAgent], on_progress: ProgressCallback | None
) -> Campaign:
    settings = CampaignConfig.model_validate(
        {
            "task": "mario",
            "options": {"level": agents[0].level, "actions": ALL_ACTIONS},
            "agents": [{"source": str(agent.path), "name": agent.name, "epsilon": config.epsilon} for agent in agents],
            "seed": config.seed,
            "search": {"method": "dfs", "probe_steps": config.probe_steps},
            "safety": {
                "suites": config.suites,
                "boundary_states": "proven",
                "repetitions": config.repetitions,
                "length": config.length,
            },
            "fuzzing": {
                "generations": config.generations,
                "population": config.population,
                "truncation": config.truncation,
            },
            "performance": {"tests": config.tests, "episodes": config.episodes, "step_width": config.step_width},
            "execution": config.execution.model_dump(),
            "report": {"title": f"Super Mario Bros. {agents[0].level}", "videos": config.videos},
        }
    )
    return Campaign(settings, RunFolder.create_or_open(folder), on_progress=on_progress)


def _proportional(config: ReproductionConfig, campaign: Campaign) -> FuzzResult | None:
    """Step 3 once more with selection by fitness alone, in a folder of its own beside the other."""
    if not config.proportional:
        return None
    folder = RunFolder.create_or_open(campaign.folder.path / PROPORTIONAL)
    shutil.copyfile(campaign.folder.path / "1-search" / "reference.json", folder.path / "1-search" / "reference.json")
    fuzzing = campaign.config.fuzzing.model_copy(update={"truncation": None})
    again = Campaign(campaign.config.model_copy(update={"fuzzing": fuzzing}), folder, on_progress=campaign.on_progress)
    with folder.locked(), again.engine() as engine:
        again.write_manifest("fuzzing")
        return again.fuzzing_step(engine, again.action_sets[0])


def _results(campaigns: dict[str, Campaign], extra: dict[str, FuzzResult | None]) -> Results:
    with ExitStack() as stack:
        results = assemble(
            [(campaign, stack.enter_context(campaign.engine())) for campaign in campaigns.values()],
            title="Search-Based Testing of Reinforcement Learning, reproduced on Super Mario Bros.",
        )
    runs = tuple(
        _beside_the_paper(run, level) for run, level in zip(results.runs, campaigns, strict=True)
    )  # fmt: skip
    evidence = [
        LevelFindings(
            level=level,
            safety=stored_safety(campaign),
            performance=stored_performance(campaign),
            fuzzing=_stored_fuzzing(campaign),
            proportional=extra[level],
            boundary_states=len(campaign.reference().boundary_states),
            proven=campaign.reference().proven,
        )
        for level, campaign in campaigns.items()
        if level in extra
    ]
    return replace(results, runs=runs, findings=findings(evidence, results.correlation))


def _stored_fuzzing(campaign: Campaign) -> dict[str, FuzzResult]:
    steps = step_files(campaign.folder)
    return {
        name: FuzzResult.from_json(steps[fuzzing_file(actions_of(agent))]["content"])
        for name, agent in campaign.agents.items()
    }


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
