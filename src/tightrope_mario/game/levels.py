"""The 32 levels by name, and how each is entered."""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.errors import UnknownName
from tightrope_mario.game import ram

LEVEL_NAMES = tuple(f"{world}-{stage}" for world in range(1, 9) for stage in range(1, 5))

WORLDS_WITH_ENTRY_SCENE = frozenset({1, 2, 4, 7})
"""Their second stage begins with a walk into a pipe, an area of its own, so later areas are shifted by one."""

USUAL_LENGTH = 3200
LENGTHS = {"1-1": 3160, "1-2": 3160}
"""Where the level ends, in pixels; the sparse reward divides this into segments."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """World, stage and area as the game counts them, from 1."""

    world: int
    stage: int
    area: int

    @property
    def name(self) -> str:
        """As in ``"1-1"``."""
        return f"{self.world}-{self.stage}"

    @property
    def length(self) -> int:
        """How far it goes, in pixels."""
        return LENGTHS.get(self.name, USUAL_LENGTH)

    def bytes_to_enter(self) -> dict[int, int]:
        """What to write into a save state so that the game loads this level next."""
        return {ram.WORLD: self.world - 1, ram.STAGE: self.stage - 1, ram.AREA: self.area - 1}


def find_level(name: str) -> Level:
    """Look a level up by its name, ``"1-1"`` to ``"8-4"``."""
    if name not in LEVEL_NAMES:
        raise UnknownName("level of Super Mario Bros.", name, LEVEL_NAMES)
    world, stage = (int(part) for part in name.split("-"))
    shifted = world in WORLDS_WITH_ENTRY_SCENE and stage > 1
    return Level(world=world, stage=stage, area=stage + shifted)


@dataclass(frozen=True, kw_only=True)
class SearchPlan:
    """How a level's reference is found."""

    method: str = "dfs"
    actions: str = "2-moves"
    """The set of button combinations that is tried."""
    steps: int = 50_000
    """What it takes, and some."""
    seed: int = 0


USUAL_PLAN = SearchPlan()
ARCHIVE_PLAN = SearchPlan(method="archive")
SEARCH_PLANS: dict[str, SearchPlan] = {
    **dict.fromkeys(("2-2", "2-3", "5-1", "7-2", "7-3", "7-4", "8-3"), ARCHIVE_PLAN),
    "4-4": SearchPlan(method="archive", actions="2-moves-and-leap"),
    "8-4": SearchPlan(method="archive", actions="maze", steps=250_000, seed=3),
}
"""The levels in which backtracking drowns: under water, over long bridges, in mazes; some need a way back as well."""


def search_plan(level: str) -> SearchPlan:
    """The plan for a level."""
    return SEARCH_PLANS.get(find_level(level).name, USUAL_PLAN)
