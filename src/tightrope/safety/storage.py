"""Safety results as plain values, for files and reports."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from tightrope.errors import FormatError
from tightrope.execution import Episode, Rollout
from tightrope.files import DAMAGE
from tightrope.outcome import Outcome
from tightrope.reference import Survivability
from tightrope.safety.files import check_format, frozen_action, suite_from_json, suite_to_json
from tightrope.safety.findings import Finding, FindingKind
from tightrope.safety.judge import judge_suite
from tightrope.safety.results import CaseResult, SafetyResult, Survival
from tightrope.safety.suites import TestCase
from tightrope.statistics import Estimate

FORMAT = "tightrope/safety"
VERSION = 1


def result_to_json(result: SafetyResult) -> dict[str, Any]:
    """Everything the result says, and every episode behind it."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "suite": suite_to_json(result.suite),
        "agent": result.agent,
        "fingerprint": result.fingerprint,
        "repetitions": result.repetitions,
        "length": result.length,
        "seed": result.seed,
        "fixed_prefix": result.fixed_prefix,
        "findings": [
            {"kind": str(finding.kind), "text": finding.text, "cases": list(finding.cases)}
            for finding in result.findings
        ],
        "fail_frequency": result.fail_frequency.to_json(),
        "survivable_fail_frequency": result.survivable_fail_frequency.to_json(),
        "mean_return": result.mean_return.to_json(),
        "fails_per_1000_steps": result.fails_per_1000_steps.to_json(),
        "boundary_states": [
            {
                "depth": state.depth,
                "fail_frequency": state.fail_frequency.to_json(),
                "survivable_fail_frequency": state.survivable_fail_frequency.to_json(),
                "mean_return": state.mean_return.to_json(),
            }
            for state in result.boundary_states
        ],
        "cases": {case.case.id: _case_to_json(case) for case in result.distinct_cases},
    }


def result_from_json(data: Any) -> SafetyResult:
    """The result that ``result_to_json`` described: its episodes are judged again, which gives the same numbers."""
    check_format(data, FORMAT, VERSION)
    try:
        return _result(data)
    except DAMAGE as error:
        raise FormatError(
            f"the safety result is damaged ({type(error).__name__}: {error}); run the suite again"
        ) from error


def _result(data: Mapping[str, Any]) -> SafetyResult:
    suite = suite_from_json(data["suite"])
    cases = {case.id: case for case in suite.cases}
    stored = data["cases"]
    return judge_suite(
        suite,
        [
            _episode_from_json(episode, cases[case_id], data)
            for case_id in cases
            for episode in stored[case_id]["episodes"]
        ],
        agent=data["agent"],
        fingerprint=data["fingerprint"],
        repetitions=data["repetitions"],
        length=data["length"],
        seed=data["seed"],
        fixed_prefix=data["fixed_prefix"],
        survival={case_id: _survival_from_json(stored[case_id]["survival"]) for case_id in cases},
        findings=[
            Finding(kind=FindingKind(each["kind"]), text=each["text"], cases=tuple(each["cases"]))
            for each in data.get("findings", ())
        ],
    )


def _case_to_json(case: CaseResult) -> dict[str, Any]:
    return {
        "label": case.case.label,
        "handover": len(case.case.prefix),
        "verdicts": [str(verdict) for verdict in case.verdicts],
        "fail_frequency": case.fail_frequency.to_json(),
        "mean_return": case.mean_return.to_json(),
        "survival": {
            "survivable": str(case.survivable),
            "witness": None if case.witness is None else list(case.witness),
            "evidence": case.survival.evidence,
            "steps": case.survival.steps,
            "best": None if case.survival.best is None else case.survival.best.to_json(),
            "checksum": None if case.survival.checksum is None else f"{case.survival.checksum:x}",
        },
        "episodes": [_episode_to_json(episode) for episode in case.episodes],
    }


def _survival_from_json(data: Mapping[str, Any]) -> Survival:
    witness = data["witness"]
    return Survival(
        survivable=Survivability(data["survivable"]),
        witness=None if witness is None else tuple(frozen_action(action) for action in witness),
        evidence=data["evidence"],
        steps=data.get("steps"),
        best=None if data.get("best") is None else Estimate.from_json(data["best"]),
        checksum=None if data.get("checksum") is None else int(data["checksum"], 16),
    )


def _episode_to_json(episode: Episode) -> dict[str, Any]:
    return {
        "seed": episode.rollout.seed,
        "prefix_steps": episode.prefix_steps,
        "prefix_reward": _number(episode.prefix_reward),
        "prefix_outcome": str(episode.prefix_outcome),
        "outcome": str(episode.outcome),
        "actions": list(episode.actions),
        "rewards": [_number(reward) for reward in episode.rewards],
        "reseeds": [list(pair) for pair in episode.reseeds],
        "checksum": None if episode.checksum is None else f"{episode.checksum:x}",
        "deterministic": episode.deterministic,
        "error": episode.error,
    }


def _number(value: float) -> float | str:
    """JSON has no infinity and no NaN; as text they can be read back."""
    return value if isfinite(value) else str(value)


def _episode_from_json(data: Mapping[str, Any], case: TestCase, run: Mapping[str, Any]) -> Episode:
    return Episode(
        rollout=Rollout(
            start=case.prefix,
            agent=run["agent"],
            length=run["length"],
            seed=data["seed"],
            fixed_prefix=run["fixed_prefix"],
        ),
        prefix_steps=data["prefix_steps"],
        prefix_reward=float(data["prefix_reward"]),
        prefix_outcome=Outcome(data["prefix_outcome"]),
        outcome=Outcome(data["outcome"]),
        actions=tuple(frozen_action(action) for action in data["actions"]),
        rewards=tuple(map(float, data["rewards"])),
        reseeds=tuple((index, seed) for index, seed in data["reseeds"]),
        checksum=None if data["checksum"] is None else int(data["checksum"], 16),
        deterministic=data["deterministic"],
        error=data["error"],
    )
