"""How agents under test are named and asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tightrope.settings.ranges import Fraction
from tightrope.settings.section import Section, required, setting

BehaviourName: TypeAlias = Literal["greedy", "sampled"]
"""The ways in which an agent turns what it has learnt into actions."""


@dataclass(frozen=True, kw_only=True)
class AgentConfig(Section):
    """One agent under test."""

    source: str = required("file (.onnx, .zip, weights.pt@module:Class …), pkg.module:factory, http://… or hf:…")
    name: str | None = setting(None, "what the report calls it", none="from the source", option="", decides=())
    behaviour: BehaviourName = setting("greedy", "take the best action, or draw one", run=True)
    epsilon: Fraction = setting(0.0, "share of steps in which a random action is played instead", run=True)
    trust: bool = setting(False, "allow the file to run code when it is loaded (pickles)", option="", decides=())
