"""Every kind of file that tightrope reads: an honest one, how it is damaged, and how it is read."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import tightrope as tr
from tests.agents.networks import cell_network, dense_network
from tests.agents.tasks import MOVES, VECTOR, noise_task
from tests.filefuzz.commands import Commands
from tests.filefuzz.deeper import (
    damaged_arrays,
    damaged_database,
    damaged_hdf5,
    damaged_onnx,
    damaged_weights,
    either,
    sometimes_in_bytes,
)
from tests.filefuzz.mutations import Mutation, damaged_bytes, damaged_json, damaged_text, in_archive
from tests.runs.conftest import CONFIG
from tightrope.agents.formats.rllib import require_format
from tightrope.agents.networks.normalisation import Normalisation, load_normalisation, save_normalisation
from tightrope.errors import FormatError
from tightrope.report import results_to_json
from tightrope.runs.campaign import run_campaign
from tightrope.runs.configuration.configfile import commented_example
from tightrope.runs.questions.replaying import stored_fails
from tightrope.runs.run import Run
from tightrope.runs.storage.artefacts import checksum
from tightrope.runs.storage.folder import RunFolder
from tightrope.runs.storage.store import EpisodeStore

TASK = tr.make_task(CONFIG.task, **CONFIG.options)
DATABASE = "episodes.sqlite"
MOST_BYTES = 30_000
"""Of a sample that is damaged byte by byte."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of file."""

    name: str
    sample: bytes
    path: Path
    """Where a damaged one is put."""
    mutate: Mutation
    read: Callable[[Path], Any]
    share: int = 150
    """How often it is tried, against the others."""
    stays: bool = True
    """Whether the honest file lies there between two cases. What is played back into another file does not."""


def all_kinds(folder: Path) -> list[Kind]:
    """The honest files, made in a folder."""
    run = small_run(folder / "made")
    alone = [*files_of_a_run(run, folder), *files_by_themselves(run, folder), *agents(folder), *data_sets(folder)]
    return [*alone, *through_commands(run, folder, alone)]


def small_run(folder: Path) -> Path:
    """A run with something of every kind in it, and little of each: it is read for every case."""
    config = CONFIG.model_copy(
        update={
            "plain": CONFIG.plain.changed(episodes=3),
            "safety": CONFIG.safety.changed(repetitions=2, suites=("simple",)),
            "fuzzing": CONFIG.fuzzing.changed(generations=2, population=4),
            "performance": CONFIG.performance.changed(tests=2, episodes=2),
        }
    )
    run_campaign(config, folder)
    return folder


def files_of_a_run(made: Path, folder: Path) -> Iterator[Kind]:
    manifest = json.loads((made / "run.json").read_text())
    # Whoever opens somebody else's run has none of its agents.
    for agent in manifest["agents"].values():
        agent["settings"]["source"] = "gone.onnx"
    (made / "run.json").write_text(json.dumps(manifest))
    run = shutil.copytree(made, folder / "run")
    text = (made / "run.json").read_bytes()
    yield Kind(name="run.json", sample=text, path=run / "run.json", mutate=damaged_json, read=_read_run, share=300)
    for name in manifest["artefacts"]:
        if "careful" not in name:
            yield Kind(
                name=name,
                sample=(made / name).read_bytes(),
                path=run / name,
                mutate=damaged_json,
                read=_reads_artefact(run, name, text),
                share=150,
            )
    with closing(sqlite3.connect(run / DATABASE)) as connection:
        connection.execute("pragma journal_mode = delete")
    database = (run / DATABASE).read_bytes()
    yield Kind(
        name=DATABASE,
        sample=database,
        path=run / DATABASE,
        mutate=sometimes_in_bytes(damaged_database, 0.4),
        read=_read_run,
        share=150,
    )
    for ending in ("-wal", "-journal"):
        yield Kind(
            name=DATABASE + ending,
            sample=database[:MOST_BYTES],
            path=run / (DATABASE + ending),
            mutate=damaged_bytes,
            read=_beside_the_database(database),
            stays=False,
            share=30,
        )


