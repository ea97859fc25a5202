"""What the page's script is given: places, results and cases by name, every number already in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tightrope.report.charts.axes import axis
from tightrope.report.charts.chart import estimate_point
from tightrope.report.films.filming import film_name
from tightrope.report.headline import headline
from tightrope.report.results import MapPicture, RunResults
from tightrope.report.views import CaseView, Place, SuiteView
from tightrope.report.wording import actions_text, count, counts_text, estimate_text, interval_text, number, typeset
from tightrope.safety import BoundaryResult

Json = dict[str, Any]
LONGEST = 70
"""Characters of an escape in a table; the rest is told on hover."""


def run_data(run: RunResults, name: str, films: Mapping[str, Any]) -> Json:
    """One run for the script; ``films`` are those that can be shown, by name."""
    suites = [suite for suite in run.suites if not suite.control]
    first, longest = headline(run), max(map(len, run.ways), default=0)
    return {
        "id": name,
        "agents": [agent.name for agent in run.agents],
        "suites": list(run.suite_names),
        "opens": {"agent": first.agent, "suite": first.suite},
        "along": axis(0.0, float(max(1, longest)), ends=False, whole=True),
        "places": [_place(run, place) for place in run.places],
        "map": None if run.map is None else _map(run.map),
        "results": [_result(suite) for suite in suites],
        "cases": [_case(case, films) for suite in suites for case in suite.cases],
    }


def _place(run: RunResults, place: Place) -> Json:
    words = ["trouble below is proven" if place.proven else "trouble below is not proven"]
    if place.state is not None:
        words += [f"branches below ended: {counts_text(place.state.evidence)}"] if place.state.evidence else []
        wrong = actions_text(place.state.actions, run.action_names)
        words += [f"wrong actions: {wrong}"] if wrong else []
    return {
        "number": place.number,
        "depth": place.depth,
        "proven": place.proven,
        "title": f"Place #{place.number}, depth {number(place.depth)}",
        "about": " · ".join([f"boundary state at depth {number(place.depth)}", *words]),
        "position": _position(run.map, place),
    }


def _position(picture: MapPicture | None, place: Place) -> Any:
    if picture is None or place.reference >= len(picture.ways):
        return None
    way = picture.ways[place.reference]
    return way[place.depth] if place.depth < len(way) else None


def _map(picture: MapPicture) -> Json:
    return {
        "width": picture.width,
        "height": picture.height,
        "image": picture.image,
        "ways": picture.ways,
        "fuzz": picture.fuzz,
        "axes": None if picture.axes is None else [asdict(axis) for axis in picture.axes],
        "letters": picture.letters,
    }


def _result(suite: SuiteView) -> Json:
    return {
        "suite": suite.name,
        "agent": suite.agent,
        "places": {state.number + 1: _state(suite, state) for state in suite.states},
    }


def _state(suite: SuiteView, state: BoundaryResult) -> Json:
    own = [case for case in suite.cases if case.place == state.number + 1]
    doomed, invalid = sum(case.doomed for case in own), sum(case.result.invalid for case in own)
    words = [count(len(own), "case")]
    words += [f"{doomed} doomed"] if doomed else []
    words += [f"{invalid} invalid"] if invalid else []
    if state.survivable_fail_frequency.value is not None:
        words.append(f"survivable alone {estimate_text(state.survivable_fail_frequency)}")
    raised = any(case.result.errors for case in own)
    return estimate_point(
        state.fail_frequency,
        note=", ".join(words),
        cell=estimate_text(state.fail_frequency),
        why="the agent or the environment raised" if raised else "",
    )


def _case(case: CaseView, films: Mapping[str, Any]) -> Json:
    result = case.result
    film = film_name(case) if result.fails else ""
    return {
        "id": case.id,
        "suite": case.suite.name,
        "agent": case.suite.agent,
        "place": case.place,
        "handover": case.handover,
        "handover_text": number(case.handover),
        "label": case.label,
        "passes": min(case.passes, case.made),
        "fails": min(result.fails, case.made),
        "invalid": case.invalid,
        "errors": result.errors,
        "verdict": case.told,
        "outcome": outcome_text(case),
        "interval": interval_text(result.fail_frequency),
        "rate": result.fail_frequency.value,
        "standing": str(case.standing),
        "blame": case.blame,
        "flaky": case.flaky,
        "escape": shortened(escape_text(case)),
        "escape_all": escape_text(case),
        "reward_value": result.mean_return.value,
        "reward": number(result.mean_return.value),
        "reward_text": estimate_text(result.mean_return, share=False),
        "why": typeset(case.why),
        "replay": case.replay,
        "film": film if film in films else "",
    }


def outcome_text(case: CaseView) -> str:
    """How its executions went, in as few words as a column has room for."""
    if not case.executions:
        return str(case.standing)
    if case.made == 1:
        return "fails" if case.result.fails else "passes"
    return f"{case.result.fails} of {number(case.executions)} failed"


def shortened(text: str) -> str:
    """The beginning of a long text."""
    return text if len(text) <= LONGEST else text[:LONGEST].rsplit(",", 1)[0] + ", …"


def escape_text(case: CaseView) -> str:
    """The actions that would have survived; empty where none are known or it did not fail."""
    witness = case.result.witness if case.result.fails else None
    return "" if witness is None else actions_text(witness, case.suite.run.action_names)
