"""Which figures are worse than those that were written down, beyond what they vary by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from benchmarks.measuring import Figure

NOISE = 0.15
"""Two runs of the same code on the same idle machine differ by up to this share where times are measured."""


def compared(before: Mapping[str, Figure], now: Iterable[Figure]) -> Iterator[str]:
    """A line for every figure measured now: what it was, what it is, and whether that is worse."""
    for figure in now:
        earlier = before.get(figure.name)
        was = "no data" if earlier is None else earlier.shown
        told = "" if earlier is None else judgement(earlier, figure)
        yield f"{figure.item:>2}  {figure.name[:86]:<86} {was:>18} {figure.shown:>18}  {told}".rstrip()


def judgement(before: Figure, now: Figure) -> str:
    """WORSE, better, or nothing where the two do not differ beyond their noise or there is no telling."""
    if before.value is None or now.value is None or now.better is None:
        return ""
    sign = 1 if now.better == "higher" else -1
    # As numbers of which more is better: the least it was and the most it is now, and the other way round.
    was, found = (sorted(sign * limit for limit in figure.limits) for figure in (before, now))
    if found[1] < was[0] - NOISE * abs(was[0]):
        return "WORSE"
    return "better" if found[0] > was[1] + NOISE * abs(was[1]) else ""