def _reads_artefact(run: Path, name: str, manifest: bytes) -> Callable[[Path], None]:
    """Read the run with one file in it changed, which run.json believes: whoever forges one forges the other, too."""

    def read(path: Path) -> None:
        content = json.loads(manifest)
        content["artefacts"][name]["checksum"] = checksum(path.read_bytes())
        (run / "run.json").write_text(json.dumps(content))
        try:
            _trying_again(path, lambda: _read_run(run, name), lambda: read(path))
        finally:
            (run / "run.json").write_bytes(manifest)

    return read


def _beside_the_database(database: bytes) -> Callable[[Path], None]:
    def read(path: Path) -> None:
        # What is left beside a database is played back into it.
        (path.parent / DATABASE).write_bytes(database)
        try:
            _read_run(path.parent)
        finally:
            for ending in ("", "-wal", "-shm", "-journal"):
                (path.parent / (DATABASE + ending)).unlink(missing_ok=True)
            (path.parent / DATABASE).write_bytes(database)

    return read


def _trying_again(path: Path, read: Callable[[], None], again: Callable[[], None]) -> None:
    """A suite whose id does not fit its content is given the id that does, so that what lies behind is seen too."""
    try:
        read()
    except FormatError as error:
        right = re.search(r"its content has the id ([0-9a-f]{16}), but it says", str(error))
        if right is None:
            raise
        try:
            content = json.loads(path.read_bytes())
        except ValueError:
            raise error from None
        if content.get("id") == right[1]:
            raise
        path.write_text(json.dumps({**content, "id": right[1]}))
        again()


PARTS: dict[str, Callable[[Run], Any]] = {
    "0": lambda run: run.plain,
    "1": lambda run: (run.search, run.reference),
    "2": lambda run: run.safety,
    "3": lambda run: run.fuzzing,
    "4": lambda run: run.performance,
}
"""What of a run is read from its files, by how their names begin."""
WHOLE = 4
"""One in so many files is read with all of the run and what is told of it, which takes ten times as long."""


def _read_run(path: Path, name: str = "") -> None:
    """The part of a run that a file belongs to, and for some files all of it."""
    folder = path if path.is_dir() else path.parent
    # Another task is made for a run.json that names one; else it is examined once, not for every case.
    task = TASK if path.is_dir() or path.name != "run.json" else None
    run = Run(RunFolder.open(folder), task=task)
    if name and zlib.crc32((folder / name).read_bytes()) % WHOLE:
        repr(PARTS[name[0]](run))
        return
    assert repr(run)
    results_to_json(tr.report_results([run]))
    list(run.missing())
    for stored in stored_fails(run)[:3]:
        repr(stored.episode())
    with closing(EpisodeStore(run.folder.episodes_path, read_only=True)) as store:
        list(store.sample(5))


def files_by_themselves(made: Path, folder: Path) -> Iterator[Kind]:
    def kind(name: str, sample: bytes, mutate: Mutation, read: Callable[[Path], Any], share: int = 900) -> Kind:
        return Kind(name=name, sample=sample, path=folder / name, mutate=mutate, read=read, share=share)

    yield kind("a.suite.json", (made / "2-safety/simple.suite.json").read_bytes(), damaged_json, _read_suite)
    yield kind("reference.json", (made / "1-search/reference.json").read_bytes(), damaged_json, _read_reference)
    run = tr.open_run(made)
    assert run.fuzzing is not None
    for ending, mutate in (
        (".json", damaged_json),
        (".npz", either(damaged_arrays, in_archive(lambda name: damaged_bytes))),
    ):
        tr.write_traces(folder / f"sample{ending}", run.fuzzing.fittest)
        yield kind(f"traces{ending}", (folder / f"sample{ending}").read_bytes(), mutate, _read_traces)
    yield kind("campaign.yaml", commented_example(CONFIG).encode(), damaged_text, tr.load_config)
    yield kind("campaign.toml", TOML.encode(), damaged_text, tr.load_config)
    yield kind("campaign.json", CONFIG.model_dump_json().encode(), damaged_json, tr.load_config)
    statistics = Normalisation(
        means={"observation": np.zeros(5)}, variances={"observation": np.ones(5)}, clip=10.0, epsilon=1e-8
    )
    save_normalisation(statistics, folder / "statistics.npz")
    yield kind(
        "normalisation.npz",
        (folder / "statistics.npz").read_bytes(),
        either(damaged_arrays, in_archive(lambda name: damaged_bytes)),
        lambda path: load_normalisation(path, trust=False),
    )


