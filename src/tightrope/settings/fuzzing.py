"""The settings of step 3."""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.settings.ranges import Count, Fraction, Share, Weight
from tightrope.settings.section import Section, setting

BREEDING_STEPS, BREEDING_STEPS_BY_REPLAY = 600_000, 150_000
"""Environment steps of breeding in a run unless the caller says otherwise: more than 50 generations of 50 traces need
where traces are not longer than 240 steps. Where situations can only be restored by replay, traces share nothing, and
each is played from its reset; also where a part of all defaults is spent, it is a part of this."""


@dataclass(frozen=True, kw_only=True)
class FuzzingConfig(Section):
    """Step 3: many other ways through the task."""

    enabled: bool = setting(True, "whether to fuzz at all (step 4 needs it)", option="", decides=())
    generations: Count = setting(50, "how many generations to breed (g)", short="-g")
    population: Count = setting(50, "traces in each generation (p)", short="-p", least=10)
    steps: Count | None = setting(
        None,
        "breed no further generation after so many environment steps",
        none=f"{BREEDING_STEPS:,}, and {BREEDING_STEPS_BY_REPLAY:,} where situations can only be restored by replay",
        option="--budget-steps",
        least=500,
        whole=BREEDING_STEPS_BY_REPLAY,
    )
    mutation_stop: Share = setting(0.2, "chance that no further mutation follows (pmstop)")
    mutation_size: Count = setting(15, "longest run of actions that a mutation touches (ms)")
    crossover: Fraction = setting(0.25, "chance of crossover (pc); the paper wants less than one half")
    weights: tuple[Weight, Weight, Weight] = setting((2.0, 1.5, 1.0), "of coverage, gains and losses (λ)", option="")
    truncation: Share | None = setting(None, "only this best share of a generation become parents", none="all are")
    independent_actions: bool = setting(False, "draw each action of a mutated run on its own", option="")
    append_only_unfinished: bool = setting(False, "append only to traces that did not finish", option="")
