"""A search method: breadth first, which finds a shortest way where there are few situations."""

from __future__ import annotations

import tightrope as tr


def breadth_first(session: tr.SearchSession) -> tr.SearchResult:
    """Try every action from every situation, nearest to the start first."""
    simulator, task = session.simulator, session.simulator.task
    simulator.reset()
    start = tr.ActionTrace(task.label, task.seed)
    waiting, seen = [(simulator.save(), start)], {simulator.key()}
    for snapshot, trace in waiting:
        for action in task.search_actions:
            if session.meter.spent:
                return session.not_found(tr.StopReason.BUDGET_SPENT)
            simulator.load(snapshot)
            simulator.step(action)
            session.meter.spend()
            if simulator.outcome is tr.Outcome.GOAL:
                return session.found(trace.then([action]))
            if simulator.outcome is tr.Outcome.ONGOING and simulator.key() not in seen:
                seen.add(simulator.key())
                waiting.append((simulator.save(), trace.then([action])))
    return session.not_found(tr.StopReason.EXHAUSTED)
