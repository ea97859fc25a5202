"""Every kind of file that tightrope reads: an honest one, how it is damaged, and how it is read."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import tightrope as tr
from tests.agents.networks import dense_network
from tests.agents.tasks import MOVES, VECTOR, noise_task
from tests.filefuzz.mutations import (
    Mutation,
    damaged_bytes,
    damaged_json,
    damaged_packed_json,
    damaged_text,
    in_archive,
)
from tests.runs.conftest import CONFIG
from tightrope.agents.networks.normalisation import Normalisation, load_normalisation, save_normalisation
from tightrope.agents.networks.rllib import require_format
from tightrope.errors import FormatError
from tightrope.report import results_to_json
from tightrope.runs.artefacts import checksum
from tightrope.runs.campaign import run_campaign
from tightrope.runs.configfile import commented_example
from tightrope.runs.folder import RunFolder
from tightrope.runs.replaying import stored_fails
from tightrope.runs.run import Run
from tightrope.runs.store import EpisodeStore

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
    share: int = 1
    """How often it is tried, against the others."""


def all_kinds(folder: Path) -> list[Kind]:
    """The honest files, made in a folder."""
    run = small_run(folder / "made")
    return [*files_of_a_run(run, folder), *files_by_themselves(run, folder), *agents(folder), *data_sets(folder)]


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
    yield Kind(name="run.json", sample=text, path=run / "run.json", mutate=damaged_json, read=_read_run, share=4)
    for name in manifest["artefacts"]:
        if "careful" not in name:
            yield Kind(
                name=name,
                sample=(made / name).read_bytes(),
                path=run / name,
                mutate=damaged_json,
                read=_reads_artefact(run, name, text),
                share=2,
            )
    with closing(sqlite3.connect(run / DATABASE)) as connection:
        connection.execute("pragma journal_mode = delete")
    database = (run / DATABASE).read_bytes()
    yield Kind(name=DATABASE, sample=database, path=run / DATABASE, mutate=_damaged_database, read=_read_run, share=2)
    for ending in ("-wal", "-journal"):
        yield Kind(
            name=DATABASE + ending,
            sample=database[:MOST_BYTES],
            path=run / (DATABASE + ending),
            mutate=damaged_bytes,
            read=_beside_the_database(database),
        )


def _reads_artefact(run: Path, name: str, manifest: bytes) -> Callable[[Path], None]:
    """Read the run with one file in it changed, which run.json believes: whoever forges one forges the other, too."""

    def read(path: Path) -> None:
        content = json.loads(manifest)
        content["artefacts"][name]["checksum"] = checksum(path.read_bytes())
        (run / "run.json").write_text(json.dumps(content))
        try:
            _trying_again(path, lambda: _read_run(run), lambda: read(path))
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
            (path.parent / DATABASE).write_bytes(database)
            for ending in ("-wal", "-shm", "-journal"):
                (path.parent / (DATABASE + ending)).unlink(missing_ok=True)

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


def _read_run(path: Path) -> None:
    folder = path if path.is_dir() else path.parent
    # Another task is made for a run.json that names one; else it is examined once, not for every case.
    task = TASK if path.is_dir() or path.name != "run.json" else None
    run = Run(RunFolder.open(folder), task=task)
    for _ in (run.config, repr(run), run.plain, run.search, run.reference, run.safety, run.fuzzing, run.performance):
        pass
    results_to_json(tr.report_results([run]))
    _look(run)


def _look(run: Run) -> None:
    list(run.missing())
    for stored in stored_fails(run)[:3]:
        repr(stored.episode())
    with closing(EpisodeStore(run.folder.episodes_path, read_only=True)) as store:
        list(store.sample(5))


def _damaged_database(rng: Random, content: bytes) -> bytes:
    """Values of the database changed, or its bytes."""
    if rng.random() < 0.5:
        return damaged_bytes(rng, content)
    columns: dict[tuple[str, str], Mutation] = {
        ("episodes", "content"): damaged_packed_json,
        ("episodes", "rollout"): damaged_json,
        ("traces", "content"): damaged_json,
    }
    (table, column), mutate = rng.choice(list(columns.items()))
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content)
        for (identifier,) in connection.execute(f"select id from {table}").fetchall():
            (value,) = connection.execute(f"select {column} from {table} where id = ?", (identifier,)).fetchone()
            changed: Any = mutate(rng, value if isinstance(value, bytes) else value.encode())
            if rng.random() < 0.1:
                changed = rng.choice((None, 1, 0.5, "", b"", "x", b"x", "1" * 400))
            elif isinstance(value, str):
                changed = changed.decode("utf-8", "replace")
            if changed is not None:
                connection.execute(f"update {table} set {column} = ? where id = ?", (changed, identifier))
        connection.commit()
        return connection.serialize()


def files_by_themselves(made: Path, folder: Path) -> Iterator[Kind]:
    def kind(name: str, sample: bytes, mutate: Mutation, read: Callable[[Path], Any], share: int = 2) -> Kind:
        return Kind(name=name, sample=sample, path=folder / name, mutate=mutate, read=read, share=share)

    yield kind("a.suite.json", (made / "2-safety/simple.suite.json").read_bytes(), damaged_json, _read_suite)
    yield kind("reference.json", (made / "1-search/reference.json").read_bytes(), damaged_json, _read_reference)
    run = tr.open_run(made)
    assert run.fuzzing is not None
    for ending, mutate in ((".json", damaged_json), (".npz", in_archive(lambda name: damaged_bytes))):
        tr.write_traces(folder / f"sample{ending}", run.fuzzing.fittest)
        yield kind(f"traces{ending}", (folder / f"sample{ending}").read_bytes(), mutate, _read_traces)
    yield kind("campaign.yaml", commented_example(CONFIG).encode(), damaged_text, tr.load_config, 4)
    yield kind("campaign.toml", TOML.encode(), damaged_text, tr.load_config)
    statistics = Normalisation(
        means={"observation": np.zeros(5)}, variances={"observation": np.ones(5)}, clip=10.0, epsilon=1e-8
    )
    save_normalisation(statistics, folder / "statistics.npz")
    yield kind(
        "normalisation.npz",
        (folder / "statistics.npz").read_bytes(),
        in_archive(lambda name: damaged_bytes),
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
    network = dense_network(folder / "sample.onnx", 5, int(MOVES.n))
    torch.save(torch.nn.Linear(5, int(MOVES.n)).state_dict(), folder / "sample.pt")

    def load(task: Any, suffix: str = "") -> Callable[[Path], Any]:
        return lambda path: tr.load_agent(f"{path}{suffix}", task)

    yield Kind(
        name="agent.onnx",
        sample=network.read_bytes(),
        path=folder / "agent.onnx",
        mutate=damaged_bytes,
        read=load(task),
    )
    yield Kind(
        name="agent.pt",
        sample=(folder / "sample.pt").read_bytes(),
        path=folder / "agent.pt",
        mutate=in_archive(lambda name: damaged_bytes),
        read=load(task, "@tests.filefuzz.kinds:linear"),
    )
    layers = torch.nn.Sequential(*(torch.nn.Linear(*widths) for widths in ((5, 120), (120, 84), (84, int(MOVES.n)))))
    stock = {f"network.{2 * int(name[0])}{name[1:]}": tensor for name, tensor in layers.state_dict().items()}
    torch.save({"model_weights": stock, "args": {"seed": 1}}, folder / "sample.cleanrl_model")
    yield Kind(
        name="agent.cleanrl_model",
        sample=(folder / "sample.cleanrl_model").read_bytes(),
        path=folder / "agent.cleanrl_model",
        mutate=in_archive(lambda name: damaged_bytes),
        read=load(task),
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
    yield Kind(
        name="agent.zip",
        sample=saved("ppo").read_bytes(),
        path=folder / "agent.zip",
        mutate=in_archive(_sb3_member),
        read=load(task_of("ppo")),
    )


def linear() -> Any:
    import torch

    return torch.nn.Linear(5, int(MOVES.n))


def _sb3_member(name: str) -> Mutation | None:
    return {"data": damaged_json, "policy.pth": in_archive(lambda name: damaged_bytes)}.get(name)


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

    for name, mutate in (("main_data.hdf5", damaged_bytes), ("metadata.json", damaged_json)):
        yield Kind(name=name, sample=(data / name).read_bytes(), path=data / name, mutate=mutate, read=read)
