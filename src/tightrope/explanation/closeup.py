"""``close_up``: what the agent saw and wanted around the decision that lost an episode, and beside it the escape."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from tightrope.agents.agent import Agent
from tightrope.agents.preferences import Meaning, Preferences, preferences_of
from tightrope.display import Shown
from tightrope.execution import Engine, begun_again_if_stochastic, borrowed_engine
from tightrope.explanation import words
from tightrope.explanation.explanation import Explanation
from tightrope.explanation.watching import Sight, Watch, watch
from tightrope.seeding import generator
from tightrope.settings import LIBRARY_BACKEND, BackendName
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace

BEFORE = 15
"""Steps shown before the decision: a second of most games."""
AFTER = 60
"""Steps shown after it at most. Harm mostly comes sooner."""
LONGER = 10
"""Steps that the escape is shown for beyond the harm."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Instant(Shown):
    """One moment of an episode as the agent met it."""

    depth: int
    """Steps since reset."""
    action: Action | None
    """What was played there; None at the end."""
    reward: float | None
    """What that brought; None at the end."""
    values: tuple[float, ...] = ()
    """The observation, in the order of the close-up's ``names``; empty for pictures."""
    wanted: Preferences | None = None
    """What the agent made of its actions there; None before hand-over, and where it cannot say."""


@dataclass(frozen=True, kw_only=True, repr=False)
class CloseUp(Shown):
    """The moments around a decision: how it went, and how it would have gone."""

    _shown = ("decision", "margin", "names", "fail", "escape")

    decision: int | None
    """The step of the decision; None where none was found, and the moments are those before the harm."""
    action: Action | None
    better: tuple[Action, ...] = ()
    names: tuple[str, ...] = ()
    """Of the observed values."""
    fail: tuple[Instant, ...] = field(repr=False)
    escape: tuple[Instant, ...] = field(default=(), repr=False)
    """The same moments up to the decision, then the way out; empty where none is known."""

    @property
    def wanted(self) -> Preferences | None:
        """What the agent made of its actions at the decision."""
        return next((instant.wanted for instant in self.fail if instant.depth == self.decision), None)

    @property
    def margin(self) -> float | None:
        """How much more it wanted what it did than the best liked better action; None where it cannot say."""
        if self.wanted is None or self.action is None:
            return None
        return self.wanted.margin(self.action, self.better)

    def sentence(self, task: Task) -> str:
        """What it wanted, in words; empty where it cannot say."""
        names, wanted, taken = tuple(task.action_names or ()), self.wanted, self.action
        if wanted is None or self.margin is None or taken is None:
            return ""
        liked = max((action for action in self.better if action in wanted.by_action), key=wanted.by_action.__getitem__)
        one, other = (wanted.told(wanted.by_action[action]) for action in (taken, liked))
        verb = {Meaning.VALUES: "valued", Meaning.PROBABILITIES: "gave", Meaning.SCORES: "scored"}[wanted.meaning]
        link = "" if wanted.meaning is Meaning.PROBABILITIES else " at"
        return f"It {verb} {words.named(taken, names)}{link} {one} and {words.named(liked, names)}{link} {other}"


@begun_again_if_stochastic
def close_up(
    task: Task,
    agent: Agent | None,
    explanation: Explanation,
    *,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
    workers: int | None = None,
) -> CloseUp:
    """What the agent saw and wanted around the decision that lost an episode, and how the escape looks beside it.

    Args:
        task: The task that was to be solved.
        agent: The agent that failed; None: what it wanted is left out.
        explanation: Why it failed.
        engine: The engine to play on; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
    """
    with borrowed_engine(task, {}, engine, backend, workers) as runner:
        shown = (explanation.trace, escape_of(explanation))
        traces = [_cut(explanation, trace) for trace in shown if trace is not None]
        start = _start(explanation)
        observed = 0 if agent is not None and agent.recurrent else start
        [seen] = runner.map(watch, [tuple(Watch(trace=each, first=start, observed_from=observed) for each in traces)])
    fail, *escape = (_instants(sights, agent, explanation.handover, start) for sights in seen)
    return CloseUp(
        decision=explanation.depth,
        action=explanation.action,
        better=explanation.better,
        names=tuple(seen[0][-1].values),
        fail=fail,
        escape=escape[0] if escape else (),
    )


def _start(why: Explanation) -> int:
    around = len(why.trace) - 2 * BEFORE if why.depth is None else why.depth - BEFORE
    return max(around, 0)


def _cut(why: Explanation, trace: ActionTrace) -> ActionTrace:
    """A trace as far as it is shown."""
    longest = len(why.trace) + LONGER if why.depth is None else min(why.depth + AFTER, len(why.trace) + LONGER)
    return trace.prefix(min(len(trace), longest))


def escape_of(why: Explanation) -> ActionTrace | None:
    """The way out that is shown: by the first of the better actions."""
    return next((why.witnesses[action] for action in why.better if action in why.witnesses), None)


def _instants(sights: Sequence[Sight], agent: Agent | None, handover: int, start: int) -> tuple[Instant, ...]:
    """The sights with what the agent made of them; one that remembers is shown all of them from reset on."""
    memory, numbers = None, generator("close-up")
    instants = []
    for sight in sights:
        wanted = None
        if agent is not None and sight.depth >= handover and sight.depth >= start:
            wanted = preferences_of(agent, sight.observation, deepcopy(memory), sight.mask)
        if sight.depth >= start:
            instants.append(
                Instant(
                    depth=sight.depth,
                    action=sight.action,
                    reward=sight.reward,
                    values=tuple(sight.values.values()),
                    wanted=None if sight.action is None else wanted,
                )
            )
        if agent is not None and agent.recurrent:
            [memory] = agent.act([sight.observation], [memory], [numbers], [sight.mask]).memories
    return tuple(instants)
