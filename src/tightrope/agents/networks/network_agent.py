"""Agents that are networks: stack, run, read. Where the network comes from is another file's business."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from tightrope.agents.agent import Answer
from tightrope.agents.behaviour import Behaviour, random_action, replaced_by_noise, stream
from tightrope.agents.networks.action_heads import CategoricalHead, DecidingHead, Head
from tightrope.agents.networks.batch_invariance import ALL_SIZES, PROBES, Arrays, Network, agreeing_sizes, run_in_blocks
from tightrope.agents.networks.close_calls import CloseCalls
from tightrope.agents.networks.recollection import Recollection, worth_remembering
from tightrope.agents.observations import ObservationStacker
from tightrope.agents.preferences import Preferences
from tightrope.agents.spaces import TaskSpaces
from tightrope.display import Shown
from tightrope.errors import AgentError, AgentFailure, TightropeError
from tightrope.guards.faults import misdeed
from tightrope.trace import Action


@dataclass(frozen=True, kw_only=True)
class MemorySlot:
    """One array that a recurrent network keeps for each episode; zeros at its start."""

    shape: tuple[int, ...]
    dtype: str = "float32"


@dataclass(frozen=True, kw_only=True)
class NetworkParts:
    """A network and how to speak to it."""

    network: Network
    """Observation parts, then memories, in; the head's outputs, then memories, out."""
    head: Head
    prepare: Callable[[Arrays], Arrays] | None = None
    """What is done to stacked observations first (normalisation)."""
    memory: tuple[MemorySlot, ...] = ()
    sizes: Sequence[int] = ALL_SIZES
    """Batch sizes at which its library is expected to answer alike."""
    any_size: bool = True
    """Whether it takes other sizes too."""
    precise: Callable[[], Network | None] | None = None
    """Makes the same network in double precision, where it can be."""
    function: bool = False
    """Whether it is sure to say the same whenever it is asked the same: it draws nothing and remembers nothing."""
    arithmetic: str = ""
    """In which numbers it reckons, where it is not in those of its training, and how far that changes what it does."""


