"""Agents of different runs on the cases that they share, as if one run had tested them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from tightrope.report.results import AgentInfo, RunResults
from tightrope.safety import SafetyResult

Entrant: TypeAlias = tuple[RunResults, AgentInfo, str]
"""An agent, the run it comes from, and what it is called beside those of other runs."""


def on_shared_cases(runs: Sequence[RunResults]) -> RunResults | None:
    """The agents of several runs on the suites that agents of more than one run have met; None: there are none.

    Two results belong together when suite, length, seed and way of getting there are the same: then their executions
    met the same situations with the same randomness.
    """
    if len(runs) < 2 or len({run.task.label for run in runs}) > 1:
        return None
    entrants = list(_entrants(runs))
    safety = _shared(entrants)
    met = {agent for row in safety.values() for agent in row}
    if not safety:
        return None
    first = runs[0]
    return RunResults(
        name=" and ".join(run.name for run in runs),
        task=first.task,
        agents=tuple(replace(agent, name=name) for _, agent, name in entrants if name in met),
        plain={
            name: replace(run.plain[agent.name], agent=name)
            for run, agent, name in entrants
            if name in met and agent.name in run.plain
        },
        search=first.search,
        references=first.references,
        safety=safety,
        controls=first.controls,
    )


def _entrants(runs: Sequence[RunResults]) -> Iterator[Entrant]:
    """Each agent once, under its name; where runs have different ones of a name, the run stands beside it."""
    often = Counter(name for name, _ in {(agent.name, agent.fingerprint) for run in runs for agent in run.agents})
    seen = set()
    for run in runs:
        for agent in run.agents:
            if (agent.name, agent.fingerprint) not in seen:
                seen.add((agent.name, agent.fingerprint))
                yield run, agent, agent.name if often[agent.name] == 1 else f"{agent.name} of {run.name}"


def _shared(entrants: Sequence[Entrant]) -> Mapping[str, Mapping[str, SafetyResult]]:
    """Suite → agent → result, of the suites that agents of two runs at the least have met."""
    rows: dict[tuple[object, ...], dict[str, SafetyResult]] = defaultdict(dict)
    homes: dict[tuple[object, ...], set[int]] = defaultdict(set)
    for run, agent, name in entrants:
        for suite, row in run.safety.items():
            if agent.name in row and suite not in run.controls:
                result = row[agent.name]
                key = (suite, result.suite.id, result.length, result.seed, result.fixed_prefix)
                rows[key][name] = replace(result, agent=name)
                homes[key].add(id(run))
    return {str(key[0]): row for key, row in rows.items() if len(homes[key]) > 1}
