"""Lanes: places in which rollouts are under way at the same time, so that an agent is asked once for all of them.

==============  ==========================  ====================================================================
``OwnLane``     an environment of its own   the process can hold many
``SharedLane``  a snapshot of its own       it can hold one, or snapshots only fit where they were made
``TreeLane``    a place in the prefix tree  the task is deterministic and saving is cheap: nobody steps what another
                                            lane, repetition, test case or agent has stepped before
==============  ==========================  ====================================================================

Which kind is used changes what is spent, never what comes out.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any, Protocol

from tightrope.execution.prefixes.player import TreePlayer
from tightrope.execution.prefixes.tree import PrefixTree, TreePoint
from tightrope.outcome import Outcome
from tightrope.simulation.simulator import Simulator
from tightrope.simulation.snapshot import Snapshot
from tightrope.trace import Action


class Mover(Protocol):
    """What plays the actions of a lane, and what is seen from where it stands."""

    observation: Any
    info: Mapping[str, Any]
    outcome: Outcome

    def advance(self, action: Action) -> float:
        """Play one action and tell its reward."""
        ...


class Lane(Protocol):
    """Where one rollout is under way."""

    @property
    def mover(self) -> Mover:
        """What to play the actions with, until the lane begins elsewhere."""
        ...

    def begin(self, point: TreePoint, reseed: int | None, *, again: bool) -> None:
        """Go to a known situation, with fresh randomness if a seed is given; ``again``: others will begin here too."""
        ...

    def simulator(self) -> Simulator:
        """The simulator, standing where this lane stands; for looking, not for stepping."""
        ...

    def standing(self) -> Simulator | None:
        """The simulator, if it stands where this lane has just stepped; None: somebody else was there before."""
        ...


class OwnLane:
    """A lane with an environment of its own, which is played in without a detour."""

    def __init__(self, tree_player: TreePlayer, simulator: Simulator) -> None:
        self._tree_player = tree_player
        self.mover = simulator

    def begin(self, point: TreePoint, reseed: int | None, *, again: bool) -> None:
        """Go there, in the tree player's environment or in a copy of it."""
        tree_player = self._tree_player
        tree_player.go(point)
        if again and tree_player.simulator.snapshotter is not None:
            snapshot = tree_player.save_here()
            started = perf_counter()
            self.mover.load(snapshot)
            tree_player.counters.seconds_snapshot += perf_counter() - started
        else:
            # The tree player stands there already: trading environments is cheaper than copying what is in them.
            self.mover, tree_player.simulator, tree_player.at = tree_player.simulator, self.mover, None
        if reseed is not None:
            self.mover.reseed(reseed)

    def simulator(self) -> Simulator:
        """This lane's own simulator."""
        return self.mover

    def standing(self) -> Simulator | None:
        """This lane's own simulator."""
        return self.mover


class SharedLane:
    """A lane that takes turns with others on the tree player's environment."""

    def __init__(self, tree_player: TreePlayer, shared: SharedEnvironment) -> None:
        self._tree_player, self._shared = tree_player, shared
        self.snapshot: Snapshot | None = None
        self.look_at(tree_player.simulator)

    @property
    def mover(self) -> SharedLane:
        """Itself: not kept as an attribute, or the lane and what it has saved would wait for the garbage collector."""
        return self

    def begin(self, point: TreePoint, reseed: int | None, *, again: bool) -> None:
        """Take the environment there."""
        self._tree_player.go(point)
        if again:
            self._tree_player.save_here()
        simulator = self._tree_player.simulator
        if reseed is not None:
            simulator.reseed(reseed)
        self._shared.taken_by(self)
        self.look_at(simulator)

    def advance(self, action: Action) -> float:
        """Play one action when it is this lane's turn."""
        simulator = self._shared.enter(self)
        reward = simulator.advance(action)
        self.look_at(simulator)
        return reward

    def look_at(self, shown: Simulator | Snapshot) -> None:
        """Remember what is seen where the lane stands, while others have the environment."""
        self.observation, self.info, self.outcome = shown.observation, shown.info, shown.outcome

    def simulator(self) -> Simulator:
        """The one simulator, standing where this lane stands."""
        return self._shared.enter(self)

    def standing(self) -> Simulator | None:
        """The one simulator, while it is this lane's turn."""
        return self._tree_player.simulator if self._shared.is_taken_by(self) else None


