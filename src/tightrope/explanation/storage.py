"""Explanations as plain values, for files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tightrope.agents.preferences import Meaning, Preferences
from tightrope.explanation.cause import Cause
from tightrope.explanation.closeup import CloseUp, Instant
from tightrope.explanation.explanation import Explanation
from tightrope.exploration.survival_bound import told_player
from tightrope.files import hash_from_text
from tightrope.reference import Survivability
from tightrope.statistics import Estimate
from tightrope.trace import Action
from tightrope.tracefiles import action_from_json, trace_from_json, trace_to_json


def explanation_to_json(explanation: Explanation) -> dict[str, Any]:
    """Everything it says; witnesses as pairs, since actions need not be text."""
    return {
        "trace": trace_to_json(explanation.trace),
        "handover": explanation.handover,
        "horizon": explanation.horizon,
        "shortened": explanation.shortened,
        "depth": explanation.depth,
        "action": explanation.action,
        "better": list(explanation.better),
        "witnesses": [[action, trace_to_json(trace)] for action, trace in explanation.witnesses.items()],
        "doomed": list(explanation.doomed),
        "unsettled": list(explanation.unsettled),
        "agents_fault": explanation.agents_fault,
        "proven": explanation.proven,
        "key": None if explanation.key is None else f"{explanation.key:x}",
        "observation": None if explanation.observation is None else list(explanation.observation),
        "reach": None if explanation.reach is None else [list(bounds) for bounds in explanation.reach],
        "curve": [[depth, str(verdict)] for depth, verdict in explanation.curve],
        "drop": None if explanation.drop is None else explanation.drop.to_json(),
        "estimates": [[depth, estimate.to_json()] for depth, estimate in explanation.estimates],
        "who": explanation.who,
        "cause": None if explanation.cause is None else str(explanation.cause),
        "given_away": None if explanation.given_away is None else explanation.given_away.to_json(),
        "behind": None if explanation.behind is None else explanation.behind.to_json(),
    }


def explanation_from_json(data: Mapping[str, Any]) -> Explanation:
    """The explanation that ``explanation_to_json`` described."""
    key, seen, cause = data["key"], data["observation"], data.get("cause")
    estimates = tuple((int(depth), Estimate.from_json(estimate)) for depth, estimate in data["estimates"])
    return Explanation(
        trace=trace_from_json(data["trace"]),
        handover=int(data["handover"]),
        horizon=int(data["horizon"]),
        shortened=bool(data.get("shortened", False)),
        depth=data["depth"],
        action=_action(data["action"]),
        better=tuple(action_from_json(action) for action in data["better"]),
        witnesses={action_from_json(action): trace_from_json(trace) for action, trace in data["witnesses"]},
        doomed=tuple(action_from_json(action) for action in data["doomed"]),
        unsettled=tuple(action_from_json(action) for action in data["unsettled"]),
        agents_fault=data["agents_fault"],
        proven=bool(data["proven"]),
        key=None if key is None else hash_from_text(key),
        observation=None if seen is None else tuple(map(float, seen)),
        reach=None if data.get("reach") is None else tuple((float(low), float(high)) for low, high in data["reach"]),
        curve=tuple((int(depth), Survivability(verdict)) for depth, verdict in data["curve"]),
        drop=_estimate(data["drop"]),
        estimates=estimates,
        who=str(data["who"]) if "who" in data else told_player(estimates[0][1]) if estimates else "",
        cause=None if cause is None else Cause(cause),
        given_away=_estimate(data.get("given_away")),
        behind=_estimate(data.get("behind")),
    )


def close_up_to_json(close_up: CloseUp) -> dict[str, Any]:
    """Everything it shows."""
    return {
        "decision": close_up.decision,
        "action": close_up.action,
        "better": list(close_up.better),
        "names": list(close_up.names),
        "fail": [_instant_to_json(instant) for instant in close_up.fail],
        "escape": [_instant_to_json(instant) for instant in close_up.escape],
    }


def close_up_from_json(data: Mapping[str, Any]) -> CloseUp:
    """The close-up that ``close_up_to_json`` described."""
    return CloseUp(
        decision=data["decision"],
        action=_action(data["action"]),
        better=tuple(action_from_json(action) for action in data["better"]),
        names=tuple(data["names"]),
        fail=tuple(_instant_from_json(instant) for instant in data["fail"]),
        escape=tuple(_instant_from_json(instant) for instant in data["escape"]),
    )


def _instant_to_json(instant: Instant) -> dict[str, Any]:
    return {
        "depth": instant.depth,
        "action": instant.action,
        "reward": None if instant.reward is None else _number(instant.reward),
        "values": [_number(value) for value in instant.values],
        "wanted": None if instant.wanted is None else _wanted_to_json(instant.wanted),
    }


def _instant_from_json(data: Mapping[str, Any]) -> Instant:
    return Instant(
        depth=int(data["depth"]),
        action=_action(data["action"]),
        reward=None if data["reward"] is None else float(data["reward"]),
        values=tuple(map(float, data["values"])),
        wanted=None if data["wanted"] is None else _wanted_from_json(data["wanted"]),
    )


def _wanted_to_json(wanted: Preferences) -> dict[str, Any]:
    return {
        "meaning": str(wanted.meaning),
        "by_action": [[action, _number(number)] for action, number in wanted.by_action.items()],
        "mean": wanted.mean,
        "spread": [_number(width) for width in wanted.spread],
    }


def _wanted_from_json(data: Mapping[str, Any]) -> Preferences:
    return Preferences(
        meaning=Meaning(data["meaning"]),
        by_action={action_from_json(action): float(number) for action, number in data["by_action"]},
        mean=_action(data["mean"]),
        spread=tuple(map(float, data["spread"])),
    )


def _number(number: float) -> float | str:
    """JSON has no word for what is not finite."""
    return number if math.isfinite(number) else str(number)


def _estimate(data: Any) -> Estimate | None:
    return None if data is None else Estimate.from_json(data)


def _action(data: Any) -> Action | None:
    return None if data is None else action_from_json(data)
