"""Two agents set side by side, suite by suite, from what their runs have stored."""

from __future__ import annotations

from collections.abc import Sequence

from tightrope.errors import UnknownName, UsageError
from tightrope.runs.run import Run
from tightrope.runs.steps.cross_check import require_unbroken
from tightrope.runs.storage.layout import CONTROLS
from tightrope.safety import SafetyComparison, SafetyResult, compare_safety


def compare_runs(
    run_a: Run, run_b: Run, agent_a: str | None = None, agent_b: str | None = None
) -> dict[str, SafetyComparison]:
    """Agent B against agent A, by name of each suite that both have run.

    Args:
        run_a: The run of the old agent.
        run_b: The run of the new one; it may be the same run.
        agent_a: Which agent of the first run; None: its only one.
        agent_b: Which agent of the second run; None: its only one.
    """
    for run in (run_a, run_b):
        require_unbroken(run)
    name_a, name_b = chosen_agents(run_a, run_b, agent_a, agent_b)
    results_a, results_b = _results_of(run_a, name_a), _results_of(run_b, name_b)
    for run, agent, results in ((run_a, name_a, results_a), (run_b, name_b, results_b)):
        if not results:
            raise _no_results(run, f" of {agent}")
    shared = [suite for suite in results_a if suite in results_b]
    if not shared:
        raise UsageError(
            f"{run_a.path} and {run_b.path} have no suite in common "
            f"({', '.join(results_a)} against {', '.join(results_b)})"
        )
    return {suite: compare_safety(results_a[suite], results_b[suite]) for suite in shared}


def _results_of(run: Run, agent: str) -> dict[str, SafetyResult]:
    return {suite: row[agent] for suite, row in run.safety.items() if agent in row and suite not in CONTROLS}


def chosen_agents(run_a: Run, run_b: Run, agent_a: str | None, agent_b: str | None) -> tuple[str, str]:
    """Which agents of two runs are meant, where that can be told."""
    for run in (run_a, run_b):
        if not run.agents:
            raise _no_results(run)
    names_a, names_b = list(run_a.agents), list(run_b.agents)
    _check_known(agent_a, names_a)
    _check_known(agent_b, names_b)
    same_run = run_a.path.resolve() == run_b.path.resolve()
    if agent_a is None and agent_b is None and same_run and len(names_a) == 2:
        return names_a[0], names_a[1]
    chosen_a = agent_a or (names_a[0] if len(names_a) == 1 else None)
    chosen_b = agent_b or (names_b[0] if len(names_b) == 1 else None)
    if chosen_a is None or chosen_b is None:
        raise UsageError(
            f"which agents? {run_a.path} has {', '.join(names_a)}; {run_b.path} has "
            f"{', '.join(names_b)}. Name one of each with --agent-a and --agent-b"
        )
    if same_run and chosen_a == chosen_b:
        raise UsageError(
            f"{chosen_a} of {run_a.path} would be compared with itself; name a second run, or test a second "
            f"agent in this one: tightrope safety {run_a.path} --agent NEW"
        )
    return chosen_a, chosen_b


def _no_results(run: Run, whose: str = "") -> UsageError:
    folder = run.path
    return UsageError(
        f"{folder} has no safety results{whose} to compare; make them: tightrope safety {folder} --agent YOUR_AGENT"
    )


def _check_known(agent: str | None, agents: Sequence[str]) -> None:
    if agent is not None and agent not in agents:
        raise UnknownName("agent in this run", agent, agents)
