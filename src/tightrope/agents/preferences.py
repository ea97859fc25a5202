"""What an agent wanted: how much it values each action, or how likely it is to take it, where it can say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from tightrope.agents.agent import Agent
from tightrope.display import Shown
from tightrope.errors import AgentFailure, TightropeError
from tightrope.guards.calls import calls_out
from tightrope.guards.faults import misdeed
from tightrope.trace import Action


class Meaning(StrEnum):
    """What the numbers of an agent's actions are."""

    VALUES = "action values"
    """What it expects to earn."""
    PROBABILITIES = "probabilities"
    """How likely it is to take each when it draws."""
    SCORES = "scores"
    """Larger is preferred; the file does not say what they are."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Preferences(Shown):
    """What an agent makes of its actions in one situation."""

    meaning: Meaning = Meaning.SCORES
    by_action: Mapping[Action, float] = field(default_factory=dict)
    """A number for each action; empty where actions cannot be listed."""
    mean: Action | None = None
    """Continuous actions: what it would do."""
    spread: tuple[float, ...] = ()
    """Continuous actions: the standard deviation around that, before any squashing; empty: none."""

    def margin(self, taken: Action, better: Sequence[Action]) -> float | None:
        """How much more it wanted what it did than the best liked of the better actions; None where it cannot say."""
        liked = [self.by_action[action] for action in better if action in self.by_action]
        return self.by_action[taken] - max(liked) if liked and taken in self.by_action else None

    def told(self, number: float) -> str:
        """One of the numbers in words: shares in percent."""
        return f"{number:.1%}" if self.meaning is Meaning.PROBABILITIES else f"{number:.3g}"


@runtime_checkable
class TellsPreferences(Protocol):
    """An agent that can say what it wants, besides what it does. Agents need not."""

    def preferences(
        self, observations: Sequence[Any], memories: Sequence[Any], masks: Sequence[Any]
    ) -> Sequence[Preferences | Mapping[Action, float] | None]:
        """For each observation its preferences, or a number for each action; None where it has none."""
        ...


@calls_out("agent {agent.name!r}", preferences="preferences()")
def preferences_of(agent: Agent, observation: Any, memory: Any, mask: Any) -> Preferences | None:
    """What the agent makes of one situation; None where it cannot say."""
    if not isinstance(agent, TellsPreferences):
        return None
    try:
        [found] = agent.preferences([observation], [memory], [mask])
        if isinstance(found, Mapping):
            return Preferences(by_action={action: float(number) for action, number in found.items()})
    except TightropeError:
        raise
    except BaseException as error:
        raise AgentFailure(f"agent {agent.name!r}: preferences() {misdeed(error)}") from error
    if found is None or isinstance(found, Preferences):
        return found
    raise AgentFailure(
        f"agent {agent.name!r}: preferences() gave {found!r:.80} for an observation; "
        f"allowed are a number for each action, tr.Preferences, or None"
    )
