"""From what a network says to an action: the best one, or one drawn from the distribution it describes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from tightrope.agents.behaviour import allowed_actions, flat_mask, require_available
from tightrope.agents.networks.batch_invariance import Arrays
from tightrope.agents.networks.scores import Scores, argmax, checked, draw, drawn_by, joint, lead_of, masked, softmax
from tightrope.agents.preferences import Meaning, Preferences
from tightrope.errors import AgentError
from tightrope.tasks.spaces import encode_action
from tightrope.trace import Action


class Head(Protocol):
    """How a network's outputs are read."""

    outputs: int
    """How many arrays the network gives for it."""
    distribution: bool
    """Whether there is something to draw from."""

    def best(self, outputs: Arrays, masks: Sequence[Any]) -> list[Action]:
        """The most likely or most valued action of each row."""
        ...

    def drawn(self, outputs: Arrays, mask: Any, generator: np.random.Generator) -> Action:
        """An action drawn from the distribution that the outputs, of one row, describe."""
        ...

    def preferences(self, outputs: Arrays, mask: Any) -> Preferences | None:
        """What the outputs, of one row, say about the actions; None where that is no number for each."""
        ...


@runtime_checkable
class DecidingHead(Head, Protocol):
    """A head that picks one of several actions: small errors of the scores mostly change nothing."""

    def margins(self, outputs: Arrays, masks: Sequence[Any]) -> NDArray[Any]:
        """How far apart the two scores are, of each row, whose order decides which action is best."""
        ...


class CategoricalHead:
    """One score per action of a Discrete space: logits or action values. Draws follow the softmax of the scores."""

    outputs, distribution = 1, True

    def __init__(self, space: gym.spaces.Discrete, meaning: Meaning = Meaning.SCORES) -> None:
        self.number, self.start, self.meaning = int(space.n), int(space.start), meaning

    def best(self, outputs: Arrays, masks: Sequence[Any]) -> list[Action]:
        """The action with the highest score; the first of equals."""
        scores = checked(outputs[0], (self.number,))
        if any(mask is not None for mask in masks):
            scores = np.stack([masked(row, mask) for row, mask in zip(scores, masks, strict=True)])
        return self.numbers(scores).tolist()  # type: ignore[no-any-return]

    def margins(self, outputs: Arrays, masks: Sequence[Any]) -> NDArray[Any]:
        """The best score less the second best."""
        scores = checked(outputs[0], (self.number,))
        if any(mask is not None for mask in masks):
            scores = np.stack([masked(row, mask) for row, mask in zip(scores, masks, strict=True)])
        return lead_of(scores)

    def numbers(self, scores: Scores) -> NDArray[np.int64]:
        """The action with the highest score of each row, where none is ruled out."""
        best: NDArray[np.int64] = checked(scores, (self.number,)).argmax(axis=1) + self.start
        return best

    def drawn(self, outputs: Arrays, mask: Any, generator: np.random.Generator) -> Action:
        """An action drawn by softmax."""
        return self.at(outputs, mask, generator.random())[0]

    def at(self, outputs: Arrays, mask: Any, share: float) -> tuple[Action, float]:
        """The action that a number from 0 to 1 draws, and how far it is, as a share of all, from drawing another."""
        index, distance = drawn_by(masked(checked(outputs[0], (self.number,))[0], mask), share)
        return self.start + index, distance

    def preferences(self, outputs: Arrays, mask: Any) -> Preferences | None:
        """The scores of the available actions; where they are logits, the probabilities they stand for."""
        scores = masked(checked(outputs[0], (self.number,))[0], mask).astype(np.float64)
        if self.meaning is Meaning.PROBABILITIES:
            scores = softmax(scores)
        numbers: dict[Action, float] = {
            self.start + int(index): float(scores[index]) for index in allowed_actions(mask, self.number)
        }
        return Preferences(meaning=self.meaning, by_action=numbers)


class MultiCategoricalHead:
    """The scores of each dimension of a MultiDiscrete space, side by side."""

    outputs, distribution = 1, True

    def __init__(self, space: gym.spaces.MultiDiscrete) -> None:
        self.space = space
        self.cuts = np.cumsum(space.nvec.ravel())[:-1]
        self.width = int(space.nvec.sum())

    def best(self, outputs: Arrays, masks: Sequence[Any]) -> list[Action]:
        """The highest score of each dimension."""
        rows = checked(outputs[0], (self.width,))
        return [self._joined(self._split(row, mask), argmax) for row, mask in zip(rows, masks, strict=True)]

    def drawn(self, outputs: Arrays, mask: Any, generator: np.random.Generator) -> Action:
        """Each dimension drawn by softmax."""
        scores = checked(outputs[0], (self.width,))[0]
        return self._joined(self._split(scores, mask), lambda part: draw(part, generator))

    def preferences(self, outputs: Arrays, mask: Any) -> Preferences | None:
        """How likely each action is, by its parts; None where there are too many to list."""
        parts = self._split(checked(outputs[0], (self.width,))[0], mask)
        return joint([softmax(part) for part in parts], self._encoded)

    def margins(self, outputs: Arrays, masks: Sequence[Any]) -> NDArray[Any]:
        """The smallest lead of the best score of a dimension."""
        rows = checked(outputs[0], (self.width,))
        parts = (self._split(row, mask) for row, mask in zip(rows, masks, strict=True))
        return np.array([min(float(lead_of(part[None])[0]) for part in split) for split in parts])

    def _split(self, scores: Scores, mask: Any) -> list[Scores]:
        parts = np.split(scores, self.cuts)
        if mask is None:
            return parts
        flags = np.split(flat_mask(mask), self.cuts)
        return [masked(part, allowed) for part, allowed in zip(parts, flags, strict=True)]

    def _joined(self, parts: list[Scores], choose: Any) -> Action:
        return self._encoded([choose(part) for part in parts])

    def _encoded(self, chosen: Sequence[int]) -> Action:
        return encode_action(self.space, np.array(chosen).reshape(self.space.shape) + self.space.start)


