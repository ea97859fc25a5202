"""What the page's script is given to play fail and escape side by side: every step in words, survival over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tightrope.explanation import Explanation, Instant
from tightrope.explanation.telling import action_of, reward_of, values_of, wanted_of
from tightrope.explanation.words import BLAME, survival_in_words
from tightrope.report.films.players import COLUMNS, Scene
from tightrope.report.wording import count, percent, typeset
from tightrope.statistics import Estimate

Json = dict[str, Any]
MOST_CHARTS = 6
"""Observed values that get a small chart each."""
SURVIVABLE = {"yes": "survivable", "no": "doomed", "unknown": "not known"}


def player_data(scene: Scene, sheet: str | None, size: tuple[int, int] | None) -> Json:
    """One group of failures for the script; ``sheet`` names its pictures, which are of this size."""
    why, seen = scene.explanation, scene.close_up
    fail, escape = scene.cells
    return {
        "sheet": sheet,
        "size": size,
        "columns": COLUMNS,
        "first": seen.fail[0].depth,
        "decision": seen.decision,
        "handover": why.handover,
        "strips": [
            {"title": "What it did", "cells": fail, "steps": _steps(scene, seen.fail)},
            *([{"title": "The way out", "cells": escape, "steps": _steps(scene, seen.escape)}] * bool(escape)),
        ],
        "survival": _survival(why, seen.fail),
        "survival_text": survival_in_words(why),
        "charts": _charts(seen.names, [seen.fail, seen.escape]),
    }


def group_words(scene: Scene) -> Json:
    """A group in words: how much of the failing it is, whose fault, why, and what to type for more."""
    group, run = scene.group, scene.run
    return {
        "agent": scene.agent,
        "share": f"{percent(group.share)} of its fails",
        "cases": count(len(group.members), "case"),
        "blame": BLAME[group.avoidable],
        "avoidable": group.avoidable,
        "sentence": typeset(group.sentence(run.task)),
        "survival": survival_in_words(scene.explanation),
        "explain": run.explain(group.representative.case.id, scene.agent),
    }


def _steps(scene: Scene, instants: Sequence[Instant]) -> list[Json]:
    names = scene.run.action_names
    return [
        {
            "step": each.depth,
            "action": action_of(each, names),
            "reward": reward_of(each),
            "wanted": typeset(wanted_of(each, names)),
            "saw": values_of(each, scene.close_up),
        }
        for each in instants
    ]


def _survival(why: Explanation, instants: Sequence[Instant]) -> list[Json]:
    """For each moment whether it is survivable, doomed or neither; by chance, how often somebody survives."""
    if why.drop is not None or why.cause is not None:
        known = dict(why.estimates)
        return [_share(known[each.depth]) if each.depth in known else _kind("unknown") for each in instants]
    last = -1 if why.depth is None else why.depth
    return [
        _kind("yes" if each.depth <= last else "no" if each.depth >= why.first_doomed else "unknown")
        for each in instants
    ]


def _share(best: Estimate) -> Json:
    text = "" if best.value is None else f"the best player known survives in {percent(best.value)}"
    return {"kind": "share", "value": best.value, "low": best.low, "high": best.high, "text": text}


def _kind(kind: str) -> Json:
    return {"kind": kind, "text": SURVIVABLE[kind]}


def _charts(names: Sequence[str], ways: Sequence[Sequence[Instant]]) -> list[Json]:
    """The observed values that change, each over time in both."""
    columns: list[Mapping[str, Any]] = []
    for index, name in enumerate(names):
        lines = [[each.values[index] for each in way if len(each.values) > index] for way in ways]
        numbers = [number for line in lines for number in line]
        if numbers and min(numbers) < max(numbers):
            span = (f"{min(numbers):.4g}", f"{max(numbers):.4g}")
            columns.append({"name": name, "lines": lines, "low": min(numbers), "high": max(numbers), "span": span})
    return [dict(column) for column in columns[:MOST_CHARTS]]
