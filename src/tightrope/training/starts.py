"""``SituationStarts``: an environment whose episodes begin, every so often, in given situations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np

from tightrope.errors import UnknownName, UsageError
from tightrope.seeding import generator
from tightrope.tasks.task import Task, Transition
from tightrope.training.placing import Placer
from tightrope.training.situations import Situation, situations_from

WEIGHTS = ("equal", "fails", "adaptive")
NEVER_FORGOTTEN = 0.1
"""What an adaptive weight keeps of a situation that always passes: an agent may unlearn it."""
FOLLOWING = 0.2
"""How far an adaptive weight goes towards the latest result."""
NORMAL_START = -1
"""``info["situation"]`` of an episode that began at a plain reset."""


class SituationStarts(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Begins a share of the episodes in one of the situations, put back exactly; the others at a plain reset.

    It goes outermost: wrappers inside it, frame stacks and time limits included, are put back with the situation.
    ``info["situation"]`` at reset and in the last step of an episode is the number of the situation it began in, or -1
    for a plain reset, so that returns from plain starts can be logged apart.

    Args:
        env: The environment to train on, or a task, whose environment is then opened.
        situations: Where to begin: what ``situations_from`` takes, or what it returned.
        share: The share of episodes that begin in a situation.
        seed: Of the choice of starts; ``reset(seed=…)`` sets it anew, as Gymnasium has it.
        weights: How a situation is chosen: ``"equal"``, ``"fails"`` (by its weight, the share of executions that failed
            from there) or ``"adaptive"`` (by weight at first, then more where training still fails).
        unsafe: What failing is, for adaptive weights; default: the task's own.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any] | Task,
        situations: Any,
        share: float = 0.5,
        seed: int | None = None,
        *,
        weights: str = "fails",
        unsafe: Callable[[Transition], bool] | None = None,
    ) -> None:
        task = env if isinstance(env, Task) else None
        gym.utils.RecordConstructorArgs.__init__(
            self, situations=situations, share=share, seed=seed, weights=weights, unsafe=unsafe
        )
        gym.Wrapper.__init__(self, task.open_env() if task is not None else _environment(env))
        self.situations: tuple[Situation, ...] = situations_from(situations)
        _check(self.situations, share, weights)
        self.share, self.weights = share, weights
        self._unsafe = unsafe or (None if task is None else task.unsafe)
        if weights == "adaptive" and self._unsafe is None:
            raise UsageError("adaptive weights need to know what failing is; give a Task, or unsafe=f(transition)")
        self._placer = Placer(self.env, task)
        self._rng = generator("situation starts", seed if seed is not None else np.random.SeedSequence().entropy)
        self._chances = _begun(self.situations, weights)
        self._current = NORMAL_START

    @property
    def chances(self) -> tuple[float, ...]:
        """How likely each situation is chosen at the next start from a situation."""
        return tuple(self._chances / self._chances.sum())

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; ``options={"situation": 3}`` asks for a certain situation, -1 for a plain reset."""
        if seed is not None:
            self._rng = generator("situation starts", seed)
        wanted = dict(options or {}).pop("situation", None)
        self._current = self._chosen() if wanted is None else self._asked_for(wanted)
        if self._current == NORMAL_START:
            observation, info = self.env.reset(seed=seed, options=_without_ours(options))
        else:
            if seed is not None:
                self.env.reset(seed=seed)
            fresh = int(self._rng.integers(2**31))
            observation, info = self._placer.put(self.situations[self._current].trace, fresh)  # type: ignore[assignment]
        return observation, {**info, "situation": self._current}

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """One step; the last one of an episode says where it began."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            info = {**info, "situation": self._current}
            self._learn(Transition(observation, float(reward), bool(terminated), bool(truncated), info))
        return observation, reward, terminated, truncated, info

    def _chosen(self) -> int:
        if self._rng.random() >= self.share:
            return NORMAL_START
        return int(self._rng.choice(len(self.situations), p=self._chances / self._chances.sum()))

    def _asked_for(self, wanted: Any) -> int:
        if wanted not in range(NORMAL_START, len(self.situations)):
            raise UsageError(f"there are situations 0 … {len(self.situations) - 1}, and -1 for a reset, not {wanted!r}")
        return int(wanted)

    def _learn(self, end: Transition) -> None:
        if self.weights != "adaptive" or self._current == NORMAL_START or self._unsafe is None:
            return
        failed = float(self._unsafe(end))
        kept = (self._chances[self._current] - NEVER_FORGOTTEN) * (1 - FOLLOWING)
        self._chances[self._current] = NEVER_FORGOTTEN + kept + FOLLOWING * failed


def _environment(env: Any) -> gym.Env[Any, Any]:
    if not isinstance(env, gym.Env):
        raise UsageError(f"SituationStarts takes a Gymnasium environment or a Task, not {type(env).__name__}")
    return env


def _check(situations: Sequence[Situation], share: float, weights: str) -> None:
    if weights not in WEIGHTS:
        raise UnknownName("way to weigh situations", weights, WEIGHTS)
    if not 0 <= share <= 1:
        raise UsageError(f"share is a part of the episodes, from 0 to 1, not {share}")
    if not situations and share > 0:
        raise UsageError("there are no situations to begin in; a result without fails has none, a suite has its cases")


def _begun(situations: Sequence[Situation], weights: str) -> Any:
    told = np.array([situation.weight for situation in situations], dtype=np.float64)
    if weights == "equal" or told.sum() <= 0:
        return np.ones(len(situations))
    return np.maximum(told, NEVER_FORGOTTEN) if weights == "adaptive" else told


def _without_ours(options: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if options is None:
        return None
    return {name: value for name, value in options.items() if name != "situation"}
