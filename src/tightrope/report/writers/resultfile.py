"""``results.json``: what the report shows as one portable file, for other programs to read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from tightrope.evaluation import Evaluation
from tightrope.fuzzing import FuzzResult
from tightrope.performance import Comparison
from tightrope.references import SearchResult
from tightrope.report.charts.fuzz_charts import generation_rows
from tightrope.report.comparing import compared, pairs
from tightrope.report.films.filming import film_name
from tightrope.report.measures import MEASURES, STATE_MEASURES
from tightrope.report.references import references_of
from tightrope.report.results import Gate, Results, RunResults
from tightrope.report.training import through_training
from tightrope.report.views import CaseView, SuiteView
from tightrope.safety import BoundaryResult, FailureGroup
from tightrope.trace import ActionTrace

FORMAT, VERSION = "tightrope/results", 3
Json = dict[str, Any]
POINT_MEASURES = (
    *("agent", "traces", "difference", "agent_iqm", "traces_iqm"),
    *("agent_goal_share", "traces_goal_share"),
)


def results_to_json(results: Results, films: Mapping[str, str] | None = None) -> Json:
    """The results as JSON values, with the format's name and version.

    Args:
        results: What the report shows.
        films: The files of the films, by name.
    """
    content: Json = finite(
        {
            "format": FORMAT,
            "version": VERSION,
            "title": results.title,
            "runs": [_run(run, films or {}) for run in results.runs],
            "correlation": results.correlation.to_json(),
            "history": _history(results),
            "findings": [asdict(finding) for finding in results.findings],
            "tightrope_version": results.tightrope_version,
        }
    )
    return content


def finite(value: Any) -> Any:
    """JSON has no infinities: a reward that overflowed is null there, which reads "no data"."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite(part) for part in value]
    return value


def _run(run: RunResults, films: Mapping[str, str]) -> Json:
    conformance = run.conformance
    return {
        "name": run.name,
        "status": run.status,
        "command": run.command,
        "task": {
            "label": run.task.label,
            "deterministic": None if conformance is None else conformance.deterministic,
            "snapshots": "" if conformance is None else conformance.method,
            "action_names": run.action_names,
            "fingerprint": dict(run.task.fingerprint),
        },
        "agents": [asdict(agent) for agent in run.agents],
        "gates": [_gate(gate) for gate in run.gates],
        "plain": [_plain(result) for result in run.plain.values()],
        "search": None if run.search is None else _search(run.search),
        "references": [
            {
                "number": way.number,
                "origin": way.origin,
                "reset_seed": way.reference.actions.seed,
                "length": len(way.reference),
                "reaches_goal": way.reaches_goal,
                "chosen_by_failing": way.by_failing,
                "near_miss": way.reference.near_miss,
                "places": way.places,
            }
            for way in references_of(run)
        ],
        "places": [
            {"number": place.number, "depth": place.depth, "reference": place.reference, "proven": place.proven}
            for place in run.places
        ],
        "suites": [_suite(suite, films) for suite in run.suites],
        "comparisons": list(_comparisons(run)),
        "groups": [group_values(run, agent, group) for agent, groups in run.groups.items() for group in groups],
        "fuzzing": None if run.fuzzing is None else _fuzzing(run.fuzzing),
        "performance": [
            {"agent": agent, "points": [_point(point) for point in result.points]}
            for agent, result in run.performance.items()
        ],
        "correlation": run.correlation.to_json(),
        "map": None if run.map is None else asdict(run.map),
        "costs": [asdict(cost) for cost in run.costs],
        "published": None if run.published is None else asdict(run.published),
        "machine": dict(run.machine),
        "versions": dict(run.versions),
        "seeds": dict(run.seeds),
    }


def _history(results: Results) -> Json | None:
    history = results.history or through_training(results.runs)
    return None if history is None else history.to_json()


def _comparisons(run: RunResults) -> Iterator[Json]:
    """Each of few agents against the first, suite by suite."""
    for a, b in pairs(run):
        for name in run.suite_names:
            found = compared(run, name, a, b)
            if found is not None:
                yield {
                    "agent_a": a,
                    "agent_b": b,
                    "suite": name,
                    "difference": found.difference.to_json(),
                    "difference_in_general": found.difference_in_general.to_json(),
                    "newly_failing": [case.case.id for case in found.newly_failing],
                    "newly_fixed": [case.case.id for case in found.newly_fixed],
                }


