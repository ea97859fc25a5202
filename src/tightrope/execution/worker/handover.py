"""Where agents take over: the end of a prefix that leads to the same situation every time."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from tightrope.execution.prefixes.player import TreePlayer
from tightrope.execution.prefixes.tree import Label, PrefixTree, Reseeded, TreePoint
from tightrope.execution.worker.recording import Wanted, running_sum
from tightrope.outcome import Outcome
from tightrope.trace import ActionTrace


@dataclass(frozen=True, slots=True)
class PathEnd:
    """The end of a path in the tree, and what was seen on the way."""

    point: TreePoint
    steps: int
    outcome: Outcome
    rewards: array[float]
    keys: list[int]
    positions: list[tuple[float, float]]

    @property
    def reward(self) -> float:
        """The sum of the rewards on the way."""
        return running_sum(self.rewards)


def path_labels(start: ActionTrace, *, deterministic: bool) -> list[Label]:
    """The start's actions as labels: with its own reseedings where randomness matters."""
    labels: list[Label] = list(start.actions)
    if not deterministic:
        for index, seed in start.reseeds:
            labels[index] = Reseeded(seed, start.actions[index])
    return labels


def play_path(tree_player: TreePlayer, seed: int, labels: list[Label], wanted: Wanted) -> PathEnd:
    """Play the path as far as it goes, if it is not known, and tell what was seen on it."""
    point, steps = tree_player.reach(seed, labels, wanted)
    return PathEnd(
        point=point,
        steps=steps,
        outcome=point[0].outcome_at(point[1]),
        rewards=_rewards(tree_player.tree, point),
        keys=_keys(tree_player.tree, point) if wanted.keys else [],
        positions=_positions(tree_player.tree, point) if wanted.positions else [],
    )


def point_at(tree: PrefixTree, point: TreePoint, depth: int) -> TreePoint:
    """The situation on the way to ``point`` after so many steps from reset."""
    way = tree.lineage(point)
    segment = next(segment for segment, _ in reversed(way) if segment.depth < depth or segment.parent is None)
    return segment, depth - segment.depth


def _rewards(tree: PrefixTree, point: TreePoint) -> array[float]:
    rewards = array("d")
    for segment, count in tree.lineage(point):
        rewards.extend(segment.rewards[:count])
    return rewards


def _keys(tree: PrefixTree, point: TreePoint) -> list[int]:
    way = tree.lineage(point)
    assert way[0][0].start_key is not None
    keys = [way[0][0].start_key]
    for segment, count in way:
        keys.extend((segment.keys or ())[:count])
    return keys


def _positions(tree: PrefixTree, point: TreePoint) -> list[tuple[float, float]]:
    way = tree.lineage(point)
    assert way[0][0].start_position is not None
    positions = [way[0][0].start_position]
    for segment, count in way:
        flat = (segment.positions or ())[: 2 * count]
        positions.extend(zip(flat[::2], flat[1::2], strict=True))
    return positions
