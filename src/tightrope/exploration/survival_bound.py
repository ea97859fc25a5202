"""What was found out about a situation where chance decides: how often somebody survives it, and who."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tightrope.statistics import Estimate, rate_estimate
from tightrope.trace import ActionTrace

OF = "over fresh runs of: "


@dataclass(frozen=True, kw_only=True)
class BestSurvival:
    """How often somebody survives a situation, and who."""

    estimate: Estimate
    """Its lower limit is the bound; above, nothing is known."""
    policy: str
    """Who it was."""
    checksum: int
    """Hash of the state key there."""
    thorough: bool = False
    """Whether a policy worked out from a model of the whole task was among those who were tried."""
    runs: tuple[bool, ...] = field(default=(), repr=False)
    """Whether it survived, run by run, where the runs had the luck that was asked for."""
    escape: ActionTrace | None = field(default=None, repr=False)
    """One of the runs that survived, from reset on and with its luck; None where none did."""


def survival_bound(runs: Sequence[bool], policy: str) -> Estimate:
    """The share that survived, with its lower limit; nothing bounds it from above, for somebody may do better."""
    rate = rate_estimate(sum(runs), len(runs))
    return Estimate(rate.value, rate.low, 1.0, len(runs), f"{rate.method} from below, {OF}{policy}")


def told_player(estimate: Estimate) -> str:
    """Who survived so often, of files that say it in the words of the estimate alone; empty where they do not."""
    return estimate.method.partition(OF)[2]
