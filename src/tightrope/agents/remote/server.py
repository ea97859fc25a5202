"""Agents behind HTTP: any program that answers JSON, in any language.

``GET address`` tells who answers, ``POST address`` asks about a batch. The protocol is in the documentation of agents,
and a server of some thirty lines in ``examples/agent_server.py``. What comes back is data: its size and the time it
takes are bounded, and it is checked field by field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.agents.agent import Agent, Answer
from tightrope.agents.behaviour import Behaviour, stream
from tightrope.agents.objects.callables import PythonAgent
from tightrope.agents.objects.steadiness import require_steady
from tightrope.agents.remote.exchange import Exchange, is_address
from tightrope.agents.sources.loaders import AgentLoader, AgentRequest
from tightrope.agents.spaces import TaskSpaces
from tightrope.errors import AgentError, AgentFailure, FormatError
from tightrope.files import parse_json
from tightrope.guards.calls import calls_out
from tightrope.trace import content_id

PROTOCOL = "tightrope-agent/1"
LARGEST_BATCH = 64
"""Observations in one question, unless the server wants fewer."""
SEEDS = 2**31


@dataclass(frozen=True, kw_only=True)
class Description:
    """What a server says of its agent."""

    name: str
    fingerprint: str
    """Changes whenever the answers may; stored results are believed by it."""
    deterministic: bool
    """Whether answers depend on observation and memory alone; else every question carries seeds."""
    recurrent: bool
    batch: int


def described(said: Any, address: str) -> Description:
    """A server's description, checked field by field."""
    if not isinstance(said, Mapping) or said.get("protocol") != PROTOCOL:
        raise AgentError(
            f"{address} answered {f'{said!r:.120}'}; to a GET an agent's server answers {{"
            f'"protocol": "{PROTOCOL}", "name": …, "fingerprint": …, "deterministic": true or false, …}}'
        )
    return Description(
        name=_field(said, "name", str, address),
        fingerprint=_field(said, "fingerprint", str, address),
        deterministic=_field(said, "deterministic", bool, address),
        recurrent=_field(said, "recurrent", bool, address, default=False),
        batch=min(LARGEST_BATCH, _field(said, "batch", int, address, default=LARGEST_BATCH)),
    )


def _field(said: Mapping[str, Any], name: str, kind: type[Any], address: str, *, default: Any = None) -> Any:
    value = said.get(name, default)
    wanted = {str: "a text of 1 to 200 characters", bool: "true or false", int: "a whole number from 1 on"}[kind]
    fits = type(value) is kind and (kind is bool or (0 < len(value) <= 200 if kind is str else value > 0))
    if not fits:
        raise AgentError(f"{address}: the field {name!r} of an agent's description is {wanted}, not {f'{value!r:.60}'}")
    return value