class SharedEnvironment:
    """Knows whose turn it is on the one environment; whoever leaves is saved, whoever enters is put back."""

    def __init__(self, tree_player: TreePlayer) -> None:
        self._tree_player = tree_player
        self._on: SharedLane | None = None
        tree_player.before_moving = self.clear

    def enter(self, lane: SharedLane) -> Simulator:
        """The environment, standing where the lane left it."""
        if self._on is not lane:
            self.clear()
            assert lane.snapshot is not None
            started = perf_counter()
            self._tree_player.simulator.load(lane.snapshot)
            self._tree_player.counters.seconds_snapshot += perf_counter() - started
            self.taken_by(lane)
        return self._tree_player.simulator

    def is_taken_by(self, lane: SharedLane) -> bool:
        """Whether it is this lane's turn."""
        return self._on is lane

    def taken_by(self, lane: SharedLane) -> None:
        """The lane has the environment, which thereby leaves the tree."""
        self._on, self._tree_player.at = lane, None

    def clear(self) -> None:
        """Save whoever has the environment, if it is still under way."""
        lane, self._on = self._on, None
        if lane is None or lane.outcome.terminal:
            return
        started = perf_counter()
        lane.snapshot = self._tree_player.simulator.save()
        lane.look_at(lane.snapshot)
        self._tree_player.counters.seconds_snapshot += perf_counter() - started


class TreeLane:
    """A lane that is a place in the prefix tree, and steps only where nobody has been."""

    def __init__(self, tree_player: TreePlayer) -> None:
        self._tree_player = tree_player
        self._tree: PrefixTree = tree_player.tree
        self._point: TreePoint | None = None
        self._snapshot: Snapshot | None = None
        self.observation: Any = None
        self.info: Mapping[str, Any] = {}
        self.outcome = Outcome.ONGOING

    @property
    def mover(self) -> TreeLane:
        """Itself, as with ``SharedLane``."""
        return self

    def begin(self, point: TreePoint, reseed: int | None, *, again: bool) -> None:
        """Go there, stepping only if nobody holds a snapshot of it."""
        assert reseed is None, "tree lanes are for deterministic tasks"
        self._tree.begun[id(self)] = self._tree.clock
        held = point[0].snapshots.get(point[1])
        if held is None:
            self._tree_player.go(point)
            held = self._tree_player.save_here()
        self._arrive(point, held)

    def advance(self, action: Action) -> float:
        """Move on, playing the action only if nobody has."""
        assert self._point is not None
        known = self._tree.child(self._point, action)
        if known is not None:
            segment, index = known
            held = segment.snapshots.get(index)
            if held is not None:
                self._arrive(known, held)
                return segment.rewards[index - 1]
            if segment.outcome_at(index).terminal:
                self._end(known)
                return segment.rewards[index - 1]
        return self._step_anew(action, known)

    def simulator(self) -> Simulator:
        """The one simulator, standing where this lane stands."""
        self._stand_here()
        return self._tree_player.simulator

    def standing(self) -> Simulator | None:
        """The one simulator, if this lane was the last to step."""
        return self._tree_player.simulator if self._tree_player.at == self._point else None

    def _step_anew(self, action: Action, known: TreePoint | None) -> float:
        self._stand_here()
        tree_player, simulator = self._tree_player, self._tree_player.simulator
        assert self._point is not None
        tree_player.at = None
        reward = simulator.advance(action)
        outcome = simulator.outcome
        point = known or self._tree.add_step(self._point, action, reward, outcome)
        tree_player.at = point
        if outcome.terminal:
            self._end(point)
        else:
            self._arrive(point, tree_player.save_here())
            self._tree.shrink_if_needed()
        return reward

    def _stand_here(self) -> None:
        tree_player = self._tree_player
        assert self._point is not None
        assert self._snapshot is not None
        if tree_player.at is not None and tree_player.at[0] is self._point[0] and tree_player.at[1] == self._point[1]:
            return
        started = perf_counter()
        tree_player.at = None
        tree_player.simulator.load(self._snapshot)
        tree_player.counters.seconds_snapshot += perf_counter() - started
        tree_player.at = self._point

    def _arrive(self, point: TreePoint, snapshot: Snapshot) -> None:
        self._point, self._snapshot = point, snapshot
        self.observation, self.info, self.outcome = snapshot.observation, snapshot.info, snapshot.outcome

    def _end(self, point: TreePoint) -> None:
        """Nothing follows, so nobody looks at the last situation."""
        self._point, self._snapshot = point, None
        self.outcome = point[0].outcome
