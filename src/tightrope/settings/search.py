"""The settings of step 1."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tightrope.settings.ranges import Count, Natural, Positive
from tightrope.settings.section import Section, setting

SEARCH_STEPS, SEARCH_STEPS_BY_REPLAY = 500_000, 100_000
"""What a search may take unless the caller says otherwise. Steps, so that it finds the same way on every machine. Where
situations are put back by replay, nearly all of them are ways back: what is not found by a controller or the first few
thousand moves is not found by ten times as many, and runs of agents serve instead."""

FINDING_STEPS = 200_000
"""What ``find_references`` may take where it is called alone. In a run the main way was found before, and the others
get ``reference_steps``."""

PROBING_STEPS, PROBING_SECONDS = 100_000, 600.0
"""What ``probe_boundary`` may take where it is called alone: about two minutes on an emulator; the seconds are for what
is slower still. A run has other references to prove things on, and spends ``probe_steps``."""


@dataclass(frozen=True, kw_only=True)
class SearchConfig(Section):
    """Step 1: a way to solve the task and its boundary states."""

    method: str = setting("auto", "how to find a reference: auto, or a method by its name, such as dfs or archive")
    seconds: Positive | None = setting(
        600.0,
        "stop searching after so many seconds, for environments with slow steps",
        none="no limit",
        option="--budget-seconds",
    )
    steps: Count | None = setting(
        None,
        "stop searching after so many environment steps (the same result on every machine)",
        none=f"{SEARCH_STEPS:,}, and {SEARCH_STEPS_BY_REPLAY:,} where situations can only be restored by replay",
        option="--budget-steps",
        least=2_000,
        whole=SEARCH_STEPS,
    )
    repetitions: Count | None = setting(None, "how often each action is sampled", none="1, or 22 when stochastic")
    demonstration: Path | None = setting(None, "file with an action trace that reaches the goal", none="none")
    probe_steps: Natural = setting(
        20_000, "steps for proving boundary states by probing; 0: no probing", decides=("probing",), least=500
    )
    references: Count = setting(
        8, "how many different ways through the task to test on, at most", run=True, decides=("others",)
    )
    reset_seeds: Count = setting(
        8, "how many resets the references start from; 1: only the task's own", run=True, decides=("others",)
    )
    reference_steps: Natural = setting(
        120_000, "steps for finding further references and their boundary states", decides=("others",), least=2_000
    )
