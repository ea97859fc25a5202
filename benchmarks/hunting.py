"""Ways to look for failures, each of which stops when its steps are spent: what ``failures.py`` sets side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import gymnasium as gym
import numpy as np

import tightrope as tr
from tightrope.seeding import derive_seed, generator
from tightrope.settings import FailureMethod

WATCH = 100
ROUNDS = 8
PLAIN, UNIFORM = "plain episodes", "uniform states"
OURS = ("boundary states, searched references", "boundary states, own runs", "failure search", "auto")


class Counted(gym.Wrapper[Any, Any, Any, Any]):
    """Counts every step that is made in any environment of the task."""

    steps = 0
    seen: list[Any] | None = None
    """What was observed, while somebody wants to know."""

    def step(self, action: Any) -> Any:
        """Count it."""
        Counted.steps += 1
        answer = self.env.step(action)
        if Counted.seen is not None:
            Counted.seen.append(answer[0])
        return answer


def counted(make_env: Callable[[], Any]) -> Any:
    return Counted(make_env())


@dataclass
class Hunt:
    """One way to look for failures, and what it has found."""

    task: tr.Task
    agent: Any
    engine: tr.Engine
    steps: int
    seed: int
    failed: list[tr.Episode] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.begun = Counted.steps

    @property
    def spent(self) -> int:
        """Steps so far."""
        return Counted.steps - self.begun

    def play(self, starts: Iterator[tr.ActionTrace] | Sequence[tr.ActionTrace], length: int | None = WATCH) -> None:
        """Let the agent go on from these situations while steps last."""
        for start in starts:
            if self.spent >= self.steps:
                return
            self.played(start, length)

    def played(self, start: tr.ActionTrace, length: int | None = WATCH) -> tr.Episode:
        """One episode from there; one that fails after hand-over is kept."""
        seed = derive_seed("hunt", self.seed, start.id)
        rollout = tr.Rollout(start=start, agent=self.agent.name, length=length, seed=seed, fixed_prefix=True)
        [episode] = self.engine.run([rollout])
        if episode.reached_handover and episode.outcome is tr.Outcome.UNSAFE:
            self.failed.append(episode)
        return episode

    def cases(self, suite: tr.TestSuite) -> list[tr.ActionTrace]:
        """The situations of a suite in drawn order: the first are no worse a sample than all."""
        order = generator("hunt", self.seed).permutation(len(suite.cases))
        return [suite.cases[place].prefix for place in order]


def plain_episodes(hunt: Hunt) -> None:
    """From one reset after the other."""
    resets = (derive_seed("plain hunt", hunt.seed, number) for number in range(hunt.steps))
    hunt.play((tr.ActionTrace(hunt.task.label, reset) for reset in resets), length=None)


def uniform_states(hunt: Hunt) -> None:
    """Of the agent's own runs and of searched ways, again with others while steps last."""
    for number in range(ROUNDS):
        if hunt.spent >= hunt.steps:
            return
        seed = derive_seed("round", hunt.seed, number)
        budget = tr.Budget(steps=(hunt.steps - hunt.spent) // 4)
        references = tr.find_references(hunt.task, 4, [hunt.agent], budget, seed, probe=False, engine=hunt.engine)
        if references:
            hunt.play(hunt.cases(tr.uniform_suite(references, 400, seed)))


def random_prefixes(hunt: Hunt) -> None:
    """Of up to 40 actions."""
    hunt.play([case.prefix for case in tr.random_suite(hunt.task, 2_000, hunt.seed).cases])


def searched_references(hunt: Hunt) -> None:
    """Boundary states of ways that searches found."""
    _boundary_states(hunt, [])


def own_runs(hunt: Hunt) -> None:
    """Boundary states of the agent's runs."""
    _boundary_states(hunt, [hunt.agent])


def _boundary_states(hunt: Hunt, agents: list[Any]) -> None:
    """Again with other references while steps last: half of what is left for finding, half for playing."""
    for number in range(ROUNDS):
        if hunt.spent >= hunt.steps:
            return
        budget = tr.Budget(steps=(hunt.steps - hunt.spent) // 2)
        seed = derive_seed("round", hunt.seed, number)
        references = tr.find_references(hunt.task, 4, agents, budget, seed, engine=hunt.engine)
        if references:
            hunt.play(hunt.cases(tr.interval_suite(references, 1)))


def failure_search(hunt: Hunt, method: FailureMethod = "search") -> None:
    """Small disturbances of the agent's runs."""
    found = tr.search_failures(
        hunt.task,
        hunt.agent,
        tr.Budget(steps=hunt.steps),
        hunt.seed,
        method=method,
        length=WATCH,
        judging=0,
        engine=hunt.engine,
    )
    hunt.failed += [failure.episode for failure in found.failures]


def auto(hunt: Hunt) -> None:
    """Plain episodes or disturbances, whichever brings more."""
    failure_search(hunt, "auto")


def mdpfuzz(hunt: Hunt) -> None:
    """What mdpfuzz mutates here are prefixes of up to 40 actions: they are all that every task lets one choose."""
    from mdpfuzz.executor import Executor
    from mdpfuzz.mdpfuzz import Fuzzer

    actions, longest = hunt.task.search_actions, 40

    class OnPrefixes(Executor):
        def generate_inputs(self, rng: Any, n: int) -> Any:
            return rng.random((n, longest + 1))

        def generate_input(self, rng: Any) -> Any:
            return rng.random(longest + 1)

        def mutate(self, input: Any, rng: Any, **options: Any) -> Any:
            return np.where(rng.random(len(input)) < 0.1, rng.random(len(input)), input)

        def load_policy(self, **options: Any) -> Any:
            return None

        def execute_policy(self, input: Any, policy: Any) -> Any:
            if hunt.spent >= hunt.steps:
                raise StopIteration
            played = [actions[int(part * len(actions))] for part in input[1 : 2 + int(input[0] * longest)]]
            Counted.seen = []
            episode = hunt.played(tr.ActionTrace(hunt.task.label, hunt.task.seed).then(played))
            seen = np.array([np.ravel(np.asarray(each, float)) for each in Counted.seen or [0.0]])
            failed = episode.reached_handover and episode.outcome is tr.Outcome.UNSAFE
            return float(episode.total_reward), failed, seen, 0.0

    with suppress(StopIteration), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        Fuzzer(hunt.seed, 5, 0.1, 0.1, OnPrefixes(WATCH)).fuzzing(20, test_budget=hunt.steps)
    Counted.seen = None


WAYS: dict[str, Callable[[Hunt], None]] = {
    PLAIN: plain_episodes,
    "random prefixes": random_prefixes,
    UNIFORM: uniform_states,
    OURS[0]: searched_references,
    OURS[1]: own_runs,
    OURS[2]: failure_search,
    OURS[3]: auto,
    "mdpfuzz": mdpfuzz,
}