def _gate(gate: Gate) -> Json:
    return {name: getattr(gate, name) for name in ("name", "suite", "agent", "passed", "detail")}


def _plain(result: Evaluation) -> Json:
    rates = {name: getattr(result, name).to_json() for name in PLAIN_MEASURES}
    return {"agent": result.agent, "episodes": len(result.judged), "errors": result.errors, **rates}


PLAIN_MEASURES = ("unsafe_rate", "goal_rate", "timeout_rate", "mean_return")


def _search(result: SearchResult) -> Json:
    reference = result.reference
    return {
        "method": result.method,
        "stop_reason": str(result.stop_reason),
        "found": reference is not None,
        "length": None if reference is None else len(reference),
        "total_reward": None if reference is None else reference.trace.total_reward,
        "steps": result.stats.steps,
        "visited": visited(result),
        "seconds": result.stats.seconds,
        "boundary_states": [
            {
                "depth": state.depth,
                "proven": state.proven,
                "evidence": dict(state.evidence),
                "actions": state.actions,
            }
            for state in (() if reference is None else reference.boundary_states)
        ],
    }


def visited(result: SearchResult) -> int:
    """State keys that a search saw; one by archive expands a cell again and again."""
    return result.stats.cells or result.stats.expansions


def _suite(suite: SuiteView, films: Mapping[str, str]) -> Json:
    return {
        "suite": suite.name,
        "agent": suite.agent,
        "control": suite.control,
        "id": suite.result.suite.id,
        **{measure.name: measure.of(suite.result).to_json() for measure in MEASURES},
        "repetitions": suite.repetitions,
        "length": suite.result.length,
        "decision": suite.decision,
        "boundary": [_place(state) for state in suite.states],
        "cases": [case_values(case) | {"video": films.get(film_name(case))} for case in suite.cases],
    }


def _place(state: BoundaryResult) -> Json:
    estimates = {measure.name: measure.of(state).to_json() for measure in STATE_MEASURES}
    return {"place": state.number + 1, "depth": state.depth, **estimates, "cases": len(state.cases)}


def case_values(case: CaseView) -> Json:
    """A case as plain values; estimates as their parts."""
    result, failing = case.result, case.failing_trace
    return {
        "id": case.id,
        "place": case.place,
        "depth": case.depth,
        "handover": case.handover,
        "label": case.label,
        "standing": str(case.standing),
        "passes": case.passes,
        "fails": result.fails,
        "invalid": case.invalid,
        "errors": result.errors,
        "fail_frequency": result.fail_frequency.to_json(),
        "mean_return": result.mean_return.to_json(),
        "survivable": str(result.survivable),
        "witness": result.witness,
        "why": case.why,
        "replay": case.replay,
        "failing_trace": None if failing is None else _trace(failing),
    }


def _trace(trace: ActionTrace) -> Json:
    # Not ``asdict``, which copies every action by itself: most of the time that a large file took.
    return {"task": trace.task, "seed": trace.seed, "actions": trace.actions, "reseeds": trace.reseeds}


def group_values(run: RunResults, agent: str, group: FailureGroup) -> Json:
    """Fails of one agent with one cause, as plain values."""
    return {
        "agent": agent,
        "share": group.share,
        "fails": group.fails,
        "avoidable": group.avoidable,
        "sentence": group.sentence(run.task),
        "representative": group.representative.case.id,
        "cases": [case.case.id for case in group.members],
        "decision": None if group.explanation is None else group.explanation.depth,
    }


def _fuzzing(result: FuzzResult) -> Json:
    control = result.control
    return {
        "generations": generation_rows(result),
        "population": result.settings.get("population"),
        "stop_reason": str(result.stop_reason),
        "covered": result.covered,
        "best_return": result.best_return,
        "control_covered": None if control is None else control.covered,
        "control_best_return": None if control is None else control.best_return,
        "settings": dict(result.settings),
    }


def _point(point: Comparison) -> Json:
    return {
        "prefix_length": point.prefix_length,
        **{name: getattr(point, name).to_json() for name in POINT_MEASURES},
    }
