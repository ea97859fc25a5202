"""The references that suites stand on: where each comes from, and what that means for the rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tightrope.outcome import Outcome, StopReason
from tightrope.reference import GIVEN, Reference
from tightrope.report.results import RunResults
from tightrope.report.views import SuiteView
from tightrope.report.wording import count, listed, number, percent


def why_no_places(references: Sequence[Reference]) -> str:
    """Why there is nowhere to put an agent, and what to try."""
    seen = (
        "The steps for probing ran out before any action was tried there"
        if any(map(_spent_on_the_way, references))
        else "No action was seen to lead into trouble there"
    )
    return (
        f"{seen}, so no suite has a case. --suite uniform:40 tests at 40 states drawn from the references, and "
        "tightrope failures looks near the agents' own runs. More --references may find boundary states, or in a "
        "campaign file search: {method: archive} or a larger probe_steps."
    )


def _spent_on_the_way(reference: Reference) -> bool:
    """Whether probing ended with one look along the reference: a way back by replay may cost more than it has."""
    probing = reference.probing
    return probing is not None and probing.stop_reason is StopReason.BUDGET_SPENT and probing.steps <= len(reference)


@dataclass(frozen=True, kw_only=True)
class ReferenceView:
    """A reference under the number that suites call it by."""

    number: int
    """From 1 on."""
    reference: Reference
    places: tuple[int, ...]
    """The places on it."""

    @property
    def reaches_goal(self) -> bool:
        """Whether it is a way through the task."""
        return self.reference.trace.outcome is Outcome.GOAL

    @property
    def by_failing(self) -> bool:
        """Whether its places were chosen because an agent failed there."""
        return self.reference.by_failing

    @property
    def origin(self) -> str:
        """Where it comes from, in words."""
        method = self.reference.method
        if self.by_failing and not self.reference.taken_over:
            return f"{method}, up to before the harm"
        if self.reference.agent is not None and not self.reference.taken_over:
            return method
        return "demonstration or fuzz trace" if method == GIVEN else f"search ({method})"

    @property
    def mark(self) -> str:
        """What must be known of its places, in a few words; empty where they were not chosen by how an agent did."""
        if self.by_failing:
            return "chosen because an agent failed there"
        return "near miss" if self.reference.near_miss else ""

    @property
    def where(self) -> str:
        """Its places as numbers: ``#4 to #9``."""
        if not self.places:
            return "none"
        first, last = self.places[0], self.places[-1]
        together = len(self.places) > 2 and last - first == len(self.places) - 1
        return f"#{first} to #{last}" if together else listed([f"#{place}" for place in self.places])

    def chosen_by(self, agent: str) -> bool:
        """Whether its places were chosen because this agent failed there."""
        return self.by_failing and self.reference.agent == agent


def references_of(run: RunResults) -> tuple[ReferenceView, ...]:
    """All that the run knows, the main one first."""
    return tuple(
        ReferenceView(
            number=at + 1,
            reference=reference,
            places=tuple(place.number for place in run.places if place.reference == at),
        )
        for at, reference in enumerate(run.ways)
    )


def reference_notes(run: RunResults) -> tuple[str, ...]:
    """What must be known about the references before any rate is read; nothing where there is nothing unusual."""
    ways = references_of(run)
    return tuple(filter(None, (_no_goal(run, ways), _chosen(ways), _near(ways)))) if ways else ()


def _no_goal(run: RunResults, ways: tuple[ReferenceView, ...]) -> str:
    if any(way.reaches_goal for way in ways):
        return ""
    searched = "" if run.search is None else f" (the search ended: {run.search.stop_reason})"
    return (
        f"No reference reaches the goal{searched}. The agents' best runs are used instead, so the places lie "
        f"where agents go by themselves, and nothing is known about the rest of the task."
    )


def _chosen(ways: tuple[ReferenceView, ...]) -> str:
    chosen = [way for way in ways if way.by_failing]
    if not chosen:
        return ""
    places = listed([way.where for way in chosen if way.places][:6]) or "none"
    over = sum(way.reference.taken_over for way in chosen)
    runs = "is a run" if len(chosen) == 1 else "are runs"
    told = f"{number(len(chosen))} of {count(len(ways), 'reference')} {runs} in which an agent failed"
    if over:
        after = "after it took over on a way that a search found"
        told += f" {after}" if over == len(chosen) else f", {number(over)} of them {after}"
    return (
        f"{told}. The places there "
        f"({places}) were chosen because it failed: its fail rate there says where it fails, not how often. Rates "
        f"in situations like these leave them out."
    )


def _near(ways: tuple[ReferenceView, ...]) -> str:
    near = [way for way in ways if way.reference.near_miss]
    if not near:
        return ""
    places = listed([way.where for way in near if way.places][:6]) or "none"
    runs = "is a run that an agent" if len(near) == 1 else "are runs that agents"
    return (
        f"{number(len(near))} of {count(len(ways), 'reference')} {runs} survived. The places there ({places}) are near "
        f"misses: with one more step of the action named there the agent failed, and without it not. So at the place "
        f"itself it was seen to survive. Rates in situations like these leave them out."
    )


def chosen_text(suite: SuiteView, *, apart: float = 0.0) -> Iterator[str]:
    """How many of an agent's places were chosen by its failing, and its rate without them.

    ``apart``: only if that rate differs by so much from the one over all places, or there are no other places.
    """
    chosen = {place for way in references_of(suite.run) if way.chosen_by(suite.agent) for place in way.places}
    states = [state for state in suite.states if state.fail_frequency.value is not None]
    others = [state.fail_frequency.value or 0.0 for state in states if state.number + 1 not in chosen]
    hit = len(states) - len(others)
    if not hit:
        return
    whole = [state.fail_frequency.value or 0.0 for state in states]
    if others and abs(sum(others) / len(others) - sum(whole) / len(whole)) < apart:
        return
    which = "its only place" if hit == len(states) == 1 else f"all its {hit} places" if hit == len(states) else ""
    places = f"{which or f'{hit} of its {len(states)} places'} {'was' if hit == 1 else 'were'}"
    rest = ", so its rate says where it fails, not how often"
    if others and suite.decision:
        # Its rate is of the draws that decided the gate, and that of some places alone of everything executed.
        rest = ""
    elif others:
        rest = f" (at the others it fails in {percent(sum(others) / len(others))})"
    yield f"{places} chosen because it failed there{rest}"
