"""Nothing is run twice that cannot differ: which rollouts are the same, and what is known of them already."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace

from tightrope.agents.agent import Agent
from tightrope.execution.rollout import Episode, Rollout
from tightrope.execution.scheduling.affinity import PATHLESS, RolloutPath

MOST_STEPS_REMEMBERED = 1_000_000
"""Steps of the episodes kept in case they are asked for again: some 40 MB."""


def sameness(rollout: Rollout, agents: Mapping[str, Agent], *, deterministic: bool) -> Hashable:
    """Equal for rollouts that cannot differ in what they show: the rollout, less what cannot matter.

    On a deterministic task nothing gives the environment fresh randomness, and the seed matters to an agent that draws
    and to nobody else. What is not known to be without effect stays, so that a field added to rollouts tells them
    apart.
    """
    if not deterministic:
        return rollout
    if rollout.agent is not None and not agents[rollout.agent].deterministic:
        return replace(rollout, fixed_prefix=False) if rollout.fixed_prefix else rollout
    if not (rollout.fixed_prefix or rollout.seed or rollout.start.reseeds):
        return rollout
    return replace(rollout, fixed_prefix=False, seed=0, start=replace(rollout.start, reseeds=()))


@dataclass(slots=True)
class Ticket:
    """A rollout to be run, and everybody who waits for it."""

    rollout: Rollout
    sameness: Hashable
    waiting: list[tuple[int, Rollout]] = field(default_factory=list)
    path: RolloutPath = PATHLESS
    """The way that it takes, as far as that is known."""
    cost: float = 1.0
    """About how many steps it takes whoever it was given to."""
    first: Episode | None = None
    """What came out before, when it is run once more to be compared."""
    compared: bool = False
    """Whether that is done; a worker that stalls may still hold it."""
    begun: bool = False
    """Whether a worker was given it."""

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for what comes out, and does not only expect to."""
        return bool(self.waiting) or self.is_to_be_compared

    @property
    def is_to_be_compared(self) -> bool:
        """Whether what came out before waits for a second opinion."""
        return self.first is not None and not self.compared


class WaitingList:
    """Who waits for what, and the latest episodes in case somebody asks again."""

    def __init__(self, *, deterministic: bool) -> None:
        self._deterministic = deterministic
        self._open: dict[Hashable, Ticket] = {}
        self._recent: OrderedDict[Hashable, Episode] = OrderedDict()
        self._steps = 0
        self._waiting = 0

    def admit(self, number: int, rollout: Rollout, agents: Mapping[str, Agent]) -> Ticket | Episode | None:
        """A ticket for a new rollout; the episode, if one is known; None when it is under way already."""
        same = sameness(rollout, agents, deterministic=self._deterministic)
        known = self._recent.get(same)
        if known is not None:
            self._recent.move_to_end(same)
            return known.standing_for(rollout)
        self._waiting += 1
        ticket = self._open.get(same)
        if ticket is None:
            ticket = self._open[same] = Ticket(rollout, same)
        has_a_place = ticket.is_awaited or ticket.begun
        ticket.waiting.append((number, rollout))
        return None if has_a_place else ticket

    def expect(self, rollout: Rollout, agents: Mapping[str, Agent]) -> Ticket | None:
        """A ticket for a rollout that nobody waits for so far; None when it is known or there is one."""
        same = sameness(rollout, agents, deterministic=self._deterministic)
        if same in self._recent or same in self._open:
            return None
        ticket = self._open[same] = Ticket(rollout, same)
        return ticket

    def settle(self, ticket: Ticket, episode: Episode) -> list[tuple[int, Episode]]:
        """The episode for everybody who waits; nothing when another worker was faster."""
        if self._open.pop(ticket.sameness, None) is None:
            return []
        self._waiting -= len(ticket.waiting)
        if episode.error is None:
            self._remember(ticket.sameness, episode)
        return [(number, episode.standing_for(rollout)) for number, rollout in ticket.waiting]

    @property
    def waiting(self) -> int:
        """Rollouts whose episode is waited for."""
        return self._waiting

    def is_open(self, ticket: Ticket) -> bool:
        """Whether the episode is still waited for."""
        return self._open.get(ticket.sameness) is ticket

    def is_left(self, ticket: Ticket) -> bool:
        """Whether nobody has begun with what is only expected, or asked for it."""
        return not ticket.begun and not ticket.is_awaited and self.is_open(ticket)

    def forget_open(self) -> None:
        """Nobody waits any more."""
        self._open.clear()
        self._waiting = 0

    def _remember(self, same: Hashable, episode: Episode) -> None:
        self._recent[same] = episode
        self._steps += _size(episode)
        while self._steps > MOST_STEPS_REMEMBERED:
            _, oldest = self._recent.popitem(last=False)
            self._steps -= _size(oldest)


def _size(episode: Episode) -> int:
    keys = 0 if episode.keys is None else len(episode.keys)
    return 20 + len(episode.rollout.start) + len(episode.actions) + keys
