"""Other packages add to tightrope by entry points alone, and a broken one takes nothing else down."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tightrope as tr
from tests.installing import install
from tightrope.errors import ExtensionError, UnknownName
from tightrope.extensions import GROUPS
from tightrope.report import Finding, Results, write_report
from tightrope.simulation.snapshots import registered_snapshotters
from tightrope.testing import corridor_task

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "extension"
CORE = Path(tr.__file__).parent


@pytest.fixture(scope="module")
def example_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example installed, beside a package that is broken in every group."""
    site = tmp_path_factory.mktemp("site")
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    shutil.copytree(EXAMPLE / "tightrope_crossing", site / "tightrope_crossing")
    install(site, project["name"], project["entry-points"])
    (site / "wrecked.py").write_text("raise ImportError('no engine today')\n")
    install(site, "wreck", {group: {"wreck": "wrecked:anything"} for group in GROUPS})
    return site


def tightrope(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(site), str(CORE.parent)])
    return subprocess.run(
        [sys.executable, "-m", "tightrope", *arguments],
        cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip


CAREFUL = {"wait": [[place, phase] for place in (2, 5, 8) for phase in (1, 2)]}
HASTY = """
def hasty(observation):
    return 1
"""


def test_the_example_brings_all_it_says(example_site: Path, tmp_path: Path) -> None:
    (tmp_path / "drivers.py").write_text(HASTY)
    (tmp_path / "careful.plan.json").write_text(json.dumps(CAREFUL))
    searched = tightrope(example_site, tmp_path, "search", "crossing", "--method", "breadth-first", "--out", "run")
    assert searched.returncode == 0, searched.stderr
    assert "breadth-first" in searched.stdout
    tested = tightrope(
        example_site, tmp_path, "safety", "run", "--agent", "careful.plan.json", "--agent", "drivers:hasty",
        "--suite", "hesitating:2", "--length", "20", "--json",
    )  # fmt: skip
    assert tested.returncode == 0, tested.stderr
    assert tested.stderr.count("left out: the snapshotter 'wreck' of wreck 1.0") == 1, "workers repeat it"
    by_agent = json.loads(tested.stdout)["safety"]["hesitating:2"]
    fails = {agent: result["fail_frequency"]["value"] for agent, result in by_agent.items()}
    assert fails["careful.plan"] == 0
    assert fails["hasty"] > 0.5
    reported = tightrope(example_site, tmp_path, "report", "run")
    assert reported.returncode == 0, reported.stderr
    results = json.loads((tmp_path / "run" / "report" / "results.json").read_text())
    assert [finding["title"] for finding in results["findings"]] == ["About the lights"]


def test_the_examples_snapshotter_is_used_and_its_verb_works(example_site: Path, tmp_path: Path) -> None:
    checked = json.loads(tightrope(example_site, tmp_path, "check", "crossing", "--json").stdout)
    assert checked["method"] == "crossing"
    assert tightrope(example_site, tmp_path, "crossing", "lights").stdout.strip() == "GGrr"


def test_a_broken_package_is_named_where_it_is_asked_for_and_nowhere_else(example_site: Path, tmp_path: Path) -> None:
    named = "of wreck 1.0 cannot be used: wrecked:anything: its import raised ImportError: no engine today; repair"
    listed = tightrope(example_site, tmp_path, "tasks", "--json")
    assert listed.returncode == 0
    rows = {row["name"]: row["summary"] for row in json.loads(listed.stdout)}
    assert named in rows["wreck"]
    assert rows["crossing"].startswith("Drive to the end")
    called = tightrope(example_site, tmp_path, "wreck", "--any", "thing")
    assert (called.returncode, called.stdout) == (2, "")
    assert named in " ".join(called.stderr.split())


def test_the_core_names_no_extension() -> None:
    (extension,) = [path.name for path in CORE.parent.iterdir() if path.name.startswith("tightrope_")]
    words = (extension, extension.removeprefix("tightrope_"))
    files = [path for path in CORE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert len(files) > 100
    assert not [path for path in files if any(word in path.read_text(errors="ignore").lower() for word in words)]


def test_a_snapshotter_that_breaks_a_rule_is_left_out_and_said_once(
    site: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (site / "odd_savers.py").write_text("class Nameless:\n    pass\n\nclass Twin:\n    name = 'attributes'\n"
                                        "    applies = save = load = reseed = None\n")  # fmt: skip
    install(site, "savers", {"tightrope.snapshotters": {"a": "odd_savers:Nameless", "b": "odd_savers:Twin"}})
    before = len(registered_snapshotters())
    assert len(registered_snapshotters()) == before
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2
    assert "has no 'name'" in told[0]
    assert "there is a snapshotter named 'attributes' already" in told[1]


def test_a_broken_loader_does_not_keep_other_agents_from_being_loaded(
    site: Path, caplog: pytest.LogCaptureFixture
) -> None:
    install(site, "readers", {"tightrope.agent_loaders": {"odd": "os:sep"}})
    assert tr.load_agent(lambda observation: 0, corridor_task(), name="still").name == "still"
    (told,) = caplog.messages
    assert told.startswith("left out: the agent loader 'odd' of readers 1.0 cannot be used: os:sep: a tightrope.Agent")


def test_two_packages_that_claim_one_name_are_both_named(site: Path) -> None:
    install(site, "one", {"tightrope.tasks": {"road": "os:getcwd"}})
    install(site, "other", {"tightrope.tasks": {"road": "os:getcwd"}})
    with pytest.raises(
        ExtensionError, match=r"the task 'road' of one 1\.0 and other 1\.0: several packages claim that name"
    ):
        tr.make_task("road")


def test_a_built_in_name_cannot_be_taken_over(site: Path) -> None:
    install(site, "thief", {"tightrope.tasks": {"CartPole-v1": "os:getcwd"}, "tightrope.suites": {"simple": "os:sep"}})
    assert tr.make_task("CartPole-v1").action_space.n == 2  # type: ignore[attr-defined]
    reference = tr.search(corridor_task(), budget=tr.Budget(steps=1000)).reference
    assert reference is not None
    assert tr.make_suite("simple", reference).kind == "simple"


@pytest.mark.parametrize(
    ("group", "value", "use", "rule"),
    [
        ("tightrope.tasks", "os:sep", lambda: tr.make_task("odd"), "a function that builds a task is needed"),
        ("tightrope.suites", "os:sep", lambda: tr.make_suite("odd:1", None), "a tightrope.SuiteKind is needed"),  # type: ignore[arg-type]
        ("tightrope.search_methods", "os:sep", lambda: tr.search(corridor_task(), "odd"), "a function of a tightrope"),
        ("tightrope.tasks", "leaving:x", lambda: tr.make_task("odd"), r"its import called sys.exit\(3\)"),
    ],
)
def test_what_breaks_the_rule_of_its_group_is_refused_by_name(
    site: Path, group: str, value: str, use: object, rule: str
) -> None:
    (site / "leaving.py").write_text("raise SystemExit(3)")
    install(site, "odd-package", {group: {"odd": value}})
    with pytest.raises(ExtensionError, match=f"'odd' of odd-package 1.0 cannot be used: {value}: {rule}"):
        use()  # type: ignore[operator]


def test_a_misspelt_name_is_answered_with_those_of_packages_too(site: Path) -> None:
    install(site, "more", {"tightrope.search_methods": {"breadth-first": "os:sep"}})
    with pytest.raises(UnknownName, match="Did you mean 'breadth-first'"):
        tr.search(corridor_task(), "breadth-frist")


def test_a_section_is_written_once_and_a_broken_one_does_not_cost_the_report(
    site: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (site / "sayings.py").write_text(
        "from tightrope.report import Finding\n"
        "def good(results):\n    yield Finding(title='Weather', text=f'{len(results.runs)} runs')\n"
        "def bad(results):\n    raise KeyError('sun')\n"
        "def odd(results):\n    return ['words']\n"
    )
    install(site, "sayings", {"tightrope.report_sections": {n: f"sayings:{n}" for n in ("good", "bad", "odd")}})
    earlier = (Finding(title="Own", text="words"), Finding(title="Weather", text="of yesterday"))
    write_report(Results(title="t", runs=(), findings=earlier), tmp_path / "report")
    written = json.loads((tmp_path / "report" / "results.json").read_text())
    assert [(finding["title"], finding["text"]) for finding in written["findings"]] == [
        ("Own", "words"),
        ("Weather", "0 runs"),
    ]
    told = " ".join(record.getMessage() for record in caplog.records)
    assert "'bad' of sayings 1.0 raised KeyError: 'sun'" in told
    assert "'odd' of sayings 1.0 raised TypeError: a tightrope.report.Finding is needed" in told
