"""Two or more agents on the same cases: those of different runs, and those that were never run, meet here.

Each contender brings what its run has stored. What one was tested with and another was not is executed now, in the very
situations and with the very seeds, so that every pair shares all cases that either knows; nothing else is repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from tightrope.agents.agent import Agent
from tightrope.display import Shown
from tightrope.errors import TightropeError, UnknownName, UsageError
from tightrope.evaluation import Evaluation, PlainComparison, compare_plain, evaluate
from tightrope.performance import Robustness
from tightrope.performance.between import return_differences
from tightrope.progress import Progress, ProgressCallback
from tightrope.runs.campaign import load_agents
from tightrope.runs.run import Run
from tightrope.runs.storage.layout import CONTROLS
from tightrope.runs.trust import require_trust
from tightrope.safety import SafetyComparison, SafetyResult, compare_safety, run_suite
from tightrope.statistics import Estimate


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


@dataclass(frozen=True, kw_only=True)
class ReturnDifference(Shown):
    """How much more reward B gets than A, from the middle of the same fuzz traces."""

    prefix_length: int
    difference: Estimate


@dataclass(frozen=True, kw_only=True, repr=False)
class AgentComparison(Shown):
    """Agent B against agent A."""

    _shown = ("agent_a", "agent_b", "plain", "suites")

    agent_a: str
    agent_b: str
    plain: PlainComparison | None
    """In plain episodes; None: there are none."""
    suites: Mapping[str, SafetyComparison]
    """By name of the suite, its run beside it where several have one of that name."""
    returns: tuple[ReturnDifference, ...] = ()
    """Along the robust-performance curve; empty where not both were measured on the same traces."""
    run: Run = field(repr=False)
    """Where B's episodes can be replayed."""
    homes: Mapping[str, Run] = field(default_factory=dict, repr=False)
    """By name of the suite, a run that has its cases: B's own where B met them there."""
    naming: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """By name of the suite, how a command names B in that run; empty where none can."""
    executed: int = 0
    """How often a suite was executed now, because one of the two had not met it."""
    left_out: tuple[str, ...] = ()
    """Why cases that only one of the two has met are not in it."""

    @property
    def worse(self) -> bool:
        """Whether B is shown to be worse in plain episodes or in a suite."""
        return any(each.worse for each in self.suites.values()) or (self.plain is not None and self.plain.worse)

    @property
    def better(self) -> bool:
        """Whether B is shown to be better somewhere and worse nowhere."""
        shown = any(each.better for each in self.suites.values()) or (self.plain is not None and self.plain.better)
        return shown and not self.worse


def compare_agents(
    contenders: Sequence[Contender],
    *,
    examples: Sequence[Contender] = (),
    on_progress: ProgressCallback | None = None,
) -> tuple[AgentComparison, ...]:
    """Set each of the others against the first, on the union of their cases.

    An agent that cannot be loaded any more is compared on the cases that it has met, and that is said.

    Args:
        contenders: Of one task; the first is the one to compare with.
        examples: More whose cases count, and who are not compared themselves.
        on_progress: Called with a ``Progress`` as the work goes on.
    """
    if len(contenders) < 2:
        raise UsageError("a comparison needs at least two agents")
    names = [each.name for each in contenders]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"two contenders are called {twice!r}; give one of them another name")
    tasks = dict.fromkeys(each.run.task_label for each in contenders)
    if len(tasks) > 1:
        raise UsageError(f"agents of different tasks cannot be compared: {', '.join(tasks)}")
    everybody = [*contenders, *examples]
    union = {suite: (each.run, result) for each in everybody for suite, result in each.safety.items()}
    if not union:
        raise UsageError(
            f"{contenders[0].run.path} has no safety results to compare; make them: tightrope safety "
            f"{contenders[0].run.path} --agent YOUR_AGENT"
        )
    missing = {each.name: [suite for suite in union if suite not in each.safety] for each in contenders}
    told = _counted(sum(map(len, missing.values())), on_progress)
    complete = [_completed(each, missing[each.name], union, everybody, told) for each in contenders]
    first, *others = complete
    labels = _labels(union)
    homes = {label: union[suite][0] for suite, label in labels.items()}
    return tuple(_compared(first, other, contenders, labels, homes) for other in others)


