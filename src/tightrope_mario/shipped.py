"""The trained agents there are, by what their file names say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tightrope.errors import UsageError

FILE_NAME = re.compile(
    r"(?P<level>\d-\d)-(?P<reward>dense|sparse)-(?P<actions>2-moves|basic|right-complex)-(?P<stage>\w+)\.onnx"
)
SHIPPED = Path("agents/mario")
"""Where they lie in a checkout."""
STAGES = ("early", "late")
ACTION_SETS = ("2-moves", "right-complex", "basic")
"""In the order of the paper's figures."""
SPARSE = " (sparse)"
"""Ends the names of agents trained with the sparse reward."""


@dataclass(frozen=True, kw_only=True)
class ShippedAgent:
    """One trained agent."""

    path: Path
    level: str
    reward: str
    """What it was trained with; all are tested with the dense reward."""
    actions: str
    stage: str

    @property
    def name(self) -> str:
        """What the report calls it."""
        return f"{self.actions} {self.stage}" + (SPARSE if self.reward == "sparse" else "")


def find_agents(folder: Path) -> tuple[ShippedAgent, ...]:
    """The agents in a folder: by level, reward, stage and action set."""
    agents = [
        ShippedAgent(path=path, **match.groupdict())
        for path in folder.glob("*.onnx")
        if (match := FILE_NAME.fullmatch(path.name))
    ]
    if not agents:
        raise UsageError(
            f"{folder} holds no agents named LEVEL-REWARD-ACTIONS-STAGE.onnx, as in 1-1-dense-basic-late.onnx; name "
            f"their folder with --agents, or train some: tightrope mario train"
        )
    return tuple(sorted(agents, key=_order))


def late_agents(folder: Path, level: str) -> tuple[ShippedAgent, ...]:
    """The late agents of a level."""
    late = tuple(agent for agent in find_agents(folder) if agent.level == level and agent.stage == "late")
    if not late:
        raise UsageError(f"no late agent in {folder} was trained on {level}")
    return late


def _order(agent: ShippedAgent) -> tuple[str, str, int, str, int]:
    stage = STAGES.index(agent.stage) if agent.stage in STAGES else len(STAGES)
    return agent.level, agent.reward, stage, agent.stage, ACTION_SETS.index(agent.actions)
