"""Explanations as plain values, for files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tightrope.explanation.explanation import Explanation
from tightrope.files import hash_from_text
from tightrope.reference import Survivability
from tightrope.statistics import Estimate
from tightrope.tracefiles import action_from_json, trace_from_json, trace_to_json


def explanation_to_json(explanation: Explanation) -> dict[str, Any]:
    """Everything it says; witnesses as pairs, since actions need not be text."""
    return {
        "trace": trace_to_json(explanation.trace),
        "handover": explanation.handover,
        "horizon": explanation.horizon,
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
        "curve": [[depth, str(verdict)] for depth, verdict in explanation.curve],
        "drop": None if explanation.drop is None else explanation.drop.to_json(),
        "estimates": [[depth, estimate.to_json()] for depth, estimate in explanation.estimates],
    }


def explanation_from_json(data: Mapping[str, Any]) -> Explanation:
    """The explanation that ``explanation_to_json`` described."""
    key, seen, drop = data["key"], data["observation"], data["drop"]
    return Explanation(
        trace=trace_from_json(data["trace"]),
        handover=int(data["handover"]),
        horizon=int(data["horizon"]),
        depth=data["depth"],
        action=None if data["action"] is None else action_from_json(data["action"]),
        better=tuple(action_from_json(action) for action in data["better"]),
        witnesses={action_from_json(action): trace_from_json(trace) for action, trace in data["witnesses"]},
        doomed=tuple(action_from_json(action) for action in data["doomed"]),
        unsettled=tuple(action_from_json(action) for action in data["unsettled"]),
        agents_fault=data["agents_fault"],
        proven=bool(data["proven"]),
        key=None if key is None else hash_from_text(key),
        observation=None if seen is None else tuple(map(float, seen)),
        curve=tuple((int(depth), Survivability(verdict)) for depth, verdict in data["curve"]),
        drop=None if drop is None else Estimate.from_json(drop),
        estimates=tuple((int(depth), Estimate.from_json(estimate)) for depth, estimate in data["estimates"]),
    )
