"""An agent that is compared with others: the run whose situations it is judged in, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from tightrope.agents.agent import Agent
from tightrope.display import Shown
from tightrope.errors import UnknownName, UsageError
from tightrope.evaluation import Evaluation
from tightrope.performance import Robustness
from tightrope.runs.campaign import load_agents
from tightrope.runs.run import Run
from tightrope.runs.storage.layout import CONTROLS
from tightrope.runs.trust import require_trust
from tightrope.safety import SafetyResult


@dataclass(frozen=True, kw_only=True, repr=False)
class Contender(Shown):
    """An agent, the run whose situations it is judged in, and what is known of it."""

    _shown = ("name", "run", "suites")

    name: str
    """By which it is told from the others."""
    run: Run
    load: Callable[[], Agent] = field(repr=False)
    """Loads the agent; called only when something has to be executed."""
    stored_as: str = ""
    """Its name in the run; empty: it is not one of the run's agents."""
    options: tuple[str, ...] = ()
    """Of an agent that is in no run: how a command names it, after ``tightrope replay RUN CASE``."""
    safety: Mapping[str, SafetyResult] = field(default_factory=dict, repr=False)
    """By id of the suite."""
    plain: Evaluation | None = field(default=None, repr=False)
    performance: Robustness | None = field(default=None, repr=False)
    left_out: str = ""
    """Why it could not be tested with what others know; empty: it was, or did not have to be."""

    @property
    def suites(self) -> tuple[str, ...]:
        """Names of the suites that it has met."""
        return tuple(result.suite.name for result in self.safety.values())

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """How a command names it in another run than its own; empty where none can."""
        if self.options or not self.stored_as:
            return self.options
        settings = self.run.agents[self.stored_as].settings
        played = ("--behaviour", settings.behaviour, "--epsilon", f"{settings.epsilon:g}")
        trust = ("--trust",) if settings.trust else ()
        return ("--agent", f"{self.stored_as}={settings.source}", *played, *trust)

    @classmethod
    def of_run(
        cls,
        run: Run,
        agent: str,
        *,
        name: str | None = None,
        load: Callable[[], Agent] | None = None,
        trust: bool = False,
    ) -> Contender:
        """An agent with all that its run has stored.

        Args:
            run: Where it was tested.
            agent: Its name there.
            name: What to call it here; None: as there.
            load: Loads it; None: from where the run says, which must still be the agent that was tested.
            trust: Let the run's own files say which code to import for that. Only what you wrote yourself.
        """
        if agent not in run.agents:
            raise UnknownName("agent in this run", agent, list(run.agents))
        name = name or agent
        rows = {suite: row[agent] for suite, row in run.safety.items() if agent in row and suite not in CONTROLS}
        return cls(
            name=name,
            run=run,
            stored_as=agent,
            load=load or partial(stored_agent, run, agent, trust=trust),
            safety={result.suite.id: replace(result, agent=name) for result in rows.values()},
            plain=run.plain.get(agent),
            performance=run.performance.get(agent),
        )


def stored_agent(run: Run, name: str, *, trust: bool = False) -> Agent:
    """An agent of a run, loaded from where the run says; refused where it is no longer the one that was tested."""
    require_trust(run.folder.manifest_path, run.config.task, run.config.agents, trust=trust)
    agent = load_agents(run.config.agents, run.task).get(name)
    if agent is None:
        raise UsageError(f"{name} of {run.path} is not one of its agents; test it there again")
    if agent.fingerprint != run.agents[name].fingerprint:
        raise UsageError(f"{name} is not the agent that {run.path} tested: its file has changed since; run it again")
    return agent
