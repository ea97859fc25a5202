"""The settings of step 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tightrope.settings.ranges import Count, Fraction, Natural
from tightrope.settings.section import Section, setting

LONGEST_WATCH = 500
"""Steps watched at most unless the caller asks for more: CartPole's own limit, half of LunarLander's and MuJoCo's. What
comes later is seldom the fault of where one was put, and plain episodes are played to their end."""
STATES_OF_SEVERAL = 40
"""Boundary states that are tested where there are several references and nobody says otherwise: what varies in general
are references, and more states on the same ones say little about that."""

SURVIVAL_STEPS = 240_000
"""Environment steps in which the cases of a suite share."""
EXPLAINING_STEPS = 100_000
"""What ``run_suite`` may take to explain the fails of a suite where it is called alone. A run explains all fails of an
agent together, and spends ``explain_steps``."""


@dataclass(frozen=True, kw_only=True)
class SafetyConfig(Section):
    """Step 2: how often each agent fails at the boundary states."""

    suites: tuple[str, ...] = setting(
        ("simple", "interval:1", "coverage:1"),
        "the suites, such as simple, interval:SIZE or coverage:K",
        option="--suite",
        run=True,
        decides=(),
    )
    boundary_states: Literal["all", "proven"] = setting("all", "test at all boundary states, or at proven ones")
    states: Count | None = setting(
        None,
        "test at no more boundary states than this",
        none=f"all of one reference, {STATES_OF_SEVERAL} in all of several",
        decides=(),
        least=5,
        whole=STATES_OF_SEVERAL,
    )
    repetitions: Count | None = setting(
        None,
        "executions of each case (n)",
        none="10; where luck is set off against what others do with the same luck, in small suites as many as it takes "
        "for a standard error of 2 percentage points",
        short="-n",
        run=True,
    )
    length: Count | None = setting(
        None,
        "steps the agent must survive (l)",
        none=f"to the task's time limit, at most {LONGEST_WATCH}",
        short="-l",
        run=True,
        decides=("safety", "survival"),
    )
    fixed_prefix: bool = setting(
        True,
        "stochastic tasks: reach exactly the same situation every time",
        option="--fixed-prefix/--fresh-prefix",
    )
    survival_steps: Count = setting(
        SURVIVAL_STEPS,
        "steps for finding out who would survive the cases of one suite",
        decides=("survival",),
        least=500,
    )
    control: bool = setting(True, "also run as many random cases, to show what the search is worth", decides=())
    explain_steps: Natural = setting(
        200_000,
        "steps for explaining all fails of an agent together; 0: explain nothing",
        decides=("whys",),
        least=1_000,
    )
    max_fail: Fraction | None = setting(
        None,
        "gate: fail when an agent's fail frequency on the cases of a suite, not counting what no player could avoid, "
        "is above this",
        none="no gate",
        run=True,
        gate=True,
    )
    gate_on: Literal["value", "high"] = setting(
        "value",
        "compare the gate with the estimate's value, or with high, the upper limit of its interval",
        run=True,
        gate=True,
    )
    until_decided: bool = setting(False, "execute only until the gate is decided; runs no control", run=True, gate=True)
