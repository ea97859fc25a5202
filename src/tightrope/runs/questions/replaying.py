"""Playing a stored episode again, without the agent, and making sure that it is still the same."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace

from tightrope.agents.agent import Agent
from tightrope.errors import NotReproducible, UnknownName, UsageError
from tightrope.execution import Episode
from tightrope.reference import Survivability
from tightrope.runs.run import Run
from tightrope.safety import CaseResult, run_suite
from tightrope.seeding import stable_hash
from tightrope.simulation import open_simulator, play


@dataclass(frozen=True, kw_only=True)
class StoredCase:
    """A case of a run, and where it was found."""

    suite: str
    agent: str
    result: CaseResult

    def episode(self, number: int | None = None) -> Episode:
        """An execution of the case: the given one, or the first fail, or the first of all."""
        episodes = self.result.failing_episodes or self.result.episodes
        if number is not None:
            if not 0 <= number < len(self.result.episodes):
                raise UsageError(
                    f"case {self.result.case.id} has executions 0 … {len(self.result.episodes) - 1}, not {number}"
                )
            return self.result.episodes[number]
        return episodes[0]


def find_case(run: Run, identifier: str, agent: str | None = None, suite: str | None = None) -> StoredCase:
    """The case whose id begins so; of several agents and suites, one with a fail comes first."""
    cases = _wanted_cases(run, agent, suite)
    found = [stored for stored in cases if identifier and stored.result.case.id.startswith(identifier)]
    if not found:
        raise UsageError(
            f"no case of {run.path} begins with {identifier!r}; `tightrope replay {run.path}` "
            f"lists the fails, and results.json in the report folder all cases"
        )
    if len({stored.result.case.id for stored in found}) > 1:
        raise UsageError(f"{identifier!r} matches several cases; give more of its characters")
    return max(found, key=lambda stored: stored.result.fails)


def executed_case(run: Run, identifier: str, agent: Agent, suite: str | None = None) -> StoredCase:
    """A case of the run under an agent that it has not tested, executed now as its own agents were.

    Seeds follow from the case, so these are the very executions that a comparison in this run has.
    """
    known = find_case(run, identifier, None, suite)
    result = run.safety[known.suite][known.agent]
    with run.engine({agent.name: agent}) as engine:
        found = run_suite(
            run.task,
            agent,
            replace(result.suite, cases=(known.result.case,)),
            result.repetitions,
            result.length,
            result.seed,
            fixed_prefix=result.fixed_prefix,
            survivable=result.survival,
            explain=False,
            engine=engine,
        )
    return StoredCase(suite=known.suite, agent=agent.name, result=found.cases[0])


def stored_fails(run: Run, agent: str | None = None, suite: str | None = None) -> list[StoredCase]:
    """The cases in which an agent failed, each once; those that can be survived and fail most often come first, of
    equals those with an escape to be watched."""
    cases = reversed(_wanted_cases(run, agent, suite))
    fails = {(stored.result.case.id, stored.agent): stored for stored in cases if stored.result.fails}
    return sorted(
        fails.values(),
        key=lambda stored: (
            stored.result.survivable is Survivability.NO,
            -(stored.result.fail_frequency.value or 0),
            stored.result.survivable is not Survivability.YES,
            stored.result.case.depth or 0,
        ),
    )


def verify_replay(run: Run, episode: Episode) -> None:
    """Play the episode's actions from reset; raises NotReproducible where it goes another way than it did."""
    trace = episode.trace
    with closing(open_simulator(run.task)) as simulator:
        for moment in play(simulator, trace):
            since = moment.depth - episode.prefix_steps
            if since == 0 and episode.checksum is not None:
                same = stable_hash(simulator.key()) == episode.checksum
                _expect(same, run, moment.depth, "the situation at hand-over")
            if since > 0:
                _expect(moment.reward == episode.rewards[since - 1], run, moment.depth - 1, "the reward")
        _expect(simulator.depth == len(trace), run, simulator.depth, "the episode's length")
        _expect(simulator.outcome is episode.outcome, run, len(trace), "the outcome")


def _expect(same: bool, run: Run, step: int, what: str) -> None:
    if not same:
        raise NotReproducible(
            f"{run.task.label} no longer leads to that situation: {what} differs at step {step}. The environment, or a "
            f"library it uses, has changed since {run.path} was made; run.json lists the versions used then"
        )


def _wanted_cases(run: Run, agent: str | None, suite: str | None) -> list[StoredCase]:
    results = run.safety
    if agent is not None and agent not in run.agents:
        raise UnknownName("agent in this run", agent, run.agents)
    if suite is not None and suite not in results:
        raise UnknownName("suite in this run", suite, results)
    return [
        StoredCase(suite=suite_name, agent=agent_name, result=case)
        for suite_name, row in results.items()
        for agent_name, result in row.items()
        for case in result.cases
        if agent in (None, agent_name) and suite in (None, suite_name)
    ]