class BernoulliHead:
    """One logit per bit of a MultiBinary space."""

    outputs, distribution = 1, True

    def __init__(self, space: gym.spaces.MultiBinary) -> None:
        self.space = space

    def best(self, outputs: Arrays, masks: Sequence[Any]) -> list[Action]:
        """Every bit more likely on than off."""
        return [encode_action(self.space, row > 0) for row in checked(outputs[0], self.space.shape)]

    def drawn(self, outputs: Arrays, mask: Any, generator: np.random.Generator) -> Action:
        """Each bit drawn by its logit."""
        likely = self._on(outputs)
        return encode_action(self.space, generator.random(likely.shape) < likely)

    def preferences(self, outputs: Arrays, mask: Any) -> Preferences | None:
        """How likely each pattern of bits is; None where there are too many to list."""
        parts = [np.array([1.0 - on, on]) for on in self._on(outputs).ravel()]
        return joint(parts, lambda bits: encode_action(self.space, np.reshape(bits, self.space.shape)))

    def _on(self, outputs: Arrays) -> Scores:
        logits = checked(outputs[0], self.space.shape)[0].astype(np.float64)
        on: Scores = 1.0 / (1.0 + np.exp(-logits))
        return on


class ContinuousHead:
    """A point of a Box space; with a second output, the logarithm of the standard deviation around it.

    ``squashed``: the point is put through tanh after drawing and scaled from [-1, 1] to the box. ``scaled``: it is
    scaled only. Otherwise it is clipped to the box.
    """

    def __init__(
        self, space: gym.spaces.Box, *, spread: bool = False, squashed: bool = False, scaled: bool = False
    ) -> None:
        self.space, self.squashed, self.scaled = space, squashed, scaled or squashed
        self.distribution = spread
        self.outputs = 2 if spread else 1

    def best(self, outputs: Arrays, masks: Sequence[Any]) -> list[Action]:
        """The mean."""
        return [self._placed(row) for row in checked(outputs[0], self.space.shape)]

    def drawn(self, outputs: Arrays, mask: Any, generator: np.random.Generator) -> Action:
        """A point drawn from the normal distribution around the mean."""
        mean, log_std = (checked(part, self.space.shape)[0].astype(np.float64) for part in outputs)
        return self._placed(mean + np.exp(log_std) * generator.standard_normal(mean.shape))

    def preferences(self, outputs: Arrays, mask: Any) -> Preferences | None:
        """The mean as an action, and the spread around it where there is one."""
        [mean] = self.best(outputs[:1], [mask])
        spread = np.exp(checked(outputs[1], self.space.shape)[0].astype(np.float64)) if self.distribution else []
        return Preferences(mean=mean, spread=tuple(map(float, np.ravel(spread))))

    def _placed(self, point: Scores) -> Action:
        low, high = self.space.low, self.space.high
        if self.squashed:
            point = np.tanh(point)
        if self.scaled:
            point = low + 0.5 * (point + 1.0) * (high - low)
        return encode_action(self.space, np.clip(point, low, high))


class ActionHead:
    """The network gives the actions themselves, as numbers of a Discrete or MultiDiscrete space."""

    outputs, distribution = 1, False

    def __init__(self, space: gym.Space[Any]) -> None:
        self.space = space

    def best(self, outputs: Arrays, masks: Sequence[Any]) -> list[Action]:
        """The actions as they come; one that is not available is refused, since there is no second best."""
        actions = [encode_action(self.space, row) for row in outputs[0]]
        for action, mask in zip(actions, masks, strict=True):
            require_available(self.space, action, mask)
        return actions

    def drawn(self, outputs: Arrays, mask: Any, generator: np.random.Generator) -> Action:
        """Never called: there is no distribution."""
        raise AgentError("a network that answers with actions has no distribution to draw from")

    def preferences(self, outputs: Arrays, mask: Any) -> Preferences | None:
        """None: it gives the action alone."""
        return None


def head_for(space: gym.Space[Any], *, outputs: int = 1, meaning: Meaning = Meaning.SCORES) -> Head:
    """The head that fits an action space when the network says nothing more about itself than what its scores are."""
    if isinstance(space, gym.spaces.Discrete):
        return CategoricalHead(space, meaning)
    if isinstance(space, gym.spaces.MultiDiscrete):
        return MultiCategoricalHead(space)
    if isinstance(space, gym.spaces.MultiBinary):
        return BernoulliHead(space)
    if isinstance(space, gym.spaces.Box):
        return ContinuousHead(space, spread=outputs > 1)
    raise AgentError(
        f"networks can answer for Discrete, MultiDiscrete, MultiBinary and Box action spaces, not for {space}; "
        f"give the agent as a Python callable instead"
    )
