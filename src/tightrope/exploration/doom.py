"""Is a situation doomed? A bounded search from it for harm that cannot be avoided, or for a way to survive.

The search goes depth first and ends at the first way to survive: the goal, an end without harm, a situation known to
survive, or a cycle, which can be run through for ever. Whatever it leaves before that is doomed, with proof: all its
successors are unsafe or doomed. What is learnt about any situation on the way is kept, so that no situation is searched
twice.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from tightrope.outcome import Outcome
from tightrope.reference import Survivability
from tightrope.simulation import Simulator, Snapshot
from tightrope.tasks.task import Visit
from tightrope.trace import Action

_NOT_YET = object()
"""A branch that has not been found to survive."""


class End(Enum):
    """How a way to survive can end; a member is never equal to a situation's fingerprint."""

    GOAL = "goal"
    TRUNCATED = "truncated"


@dataclass
class Knowledge:
    """What is proven about situations, by their exact fingerprints."""

    doomed: dict[Hashable, int] = field(default_factory=dict)
    """Within how many steps harm follows, whatever is played."""
    surviving: dict[Hashable, tuple[Action, Hashable]] = field(default_factory=dict)
    """An action to survive with and where it leads: another surviving situation or an `End`."""

    def update(self, other: Knowledge) -> None:
        """Take over what another search has proven, keeping what was known."""
        self.doomed = {**other.doomed, **self.doomed}
        self.surviving = {**other.surviving, **self.surviving}

    def beyond(self, other: Knowledge) -> Knowledge:
        """What is known here and not there."""
        return Knowledge(
            {key: fuse for key, fuse in self.doomed.items() if key not in other.doomed},
            {key: way for key, way in self.surviving.items() if key not in other.surviving},
        )

    def witness(self, situation: Hashable) -> Witness:
        """The actions that survive from a surviving situation, followed to their end."""
        actions: list[Action] = []
        met: dict[Hashable, int] = {}
        while not isinstance(situation, End):
            if situation in met:
                return Witness(tuple(actions), "cycle", len(actions) - met[situation])
            met[situation] = len(actions)
            action, situation = self.surviving[situation]
            actions.append(action)
        return Witness(tuple(actions), situation.value, 0)


@dataclass(frozen=True)
class Witness:
    """Actions that survive, what they lead to, and how many of the last ones can be repeated for ever."""

    actions: tuple[Action, ...]
    ending: str
    loop: int


class _Frame:
    """A situation on the open path of one classification."""

    __slots__ = ("actions", "doomed", "fuse", "identity", "snapshot", "tried")

    def __init__(self, identity: Hashable, actions: Sequence[Action], snapshot: Snapshot | None) -> None:
        self.identity, self.actions, self.snapshot = identity, actions, snapshot
        self.tried = 0
        self.doomed = bool(actions)
        self.fuse = 0

    def harm(self, fuse: int) -> None:
        """Count a successor that is unsafe (fuse 0) or doomed."""
        if fuse >= self.fuse:
            self.fuse = fuse + 1


