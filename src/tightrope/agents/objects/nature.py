"""What a Python object does when it is asked, found out by asking it before anything it answers is believed.

It is asked the same observations in another order, in another company and again from the beginning. What it must not do
then is answer differently: a verdict would depend on what else was run beside it. So an object that remembers gets a
copy for every episode, one that draws gets seeded numbers, and one for which neither helps is refused with the reason.
"""

from __future__ import annotations

import types
from collections.abc import Hashable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from tightrope.agents.objects.asking import Asking
from tightrope.agents.objects.contents import Contents
from tightrope.agents.objects.copies import Copier, weights_in
from tightrope.agents.objects.randomness import generators_digest, own_generators
from tightrope.agents.objects.subjects import Nature, Subject
from tightrope.agents.spaces import TaskSpaces
from tightrope.errors import AgentError
from tightrope.guards.calls import calls_out
from tightrope.guards.faults import hang_in, misdeed, require_fault
from tightrope.seeding import generator
from tightrope.tasks.observations import own_copy
from tightrope.tasks.spaces import encode_action

PROBES, FEWEST_PROBES = 12, 3
"""Observations that it is asked about."""
SECONDS = 0.2
"""A slow object is asked about no more of them than it answers in this time; in all it is asked ten times as much."""
RESET_SEEDS = 4
"""Seeds for ``reset(seed=…)`` that are compared, to see whether they matter."""

ADVICE = (
    "Random numbers must come from the episode's own stream: write f(observation, rng) and draw from rng. What is "
    "remembered must belong to the episode: write f(observation, memory) that returns (action, memory), or an object "
    "with reset() that keeps all of it in its own attributes"
)


@calls_out("agent {name!r}")
def examined(thing: Any, asking: Asking, spaces: TaskSpaces, name: str) -> Subject:
    """The object as it can be asked; AgentError when its answers depend on what else it is asked."""
    try:
        trial = _tried(thing, asking, _sampled(spaces))
    except _ResetFailed as failure:
        raise AgentError(f"agent {name!r}: reset() {failure}") from failure.__cause__
    whys = []
    for keeps in [True] if trial.keeps else [False, True]:
        nature = Nature(keeps=keeps, draws=trial.draws, learns=trial.learns, told=trial.told)
        subject = Subject(thing, asking, nature)
        why = _copying(thing) if keeps else None
        why = why or _Examination(subject, spaces, trial.observations).difference()
        if why is None:
            return subject
        whys.append(why)
    changing = f" What changes in it while it answers: {', '.join(trial.changing)}." if trial.changing else ""
    raise AgentError(f"agent {name!r} cannot be tested as it is: {whys[0]}.{changing} {ADVICE}")


@dataclass(frozen=True, kw_only=True)
class _Trial:
    """What was seen in one episode with a copy of the object."""

    observations: list[Any]
    """Those that it was asked about."""
    keeps: bool
    draws: bool
    learns: bool
    told: bool
    changing: list[str]
    """What it holds that changed."""


class _ResetFailed(Exception):
    """The object could not begin an episode."""


def _tried(thing: Any, asking: Asking, observations: Sequence[Any]) -> _Trial:
    thing = _faithful_copy(thing) or thing
    own = own_generators(thing)
    standing = generators_digest(own)
    _reset(asking, thing, 0)
    drew = generators_digest(own) != standing
    own = own_generators(thing)
    weights = weights_in(Contents(thing, numbers=False).parts)
    standing, before, learnt = generators_digest(own), _held(thing), Contents(weights).digest
    asked, _, told = _played(asking, thing, observations)
    after = _held(thing)
    return _Trial(
        observations=list(observations[:asked]),
        keeps=asking.resets is not None or before != after,
        draws=drew or generators_digest(own) != standing or _reset_seeds_matter(asking, thing, observations[:asked]),
        learns=Contents(weights).digest != learnt,
        told=told or "memory" in asking.takes,
        changing=sorted(repr(name) for name in after if name and before.get(name) != after[name]),
    )


def _played(asking: Asking, thing: Any, observations: Sequence[Any]) -> tuple[int, list[Hashable], bool]:
    """How many observations it was asked about, what it answered, and whether it handed back a memory."""
    memory, answers, started = None, [], perf_counter()
    for place, observation in enumerate(observations):
        try:
            answer, memory = asking(thing, own_copy(observation), memory, generator("trial", place), None)
            answers.append(Contents(answer).digest)
        except BaseException as error:
            require_fault(error)
            if hang_in(error) is not None:
                break  # whoever asks it next waits as long, with a rollout to blame
            answers.append(type(error).__name__.encode())
        if place + 1 >= FEWEST_PROBES and perf_counter() - started > SECONDS:
            break
    return len(answers), list(answers), memory is not None


