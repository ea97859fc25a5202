"""The engine: rollouts in, episodes out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from tightrope.agents.agent import Agent
from tightrope.display import Shown
from tightrope.errors import UsageError
from tightrope.execution.backends.backend import Backend
from tightrope.execution.backends.opening import BackendRequest, open_backend, require_backend
from tightrope.execution.counters import Counters
from tightrope.execution.prefixes.memory_limit import default_memory_limit
from tightrope.execution.rollout import Episode, Rollout
from tightrope.execution.scheduling.runner import Runner
from tightrope.guards.watchdog import limit_here, time_limited
from tightrope.settings import LIBRARY_BACKEND, BackendName, ExecutionConfig
from tightrope.simulation import RandomnessMet, conformance_of, turn_stochastic
from tightrope.tasks.task import Task

T = TypeVar("T")


class Engine(Shown):
    """Runs rollouts of one task with named agents.

    What comes out depends on the rollouts alone: not on back end, workers, lanes, memory or order.

    Args:
        task: Whose environments to run.
        agents: The agents by the names that rollouts use; more can be added later.
        backend: Where to work, by the names that ``ExecutionConfig`` lists; ``inline`` is this process.
        workers: How many processes; default: one for each core.
        ray_address: Address of a running Ray cluster; default: a local one is started.
        memory_limit: Bytes for the snapshots of all workers of a machine; default: a quarter of its memory, at most
            4 GiB.
        lanes: Episodes that a worker keeps going side by side; default: as many as pay off.
        step_timeout: Seconds that a step, a reset or an answer may take before its rollout becomes an error; 0: as long
            as it takes. Default: 300, or what the command line was given.
    """

    _shown = ("task", "agents", "deterministic")

    def __init__(
        self,
        task: Task,
        agents: Mapping[str, Agent] | None = None,
        *,
        backend: BackendName = LIBRARY_BACKEND,
        workers: int | None = ExecutionConfig.workers,
        ray_address: str | None = ExecutionConfig.ray_address,
        memory_limit: int | None = None,
        lanes: int | None = None,
        step_timeout: float | None = None,
    ) -> None:
        step_timeout = limit_here(step_timeout)
        memory_limit = default_memory_limit() if memory_limit is None else memory_limit
        _check_options(backend, workers, memory_limit, lanes, step_timeout)
        self.task = task
        self.agents: dict[str, Agent] = dict(agents or {})
        self.memory_limit = memory_limit
        with time_limited(step_timeout):
            self.conformance = conformance_of(task)
        self.deterministic = self.conformance.deterministic
        self._backend, self._workers, self._ray_address = backend, workers, ray_address
        self._lanes, self._step_timeout = lanes, step_timeout
        self._runner = Runner(self.agents, steps_per_second=self.conformance.steps_per_second)
        self._runner.begin(self._open(), deterministic=self.deterministic)
        self.is_replanned = False
        """Whether whoever runs this begins again when the task turns out to be stochastic."""
        self._found_out: dict[Hashable, Any] = {}

    @property
    def counters(self) -> Counters:
        """What was spent since this engine was made."""
        return self._runner.counters

    def add_agents(self, agents: Mapping[str, Agent]) -> None:
        """Make more agents known by name; a name stands for one agent for the life of the engine."""
        new = {name: agent for name, agent in agents.items() if name not in self.agents}
        for name, agent in agents.items():
            if name not in new and self.agents[name].fingerprint != agent.fingerprint:
                raise UsageError(f"this engine has another agent named {name!r}; give one of the two another name")
        if new:
            self.agents.update(new)
            self._runner.backend.add_agents(new)

    def run(self, rollouts: Iterable[Rollout], *, on_episode: Callable[[Episode], None] | None = None) -> list[Episode]:
        """Run all rollouts; ``on_episode`` sees each as it finishes, the list is in submission order.

        Where the task turns out to be stochastic on the way, all are run again as such.
        """
        rollouts = list(rollouts)
        try:
            return self._all(rollouts, on_episode)
        except RandomnessMet as met:
            if self.is_replanned:
                raise
            self.turn_stochastic(met)
            return self._all(rollouts, on_episode)

    def _all(self, rollouts: Sequence[Rollout], on_episode: Callable[[Episode], None] | None) -> list[Episode]:
        episodes: dict[int, Episode] = {}
        for number, episode in self._runner.episodes(rollouts):
            if on_episode is not None:
                on_episode(episode)
            episodes[number] = episode
        return [episodes[number] for number in range(len(episodes))]

    def stream(self, rollouts: Iterable[Rollout]) -> Iterator[Episode]:
        """Run all rollouts and yield the episodes in submission order, holding few of either at a time.

        Ends with RandomnessMet where the task turns out to be stochastic: what was yielded cannot be taken back.
        """
        early: dict[int, Episode] = {}
        expected = 0
        for number, episode in self._runner.episodes(rollouts, held=early.__len__):
            early[number] = episode
            while expected in early:
                yield early.pop(expected)
                expected += 1

    def expect(self, rollouts: Iterable[Rollout]) -> None:
        """Say what will be asked for later: workers that would wait for others begin with it meanwhile.

        Nothing comes out until it is asked for with ``run``, which then finds it done, or partly done. What is never
        asked for is played in vain.
        """
        self._runner.expect(rollouts)

    def map(
        self,
        function: Callable[[Task, Any], Any],
        payloads: Iterable[Any],
        on_answer: Callable[[int], None] | None = None,
    ) -> list[Any]:
        """``function(task, payload)`` for each payload, in order; an error is raised as it was.

        Args:
            function: What is to be done; workers must be able to import it.
            payloads: What it is to be done with.
            on_answer: Told how many are answered, each time that some are.
        """
        payloads = list(payloads)
        try:
            return self._runner.map(self.task, function, payloads, on_answer)
        except RandomnessMet as met:  # by what was under way, though nobody waited for it
            if self.is_replanned:
                raise
            self.turn_stochastic(met)
            return self._runner.map(self.task, function, payloads, on_answer)

    @contextmanager
    def replanned(self) -> Iterator[None]:
        """Inside, ``run`` raises RandomnessMet instead of running everything again by itself."""
        before, self.is_replanned = self.is_replanned, True
        try:
            yield
        finally:
            self.is_replanned = before

    def turn_stochastic(self, met: RandomnessMet) -> None:
        """Take the task for stochastic from now on, and forget what was executed once for many."""
        if self.deterministic:
            self.conformance, self.deterministic = turn_stochastic(self.task, str(met)), False
            self._runner.backend.close()
            self._runner.begin(self._open(), deterministic=False)
            self._found_out.clear()

    def once(self, key: Hashable, find_out: Callable[[], T]) -> T:
        """What depends on the task and not on the agent, found out once for all who share the engine."""
        if key not in self._found_out:
            self._found_out[key] = find_out()
        found: T = self._found_out[key]
        return found

    def close(self) -> None:
        """Stop workers and close environments."""
        self._runner.backend.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _open(self) -> Backend:
        request = BackendRequest(
            task=self.task,
            agents=self.agents,
            conformance=self.conformance,
            workers=self._workers,
            address=self._ray_address,
            memory_limit=self.memory_limit,
            lanes=self._lanes,
            step_timeout=self._step_timeout,
        )
        return open_backend(self._backend, request)


def _check_options(
    backend: BackendName, workers: int | None, memory_limit: int, lanes: int | None, step_timeout: float
) -> None:
    require_backend(backend)
    ExecutionConfig.require(workers=workers, step_timeout=step_timeout)
    if lanes is not None and lanes < 1:
        raise UsageError(f"lanes must be 1 or more, not {lanes}; leave it out to have it chosen by measurement")
    if memory_limit < 0:
        raise UsageError(f"memory_limit is a number of bytes, 0 or more, not {memory_limit}")