class RemoteAgent(PythonAgent):
    """Asks a server, a batch at a time."""

    def __init__(
        self, address: str, description: Description, spaces: TaskSpaces, behaviour: Behaviour, *, name: str | None
    ) -> None:
        # What the server answers with is what counts, wherever it stands.
        fingerprint = content_id("remote agent", description.fingerprint, repr(behaviour))
        super().__init__(spaces, behaviour, name=name or description.name, fingerprint=fingerprint)
        self.address, self.description = address, description
        self.recurrent = description.recurrent
        self.deterministic = self.deterministic and description.deterministic
        self._exchange = Exchange(address)

    def act(
        self,
        observations: Sequence[Any],
        memories: Sequence[Any],
        generators: Sequence[np.random.Generator | None],
        masks: Sequence[Any],
    ) -> Answer:
        """Ask the server once for each block of observations."""
        actions: list[Any] = []
        remembered: list[Any] = []
        for start in range(0, len(observations), self.description.batch):
            rows = slice(start, start + self.description.batch)
            answers, told = self._block(observations[rows], memories[rows], generators[rows], masks[rows])
            actions += [
                self._chosen(answer, generator, mask)
                for answer, generator, mask in zip(answers, generators[rows], masks[rows], strict=True)
            ]
            remembered += told
        return Answer(actions, remembered)

    def _block(
        self, observations: Sequence[Any], memories: Sequence[Any], generators: Sequence[Any], masks: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        question: dict[str, Any] = {"observations": [plain(one) for one in observations]}
        if any(mask is not None for mask in masks):
            question["masks"] = [plain(mask) for mask in masks]
        if not self.description.deterministic:
            question["seeds"] = [int(stream(one, self.name).integers(SEEDS)) for one in generators]
        if self.recurrent:
            question["memories"] = list(memories)
        said = self._asked(question)
        actions = self._rows(said, "actions", len(observations))
        told = self._rows(said, "memories", len(observations)) if self.recurrent else [None] * len(actions)
        return [_as_action(self._spaces.action, one) for one in actions], told

    @calls_out("agent {self.name!r}", ask="its server's answer")
    def _asked(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            body = json.dumps(question, allow_nan=False).encode()
        except ValueError:
            raise AgentFailure(
                f"agent {self.name!r}: an observation holds NaN or an infinite number, which JSON cannot carry; "
                f"replace it in make_env (gymnasium.wrappers.TransformObservation)"
            ) from None
        try:
            said = parse_json(self._exchange.ask("POST", body), f"the answer of {self.address}")
        except (AgentError, FormatError) as error:
            raise AgentFailure(f"agent {self.name!r}: {error}") from error
        if not isinstance(said, Mapping):
            raise self._wrong("a table with 'actions' and 'fingerprint'", said)
        now = said.get("fingerprint")
        if now != self.description.fingerprint:
            raise AgentFailure(
                f"agent {self.name!r}: the server at {self.address} now answers as {f'{now!r:.60}'}, and was "
                f"{self.description.fingerprint!r} when the agent was loaded; load it again. Every answer carries the "
                f"fingerprint, so that results of two agents are never mixed"
            )
        return said

    def _rows(self, said: Mapping[str, Any], field: str, number: int) -> list[Any]:
        rows = said.get(field)
        if not isinstance(rows, list) or len(rows) != number:
            raise self._wrong(f"a list of {number} {field}, one for each observation", rows)
        return rows

    def _wrong(self, wanted: str, found: Any) -> AgentFailure:
        return AgentFailure(
            f"agent {self.name!r}: the server at {self.address} answered {f'{found!r:.120}'} where there should be "
            f"{wanted}"
        )

    def __reduce__(self) -> Any:
        return _again, (self.address, self.description, self._spaces, self.behaviour, self.name)


def _again(address: str, description: Description, spaces: TaskSpaces, behaviour: Behaviour, name: str) -> RemoteAgent:
    return RemoteAgent(address, description, spaces, behaviour, name=name)


def plain(value: Any) -> Any:
    """An observation or mask as JSON has it: arrays as nested lists, tables as tables."""
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def _as_action(space: gym.Space[Any], said: Any) -> Any:
    """JSON has one kind of number: 2.0 is a whole one, and true is none."""
    if isinstance(space, gym.spaces.Discrete):
        whole = type(said) is int or (type(said) is float and said.is_integer())
        return int(said) if whole else None
    return said


def _accepts(source: Any) -> bool:
    return isinstance(source, str) and is_address(source)


def _load(request: AgentRequest) -> Agent:
    address: str = request.source
    try:
        said = parse_json(Exchange(address).ask("GET"), f"the answer of {address}")
    except FormatError as error:
        raise AgentError(str(error)) from error
    agent = RemoteAgent(address, described(said, address), request.spaces, request.behaviour, name=request.name)
    require_steady(agent, request.spaces)
    return agent


SERVERS = AgentLoader(accepts=_accepts, load=_load, runs_code=is_address)
