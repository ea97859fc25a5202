"""What is handed to others: small archives that hold all that is needed and nothing else."""

from __future__ import annotations

import re
import tarfile
import tomllib
import zipfile
from configparser import ConfigParser
from pathlib import Path

import pytest
import yaml

import tightrope

ROOT = Path(__file__).parent.parent
MOST_BYTES = 5_000_000
builders = pytest.importorskip("hatchling.builders", reason="archives are built with hatchling")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from hatchling.builders.sdist import SdistBuilder

    return Path(next(iter(SdistBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("sdist"))))))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from hatchling.builders.wheel import WheelBuilder

    folder = str(tmp_path_factory.mktemp("wheel"))
    return Path(next(iter(WheelBuilder(str(ROOT)).build(directory=folder, versions=["standard"]))))


def test_the_source_archive_is_small_and_holds_no_trained_networks(sdist: Path) -> None:
    assert sdist.stat().st_size < MOST_BYTES
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert not [name for name in names if name.startswith("agents/") or name.endswith((".onnx", ".nes"))]
    assert {"README.md", "LICENSE", "CHANGELOG.md", "src/tightrope/py.typed", "tests/conftest.py"} <= set(names)


def test_the_installed_archive_is_typed_and_brings_its_entry_points(wheel: Path) -> None:
    assert wheel.stat().st_size < MOST_BYTES
    assert wheel.name.startswith(f"tightrope-{tightrope.__version__}-")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (listed,) = [name for name in names if name.endswith("dist-info/entry_points.txt")]
        entry_points = ConfigParser()
        entry_points.read_string(archive.read(listed).decode())
    assert {"tightrope/py.typed", "tightrope/__init__.pyi", "tightrope/report/templates/report.html"} <= set(names)
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"tightrope", "tightrope_mario"}
    assert {"console_scripts", "tightrope.tasks", "tightrope.verbs", "pytest11"} <= set(entry_points.sections())


def test_whoever_finds_the_package_finds_the_paper(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = [archive.read(name).decode() for name in archive.namelist() if name.endswith("/METADATA")]
    addresses = re.findall(r"^Project-URL: (\w+), (https://\S+)$", metadata, re.MULTILINE)
    (doi,) = re.findall(r"^    doi: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert ("Paper", f"https://doi.org/{doi}") in addresses


def test_hosted_machines_and_commits_check_what_the_makefile_checks() -> None:
    rule = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ncheck:")[2].partition("\n\n")[0]
    programs = set(re.findall(r"\$\(BIN\)/(ruff format|ruff check|mypy)", rule))
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    assert {hook["entry"].removeprefix(".venv/bin/").removesuffix(" --fix") for hook in hooks} == programs
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    run = {step["run"] for job in jobs.values() for step in job["steps"] if step.get("run", "").startswith("make")}
    assert run == {"make check", "make test", "make docs"}
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tested = [line.rpartition(" ")[2] for line in metadata["classifiers"] if line.startswith("Programming Language")]
    assert jobs["test"]["strategy"]["matrix"]["python"] == tested


def test_how_to_cite_it_can_be_read() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors", "license"} <= set(cited)
    assert cited["license"] == "Apache-2.0"
    (paper,) = cited["references"]
    assert {"type", "title", "authors", "year", "doi"} <= set(paper)
    assert all({"family-names", "given-names"} == set(author) for author in paper["authors"])
