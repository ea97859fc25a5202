"""Damaging files one after the other, and telling what came of reading them."""

from __future__ import annotations

import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.filefuzz.kinds import Kind
from tightrope.errors import TightropeError

LONGEST = 60
"""Seconds for one file. The slowest take a tenth of one; a machine that is busy with other things takes longer."""


class Hang(BaseException):
    """Reading a file did not come to an end."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A damaged file that was neither read nor refused in so many words."""

    kind: str
    seed: int
    case: int
    content: bytes
    told: str
    where: str

    def __str__(self) -> str:
        return f"{self.kind}, seed {self.seed}, case {self.case}: {self.told}\n{self.where}"


class Fuzzer:
    """Tries damaged files of all kinds in turn; case n of a seed is always the same file."""

    def __init__(self, kinds: list[Kind], seed: int = 0) -> None:
        places = ((number / kind.share, kind) for kind in kinds for number in range(kind.share))
        self.kinds = [kind for _, kind in sorted(places, key=lambda place: place[0])]
        """In the order in which they are tried, over and over: every kind comes soon, and as often as it should."""
        self.seed = seed
        self.counts: Counter[str] = Counter()
        self.refused = 0

    def try_case(self, case: int) -> Finding | None:
        kind = self.kinds[case % len(self.kinds)]
        content = kind.mutate(Random(f"{self.seed}/{kind.name}/{case}"), kind.sample)
        self.counts[kind.name] += 1
        kind.path.write_bytes(content)
        try:
            told, where = self._outcome(kind)
        finally:
            if kind.stays:
                kind.path.write_bytes(kind.sample)
            else:
                kind.path.unlink(missing_ok=True)
        if not told:
            return None
        return Finding(kind=kind.name, seed=self.seed, case=case, content=content, told=told, where=where)

    def _outcome(self, kind: Kind) -> tuple[str, str]:
        """What is unclear about how reading ended; nothing, when nothing is."""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                with at_most(LONGEST):
                    kind.read(kind.path)
            except TightropeError as error:
                self.refused += 1
                if len(str(error)) < 10:
                    return f"a message without words: {error!r}", ""
            except (Exception, Hang) as error:
                return f"{type(error).__name__}: {error!s:.300}", "".join(traceback.format_tb(error.__traceback__)[-4:])
        if said:
            return f"a warning: {said[0].message!s:.300}", f"{said[0].filename}:{said[0].lineno}"
        return "", ""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise in what takes longer."""

    def stop(*_: object) -> None:
        raise Hang(f"not read within {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def keep(finding: Finding, folder: Path) -> Path:
    """Put the damaged file where it can be looked at."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{finding.seed}-{finding.case}-{finding.kind.replace('/', '-')}"
    path.write_bytes(finding.content)
    return path
