"""What an explanation says: the decision that could not be undone, and what would have been better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tightrope.display import Shown
from tightrope.reference import Survivability
from tightrope.statistics import Estimate
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace


@dataclass(frozen=True, kw_only=True)
class Explanation(Shown):
    """Why an episode failed: the last moment from which somebody could still have survived, and what was done there.

    On deterministic tasks survival is shown by an escape that was replayed, and doom by a proof. Where chance decides,
    the moment is the decision with the largest drop of the survival estimate.
    """

    _shown = ("depth", "action", "better", "agents_fault", "proven")

    trace: ActionTrace
    """The whole episode from reset, which replays without the agent."""
    handover: int
    """Steps before the agent took over."""
    horizon: int
    """How many steps somebody had to survive from a moment on, if the episode did not end well before."""
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
    curve: tuple[tuple[int, Survivability], ...] = field(default=(), repr=False)
    """What was found out about moments of the episode, by depth."""
    drop: Estimate | None = None
    """Where chance decides: how much less often somebody survives after the decision than before it."""
    estimates: tuple[tuple[int, Estimate], ...] = field(default=(), repr=False)
    """Where chance decides: how often somebody survives from a moment on, by depth."""

    def sentence(self, task: Task) -> str:
        """The explanation in words, with the task's names for its actions."""
        names = tuple(task.action_names or ())
        if self.depth is None or self.action is None:
            return self._undecided()
        done = named(self.action, names)
        if self.drop is not None:
            return self._by_chance(done, names)
        chose = f"it chose {done}" if self.agents_fault else f"{done} was played, before hand-over"
        if not self.better:
            told = f"At step {self.depth} {chose}; that was the last moment from which somebody could have survived"
        else:
            would = f"{_either(self.better, names)} would have survived{self._rest(names)}"
            told = f"At step {self.depth} {chose}; {would}"
        return told if self.proven else f"{told}. That all was lost after it is not proven"

    def _rest(self, names: Sequence[str]) -> str:
        """What is known of the actions that were neither taken nor are better."""
        if self.unsettled:
            return f" (of {_either(self.unsettled, names)} nothing is known)"
        others = [action for action in self.doomed if action != self.action]
        return " (all other actions are doomed)" if others else ""

    def _by_chance(self, done: str, names: Sequence[str]) -> str:
        instead = f"; {_either(self.better, names)} would have been better" if self.better else ""
        less = f"somebody survives less often by {self.drop:.2f}"
        told = f"At step {self.depth} it chose {done}, after which {less}{instead}"
        return told if self.agents_fault else f"{told}. That it was this decision is not shown"

    def _undecided(self) -> str:
        if self.proven:
            return "Nobody could have survived, from the start on"
        return "Where it went wrong could not be decided within the effort"


def _either(actions: Sequence[Action], names: Sequence[str]) -> str:
    return " or ".join(named(action, names) for action in actions)


def named(action: Action, names: Sequence[str]) -> str:
    """An action by its name, where it has one."""
    return names[action] if isinstance(action, int) and 0 <= action < len(names) else str(action)