TOML = """
task = "FrozenLake-v1"
seed = 3
[options]
is_slippery = true
[[agents]]
source = "tests.sample_agents:zigzag"
name = "zigzag"
epsilon = 0.5
[safety]
suites = ["simple", "interval:1"]
repetitions = 5
max_fail = 0.2
[fuzzing]
generations = 6
"""


def _read_suite(path: Path) -> None:
    def read() -> None:
        suite = tr.load_suite(path)
        repr(suite)
        tr.judge_suite(suite, (), agent="a", repetitions=1, length=5)
        tr.save_suite(suite, path)

    _trying_again(path, read, read)


def _read_reference(path: Path) -> None:
    reference = tr.load_reference(path)
    repr(reference)
    for kind in ("simple", "interval:1"):
        tr.make_suite(kind, reference)
    tr.save_reference(reference, path)


def _read_traces(path: Path) -> None:
    traces = tr.read_traces(path)
    repr([trace.id for trace in traces])
    tr.write_traces(path, traces)


def agents(folder: Path) -> Iterator[Kind]:
    import torch

    from tests.agents.test_sb3 import saved, task_of

    task = noise_task(VECTOR, MOVES)
    torch.save(torch.nn.Linear(5, int(MOVES.n)).state_dict(), folder / "sample.pt")
    weights = (folder / "sample.pt").read_bytes()
    small = in_archive(lambda name: damaged_bytes)
    yield from _networks(folder, _loads(task))
    yield Kind(
        name="agent.pt",
        sample=weights,
        path=folder / "agent.pt",
        mutate=either(damaged_weights, damaged_weights, small),
        read=_loads(task, "@tests.filefuzz.kinds:linear"),
    )
    layers = torch.nn.Sequential(*(torch.nn.Linear(*widths) for widths in ((5, 120), (120, 84), (84, int(MOVES.n)))))
    stock = {f"network.{2 * int(name[0])}{name[1:]}": tensor for name, tensor in layers.state_dict().items()}
    torch.save({"model_weights": stock, "args": {"seed": 1}}, folder / "sample.cleanrl_model")
    yield Kind(
        name="agent.cleanrl_model",
        sample=(folder / "sample.cleanrl_model").read_bytes(),
        path=folder / "agent.cleanrl_model",
        mutate=either(damaged_weights, small),
        read=_loads(task),
    )
    checkpoint = folder / "checkpoint"
    checkpoint.mkdir()
    yield Kind(
        name="rllib metadata.json",
        sample=b'{"class_and_ctor_args_file": "class_and_ctor_args.pkl", "checkpoint_version": "2.1"}',
        path=checkpoint / "metadata.json",
        mutate=damaged_json,
        read=lambda path: require_format(path.parent),
    )
    archive = saved("ppo").read_bytes()
    ask = _loads(task_of("ppo"))
    yield Kind(name="agent.zip", sample=archive, path=folder / "agent.zip", mutate=in_archive(_sb3_member), read=ask)
    beside = folder / "normalised"
    beside.mkdir()
    (beside / "agent.zip").write_bytes(archive)
    for ending in (".npz", ".pkl"):
        yield Kind(
            name=f"vecnormalize{ending}",
            sample=(folder / "statistics.npz").read_bytes(),
            path=beside / f"vecnormalize{ending}",
            mutate=either(damaged_arrays, small),
            read=lambda path: ask(path.with_name("agent.zip")),
            stays=False,
        )


def _networks(folder: Path, ask: Callable[[Path], None]) -> Iterator[Kind]:
    import onnx

    network = dense_network(folder / "sample.onnx", 5, int(MOVES.n))
    change = sometimes_in_bytes(damaged_onnx)
    yield Kind(name="agent.onnx", sample=network.read_bytes(), path=folder / "agent.onnx", mutate=change, read=ask)
    apart = folder / "apart"
    apart.mkdir()
    model = onnx.load(network)
    onnx.save_model(
        model, apart / "agent.onnx", save_as_external_data=True, location="agent.onnx.data", size_threshold=0
    )
    for name, mutate in (("agent.onnx", change), ("agent.onnx.data", damaged_bytes)):
        yield Kind(
            name=f"apart/{name}",
            sample=(apart / name).read_bytes(),
            path=apart / name,
            mutate=mutate,
            read=lambda path: ask(path.with_name("agent.onnx")),
        )


