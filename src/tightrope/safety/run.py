"""Running suites: rollouts out, episodes in; the judge does the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tightrope.agents import Agent, own_actions
from tightrope.errors import TaskError, UsageError
from tightrope.execution import (
    Engine,
    Episode,
    EpisodeError,
    ErrorKind,
    Rollout,
    begun_again_if_stochastic,
    borrowed_engine,
)
from tightrope.exploration.watch_length import choose_watch
from tightrope.outcome import Verdict
from tightrope.progress import Progress, ProgressCallback
from tightrope.safety.failing.explained_cases import explain_failures
from tightrope.safety.judging.claims import SuiteSurvival
from tightrope.safety.judging.judge import judge_episode, judge_suite
from tightrope.safety.judging.results import SafetyResult
from tightrope.safety.judging.survival import find_survival
from tightrope.safety.suites.executions import EXECUTIONS, execution_seed
from tightrope.safety.suites.replay import replayed_reference
from tightrope.safety.suites.suite import TestCase, TestSuite
from tightrope.settings import EXPLAINING_STEPS, LIBRARY_BACKEND, BackendName, SafetyConfig
from tightrope.statistics.words import count, plainly
from tightrope.tasks import Task, encode_action
from tightrope.trace import Action


@begun_again_if_stochastic
def run_suite(
    task: Task,
    agent: Agent,
    suite: TestSuite,
    repetitions: int | None = SafetyConfig.repetitions,
    length: int | None = SafetyConfig.length,
    seed: int = 0,
    *,
    fixed_prefix: bool = SafetyConfig.fixed_prefix,
    survivable: bool | SuiteSurvival = True,
    actions: Sequence[Action] | None = None,
    explain: bool | None = None,
    allow_changed: bool = False,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
    workers: int | None = None,
    on_progress: ProgressCallback | None = None,
) -> SafetyResult:
    """Put the agent into every case of the suite and watch it go on.

    Seeds come from ``seed``, the case and the repetition, so two agents meet the same randomness, and the same case in
    two suites is the same work.

    Args:
        task: The task to be solved.
        agent: The agent under test.
        suite: The cases.
        repetitions: How often each case is executed; once is enough where nothing is random. None: ten times, and
            where luck is set off against what others do with the same luck, more often in small suites.
        length: Steps to watch after hand-over; None: to the task's time limit, at most 500 (the paper: 40). The result
            can be judged at every shorter length.
        seed: Determines everything random.
        fixed_prefix: In stochastic tasks, whether the prefix leads to the very situation of the case, with fresh
            randomness after hand-over only. False: the paper's way, where the prefix itself is left to chance.
        survivable: Whether to find out what could be survived, and by whom; or what is known of that already.
        actions: What the agent can do; None: all the environment takes.
        explain: Whether to find out why each failing case failed, which ``failure_groups`` rests on; None: where
            ``survivable`` is asked and nothing is random, since elsewhere it takes up to 100,000 steps.
        allow_changed: Test even where the reference leads elsewhere than when the suite was made.
        engine: The engine to run on; default: a temporary one.
        backend: The temporary engine's back end, by name.
        workers: The temporary engine's number of processes; default: one per core.
        on_progress: Called with a ``Progress`` as the work goes on.
    """
    watch = choose_watch(task, suite.longest_way, length)
    length = watch.steps
    check_suite(task, suite, repetitions, allow_changed)
    with borrowed_engine(task, {agent.name: agent}, engine, backend, workers) as runner:
        reference = replayed_reference(runner, suite, allow_changed=allow_changed)
        if survivable is True:
            survivable = find_survival(
                runner, suite, length, seed=seed, reference=reference, actions=actions, on_progress=on_progress
            )
        known = survivable or SuiteSurvival()
        repetitions = repetitions or known.executions or EXECUTIONS
        rollouts = suite_rollouts(
            suite,
            agent.name,
            repetitions=1 if runner.deterministic and agent.deterministic else repetitions,
            length=length,
            seed=seed,
            fixed_prefix=fixed_prefix,
        )
        episodes = runner.run(rollouts, on_episode=_Counter(on_progress, suite, len(rollouts)))
        result = judge_suite(
            suite,
            [without_strange_actions(task, episode) for episode in episodes],
            agent=agent.name,
            fingerprint=agent.fingerprint,
            repetitions=repetitions,
            length=length,
            seed=seed,
            fixed_prefix=fixed_prefix,
            survival=known,
            watch=watch.why,
        )
        if (runner.deterministic and survivable is not False) if explain is None else explain:
            theirs = own_actions(agent) if actions is None else actions
            result = replace(result, explanations=explain_failures(runner, [result], theirs, EXPLAINING_STEPS))
    return result


def suite_rollouts(
    suite: TestSuite, agent: str, *, repetitions: int, length: int, seed: int, fixed_prefix: bool
) -> list[Rollout]:
    """The work of a suite: every case once, in its order, times the repetitions."""
    cases: dict[str, TestCase] = {case.id: case for case in suite.cases}
    return [
        case_rollout(case, agent, repetition, length=length, seed=seed, fixed_prefix=fixed_prefix)
        for case in cases.values()
        for repetition in range(repetitions)
    ]


def case_rollout(case: TestCase, agent: str, repetition: int, *, length: int, seed: int, fixed_prefix: bool) -> Rollout:
    """One execution of a case; its seed follows from the case and the repetition."""
    return Rollout(
        start=case.prefix,
        agent=agent,
        length=length,
        seed=execution_seed(seed, case.id, repetition),
        fixed_prefix=fixed_prefix,
    )


def check_suite(task: Task, suite: TestSuite, repetitions: int | None, allow_changed: bool) -> None:
    """The rules for running a suite."""
    SafetyConfig.require(repetitions=repetitions)
    if suite.task != task.label and not allow_changed:
        raise UsageError(
            f"the suite was made for the task {suite.task!r} and cannot test {task.label!r}; make one for this task, "
            f"or give allow_changed=True if both are the same environment"
        )


def without_strange_actions(task: Task, episode: Episode) -> Episode:
    """Some environments take any number for an action; an episode made of such is an error, not a pass."""
    if episode.error is not None:
        return episode
    for number, action in enumerate(episode.actions):
        try:
            encode_action(task.action_space, action)
        except (TaskError, TypeError, ValueError):
            answer = f"the agent's answer {action!r} in step {number + 1} after hand-over is not in {task.action_space}"
            return replace(episode, error=EpisodeError(kind=ErrorKind.AGENT, message=answer))
    return episode


class _Counter:
    """Turns finished episodes into progress."""

    def __init__(self, on_progress: ProgressCallback | None, suite: TestSuite, total: int) -> None:
        self.on_progress, self.name, self.total = on_progress, suite.name, total
        self.finished = self.fails = 0

    def __call__(self, episode: Episode) -> None:
        self.finished += 1
        self.fails += judge_episode(episode) is Verdict.FAIL
        if self.on_progress is not None:
            self.on_progress(
                Progress("safety", self.finished, self.total, f"{self.name}: {plainly(count(self.fails, 'fail'))}")
            )
