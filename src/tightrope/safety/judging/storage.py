"""Safety results as plain values, for files and reports.

Where a result is stored beside its suite, its episodes and what is known of its cases, it only names them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from typing import Any

from tightrope.errors import FormatError
from tightrope.execution import Episode, Rollout
from tightrope.execution.episode_codec import episode_from_json, episode_to_json
from tightrope.explanation.storage import explanation_from_json, explanation_to_json
from tightrope.exploration.escapes import Survival
from tightrope.exploration.survival_bound import told_player
from tightrope.files import DAMAGE, Migrations, check_header, hash_from_text, migrated
from tightrope.reference import Survivability
from tightrope.safety.judging.case_results import NOT_ASKED, CaseResult
from tightrope.safety.judging.claims import SuiteSurvival
from tightrope.safety.judging.findings import SafetyFinding, SafetyFindingKind
from tightrope.safety.judging.gate_decision import GateDecision
from tightrope.safety.judging.judge import judge_suite
from tightrope.safety.judging.results import SafetyResult
from tightrope.safety.suites.files import suite_from_json, suite_to_json
from tightrope.safety.suites.suite import TestSuite
from tightrope.statistics import Estimate
from tightrope.tracefiles import action_from_json

FORMAT, SURVIVAL_FORMAT = "tightrope/safety", "tightrope/survival"
SURVIVAL_VERSION = 1
MOST_RUNS = 100_000
"""Of one case, played to see what can be survived there: each of them is looked at again when results are judged."""

WriteEpisode = Callable[[Episode], Mapping[str, Any]]
ReadEpisode = Callable[[Rollout, Mapping[str, Any]], Episode]


def _second(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Version 1 had codes of its own for what is no finite number and for large ones, and claims with their cases."""

    def episode(known: Mapping[str, Any]) -> dict[str, Any]:
        checksum = known["checksum"]
        return {
            **known,
            "prefix_reward": float(known["prefix_reward"]),
            "rewards": [reward if isinstance(reward, float) else {"float": reward} for reward in known["rewards"]],
            "checksum": None if checksum is None else hash_from_text(checksum),
        }

    cases = {
        name: {**case, "episodes": [episode(known) for known in case["episodes"]]}
        for name, case in data["cases"].items()
    }
    claims = {name: case["survival"] for name, case in data["cases"].items()}
    return {**data, "cases": cases, "survival": {"cases": claims}}


MIGRATIONS: Migrations = {1: _second}
VERSION = max(MIGRATIONS) + 1


def result_to_json(result: SafetyResult) -> dict[str, Any]:
    """Everything the result says, and all that it rests on."""
    content = summary_to_json(result, episode_to_json)
    content["suite"] = suite_to_json(result.suite)
    content["survival"] = _claims_to_json(result.survival)
    return content