def _loads(task: Any, suffix: str = "") -> Callable[[Path], Any]:
    """Load an agent, which asks it about some observations; what it answers in episodes is an error of theirs."""
    return lambda path: tr.load_agent(f"{path}{suffix}", task)


def linear() -> Any:
    import torch

    return torch.nn.Linear(5, int(MOVES.n))


def _sb3_member(name: str) -> Mutation | None:
    return {"data": damaged_json, "policy.pth": either(damaged_weights, in_archive(lambda name: damaged_bytes))}.get(
        name
    )


def data_sets(folder: Path) -> Iterator[Kind]:
    import h5py

    data = folder / "set" / "data"
    data.mkdir(parents=True)
    with h5py.File(data / "main_data.hdf5", "w") as file:
        episode = file.create_group("episode_0")
        episode.attrs["seed"] = 7
        episode["actions"] = np.array([1, 1, 2, 1, 2, 2])
    about = json.dumps({"data_format": "hdf5"}).encode()
    (data / "metadata.json").write_bytes(about)
    task = tr.make_task("FrozenLake-v1", is_slippery=False)

    def read(path: Path) -> None:
        tr.minari_traces(folder / "set", task)

    for name, mutate in (("main_data.hdf5", sometimes_in_bytes(damaged_hdf5, 0.5)), ("metadata.json", damaged_json)):
        yield Kind(name=name, sample=(data / name).read_bytes(), path=data / name, mutate=mutate, read=read)


LAKE = ("FrozenLake-v1", "--set", "is_slippery=true")
PLAY = ("-n", 1, "-l", 5, "--no-control", "--backend", "inline")
COMMAND = "$ "
"""How the names of kinds begin that are read by a command."""
SAMPLE_AGENT = b"tests.sample_agents:zigzag"


def through_commands(made: Path, folder: Path, alone: list[Kind]) -> Iterator[Kind]:
    """Some of the same files through the command line: what it says must be clear, too."""
    place, give = folder / "commands", Commands().give
    place.mkdir()
    network = cell_network(folder / "cells.onnx", 16, 4)

    def in_a_run(name: str) -> Callable[[Path], None]:
        def read(path: Path) -> None:
            shutil.rmtree(place / "run", ignore_errors=True)
            run = shutil.copytree(made, place / "run")
            shutil.copy(path, run / name)
            give(*_one_of(path, _about_a_run(run, network)))

        return read

    ways: dict[str, Callable[[Path], None]] = {
        "a.suite.json": lambda path: give("safety", path, *PLAY, "--agent", network),
        **dict.fromkeys(
            ("traces.json", "traces.npz"),
            lambda path: give("search", *LAKE, "--demonstration", path, "--out", place / "found", "--probe-steps", 50),
        ),
        # An agent that is not there: a campaign that can be read ends there, and runs no hour.
        **{f"campaign.{ending}": lambda path: give("run", path, "--out", place / "out") for ending in CAMPAIGNS},
        "agent.onnx": lambda path: give("safety", made, *PLAY, "--suite", "simple", "--agent", path),
        "agent.pt": lambda path: give("safety", made, *PLAY, "--agent", f"{path}@tests.filefuzz.kinds:linear"),
        "agent.zip": lambda path: give("safety", made, *PLAY, "--agent", path),
    }
    for like in alone:
        inside = like.path.is_relative_to(folder / "run") and like.stays
        read = in_a_run(str(like.path.relative_to(folder / "run"))) if inside else ways.get(like.name)
        if read is not None:
            sample = network.read_bytes() if like.name == "agent.onnx" else like.sample
            sample = sample.replace(SAMPLE_AGENT, b"gone.onnx") if like.name.startswith("campaign") else sample
            yield replace(
                like, name=f"{COMMAND}{like.name}", sample=sample, path=place / like.path.name, read=read, share=1
            )


CAMPAIGNS = ("yaml", "toml", "json")


def _about_a_run(run: Path, network: Path) -> list[list[Any]]:
    return [
        ["report", run, "--videos", 0],
        ["replay", run],
        ["compare", run],
        ["run", "--resume", run],
        ["safety", run, *PLAY, "--suite", "simple", "--agent", network],
    ]


def _one_of(path: Path, choices: list[list[Any]]) -> list[Any]:
    """Any of these, but for the same content the same one."""
    return choices[zlib.crc32(path.read_bytes()) % len(choices)]
