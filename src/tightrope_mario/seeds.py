"""Fuzzing once more with other seeds: how much of what it finds is luck."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import tightrope as tr

FOLDER = "fuzzing-seeds"
BUSY_WITH_ONE = 4
"""Workers that one fuzzing keeps busy; of more, most wait for the longest trace of a generation. So many seeds as there
are workers for are bred side by side, and no more: an interruption loses those under way."""
OnProgress = Callable[[tr.Progress], None]


def repeated_fuzzing(
    run: tr.Run, seeds: int, *, on_progress: OnProgress | None = None
) -> dict[str, tuple[tr.FuzzResult, ...]]:
    """Agent → the fuzzing of its action set with so many seeds, the run's own first. Stored ones are read."""
    found: dict[str, tuple[tr.FuzzResult, ...]] = {}
    with ExitStack() as opened:

        @cache
        def engine() -> tr.Engine:
            """One for all that is not stored: its workers are started once, and know the reference from then on."""
            execution = run.config.execution
            return opened.enter_context(tr.Engine(run.task, backend=execution.backend, workers=execution.workers))

        for name in run.agents:
            first = run.fuzzing_for(name)
            if first is None:
                continue
            begin = int(first.settings["seed"])
            others = _others(run, engine, first, range(begin + 1, begin + seeds), on_progress)
            found[name] = (first, *others)
    return found


def _others(
    run: tr.Run,
    engine: Callable[[], tr.Engine],
    first: tr.FuzzResult,
    seeds: Sequence[int],
    on_progress: OnProgress | None,
) -> Iterator[tr.FuzzResult]:
    """The same fuzzing with other seeds, without those that were interrupted."""
    files = {seed: run.path / FOLDER / f"{_name(first, {**first.settings, 'seed': seed})}.json" for seed in seeds}
    missing = [seed for seed in seeds if not files[seed].exists()]
    together = max(1, (run.config.execution.workers or os.cpu_count() or 1) // BUSY_WITH_ONE)
    for some in (missing[place : place + together] for place in range(0, len(missing), together)):
        results = tr.fuzz_again(run.task, first, some, engine=engine(), on_progress=on_progress)
        for seed, result in zip(some, results, strict=True):
            if len(result.generations) == len(first.generations):
                _write(files[seed], result)
    for file in files.values():
        if file.exists():
            yield tr.FuzzResult.from_json(json.loads(file.read_text(encoding="utf-8")))


def _ancestors(bred: tr.FuzzResult) -> list[tr.ActionTrace]:
    return [ancestor.trace for ancestor in bred.ancestors]


def _name(first: tr.FuzzResult, settings: dict[str, object]) -> str:
    """Made of all that the result depends on, so that a file never stands for another fuzzing."""
    parts = json.dumps([settings, [trace.id for trace in _ancestors(first)]], sort_keys=True, default=str)
    return f"seed-{settings['seed']}-{hashlib.blake2b(parts.encode(), digest_size=8).hexdigest()}"


def _write(file: Path, result: tr.FuzzResult) -> None:
    file.parent.mkdir(exist_ok=True)
    beside = file.with_suffix(".tmp")
    beside.write_text(json.dumps(result.to_json()), encoding="utf-8")
    beside.replace(file)
