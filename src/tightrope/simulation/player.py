"""The one way to go along an action trace: every step, with the randomness it was found with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tightrope.outcome import Outcome
from tightrope.simulation.simulator import Simulator
from tightrope.trace import Action, ActionTrace

ONGOING = Outcome.ONGOING


class TraceMoment(NamedTuple):
    """A situation of a trace, as the simulator stands in it."""

    depth: int
    """Actions played since reset."""
    action: Action | None
    """What led here; None in the first situation."""
    reward: float
    """Of the step that led here; 0 in the first situation."""
    outcome: Outcome
    upcoming: Action | None
    """What is played next; None in the last situation: at the trace's end, or where the episode is over."""


def play(simulator: Simulator, trace: ActionTrace, *, start: int | None = None) -> Iterator[TraceMoment]:
    """Play a trace and stop at every situation of it: s0 before the first action, then one after each.

    It ends early where the episode does. Fresh randomness comes right before the action it belongs to, so whoever looks
    at a moment sees the situation as it was reached. One may move the simulator at a moment and must put it back before
    asking for the next.

    Args:
        simulator: Where to play.
        trace: What to play.
        start: The depth of the trace at which the simulator stands already; None: it is reset.
    """
    reseeds = dict(trace.reseeds)
    actions = trace.actions
    if start is None:
        simulator.reset(trace.seed)
        start = 0
    yield _moment(simulator, actions, start, None, 0.0)
    for index in range(start, len(actions)):
        if simulator.outcome is not ONGOING:
            return
        if index in reseeds:
            simulator.reseed(reseeds[index])
        action = actions[index]
        reward = simulator.advance(action)
        yield _moment(simulator, actions, index + 1, action, reward)


def _moment(
    simulator: Simulator, actions: tuple[Action, ...], depth: int, action: Action | None, reward: float
) -> TraceMoment:
    outcome = simulator.outcome
    upcoming = actions[depth] if depth < len(actions) and outcome is ONGOING else None
    return TraceMoment(depth, action, reward, outcome, upcoming)