def _reset_seeds_matter(asking: Asking, thing: Any, observations: Sequence[Any]) -> bool:
    if not asking.resets:
        return False
    said = set()
    for seed in range(RESET_SEEDS):
        _reset(asking, thing, seed)
        said.add(tuple(_played(asking, thing, observations)[1]))
    return len(said) > 1


def _reset(asking: Asking, thing: Any, seed: int) -> None:
    try:
        asking.reset(thing, generator("trial reset", seed))
    except BaseException as error:
        raise _ResetFailed(misdeed(error)) from error


def _held(thing: Any) -> dict[str, bytes]:
    """Digests of the whole and, by name, of what it holds or encloses."""
    owner = thing.__self__ if isinstance(thing, types.MethodType) else thing
    named = dict(getattr(owner, "__dict__", {}))
    if isinstance(owner, types.FunctionType):
        named |= dict(zip(owner.__code__.co_freevars, (_inside(cell) for cell in owner.__closure__ or ()), strict=True))
    return {"": Contents(thing).digest} | {name: Contents(value).digest for name, value in named.items()}


def _inside(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _faithful_copy(thing: Any) -> Any:
    """A copy that holds what the object holds; None when there can be none."""
    return None if _copying(thing) is not None else Copier(thing, share_weights=False).copy_of(thing)


def _copying(thing: Any) -> str | None:
    """Why the object cannot be copied, if it cannot."""
    try:
        made = Copier(thing, share_weights=False).copy_of(thing)
    except Exception as error:
        return f"it remembers, and it cannot be copied for every episode ({type(error).__name__}: {error})"
    if Contents(made).digest != Contents(thing).digest:
        return "it remembers, and a copy of it, which every episode needs, does not hold what it holds"
    return None


def _sampled(spaces: TaskSpaces) -> list[Any]:
    try:
        return spaces.sample_observations(PROBES)
    except Exception:  # a space of the user's that cannot draw
        return []


class _Examination:
    """Asks a subject again in other ways, and says where the answers differ."""

    def __init__(self, subject: Subject, spaces: TaskSpaces, observations: Sequence[Any]) -> None:
        self._subject, self._action_space, self._observations = subject, spaces.action, observations
        self._places = range(len(observations))

    def difference(self) -> str | None:
        """What it does that it must not; None when nothing was found."""
        once = {place: self._answer(place, None)[0] for place in self._places}
        for place in generator("order").permutation([*self._places] * 2).tolist():
            again = self._answer(place, None)[0]
            if again != once[place]:
                return f"asked twice about the same observation it answered {_told(once[place])}, then {_told(again)}"
        return self._difference_in_episodes() if self._subject.nature.remembers else None

    def _difference_in_episodes(self) -> str | None:
        episode = self._episode(self._places)
        if self._episode(self._places) != episode:
            return "asked twice about the same episode, from its beginning, it answered differently"
        if self._side_by_side() != episode:
            return "in two episodes side by side it answers otherwise than in one alone"
        if any(answers != episode for answers in self._parted()):
            return "a copy of it does not go on as it does itself"
        return None

    def _episode(self, places: Sequence[int]) -> list[Hashable]:
        return self._continued(None, places)[0]

    def _continued(self, memory: Any, places: Sequence[int]) -> tuple[list[Hashable], Any]:
        answers = []
        for place in places:
            answer, memory = self._answer(place, memory)
            answers.append(answer)
        return answers, memory

    def _side_by_side(self) -> list[Hashable]:
        answers, memory, other = [], None, None
        for place in self._places:
            _, other = self._answer(self._places[-1 - place], other)
            answer, memory = self._answer(place, memory)
            answers.append(answer)
        return answers

    def _parted(self) -> list[list[Hashable]]:
        half = len(self._places) // 2
        answers, memory = self._continued(None, self._places[:half])
        # The copy goes on first: it must not lead the original along.
        copied = deepcopy(memory)
        return [answers + self._continued(one, self._places[half:])[0] for one in (copied, memory)]

    def _answer(self, place: int, memory: Any) -> tuple[Hashable, Any]:
        try:
            answer, memory = self._subject.ask(self._observations[place], memory, generator("examination", place), None)
        except BaseException as error:
            require_fault(error)
            return f"an error ({type(error).__name__})", memory
        try:
            return encode_action(self._action_space, answer), memory
        except Exception:  # no action of the task, which is told when it matters
            return Contents(answer).digest, memory


def _told(answer: Hashable) -> str:
    return "something" if isinstance(answer, bytes) else repr(answer)
