"""The numbers of the paper's figures, under the names that our agents and suites have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from tightrope.report import Published
from tightrope_mario.shipped import SPARSE

SUITES = {
    "simple": "simple",
    "interval(1)": "interval:1",
    "action-coverage(1)": "coverage:1",
    "action-coverage(2)": "coverage:2",
}
STAGE_OF = {
    "dense": {"20k": "early", "40k": "early", "80k": "late"},
    "sparse": {"20k": "early", "40k": "late"},
}
"""By reward: the paper's stages in episodes, and ours. 1-1 has 20k and 80k, 1-2 has 40k and 80k, sparse 20k and 40k."""

NOTE = (
    "the paper's agents were trained for 20,000 (early) and 80,000 (late) episodes, on 1-2 for 40,000 and 80,000, with "
    "the sparse reward for 20,000 and 40,000; ours for far fewer with many games at a time, so only the pattern can be "
    "compared, not the values"
)


@cache
def figures() -> Mapping[str, Any]:
    """Every number plotted in the paper, by figure."""
    text = resources.files("tightrope_mario").joinpath("published.json").read_text(encoding="utf-8")
    content: Mapping[str, Any] = json.loads(text)
    return content


def published(level: str) -> Published | None:
    """What the paper has about a level; None when it has nothing."""
    if level not in ("1-1", "1-2"):
        return None
    return Published(
        source="paper",
        fail_frequency=_fail_frequency(level),
        boundary=_boundary(level),
        mean_return=_mean_return(level),
        robust=_robust(level),
        correlation=float(figures()["correlation"]["value"]),
        note=NOTE,
    )


def _fail_frequency(level: str) -> dict[str, dict[str, float]]:
    result: dict[str, dict[str, float]] = {}
    for figure in figures().values():
        if figure["kind"].startswith("fail frequency averaged") and figure["level"] == level:
            for suite, row in figure["fail_frequency"].items():
                for actions, value in row.items():
                    # The run that did not finish in the paper is plotted as 0, which it was not.
                    if value or "did not finish" not in figure.get("note", ""):
                        name = _name(actions, figure["training"], figure["reward"])
                        result.setdefault(SUITES[suite], {})[name] = value
    return result


def _boundary(level: str) -> dict[str, dict[str, tuple[float, ...]]]:
    result: dict[str, dict[str, tuple[float, ...]]] = {}
    for title, figure in figures().items():
        if figure["kind"].startswith("fail frequency at each") and figure["level"] == level:
            stage = "80k" if "80k" in title else "20k"
            for suite, values in figure["fail_frequency"].items():
                name = _name(figure["agent"], stage, figure["reward"])
                result.setdefault(SUITES[suite], {})[name] = tuple(values)
    return result


def _mean_return(level: str) -> dict[str, dict[str, float]]:
    rows: dict[str, float] = {}
    for title, figure in figures().items():
        if figure["kind"].startswith("simple suite") and figure["level"] == level:
            for agent, values in figure["agents"].items():
                actions, _, stage = agent.partition(" ")
                stage = stage or ("80k" if "80k" in title else "20k")
                rows[_name(actions, stage, figure["reward"])] = values["average_return"]
    return {"simple": rows} if rows else {}


def _robust(level: str) -> dict[str, tuple[tuple[float, float], ...]]:
    result: dict[str, tuple[tuple[float, float], ...]] = {}
    for figure in figures().values():
        if figure["kind"].startswith("average accumulated reward") and figure["level"] == level:
            for series, points in figure["average_return"].items():
                name = series
                if series != "fuzz traces":
                    actions, _, stage = series.rpartition(" ")
                    name = _name(actions, stage, figure["training_reward"])
                elif figure["training_reward"] == "sparse":
                    continue
                result[name] = tuple((float(length), value) for length, value in points.items())
    return result


def _name(actions: str, stage: str, reward: str) -> str:
    return f"{actions} {STAGE_OF[reward][stage]}" + (SPARSE if reward == "sparse" else "")
