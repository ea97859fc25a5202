"""``explain``: an episode, or a failing case, and out comes why it failed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from tightrope.agents import Agent, own_actions
from tightrope.errors import NotReproducible, UsageError
from tightrope.execution import Engine, Episode, Rollout, begun_again_if_stochastic, borrowed_engine
from tightrope.explanation.blame import Blame, BlameTask, find_blame
from tightrope.explanation.by_learning import explain_by_learning
from tightrope.explanation.chance import explain_by_chance
from tightrope.explanation.explanation import Explanation
from tightrope.exploration.escapes import EscapeTask, Survival
from tightrope.exploration.watch_length import SHORTEST_WATCH, choose_watch
from tightrope.outcome import Outcome
from tightrope.settings import LIBRARY_BACKEND, BackendName
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace

EFFORT = 2000
"""Environment steps for one moment: fifty attempts of the usual 40 steps."""
EPISODES_AT_A_TIME = 8
"""Episodes that share what they find out, and one environment."""


@runtime_checkable
class FailingCase(Protocol):
    """A judged case."""

    @property
    def failing_episodes(self) -> tuple[Episode, ...]:
        """The executions that failed."""
        ...


@runtime_checkable
class CaseToRun(Protocol):
    """A case to be run."""

    @property
    def prefix(self) -> ActionTrace:
        """What leads to it."""
        ...


@runtime_checkable
class SearchedFailure(Protocol):
    """A failure that a search has found."""

    @property
    def episode(self) -> Episode:
        """The episode that failed."""
        ...


Failure: TypeAlias = Episode | FailingCase | CaseToRun | SearchedFailure


@begun_again_if_stochastic
def explain(
    task: Task,
    agent: Agent,
    episode: Failure,
    *,
    length: int | None = None,
    actions: Sequence[Action] | None = None,
    effort: int = EFFORT,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
    workers: int | None = None,
) -> Explanation:
    """Why an episode failed: the last moment from which somebody could still have survived, and what was done there.

    On deterministic tasks it is found by bisection with proofs and escapes; where chance decides it is the decision
    after which somebody survives less often by most.

    Args:
        task: The task that was to be solved.
        agent: The agent that failed.
        episode: The episode, a failing case of a result (its first failing execution), a case (which is run), or what
            `search_failures` has found.
        length: How many steps are to be survived from a moment on; default: as many as the episode was watched for (a
            case: as in a suite), and where that decides nothing, 40 of them.
        actions: What the agent can do; None: all the environment takes, or those that the agent was trained with.
        effort: Environment steps for one moment; what is not settled by then stays open.
        engine: The engine to run on; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
    """
    with borrowed_engine(task, {agent.name: agent}, engine, backend, workers) as runner:
        failed = failed_episode(runner, agent, episode, length)
        actions = own_actions(agent) if actions is None else actions
        [explanation] = explain_episodes(runner, [failed], length=length, actions=actions, effort=effort)
        if length is None and explanation is not None and _may_be_nearer(explanation):
            [nearer] = explain_episodes(runner, [failed], length=SHORTEST_WATCH, actions=actions, effort=effort)
            explanation = later(explanation, nearer)
    if explanation is None:
        raise NotReproducible(
            f"task {task.label}: the actions of this episode no longer end unsafe; the environment is not the one in "
            f"which it failed"
        )
    return explanation


def _may_be_nearer(why: Explanation) -> bool:
    """Whether asking for fewer steps may say more: hundreds are survived only by who steers well."""
    return why.drop is None and why.cause is None and not why.proven and why.horizon > SHORTEST_WATCH


def later(one: Explanation, other: Explanation | None) -> Explanation:
    """Of two explanations of an episode the one by whose escapes it was lost later; of equals the first."""
    if other is None or other.depth is None:
        return one
    return other if one.depth is None or other.depth > one.depth else one


def failed_episode(engine: Engine, agent: Agent, failure: Failure, length: int | None = None) -> Episode:
    """The failed episode that is meant."""
    if isinstance(failure, SearchedFailure):
        failure = failure.episode
    if isinstance(failure, FailingCase):
        if not failure.failing_episodes:
            raise UsageError("this case did not fail, so there is nothing to explain; take one of result.failing_cases")
        return failure.failing_episodes[0]
    if isinstance(failure, CaseToRun):
        watch = choose_watch(engine.task, len(failure.prefix), length)
        rollout = Rollout(start=failure.prefix, agent=agent.name, length=watch.steps, fixed_prefix=True)
        [failure] = engine.run([rollout])
    if not isinstance(failure, Episode):
        raise UsageError(
            f"an episode, a failing case, a case or a found failure can be explained, not {type(failure).__name__}; "
            f"take one of result.failing_cases"
        )
    if failure.outcome is not Outcome.UNSAFE:
        raise UsageError(f"this episode ended {failure.outcome}, not unsafe, so there is nothing to explain")
    return failure


def explain_episodes(
    engine: Engine,
    episodes: Sequence[Episode],
    *,
    length: int | None = None,
    actions: Sequence[Action] | None = None,
    references: Sequence[Sequence[Action]] = (),
    effort: int = EFFORT,
    limit: float = math.inf,
    known: Sequence[Mapping[int, Survival]] = (),
    learn: bool = True,
    exact: bool = True,
) -> list[Explanation | None]:
    """Why each failed; None where the actions no longer end unsafe. Neighbours share what they find out.

    ``references``: of each episode the way that it began on, where there is one. ``limit``: where nothing is random,
    steps after which nothing more is asked about an episode. ``known``: of each episode what is known of some of its
    moments, by depth. ``learn``: where chance decides, whether to try a model of
    the task; False where that was done. ``exact``: whether what names situations is to be trusted.
    """
    every = engine.task.possible_actions if actions is None else tuple(actions)
    may = engine.task.search_actions if every is None else every
    if not engine.deterministic:
        return [_by_chance(engine, each, _watch(each, length), may, effort, learn) for each in episodes]
    ways = [tuple(way) for way in references] or [()] * len(episodes)
    parts: list[list[int]] = []
    for place, episode in enumerate(episodes):
        last = parts[-1] if parts else []
        alike = bool(last) and ways[last[0]] == ways[place]
        if (
            not 0 < len(last) < EPISODES_AT_A_TIME
            or not alike
            or _watch(episodes[last[0]], length) != _watch(episode, length)
        ):
            parts.append([])
        parts[-1].append(place)
    work = [
        BlameTask(
            traces=tuple(episodes[place].trace for place in part),
            escapes=EscapeTask(
                prefixes=(),
                reference=ways[part[0]],
                actions=may,
                deterministic=True,
                provable=every is not None,
                length=_watch(episodes[part[0]], length),
                steps_per_case=effort,
                exact=exact,
            ),
            limit=limit,
            known=tuple(known[place] for place in part) if known else (),
        )
        for part in parts
    ]
    blames = [blame for found in engine.map(find_blame, work) for blame in found]
    return [
        _explanation(episode, _watch(episode, length), blame) for episode, blame in zip(episodes, blames, strict=True)
    ]


def _by_chance(
    engine: Engine, episode: Episode, length: int, actions: tuple[Action, ...], effort: int, learn: bool
) -> Explanation:
    """By a model of the task where one can be learnt, or by looking at each decision."""
    learnt = explain_by_learning(engine, episode, length, actions, effort) if learn else None
    return learnt or explain_by_chance(engine, episode, length, actions, effort)


def _watch(episode: Episode, length: int | None) -> int:
    return length or episode.rollout.length or SHORTEST_WATCH


def _explanation(episode: Episode, horizon: int, blame: Blame) -> Explanation | None:
    if blame.ended_otherwise:
        return None
    depth, trace, handover = blame.depth, episode.trace, episode.prefix_steps
    watched = episode.rollout.length
    return Explanation(
        trace=trace,
        handover=handover,
        horizon=horizon,
        shortened=watched is None or horizon < watched,
        depth=depth,
        action=None if depth is None else trace.actions[depth],
        better=tuple(blame.better),
        witnesses=_witnesses(trace, depth, blame.better),
        doomed=blame.doomed,
        unsettled=blame.unsettled,
        agents_fault=_fault(blame, handover),
        proven=blame.first_doomed == (0 if depth is None else depth + 1),
        key=blame.key,
        observation=blame.observation,
        reach=blame.reach,
        curve=blame.curve,
        steps=blame.steps,
    )


def _witnesses(
    trace: ActionTrace, depth: int | None, better: Mapping[Action, tuple[Action, ...]]
) -> dict[Action, ActionTrace]:
    if depth is None:
        return {}
    return {action: trace.prefix(depth).then((action, *rest)) for action, rest in better.items()}


def _fault(blame: Blame, handover: int) -> bool | None:
    """Whether somebody could have survived from hand-over on; None where that was not settled."""
    if blame.depth is not None and blame.depth >= handover:
        return True
    return False if blame.first_doomed <= handover else None