class Classifier:
    """Classifies situations of one simulator, remembering what it proves.

    ``preferred`` are the reference's actions by depth: what led to the goal once is tried first. Where the task has no
    exact fingerprint every situation counts as a new one, so neither cycles nor known situations are recognised.
    """

    def __init__(
        self,
        simulator: Simulator,
        knowledge: Knowledge,
        preferred: Sequence[Action],
        *,
        deterministic: bool,
        deadline: float,
    ) -> None:
        self.simulator, self.knowledge, self.preferred = simulator, knowledge, preferred
        self.deterministic, self.deadline = deterministic, deadline
        task = simulator.task
        self.exact = task.identity is not None or task.key_is_exact
        self._lossy_key = not task.key_is_exact
        self._time_limit = simulator.time_limit
        self._stuck = task.stuck
        self._frames: list[_Frame] = []
        self._path: list[Visit] = []
        self._open: set[Hashable] = set()
        self._left: set[Hashable] = set()
        self._keys: set[Hashable] | None = None
        self.harms = 0
        """Branches of the latest classification that ended unsafe."""
        self.exhausted = False
        """Whether the latest classification tried everything it was going to try, however much work was allowed."""

    @property
    def spent(self) -> int:
        """Environment steps so far, replays included."""
        return self.simulator.counters.steps + self.simulator.counters.replayed_steps

    def classify(self, effort: int) -> tuple[Survivability, Witness | None]:
        """Classify the situation the simulator stands in, with at most so many steps.

        Where keys are lossy, half of the effort goes into a second search that enters each key once: it proves less but
        finds ways out that the exact search has no time for.
        """
        self.harms, self.exhausted = 0, False
        start = self.simulator.save() if self._lossy_key else None
        verdict, witness = self._search(effort // 2 if self._lossy_key else effort, once_per_key=False)
        if verdict is Survivability.UNKNOWN and start is not None and not self.exhausted:
            self.simulator.load(start)
            verdict, witness = self._search(effort - effort // 2, once_per_key=True)
            self.exhausted = False
        return verdict, witness

    def _search(self, effort: int, *, once_per_key: bool) -> tuple[Survivability, Witness | None]:
        self._frames, self._path, self._open, self._left = [], [], set(), set()
        self._keys = set() if once_per_key else None
        last = self.spent + effort
        root = self._identity()
        end = self._arrive(root, None)
        while end is _NOT_YET and self._frames:
            if self.spent >= last or time.time() >= self.deadline:
                return Survivability.UNKNOWN, None
            frame = self._frames[-1]
            if frame.tried == len(frame.actions):
                self._leave()
            else:
                end = self._try(frame)
        if end is not _NOT_YET:
            return Survivability.YES, self._witness(root, end)
        self.exhausted = True
        return (Survivability.NO if root in self.knowledge.doomed else Survivability.UNKNOWN), None

    def _try(self, frame: _Frame) -> Hashable:
        """Play the next action; where the branch survives, or `_NOT_YET`."""
        simulator = self.simulator
        if frame.tried:
            assert frame.snapshot is not None
            simulator.load(frame.snapshot)
        action = frame.actions[frame.tried]
        frame.tried += 1
        simulator.step(action)
        outcome = simulator.outcome
        if outcome is Outcome.ONGOING:
            return self._arrive(self._identity(), action)
        if outcome is Outcome.UNSAFE:
            self.harms += 1
            frame.harm(0)
            return _NOT_YET
        return End.GOAL if outcome is Outcome.GOAL else End.TRUNCATED

    def _arrive(self, identity: Hashable, action: Action | None) -> Hashable:
        """Enter a situation, or judge the branch by what is known of it."""
        knowledge, frames = self.knowledge, self._frames
        if identity in knowledge.surviving or (identity in self._open and self.deterministic):
            return identity
        fuse = knowledge.doomed.get(identity)
        if fuse is not None and self.simulator.depth + fuse <= self._time_limit:
            if frames:
                self.harms += 1
                frames[-1].harm(fuse)
        elif identity in self._open or identity in self._left or self._pruned(action):
            # Given up, which proves nothing.
            frames[-1].doomed = False
        else:
            self._enter(identity)
        return _NOT_YET

    def _pruned(self, action: Action | None) -> bool:
        """Whether to give up here: a key met before, in the search that enters each once, or stuck."""
        if self._keys is None and self._stuck is None:
            return False
        simulator, key = self.simulator, self.simulator.key()
        if self._keys is not None:
            if key in self._keys:
                return True
            self._keys.add(key)
        if self._stuck is None:
            return False
        self._path.append(Visit(key, action, simulator.transition.reward, dict(simulator.info)))
        if self._frames and self._stuck(self._path):
            self._path.pop()
            return True
        return False

    def _enter(self, identity: Hashable) -> None:
        simulator = self.simulator
        actions = simulator.available_actions()
        if simulator.depth < len(self.preferred) and self.preferred[simulator.depth] in actions:
            first = self.preferred[simulator.depth]
            actions = (first, *(action for action in actions if action != first))
        self._frames.append(_Frame(identity, actions, simulator.save() if len(actions) > 1 else None))
        self._open.add(identity)

    def _leave(self) -> None:
        """Close the newest situation: nothing tried from it survived."""
        frame = self._frames.pop()
        if self._path:
            self._path.pop()
        self._open.discard(frame.identity)
        parent = self._frames[-1] if self._frames else None
        if frame.doomed and self.deterministic:
            self.knowledge.doomed[frame.identity] = frame.fuse
            if parent is not None:
                parent.harm(frame.fuse)
        else:
            self._left.add(frame.identity)
            if parent is not None:
                parent.doomed = False

    def _witness(self, root: Hashable, end: Hashable) -> Witness:
        """Note that every situation on the open path survives, and how the first one does."""
        surviving = self.knowledge.surviving
        following = [*(frame.identity for frame in self._frames[1:]), end]
        for frame, target in zip(self._frames, following, strict=False):
            surviving[frame.identity] = (frame.actions[frame.tried - 1], target)
        return self.knowledge.witness(root)

    def _identity(self) -> Hashable:
        return self.simulator.identity() if self.exact else object()
