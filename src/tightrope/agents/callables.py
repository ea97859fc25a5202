"""Agents written in Python: a function of one observation, of a batch, or an object with ``predict``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.agents.agent import Agent, Answer
from tightrope.agents.behaviour import Behaviour, random_action, replaced_by_noise, require_available, stream
from tightrope.agents.fingerprints import object_fingerprint
from tightrope.agents.loaders import AgentLoader, AgentRequest
from tightrope.agents.networks.batch_invariance import REFERENCE_SIZE, Arrays
from tightrope.agents.observations import ObservationStacker
from tightrope.agents.spaces import TaskSpaces
from tightrope.display import Shown
from tightrope.errors import AgentError, AgentFailure, TaskError
from tightrope.guards.faults import misdeed
from tightrope.tasks.observations import own_copy
from tightrope.tasks.spaces import encode_action
from tightrope.trace import Action


class PythonAgent(Shown):
    """What the agents of this file share: noise, checked actions, and errors that name the agent."""

    _shown = ("name", "behaviour", "deterministic", "recurrent", "fingerprint")

    recurrent = False

    def __init__(self, spaces: TaskSpaces, behaviour: Behaviour, *, name: str, fingerprint: str) -> None:
        if behaviour.kind != "greedy":
            raise AgentError(
                f"agent {name!r} is a Python object that chooses by itself, so behaviour={behaviour.kind!r} means "
                f"nothing to it; leave it out, or let the function take `generator` and draw from it"
            )
        self.name, self.fingerprint, self.behaviour = name, fingerprint, behaviour
        self.deterministic = not behaviour.random
        self._spaces = spaces

    def _ask(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except BaseException as error:
            raise AgentFailure(f"agent {self.name!r} {misdeed(error)}") from error

    def _checked(self, action: Any, mask: Any) -> Action:
        """The action in hashable form, if the task's action space holds it and the mask allows it."""
        space = self._spaces.action
        try:
            encoded = encode_action(space, action)
        except (TaskError, TypeError, ValueError, KeyError) as error:
            raise self._outside(action) from error
        if not _within(space, action):
            raise self._outside(action)
        try:
            require_available(space, encoded, mask)
        except AgentFailure as error:
            raise AgentFailure(f"agent {self.name!r}: {error}. Let the function take `mask` and keep to it") from error
        return encoded

    def _outside(self, action: Any) -> AgentFailure:
        return AgentFailure(
            f"agent {self.name!r} answered {action!r}, and the action space of task {self._spaces.task} is "
            f"{self._spaces.action}"
        )

    def _with_noise(self, action: Callable[[], Action], generator: np.random.Generator | None, mask: Any) -> Action:
        """The agent's action, or a random one with probability epsilon."""
        if self.behaviour.epsilon > 0:
            numbers = stream(generator, self.name)
            if replaced_by_noise(self.behaviour.epsilon, numbers):
                return random_action(self._spaces.action, numbers, mask)
        return action()


class CallableAgent(PythonAgent):
    """``function(observation) -> action``.

    It may also take ``generator`` (the random stream of the episode), ``mask`` (the available actions) and ``memory``
    (None at an episode's start; it then returns ``(action, memory)``), each by name.
    """

    def __init__(self, function: Callable[..., Any], spaces: TaskSpaces, behaviour: Behaviour, **identity: str) -> None:
        super().__init__(spaces, behaviour, **identity)
        self.function = function
        self._takes = extra_parameters(function, ("generator", "mask", "memory"))
        self.recurrent = "memory" in self._takes
        self.deterministic = self.deterministic and "generator" not in self._takes

    def act(
        self,
        observations: Sequence[Any],
        memories: Sequence[Any],
        generators: Sequence[np.random.Generator | None],
        masks: Sequence[Any],
    ) -> Answer:
        """Ask the function once for each observation."""
        actions, remembered = [], []
        for observation, memory, generator, mask in zip(observations, memories, generators, masks, strict=True):
            answer, memory = self._answer(observation, memory, generator, mask)
            chosen = self._with_noise(lambda answer=answer, mask=mask: self._checked(answer, mask), generator, mask)  # type: ignore[misc]
            actions.append(chosen)
            remembered.append(memory)
        return Answer(actions, remembered)

    def _answer(self, observation: Any, memory: Any, generator: np.random.Generator | None, mask: Any) -> Any:
        known = {"memory": memory, "mask": own_copy(mask), "generator": generator}
        if "generator" in self._takes:
            known["generator"] = stream(generator, self.name)
        options = {parameter: known[parameter] for parameter in self._takes}
        answer = self._ask(self.function, own_copy(observation), **options)
        if not self.recurrent:
            return answer, None
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise AgentFailure(
                f"agent {self.name!r} takes `memory`, so it must return (action, memory); it returned {answer!r}"
            )
        return answer


