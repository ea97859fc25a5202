"""``SituationStarts``: an environment whose episodes begin, every so often, in given situations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, SupportsFloat

import gymnasium as gym

from tightrope.errors import UsageError
from tightrope.tasks.task import Task, Transition
from tightrope.training.choice import BY_FAILS, NORMAL_START, SHARE, StartChoice, StartWeights
from tightrope.training.placing import Placer
from tightrope.training.situations import Situation, SituationSource, situations_from


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
        situations: SituationSource,
        share: float = SHARE,
        seed: int | None = None,
        *,
        weights: StartWeights = BY_FAILS,
        unsafe: Callable[[Transition], bool] | None = None,
    ) -> None:
        task = env if isinstance(env, Task) else None
        self.situations: tuple[Situation, ...] = situations_from(situations)
        # Recorded too: who makes it again from its ``spec`` has the environment, and no task to ask.
        unsafe = unsafe or (None if task is None else task.unsafe)
        # What situations came from may be a whole run, which would be copied for every environment.
        gym.utils.RecordConstructorArgs.__init__(
            self, _disable_deepcopy=True, situations=self.situations, share=share, seed=seed, weights=weights,
            unsafe=unsafe,
        )  # fmt: skip
        gym.Wrapper.__init__(self, task.open_env() if task is not None else _environment(env))
        self._choice = StartChoice(self.situations, share, weights, seed)
        self._unsafe = unsafe
        if weights == "adaptive" and self._unsafe is None:
            raise UsageError("adaptive weights need to know what failing is; give a Task, or unsafe=f(transition)")
        self._placer = Placer(self.env, task)
        self._current = NORMAL_START
        self._placed = False

    @property
    def chances(self) -> tuple[float, ...]:
        """How likely each situation is chosen at the next start from a situation."""
        return self._choice.chances

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; ``options={"situation": 3}`` asks for a certain situation, -1 for a plain reset."""
        if seed is not None:
            self._choice.seed(seed)
        wanted = dict(options or {}).pop("situation", None)
        self._current = self._choice.draw() if wanted is None else self._asked_for(wanted)
        if self._current == NORMAL_START:
            # A situation brings its generators along: with them every plain episode after it would begin alike.
            fresh = self._choice.fresh_seed() if seed is None and self._placed else seed
            observation, info = self.env.reset(seed=fresh, options=_without_ours(options))
            self._placed = False
        else:
            if seed is not None:
                self.env.reset(seed=seed)
            self._placed = True
            trace, fresh = self.situations[self._current].trace, self._choice.fresh_seed()
            observation, info = self._placer.put(trace, fresh, asked_for=seed is not None)  # type: ignore[assignment]
        return observation, {**info, "situation": self._current}

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """One step; the last one of an episode says where it began."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            info = {**info, "situation": self._current}
            self._learn(Transition(observation, float(reward), bool(terminated), bool(truncated), info))
        return observation, reward, terminated, truncated, info

    def _asked_for(self, wanted: Any) -> int:
        if wanted not in range(NORMAL_START, len(self.situations)):
            raise UsageError(f"there are situations 0 … {len(self.situations) - 1}, and -1 for a reset, not {wanted!r}")
        return int(wanted)

    def _learn(self, end: Transition) -> None:
        if self._unsafe is not None:
            self._choice.learn(self._current, failed=self._unsafe(end))


def _environment(env: Any) -> gym.Env[Any, Any]:
    if not isinstance(env, gym.Env):
        raise UsageError(f"SituationStarts takes a Gymnasium environment or a Task, not {type(env).__name__}")
    return env


def _without_ours(options: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if options is None:
        return None
    return {name: value for name, value in options.items() if name != "situation"}
