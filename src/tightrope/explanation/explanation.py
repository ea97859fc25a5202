"""What an explanation says: the decision that could not be undone, and what would have been better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tightrope.display import Shown
from tightrope.explanation import words
from tightrope.explanation.cause import Cause
from tightrope.reference import Survivability
from tightrope.statistics import Estimate
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace


@dataclass(frozen=True, kw_only=True, repr=False)
class Explanation(Shown):
    """Why an episode failed: the last moment from which somebody could still have survived, and what was done there.

    On deterministic tasks survival is shown by an escape that was replayed, and doom by a proof. Where chance decides,
    the moment is the decision with the largest drop of the survival estimate; or no single one is to blame, and
    ``cause`` says what is.
    """

    _shown = ("depth", "action", "better", "agents_fault", "proven")

    trace: ActionTrace
    """The whole episode from reset, which replays without the agent."""
    handover: int
    """Steps before the agent took over."""
    horizon: int
    """How many steps somebody had to survive from a moment on, if the episode did not end well before."""
    shortened: bool = False
    """Whether those are fewer than the agent was watched for."""
    depth: int | None
    """The last moment from which somebody could still have survived, in steps since reset; None: not decided, or there
    is none."""
    action: Action | None
    """What was done there."""
    better: tuple[Action, ...] = ()
    """The actions that keep survival possible there."""
    witnesses: Mapping[Action, ActionTrace] = field(default_factory=dict, repr=False)
    """For each better action an escape from reset on that was replayed: the episode up to there, the action, and on."""
    doomed: tuple[Action, ...] = ()
    """The actions there that are proven to lead to doom, what was done included."""
    unsettled: tuple[Action, ...] = ()
    """The actions there of which nothing was found out."""
    agents_fault: bool | None
    """Whether that moment lies after hand-over; None: not decided."""
    proven: bool
    """Whether everything after that moment is proven doomed; False: no escape was found within the effort."""
    key: int | None = None
    """Hash of the state key of that moment."""
    observation: tuple[float, ...] | None = field(default=None, repr=False)
    """What was seen there, where that is a few numbers."""
    reach: tuple[tuple[float, float], ...] | None = field(default=None, repr=False)
    """How far each of those numbers reached along the episode: the least and the most."""
    curve: tuple[tuple[int, Survivability], ...] = field(default=(), repr=False)
    """What was found out about moments of the episode, by depth."""
    drop: Estimate | None = None
    """Where chance decides: how much less often somebody survives after the decision than before it."""
    estimates: tuple[tuple[int, Estimate], ...] = field(default=(), repr=False)
    """Where chance decides: how often somebody survives from a moment on, by depth."""
    who: str = field(default="", repr=False)
    """Who survives so often as the first of them says; empty: not told."""
    cause: Cause | None = None
    """Where chance decides: what lost it, if not a single decision."""
    given_away: Estimate | None = None
    """Where chance decides: the share of the best known chance to survive that all its decisions in an episode gave
    away, in the mean over the fails of this cause."""
    behind: Estimate | None = None
    """Where chance decides: how much less often it survives from where it took over than the best player known, over
    the fails of this cause."""
    steps: int = field(default=0, repr=False, compare=False)
    """Environment steps that it took to find out, where that was counted."""

    @property
    def first_doomed(self) -> int:
        """The first moment that is proven doomed; the end is, since harm was done."""
        if self.proven:
            return 0 if self.depth is None else self.depth + 1
        return min((depth for depth, verdict in self.curve if verdict is Survivability.NO), default=len(self.trace))

    def sentence(self, task: Task) -> str:
        """The explanation in words, with the task's names for its actions."""
        return words.sentence(self, tuple(task.action_names or ()))