def stored_agent(run: Run, name: str, *, trust: bool = False) -> Agent:
    """An agent of a run, loaded from where the run says; refused where it is no longer the one that was tested."""
    require_trust(run.folder.manifest_path, run.config.task, run.config.agents, trust=trust)
    agent = load_agents(run.config.agents, run.task).get(name)
    if agent is None:
        raise UsageError(f"{name} of {run.path} is not one of its agents; test it there again")
    if agent.fingerprint != run.agents[name].fingerprint:
        raise UsageError(f"{name} is not the agent that {run.path} tested: its file has changed since; run it again")
    return agent


def _completed(
    contender: Contender,
    missing: Sequence[str],
    union: Mapping[str, tuple[Run, SafetyResult]],
    everybody: Sequence[Contender],
    told: Iterator[None],
) -> Contender:
    """The contender with results on every suite and with plain episodes, as far as others have them."""
    plain = next((each.plain for each in everybody if each.plain is not None), None)
    if not missing and (contender.plain is not None or plain is None):
        return contender
    try:
        agent = contender.load()
    except (TightropeError, OSError) as error:
        if not contender.safety:
            raise
        return replace(contender, left_out=str(error))
    results = dict(contender.safety)
    with _called(agent, contender.name):
        for suite in missing:
            next(told)
            results[suite] = _tested(agent, *union[suite])
        played = contender.plain
        if played is None and plain is not None:
            with contender.run.folder.locked(), contender.run.engine({agent.name: agent}) as engine:
                played = evaluate(
                    contender.run.task, agent, len(plain.episodes), plain.seed, length=plain.length, engine=engine
                )
    return replace(contender, safety=results, plain=played)


@contextmanager
def _called(agent: Agent, name: str) -> Iterator[None]:
    """The agent under another name; it is the user's own, and has its old one back afterwards."""
    before, agent.name = agent.name, name
    try:
        yield
    finally:
        agent.name = before


def _tested(agent: Agent, home: Run, known: SafetyResult) -> SafetyResult:
    """A suite of a run under an agent that has not met it, exactly as the other was tested."""
    with home.folder.locked(), home.engine({agent.name: agent}) as engine:
        return run_suite(
            home.task,
            agent,
            known.suite,
            known.repetitions,
            known.length,
            known.seed,
            fixed_prefix=known.fixed_prefix,
            survivable=known.survival,
            explain=False,
            engine=engine,
        )


def _compared(
    a: Contender, b: Contender, before: Sequence[Contender], labels: Mapping[str, str], homes: Mapping[str, Run]
) -> AgentComparison:
    shared = {suite: label for suite, label in labels.items() if suite in a.safety and suite in b.safety}
    if not shared:
        raise UsageError(
            f"{a.name} and {b.name} have no suite in common, and cannot be tested with the other's: "
            f"{a.left_out or b.left_out}"
        )
    known = {each.name: each.safety for each in before}
    own = {label for suite, label in shared.items() if suite in known[b.name] and b.stored_as}
    plain = None if a.plain is None or b.plain is None else compare_plain(a.plain, b.plain)
    return AgentComparison(
        agent_a=a.name,
        agent_b=b.name,
        plain=None if plain is None else replace(plain, agent_a=a.name, agent_b=b.name),
        suites={label: compare_safety(a.safety[suite], b.safety[suite]) for suite, label in shared.items()},
        returns=tuple(_returns(a.performance, b.performance)),
        run=b.run,
        homes={label: b.run if label in own else homes[label] for label in shared.values()},
        naming={label: ("--agent", b.stored_as) if label in own else b.elsewhere for label in shared.values()},
        executed=sum(suite not in known[each.name] for each in (a, b) for suite in shared),
        left_out=tuple(each.left_out for each in (a, b) if each.left_out),
    )


def _returns(a: Robustness | None, b: Robustness | None) -> Iterator[ReturnDifference]:
    if a is not None and b is not None:
        for prefix_length, difference in return_differences(a, b):
            yield ReturnDifference(prefix_length=prefix_length, difference=difference)


def _labels(union: Mapping[str, tuple[Run, SafetyResult]]) -> dict[str, str]:
    names = [result.suite.name for _, result in union.values()]
    return {
        suite: name if names.count(name) == 1 else f"{name} of {run.path.name}"
        for (suite, (run, _)), name in zip(union.items(), names, strict=True)
    }


def _counted(number: int, on_progress: ProgressCallback | None) -> Iterator[None]:
    for done in range(number):
        if on_progress is not None:
            on_progress(Progress("compare", done, number))
        yield
    yield
