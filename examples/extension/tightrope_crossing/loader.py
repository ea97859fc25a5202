"""An agent loader: files that say in which situations to wait."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tightrope as tr
from tightrope_crossing.world import GO, WAIT

ENDING = ".plan.json"


def load(request: tr.AgentRequest) -> tr.Agent:
    """An agent that waits where the file says so: ``{"wait": [[place, phase], …]}``; files are data, nothing runs."""
    path = Path(request.source)
    waits = {tuple(situation) for situation in json.loads(path.read_text())["wait"]}

    def act(observation: Any) -> int:
        return WAIT if tuple(observation.tolist()) in waits else GO

    return request.agent_of(act, name=path.name.removesuffix(".json"))


PLANS = tr.AgentLoader(accepts=lambda source: str(source).endswith(ENDING), load=load, endings=(ENDING,))