def summary_to_json(result: SafetyResult, write_episode: WriteEpisode) -> dict[str, Any]:
    """What the result says; its suite is named, and of its episodes there is what ``write_episode`` makes of them."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "suite": result.suite.id,
        "agent": result.agent,
        "fingerprint": result.fingerprint,
        "repetitions": result.repetitions,
        "length": result.length,
        "watch": result.watch,
        "seed": result.seed,
        "fixed_prefix": result.fixed_prefix,
        "fail_frequency": result.fail_frequency.to_json(),
        "fail_frequency_in_general": result.fail_frequency_in_general.to_json(),
        "survivable_fail_frequency": result.survivable_fail_frequency.to_json(),
        "fail_frequency_over_length": {
            str(at): each.to_json() for at, each in result.fail_frequency_over_length.items()
        },
        "mean_return": result.mean_return.to_json(),
        "fails_per_1000_steps": result.fails_per_1000_steps.to_json(),
        "explanations": {case: explanation_to_json(why) for case, why in result.explanations.items()},
        "boundary_states": [
            {
                "depth": state.depth,
                "fail_frequency": state.fail_frequency.to_json(),
                "survivable_fail_frequency": state.survivable_fail_frequency.to_json(),
                "mean_return": state.mean_return.to_json(),
            }
            for state in result.boundary_states
        ],
        "cases": {case.case.id: _case_to_json(case, write_episode) for case in result.distinct_cases},
        **({} if result.decision is None else {"decision": _decision_to_json(result.decision)}),
    }


def result_from_json(data: Any) -> SafetyResult:
    """The result that ``result_to_json`` described: its episodes are judged again, which gives the same numbers."""
    data = _newest(data)
    try:
        suite = suite_from_json(data["suite"])
        survival = _claims_from_json(data["survival"])
    except DAMAGE as error:
        raise _damaged(error) from error
    return summary_from_json(data, suite, survival, episode_from_json)


def summary_from_json(data: Any, suite: TestSuite, survival: SuiteSurvival, read_episode: ReadEpisode) -> SafetyResult:
    """The result that ``summary_to_json`` described, judged again from what is stored beside it."""
    data = _newest(data)
    try:
        return judge_suite(
            suite,
            _episodes(data, suite, read_episode),
            agent=data["agent"],
            fingerprint=data["fingerprint"],
            repetitions=data["repetitions"],
            length=data["length"],
            seed=data["seed"],
            fixed_prefix=data["fixed_prefix"],
            survival=survival,
            decision=_decision_from_json(
                data.get("decision"), survival.doomed(data["length"]) & {case.id for case in suite.cases}
            ),
            watch=data.get("watch", ""),
            explanations={case: explanation_from_json(why) for case, why in data.get("explanations", {}).items()},
        )
    except DAMAGE as error:
        raise _damaged(error) from error


def _decision_to_json(decision: GateDecision) -> dict[str, Any]:
    return {"passed": decision.passed, **asdict(decision)}


def _decision_from_json(data: Mapping[str, Any] | None, doomed: Collection[str]) -> GateDecision | None:
    """How a gate went; whether that still stands is judged anew.

    Files of before say neither what was left out, which was what was proven then, nor whether it stands: it did.
    """
    if data is None:
        return None
    given = dict(data)
    given.setdefault("decided", given.get("passed"))
    given.setdefault("left_out", sorted(doomed))
    given.pop("passed", None)
    estimates = {name: Estimate.from_json(given[name]) for name in ("estimate", "fate") if given.get(name) is not None}
    return GateDecision(**{**given, **estimates, "left_out": tuple(map(str, given["left_out"]))})


def survival_to_json(survival: SuiteSurvival) -> dict[str, Any]:
    """What is known of the cases of a suite, whoever plays."""
    return {"format": SURVIVAL_FORMAT, "version": SURVIVAL_VERSION, **_claims_to_json(survival)}


def survival_from_json(data: Any) -> SuiteSurvival:
    """What ``survival_to_json`` described."""
    check_header("what is known of a suite's cases", data, SURVIVAL_FORMAT, SURVIVAL_VERSION)
    try:
        return _claims_from_json(data)
    except DAMAGE as error:
        raise _damaged(error) from error


def _claims_to_json(survival: SuiteSurvival) -> dict[str, Any]:
    return {
        "cases": {case: _survival_to_json(known) for case, known in survival.by_case.items()},
        "findings": [
            {"kind": str(finding.kind), "text": finding.text, "cases": list(finding.cases)}
            for finding in survival.findings
        ],
        "actions": None if survival.actions is None else list(survival.actions),
        **({} if survival.executions is None else {"executions": survival.executions}),
    }


def _claims_from_json(data: Mapping[str, Any]) -> SuiteSurvival:
    actions = data.get("actions")
    return SuiteSurvival(
        by_case={case: _survival_from_json(known) for case, known in data["cases"].items()},
        findings=tuple(
            SafetyFinding(kind=SafetyFindingKind(each["kind"]), text=each["text"], cases=tuple(each["cases"]))
            for each in data.get("findings", ())
        ),
        actions=None if actions is None else tuple(action_from_json(action) for action in actions),
        executions=_executions_from_json(data.get("executions")),
    )


def _executions_from_json(told: Any) -> int | None:
    if told is None or (type(told) is int and 1 <= told <= MOST_RUNS):
        return told
    raise ValueError(f"{told!r:.60} is no number of executions of a case, from 1 to {MOST_RUNS:,}")


def _whole(seed: Any) -> int:
    """A seed as it was written: executions of two agents are paired by it."""
    if type(seed) is not int:
        raise TypeError(f"{seed!r:.60} is not a seed of an execution")
    return seed


def _episodes(data: Mapping[str, Any], suite: TestSuite, read_episode: ReadEpisode) -> list[Episode]:
    return [
        read_episode(
            Rollout(
                start=case.prefix,
                agent=data["agent"],
                length=data["length"],
                seed=_whole(stored["seed"]),
                fixed_prefix=data["fixed_prefix"],
            ),
            {name: value for name, value in stored.items() if name != "seed"},
        )
        for case in {case.id: case for case in suite.cases}.values()
        for stored in data["cases"][case.id]["episodes"]
    ]


def _case_to_json(case: CaseResult, write_episode: WriteEpisode) -> dict[str, Any]:
    return {
        "label": case.case.label,
        "handover": len(case.case.prefix),
        "verdicts": [str(verdict) for verdict in case.verdicts],
        "fail_frequency": case.fail_frequency.to_json(),
        "mean_return": case.mean_return.to_json(),
        "episodes": [{"seed": episode.rollout.seed, **write_episode(episode)} for episode in case.episodes],
    }


def _survival_to_json(survival: Survival) -> dict[str, Any]:
    known = {
        "survivable": str(survival.survivable),
        "witness": None if survival.witness is None else list(survival.witness),
        "evidence": survival.evidence,
        "steps": survival.steps,
        "best": None if survival.best is None else survival.best.to_json(),
        "who": survival.who,
        "checksum": None if survival.checksum is None else f"{survival.checksum:x}",
        "thorough": survival.thorough,
    }
    shared_luck = {"seed": survival.seed, "runs": "".join("01"[run] for run in survival.runs)}
    return known if survival.seed is None else known | shared_luck


def _survival_from_json(data: Mapping[str, Any]) -> Survival:
    witness = data["witness"]
    best = None if data.get("best") is None else _best_from_json(data["best"])
    known = Survival(
        survivable=Survivability(data["survivable"]),
        witness=None if witness is None else tuple(action_from_json(action) for action in witness),
        evidence=data["evidence"],
        steps=data.get("steps"),
        best=best,
        who=str(data["who"]) if "who" in data else "" if best is None else told_player(best),
        checksum=None if data.get("checksum") is None else hash_from_text(data["checksum"]),
        thorough=bool(data.get("thorough", False)),
        seed=None if data.get("seed") is None else _whole(data["seed"]),
        runs=_runs_from_json(data.get("runs", "")),
    )
    return NOT_ASKED if known == NOT_ASKED else known


def _runs_from_json(told: Any) -> tuple[bool, ...]:
    if not isinstance(told, str) or not set(told) <= {"0", "1"} or len(told) > MOST_RUNS:
        raise ValueError(f"{told!r:.60} are not runs, each 0 or 1, at most {MOST_RUNS:,}")
    return tuple(run == "1" for run in told)


def _best_from_json(data: Mapping[str, Any]) -> Estimate:
    best = Estimate.from_json(data)
    if not 0 <= best.n <= MOST_RUNS:
        raise ValueError(f"a case says it was survived in a share of {best.n:,} runs; {MOST_RUNS:,} is the most")
    if not all(0 <= share <= 1 for share in (best.value, best.low, best.high) if share is not None):
        raise ValueError(f"a case says it was survived in {best.value} of its runs; a share is between 0 and 1")
    return best


def _newest(data: Any) -> dict[str, Any]:
    try:
        return migrated("the safety result", data, FORMAT, MIGRATIONS)
    except DAMAGE as error:
        raise _damaged(error) from error


def _damaged(error: Exception) -> FormatError:
    return FormatError(f"the safety result is damaged ({type(error).__name__}: {error}); run the suite again")
