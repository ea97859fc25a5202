"""Is a situation doomed? A bounded search from it for harm that cannot be avoided, or for a way to survive.

The search goes depth first and ends at the first way to survive: the goal, an end without harm, a situation known to
survive, a cycle, which can be run through for ever, or as many steps as were asked about. Whatever it leaves before
that is doomed, with proof: all its successors are unsafe or doomed. What is learnt about any situation on the way is
kept, so that no situation is searched twice.

*Doomed* and *survivable* are said against one horizon: harm follows within so many steps whatever is played, or
somebody can hold out for so many. A doomed situation knows within how many steps harm follows (its *fuse*), so that one
proof serves every horizon; a way to survive knows how long it was seen to.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Sequence

from tightrope.exploration.knowledge import End, Knowledge, Way, Witness
from tightrope.exploration.playing import timeout_is_unsafe
from tightrope.exploration.sameness import STEPS_OF_A_TEST, Sameness
from tightrope.outcome import Outcome
from tightrope.reference import Survivability
from tightrope.simulation import Simulator, Snapshot
from tightrope.tasks.task import Visit
from tightrope.trace import Action

_NOT_YET = object()
"""A branch that has not been found to survive."""


class _Frame:
    """A situation on the open path of one classification."""

    __slots__ = ("actions", "doomed", "followed", "fuse", "name", "snapshot", "tried")

    def __init__(self, name: Hashable, actions: Sequence[Action], snapshot: Snapshot | None) -> None:
        self.name, self.actions, self.snapshot = name, actions, snapshot
        self.tried = 0
        self.doomed = bool(actions)
        self.fuse = 0
        self.followed: list[tuple[Action, Hashable]] = []
        """Where each action led."""

    def harm(self, fuse: int) -> None:
        """Count a successor that is unsafe (fuse 0) or doomed."""
        if fuse >= self.fuse:
            self.fuse = fuse + 1


class Classifier:
    """Classifies situations of one simulator, remembering what it proves.

    ``preferred`` are the reference's actions by depth: what led to the goal once is tried first. ``actions`` are those
    somebody may take (None: the search actions); a proof holds for whoever has no others. ``cut_stuck``: whether the
    task's ``stuck`` hook ends branches, which proves nothing. ``play_witnesses``: whether every way to survive that was
    put together from several is played, and not only some. Where nothing names situations exactly, every one counts
    as new, so neither cycles nor known situations are recognised.
    """

    def __init__(
        self,
        simulator: Simulator,
        knowledge: Knowledge,
        *,
        preferred: Sequence[Action] = (),
        actions: tuple[Action, ...] | None = None,
        deterministic: bool,
        deadline: float = math.inf,
        cut_stuck: bool = True,
        play_witnesses: bool = False,
        exact: bool = True,
    ) -> None:
        self.simulator, self.knowledge, self.preferred = simulator, knowledge, preferred
        self.actions, self.deterministic, self.deadline = actions, deterministic, deadline
        self.play_witnesses = play_witnesses
        self.sameness = Sameness(simulator, actions=actions, exact=exact)
        self.limit: float = math.inf
        """What ``spent`` must not exceed: nothing is tried that might, tests of names included."""
        self._lossy_key = not simulator.task.key_is_exact
        self._time_limit = simulator.time_limit
        self._stuck = simulator.task.stuck if cut_stuck else None
        self._last_depth = math.inf
        """The depth at which a branch has survived long enough."""
        self._due = math.inf
        """The depth at which it has, or time is up."""
        self._start: Snapshot
        self._frames: list[_Frame] = []
        self._path: list[Visit] = []
        self._open: set[Hashable] = set()
        self._left: set[Hashable] = set()
        self._keys: set[Hashable] | None = None
        self.harms = 0
        """Branches of the latest classification that ended unsafe."""
        self.exhausted = False
        """Whether the latest classification tried everything it was going to try, however much work was allowed."""
        self.fuse: int | None = None
        """Within how many steps harm follows where the latest classification ended; None where it is not doomed."""

    @property
    def exact(self) -> bool:
        """Whether what is known of a name may be used when it is met again."""
        return self.sameness.exact

    @property
    def spent(self) -> int:
        """Environment steps so far, replays included."""
        return self.simulator.counters.steps + self.simulator.counters.replayed_steps

    def classify(self, effort: int, horizon: int | None = None) -> tuple[Survivability, Witness | None]:
        """Classify the situation the simulator stands in, with at most so many steps.

        ``horizon``: how many steps are to be survived; None: all there will ever be. Where keys are lossy, half of the
        effort goes into a second search that enters each key once: it proves less but finds ways out that the exact
        search has no time for. A name that turns out to stand for two situations voids all that was known, and the
        search begins anew without it; one that does because time is up at one of them is from then on told with the
        time.
        """
        simulator, last = self.simulator, self.spent + effort
        self.harms, self.exhausted, self.fuse = 0, False, None
        self._last_depth = math.inf if horizon is None else simulator.depth + horizon
        self._due = min(self._last_depth, self._time_limit)
        self.sameness.set_timed(self._time_limit <= self._last_depth and timeout_is_unsafe(simulator))
        if horizon == 0:
            return Survivability.YES, Witness((), End.WATCHED.value, 0)
        self._start, naming = simulator.save(), self.sameness.naming
        if not self.exact:
            self.knowledge = Knowledge()
        verdict, witness = self._search(effort // 2 if self._lossy_key else effort, once_per_key=False)
        while naming != self.sameness.naming:
            self.knowledge, naming = Knowledge(), self.sameness.naming
            simulator.load(self._start)
            verdict, witness = self._search(last - self.spent, once_per_key=False)
        if verdict is Survivability.UNKNOWN and self._lossy_key and not self.exhausted:
            simulator.load(self._start)
            verdict, witness = self._search(last - self.spent, once_per_key=True)
            self.exhausted = False
        return verdict, witness

    def _search(self, effort: int, *, once_per_key: bool) -> tuple[Survivability, Witness | None]:
        self._frames, self._path, self._open, self._left = [], [], set(), set()
        self._keys = set() if once_per_key else None
        naming, last = self.sameness.naming, self.spent + effort
        root = self.sameness.name()
        end = self._arrive(root, None)
        while end is _NOT_YET and self._frames:
            frame = self._frames[-1]
            if self.spent + self._way_back(frame) >= last or time.time() >= self.deadline:
                return Survivability.UNKNOWN, None
            if naming != self.sameness.naming:
                return Survivability.UNKNOWN, None
            if frame.tried == len(frame.actions):
                self._leave()
            else:
                end = self._try(frame)
        if end is not _NOT_YET:
            return self._survived(root, end)
        self.exhausted = naming == self.sameness.naming
        fuse = self.knowledge.doomed.get(root)
        if not self.exhausted or fuse is None or self._start.depth + fuse > self._due:
            return Survivability.UNKNOWN, None
        self.fuse = fuse
        return Survivability.NO, None

    def _way_back(self, frame: _Frame) -> int:
        """Steps it takes to put a situation back."""
        return 0 if frame.snapshot is None or self.simulator.snapshotter is not None else frame.snapshot.depth

    def _try(self, frame: _Frame) -> Hashable:
        """Play the next action; where the branch survives, or `_NOT_YET`."""
        simulator = self.simulator
        if frame.tried:
            assert frame.snapshot is not None
            simulator.load(frame.snapshot)
        action = frame.actions[frame.tried]
        frame.tried += 1
        simulator.advance(action)
        outcome = simulator.outcome
        if outcome is Outcome.ONGOING:
            if simulator.depth >= self._last_depth:
                return End.WATCHED
            name = self.sameness.name()
            frame.followed.append((action, name))
            return self._arrive(name, action)
        frame.followed.append((action, outcome))
        if simulator.timed_out and self.exact and self._untold(outcome):
            # That time is up here says nothing of the same situation earlier in an episode.
            self.sameness.cut_short()
            frame.doomed = False
            return _NOT_YET
        if outcome is Outcome.UNSAFE:
            self.harms += 1
            frame.harm(0)
            return _NOT_YET
        return End.GOAL if outcome is Outcome.GOAL else End.TRUNCATED

    def _untold(self, outcome: Outcome) -> bool:
        """Whether time was up before anyone had said so, or counts as unsafe where nobody had."""
        return not self.sameness.timed and (outcome is Outcome.UNSAFE or self.simulator.depth < self._time_limit)

    def _arrive(self, name: Hashable, action: Action | None) -> Hashable:
        """Enter a situation, or judge the branch by what is known of it."""
        knowledge, frames, depth = self.knowledge, self._frames, self.simulator.depth
        way = knowledge.surviving.get(name)
        if (way is not None and depth + way.steps >= self._due) or (name in self._open and self.deterministic):
            return name
        fuse = knowledge.doomed.get(name)
        if fuse is not None and depth + fuse <= self._due and self.spent + STEPS_OF_A_TEST > self.limit:
            frames[-1].doomed = False
        elif fuse is not None and depth + fuse <= self._due:
            if frames:
                self.harms += 1
                frames[-1].harm(fuse)
            self.sameness.holds(name, fuse)
        elif name in self._open or name in self._left or self._pruned(action):
            # Given up, which proves nothing.
            frames[-1].doomed = False
        else:
            self._enter(name)
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
        self._path.append(Visit(key, action, simulator.reward, dict(simulator.info)))
        if self._frames and self._stuck(self._path):
            self._path.pop()
            return True
        return False

    def _enter(self, name: Hashable) -> None:
        simulator = self.simulator
        actions = simulator.available_actions(self.actions)
        if simulator.depth < len(self.preferred) and self.preferred[simulator.depth] in actions:
            first = self.preferred[simulator.depth]
            actions = (first, *(action for action in actions if action != first))
        self._frames.append(_Frame(name, actions, simulator.save() if len(actions) > 1 else None))
        self._open.add(name)

    def _leave(self) -> None:
        """Close the newest situation: nothing tried from it survived."""
        frame = self._frames.pop()
        if self._path:
            self._path.pop()
        self._open.discard(frame.name)
        parent = self._frames[-1] if self._frames else None
        if frame.doomed and self.deterministic:
            self.knowledge.doomed[frame.name] = frame.fuse
            if self.exact:
                self.sameness.remember(frame.name, frame.followed)
            if parent is not None:
                parent.harm(frame.fuse)
        else:
            self._left.add(frame.name)
            if parent is not None:
                parent.doomed = False

    def _survived(self, root: Hashable, end: Hashable) -> tuple[Survivability, Witness | None]:
        """Note that every situation on the open path survives, and how the first one does."""
        surviving = self.knowledge.surviving
        steps = self._lasts(end)
        target = end
        for frame in reversed(self._frames):
            steps += 1
            surviving[frame.name] = Way(frame.actions[frame.tried - 1], target, steps)
            target = frame.name
        witness = self.knowledge.witness(root)
        together = self.deterministic and not isinstance(end, End)
        if together and (self.sameness.to_be_tested() or self.play_witnesses):
            way_back = 0 if self.simulator.snapshotter is not None else self._start.depth
            actions = witness.lasting(self._last_depth - self._start.depth)
            if self.spent + way_back + len(actions) > self.limit:
                return Survivability.UNKNOWN, None
            self.simulator.load(self._start)
            if not self.sameness.leads_on(witness, actions, self._last_depth):
                return Survivability.UNKNOWN, None
        return Survivability.YES, witness

    def _lasts(self, end: Hashable) -> float:
        """For how many steps an end is known to survive."""
        if end is End.GOAL or end in self._open:
            return math.inf
        if isinstance(end, End):
            # A time limit ends what would have gone on; an end of the environment's own does not.
            return math.inf if end is End.TRUNCATED and not self.simulator.timed_out else 0.0
        return self.knowledge.surviving[end].steps
