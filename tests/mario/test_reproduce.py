"""The reproduction: the paper's numbers under our names, and a small part of it for real."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tightrope as tr
from tightrope.errors import UsageError
from tightrope.settings import ExecutionConfig
from tightrope_mario.published import figures, published
from tightrope_mario.reproduce import ReproductionConfig, reproduce
from tightrope_mario.shipped import find_agents

AGENTS = Path(__file__).parents[2] / "agents" / "mario"


def test_the_papers_numbers_stand_under_our_names() -> None:
    numbers = published("1-1")
    assert numbers is not None
    assert numbers.fail_frequency["simple"]["2-moves late"] == 0.1
    assert numbers.fail_frequency["coverage:2"]["basic early"] == 0.374473
    assert numbers.fail_frequency["simple"]["2-moves early (sparse)"] == 0.776923
    assert numbers.mean_return["simple"]["right-complex late"] == 270.76
    assert len(numbers.boundary["simple"]["right-complex late"]) == 13
    assert numbers.robust["fuzz traces"][0] == (0.0, 2399.81)
    assert numbers.correlation == -0.7


def test_what_did_not_finish_in_the_paper_is_no_zero() -> None:
    numbers = published("1-2")
    assert numbers is not None
    assert "right-complex late" not in numbers.fail_frequency["coverage:2"]
    assert numbers.fail_frequency["coverage:1"]["right-complex late"] == 0.604861


def test_every_plotted_suite_value_is_used() -> None:
    plotted = sum(
        len(row)
        for figure in figures().values()
        if figure["kind"].startswith("fail frequency averaged")
        for row in figure["fail_frequency"].values()
    )
    ours = [published("1-1"), published("1-2")]
    used = sum(len(row) for numbers in ours if numbers for row in numbers.fail_frequency.values())
    assert used == plotted - 1  # the run that did not finish


def test_other_levels_have_no_published_numbers() -> None:
    assert published("4-2") is None


def test_agents_are_known_by_their_file_names() -> None:
    names = {(agent.level, agent.name) for agent in find_agents(AGENTS)}
    assert {("1-1", "2-moves late"), ("1-1", "right-complex early"), ("1-1", "basic late")} <= names


def test_a_folder_without_agents_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no agents"):
        find_agents(tmp_path)


def test_an_unknown_agent_is_an_error(tmp_path: Path) -> None:
    config = ReproductionConfig(agents=AGENTS, only=("3-moves late",))
    with pytest.raises(UsageError, match="there is no agent named 3-moves late"):
        reproduce(config, tmp_path)


# Half a minute of processor time, most of it emulation, takes minutes beside other work.
@pytest.mark.timeout(1200)
def test_a_small_part_for_real(tmp_path: Path) -> None:
    config = ReproductionConfig(
        agents=AGENTS,
        only=("basic late",),
        levels=("1-1",),
        suites=("simple",),
        repetitions=1,
        length=5,
        probe_steps=0,
        generations=2,
        population=3,
        fuzz_seeds=3,
        tests=1,
        episodes=1,
        step_width=300,
        proportional=True,
        videos=0,
        execution=ExecutionConfig(backend="inline"),
    )
    report = reproduce(config, tmp_path / "out")
    results = json.loads((report.parent / "results.json").read_text())
    run = results["runs"][0]
    assert run["name"] == "level 1-1"
    assert run["published"]["fail_frequency"]["simple"] == {"basic late": 0.238462}
    assert set(run["published"]["robust"]) == {"basic late", "fuzz traces"}
    assert run["map"]["image"].startswith("data:image/png")
    titles = [finding["title"] for finding in results["findings"]]
    assert "Training makes agents safer" in titles
    # A network that takes long for an answer makes no budget smaller: they are the paper's.
    assert tr.open_run(tmp_path / "out" / "1-1").manifest.settings.effort == 1
    (against,) = [each["text"] for each in results["findings"] if each["title"] == "Agents against fuzz traces"]
    assert "traces for basic late, 3 seeds: the fittest earn" in against
    assert against.index("3 seeds") < against.index("is ahead of the fuzz traces")
    folder = tmp_path / "out" / "1-1" / "fuzzing-seeds"
    earlier, stored = sorted(folder.iterdir())
    assert earlier.name.startswith("seed-1-")
    assert stored.name.startswith("seed-2-")
    written = stored.stat().st_mtime_ns
    assert reproduce(config, tmp_path / "out") == report
    assert stored.stat().st_mtime_ns == written
    # All seeds share an engine, which knows a good deal by then; one that knows nothing finds the same.
    shared = tr.FuzzResult.from_json(json.loads(stored.read_text()))
    settings = {**shared.settings, "weights": tuple(shared.settings["weights"])}
    task = tr.make_task("mario", level="1-1", actions="combined")
    alone = tr.fuzz(task, [ancestor.trace for ancestor in shared.ancestors], control=False, **settings)
    assert alone.individuals == shared.individuals