class NetworkAgent(Shown):
    """A network with a behaviour. ``rebuild`` makes it again in another process from small arguments."""

    _shown = ("name", "behaviour", "deterministic", "recurrent", "fingerprint")

    def __init__(
        self,
        parts: NetworkParts,
        spaces: TaskSpaces,
        behaviour: Behaviour,
        *,
        name: str,
        fingerprint: str,
        rebuild: tuple[Callable[..., NetworkAgent], tuple[Any, ...]] | None = None,
    ) -> None:
        if behaviour.kind == "sampled" and not parts.head.distribution:
            raise AgentError(
                f"agent {name!r} has no distribution to sample from; use behaviour='greedy', with epsilon for noise"
            )
        self.name, self.fingerprint = name, fingerprint
        self.behaviour = behaviour
        self.deterministic = not behaviour.random
        self.recurrent = bool(parts.memory)
        self._parts, self._spaces, self._rebuild = parts, spaces, rebuild
        self._stack = ObservationStacker(spaces.observation)
        self.block_sizes = self._rehearsed_sizes()
        self._calls = self._close_calls()
        self._met = Recollection() if parts.function and worth_remembering(spaces.observation) else None

    @property
    def own_actions(self) -> tuple[str, ...] | None:
        """The names of the actions it answers with, where they are known."""
        return self._spaces.action_names

    @property
    def network(self) -> Network:
        """What answers stacked observations."""
        return self._parts.network

    @property
    def arithmetic(self) -> str:
        """What its file says of the numbers it reckons in; empty: they are those of its training."""
        return self._parts.arithmetic

    @property
    def asked_again(self) -> int:
        """Rows whose decision was so close that they were asked about once more, alone."""
        return 0 if self._calls is None else self._calls.asked_again

    @property
    def picks_the_best_of_numbered(self) -> bool:
        """Whether a row of scores, one for each of numbered actions, is all that decides."""
        return isinstance(self._parts.head, CategoricalHead) and self._parts.prepare is None and not self.recurrent

    def act(
        self,
        observations: Sequence[Any],
        memories: Sequence[Any],
        generators: Sequence[np.random.Generator | None],
        masks: Sequence[Any],
    ) -> Answer:
        """Answer each observation as if it were alone."""
        if not observations:
            return Answer([], [])
        try:
            if self._calls is not None:
                actions = self._decide(self._calls, observations, generators, masks)
                return Answer(actions, [None] * len(observations))
            outputs = self._run(observations, memories)
            cut = self._parts.head.outputs
            return Answer(self._choose(outputs[:cut], generators, masks), self._remember(outputs[cut:], memories))
        except AgentFailure as error:
            raise type(error)(f"agent {self.name!r}: {error}") from error
        except TightropeError as error:
            raise AgentFailure(f"agent {self.name!r}: {error}") from error
        except BaseException as error:
            raise AgentFailure(f"agent {self.name!r} {misdeed(error)}") from error

    def preferences(
        self, observations: Sequence[Any], memories: Sequence[Any], masks: Sequence[Any]
    ) -> list[Preferences | None]:
        """What the network says about the actions in each situation, before any noise."""
        outputs, head = self._run(observations, memories), self._parts.head
        return [head.preferences(_one_row(outputs[: head.outputs], row), mask) for row, mask in enumerate(masks)]

    def _run(self, observations: Sequence[Any], memories: Sequence[Any]) -> Arrays:
        if self.recurrent:
            return run_in_blocks(self._parts.network, self._inputs(observations, memories), self.block_sizes)
        distinct, rows = _distinct(observations)
        answers = run_in_blocks(self._parts.network, self._inputs(distinct, ()), self.block_sizes)
        return answers if rows is None else tuple(part[rows] for part in answers)

    def _decide(
        self,
        calls: CloseCalls,
        observations: Sequence[Any],
        generators: Sequence[np.random.Generator | None],
        masks: Sequence[Any],
    ) -> list[Action]:
        """Answer in one batch, and once more, alone, where the decision is close."""
        distinct, rows = _distinct(observations)
        if self._met is not None and self._met.helps:
            said = self._met.answers(distinct, lambda new: calls.answers(self._inputs(new, ())))
        else:
            said = calls.answers(self._inputs(distinct, ()))
        outputs = said if rows is None else tuple(part[rows] for part in said)
        asked = _Asked(calls, self._one_input, observations, outputs, calls.errors(outputs[0]), masks)
        best = None if self.behaviour.kind == "sampled" else self._best(asked)
        if best is not None and not self.behaviour.random:
            return best
        return [
            self._chosen(asked, row, stream(generator, self.name), best) for row, generator in enumerate(generators)
        ]

    def _chosen(self, asked: _Asked, row: int, generator: np.random.Generator, best: Sequence[Action] | None) -> Action:
        if self.behaviour.epsilon > 0 and replaced_by_noise(self.behaviour.epsilon, generator):
            return random_action(self._spaces.action, generator, asked.masks[row])
        return self._drawn(asked, row, generator) if best is None else best[row]

    def _best(self, asked: _Asked) -> list[Action]:
        # It is one (``_close_calls``); to ask a protocol at every question takes a third of what is not the network.
        head, masks = cast("DecidingHead", self._parts.head), asked.masks
        actions = head.best(asked.outputs, masks)
        for row in np.flatnonzero(head.margins(asked.outputs, masks) <= 2 * asked.errors).tolist():
            [actions[row]] = head.best(asked.alone(row), [masks[row]])
        return actions

    def _drawn(self, asked: _Asked, row: int, generator: np.random.Generator) -> Action:
        head, share = self._parts.head, generator.random()
        assert isinstance(head, CategoricalHead)
        action, distance = head.at(_one_row(asked.outputs, row), asked.masks[row], share)
        # Each weight, and their sum, is off by a share of at most twice the error of a score.
        if distance > 4 * asked.errors[row]:
            return action
        return head.at(asked.alone(row), asked.masks[row], share)[0]

    def _close_calls(self) -> CloseCalls | None:
        """How to answer in any batch; None where the answer is more than the choice of an action."""
        parts, head = self._parts, self._parts.head
        chooses = isinstance(head, CategoricalHead) or (
            isinstance(head, DecidingHead) and self.behaviour.kind == "greedy"
        )
        if self.recurrent or not parts.any_size or not chooses:
            return None
        samples = self._inputs(self._spaces.sample_observations(PROBES), ())
        for arbiter in (parts.precise and parts.precise(), parts.network):
            if arbiter is not None:
                with suppress(Exception):  # a network that cannot do its sums in double precision
                    calls = CloseCalls(parts.network, arbiter, samples)
                    if calls.only_rounds:
                        return calls
        return None

    def _inputs(self, observations: Sequence[Any], memories: Sequence[Any]) -> Arrays:
        stacked = self._stack(observations)
        if self._parts.prepare is not None:
            stacked = self._parts.prepare(stacked)
        return stacked + tuple(
            np.stack([_start(slot) if memory is None else memory[index] for memory in memories])
            for index, slot in enumerate(self._parts.memory)
        )

    def _one_input(self, observation: Any) -> Arrays:
        return self._inputs([observation], ())

    def _choose(
        self, outputs: Arrays, generators: Sequence[np.random.Generator | None], masks: Sequence[Any]
    ) -> list[Action]:
        if not self.behaviour.random:
            return self._parts.head.best(outputs, masks)
        return [
            self._choose_randomly(_one_row(outputs, row), stream(generator, self.name), mask)
            for row, (generator, mask) in enumerate(zip(generators, masks, strict=True))
        ]

    def _choose_randomly(self, outputs: Arrays, generator: np.random.Generator, mask: Any) -> Action:
        if self.behaviour.epsilon > 0 and replaced_by_noise(self.behaviour.epsilon, generator):
            return random_action(self._spaces.action, generator, mask)
        if self.behaviour.kind == "sampled":
            return self._parts.head.drawn(outputs, mask, generator)
        return self._parts.head.best(outputs, [mask])[0]

    def _remember(self, outputs: Arrays, memories: Sequence[Any]) -> list[Any]:
        if not self.recurrent:
            return [None] * len(memories)
        return [tuple(part[row].copy() for part in outputs) for row in range(len(memories))]

    def _rehearsed_sizes(self) -> Sequence[int]:
        """The block sizes that can be used; finds out at loading what would otherwise fail in the middle of a run."""
        parts = self._parts
        try:
            samples = self._inputs(self._spaces.sample_observations(PROBES), [None] * PROBES)
            sizes = agreeing_sizes(parts.network, samples, parts.sizes, any_size=parts.any_size)
            outputs = run_in_blocks(parts.network, samples, sizes)
            parts.head.best(outputs[: parts.head.outputs], [None] * PROBES)
        except BaseException as error:
            told = str(error) if isinstance(error, TightropeError) else f"it {misdeed(error)}"
            raise AgentError(
                f"agent {self.name!r} cannot answer observations of task {self._spaces.task} "
                f"({self._spaces.observation} to {self._spaces.action}): {told}"
            ) from error
        return sizes

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._rebuild if self._rebuild is not None else super().__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return f"NetworkAgent({self.name!r}, {self.behaviour.kind}, epsilon={self.behaviour.epsilon})"


class _Asked(NamedTuple):
    """What was asked in a batch, what came out, and how to ask again about a row of it."""

    calls: CloseCalls
    as_input: Callable[[Any], Arrays]
    observations: Sequence[Any]
    outputs: Arrays
    errors: NDArray[np.float64]
    masks: Sequence[Any]

    def alone(self, row: int) -> Arrays:
        """The arbiter's answer to a row."""
        return self.calls.decided(self.as_input(self.observations[row]), self.outputs[0][row : row + 1])


def _distinct(observations: Sequence[Any]) -> tuple[list[Any], list[int] | None]:
    """Repetitions that have not parted yet show the very same object; one row answers for all of them."""
    distinct = {id(observation): observation for observation in observations}
    if len(distinct) == len(observations):
        return [*observations], None
    place = {identity: row for row, identity in enumerate(distinct)}
    return [*distinct.values()], [place[id(observation)] for observation in observations]


def _one_row(outputs: Arrays, row: int) -> Arrays:
    return tuple(part[row : row + 1] for part in outputs)


def _start(slot: MemorySlot) -> NDArray[Any]:
    return np.zeros(slot.shape, slot.dtype)