class BatchAgent(PythonAgent):
    """``function(observations) -> actions`` on stacked observations; it may also take ``generators`` and ``masks``.

    It is always asked for the same number of rows, the last block padded: inside it may run a network whose last
    digits, and so whose choice between two equals, depend on the number of rows. With ``generators`` it is asked row by
    row, since padding rows must not draw from anyone's stream.
    """

    def __init__(self, function: Callable[..., Any], spaces: TaskSpaces, behaviour: Behaviour, **identity: str) -> None:
        super().__init__(spaces, behaviour, **identity)
        self.function = function
        self._takes = extra_parameters(function, ("generators", "masks"))
        self.deterministic = self.deterministic and "generators" not in self._takes
        self._size = 1 if "generators" in self._takes else REFERENCE_SIZE
        self._stack = ObservationStacker(spaces.observation)

    def act(
        self,
        observations: Sequence[Any],
        memories: Sequence[Any],
        generators: Sequence[np.random.Generator | None],
        masks: Sequence[Any],
    ) -> Answer:
        """Ask the function once for each block of observations."""
        answers: list[Any] = []
        for start in range(0, len(observations), self._size):
            rows = slice(start, start + self._size)
            answers += self._block(observations[rows], generators[rows], masks[rows])
        actions = [
            self._with_noise(lambda answer=answer, mask=mask: self._checked(answer, mask), generator, mask)  # type: ignore[misc]
            for answer, generator, mask in zip(answers, generators, masks, strict=True)
        ]
        return Answer(actions, [None] * len(actions))

    def _block(self, observations: Sequence[Any], generators: Sequence[Any], masks: Sequence[Any]) -> list[Any]:
        number, missing = len(observations), self._size - len(observations)
        padded = {"generators": list(generators), "masks": [own_copy(mask) for mask in [*masks, *[masks[0]] * missing]]}
        stacked = self._stack([*observations, *[observations[0]] * missing])
        options = {parameter: padded[parameter] for parameter in self._takes}
        answers = self._ask(self.function, self._shaped(stacked), **options)
        if len(answers) != self._size:
            raise AgentFailure(
                f"agent {self.name!r} was asked about {self._size} observations at once and gave {len(answers)} "
                f"answers; a function of one observation is given without batch=True"
            )
        return list(answers)[:number]

    def _shaped(self, stacked: Arrays) -> Any:
        space = self._spaces.observation
        if isinstance(space, gym.spaces.Dict):
            return {part.name: rows for part, rows in zip(self._stack.parts, stacked, strict=True)}
        return stacked if isinstance(space, gym.spaces.Tuple) else stacked[0]


class PredictorAgent(PythonAgent):
    """An object with ``predict(observation, state=…, deterministic=True) -> (action, state)``, asked row by row."""

    def __init__(self, predictor: Any, spaces: TaskSpaces, behaviour: Behaviour, **identity: str) -> None:
        super().__init__(spaces, behaviour, **identity)
        self.predictor = predictor
        self._takes = extra_parameters(predictor.predict, ("state", "episode_start", "deterministic"))
        self.recurrent = self._keeps_state()

    def act(
        self,
        observations: Sequence[Any],
        memories: Sequence[Any],
        generators: Sequence[np.random.Generator | None],
        masks: Sequence[Any],
    ) -> Answer:
        """Ask the object once for each observation."""
        actions, remembered = [], []
        for observation, memory, generator, mask in zip(observations, memories, generators, masks, strict=True):
            answer, state = self._predict(observation, memory)
            chosen = self._with_noise(lambda answer=answer, mask=mask: self._checked(answer, mask), generator, mask)  # type: ignore[misc]
            actions.append(chosen)
            remembered.append(state if self.recurrent else None)
        return Answer(actions, remembered)

    def _predict(self, observation: Any, state: Any) -> Any:
        known = {"state": state, "episode_start": np.array([state is None]), "deterministic": True}
        options = {parameter: known[parameter] for parameter in self._takes}
        answer = self._ask(self.predictor.predict, own_copy(observation), **options)
        return answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)

    def _keeps_state(self) -> bool:
        if "state" not in self._takes:
            return False
        return self._predict(self._spaces.sample_observations(1)[0], None)[1] is not None


def extra_parameters(function: Callable[..., Any], offered: Sequence[str]) -> tuple[str, ...]:
    """Which of the offered keyword arguments a function names."""
    try:
        named = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ()
    return tuple(name for name in offered if name in named)


def _within(space: gym.Space[Any], action: Any) -> bool:
    if isinstance(space, gym.spaces.Box | gym.spaces.MultiDiscrete | gym.spaces.MultiBinary):
        return bool(space.contains(np.asarray(action, dtype=space.dtype)))
    return True


def _load_complete(request: AgentRequest) -> Agent:
    agent: Agent = request.source
    if request.behaviour != Behaviour():
        raise AgentError(f"agent {agent.name!r} is complete already; behaviour and epsilon do not apply to it")
    return agent


def _load_object(request: AgentRequest) -> Agent:
    source, style = request.source, request.behaviour
    identity = {
        "name": request.name or str(getattr(source, "__name__", type(source).__name__)),
        "fingerprint": object_fingerprint(source, style, request.batch),
    }
    if hasattr(source, "predict"):
        return PredictorAgent(source, request.spaces, style, **identity)
    return (BatchAgent if request.batch else CallableAgent)(source, request.spaces, style, **identity)


COMPLETE = AgentLoader(accepts=lambda source: isinstance(source, Agent), load=_load_complete)
OBJECTS = AgentLoader(accepts=lambda source: hasattr(source, "predict") or callable(source), load=_load_object)
