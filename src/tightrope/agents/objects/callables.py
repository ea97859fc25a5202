"""Agents written in Python: a function of one observation, of a batch, or an object with ``predict`` or ``act``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.agents.agent import Agent, Answer
from tightrope.agents.behaviour import Behaviour, random_action, replaced_by_noise, require_available, stream
from tightrope.agents.networks.batch_invariance import REFERENCE_SIZE, Arrays
from tightrope.agents.objects.asking import named_parameters, way_of_asking
from tightrope.agents.objects.fingerprints import object_fingerprint
from tightrope.agents.objects.nature import examined
from tightrope.agents.objects.steadiness import require_steady
from tightrope.agents.observations import ObservationStacker
from tightrope.agents.sources.loaders import AgentLoader, AgentRequest
from tightrope.agents.spaces import TaskSpaces
from tightrope.agents.wrapped import NamedAgent
from tightrope.display import Shown
from tightrope.errors import AgentError, AgentFailure, TaskError
from tightrope.guards.calls import calls_out
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

    @calls_out("agent {self.name!r}", function="its answer")
    def _ask(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except AgentFailure as error:
            raise AgentFailure(f"agent {self.name!r}: {error}") from error
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
            told = f"agent {self.name!r}: {error}. Let the function take `mask` and keep to it"
            raise type(error)(told) from error
        return encoded

    def _outside(self, action: Any) -> AgentFailure:
        return AgentFailure(
            f"agent {self.name!r} answered {action!r}, and the action space of task {self._spaces.task} is "
            f"{self._spaces.action}"
        )

    def _chosen(self, answer: Any, generator: np.random.Generator | None, mask: Any) -> Action:
        """The agent's action, or a random one with probability epsilon, instead of which it is not even looked at."""
        if self.behaviour.epsilon > 0:
            numbers = stream(generator, self.name)
            if replaced_by_noise(self.behaviour.epsilon, numbers):
                return random_action(self._spaces.action, numbers, mask)
        return self._checked(answer, mask)


class ObjectAgent(PythonAgent):
    """A function, or an object with ``act`` or ``predict``, asked about one observation at a time.

    ``function(observation) -> action``. It may also take, by name, ``generator`` or ``rng`` (the random stream of the
    episode), ``mask`` (the available actions) and ``memory`` (None at an episode's start; it then returns
    ``(action, memory)``). ``predict`` is asked as those of Stable-Baselines3 are.
    """

    def __init__(self, thing: Any, spaces: TaskSpaces, behaviour: Behaviour, **identity: str) -> None:
        super().__init__(spaces, behaviour, **identity)
        asking = way_of_asking(thing, self.name)
        self._subject = examined(thing, asking, spaces, self.name)
        self.recurrent = self._subject.nature.remembers
        self.deterministic = self.deterministic and not (asking.takes_stream or self._subject.nature.draws)

    def act(
        self,
        observations: Sequence[Any],
        memories: Sequence[Any],
        generators: Sequence[np.random.Generator | None],
        masks: Sequence[Any],
    ) -> Answer:
        """Ask once for each observation."""
        actions, remembered = [], []
        for observation, memory, generator, mask in zip(observations, memories, generators, masks, strict=True):
            numbers = None if self.deterministic else stream(generator, self.name)
            answer, memory = self._ask(self._subject.ask, observation, memory, numbers, mask)
            actions.append(self._chosen(answer, generator, mask))
            remembered.append(memory if self.recurrent else None)
        return Answer(actions, remembered)


class BatchAgent(PythonAgent):
    """``function(observations) -> actions`` on stacked observations; it may also take ``generators`` and ``masks``.

    It is always asked for the same number of rows, the last block padded: inside it may run a network whose last
    digits, and so whose choice between two equals, depend on the number of rows. With ``generators`` it is asked row by
    row, since padding rows must not draw from anyone's stream.
    """

    def __init__(self, function: Callable[..., Any], spaces: TaskSpaces, behaviour: Behaviour, **identity: str) -> None:
        super().__init__(spaces, behaviour, **identity)
        self.function = function
        self._takes = named_parameters(function, ("generators", "masks"))
        self.deterministic = self.deterministic and "generators" not in self._takes
        self._size = 1 if "generators" in self._takes else REFERENCE_SIZE
        self._stack = ObservationStacker(spaces.observation)
        require_steady(self, spaces, function)

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
            self._chosen(answer, generator, mask)
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


def _within(space: gym.Space[Any], action: Any) -> bool:
    if isinstance(space, gym.spaces.Box | gym.spaces.MultiDiscrete | gym.spaces.MultiBinary):
        return bool(space.contains(np.asarray(action, dtype=space.dtype)))
    return True


def _load_complete(request: AgentRequest) -> Agent:
    agent: Agent = request.source
    if request.behaviour != Behaviour():
        raise AgentError(f"agent {agent.name!r} is already a finished agent; behaviour and epsilon do not apply to it")
    require_steady(agent, request.spaces)
    return agent if request.name in (None, agent.name) else NamedAgent(agent, request.name)


def _can_be_asked(source: Any) -> bool:
    return callable(source) or any(callable(getattr(source, method, None)) for method in ("predict", "act"))


def _load_object(request: AgentRequest) -> Agent:
    source, style = request.source, request.behaviour
    if isinstance(source, type):
        raise AgentError(f"{source.__name__} is a class; give an object of it: {source.__name__}()")
    identity = {
        "name": request.name or str(getattr(source, "__name__", type(source).__name__)),
        "fingerprint": object_fingerprint(source, style, request.batch),
    }
    return (BatchAgent if request.batch else ObjectAgent)(source, request.spaces, style, **identity)


COMPLETE = AgentLoader(accepts=lambda source: isinstance(source, Agent), load=_load_complete)
OBJECTS = AgentLoader(accepts=_can_be_asked, load=_load_object, uses=("batch",))
