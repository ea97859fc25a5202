"""Fuzzing once more with other seeds: how much of what it finds is luck."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import tightrope as tr

FOLDER = "fuzzing-seeds"
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
            others = (_bred(run, engine, first, begin + more, on_progress) for more in range(1, seeds))
            found[name] = (first, *(result for result in others if result is not None))
    return found


def _bred(
    run: tr.Run, engine: Callable[[], tr.Engine], first: tr.FuzzResult, seed: int, on_progress: OnProgress | None
) -> tr.FuzzResult | None:
    """The same fuzzing with another seed; None where it was interrupted."""
    settings = {**first.settings, "seed": seed}
    file = run.path / FOLDER / f"{_name(first, settings)}.json"
    if file.exists():
        return tr.FuzzResult.from_json(json.loads(file.read_text(encoding="utf-8")))
    how = {**settings, "weights": tuple(settings["weights"])}
    result = tr.fuzz(run.task, _ancestors(first), control=False, engine=engine(), on_progress=on_progress, **how)
    if len(result.generations) < len(first.generations):
        return None
    _write(file, result)
    return result


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
