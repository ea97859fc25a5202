"""What makes two rollouts the same, and an episode as plain values, follow from the fields there are."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest

from tightrope.errors import AgentFailure
from tightrope.execution import Engine, Episode, EpisodeError, ErrorKind, Rollout
from tightrope.execution.episode_codec import (
    FIELDS,
    episode_from_json,
    episode_to_json,
    pack_episode,
    unpack_episode,
)
from tightrope.execution.scheduling.deduplication import sameness
from tightrope.guards.faults import TookTooLong
from tightrope.outcome import Outcome
from tightrope.testing import corridor_task
from tightrope.trace import ActionTrace

START = ActionTrace("corridor", 0, (0, 1), ((0, 5),))
ROLLOUT = Rollout(start=START, actions=(1, 1), seed=7)
FULL = Episode(
    rollout=ROLLOUT,
    prefix_steps=2,
    prefix_reward=float("nan"),
    prefix_outcome=Outcome.ONGOING,
    outcome=Outcome.UNSAFE,
    actions=(1, (0.5, (1, 2))),
    rewards=(0.1 + 0.2, float("-inf")),
    reseeds=((0, 5),),
    checksum=2**64 - 1,
    keys=np.array([2**64 - 1, 0], dtype=np.uint64),
    positions=np.array([[0.5, 1.0]]),
    deterministic=True,
    error=EpisodeError(kind=ErrorKind.AGENT, message="it raised", traceback="way", repeated=False),
)


@dataclass(frozen=True, kw_only=True)
class RolloutWithMore(Rollout):
    wind: float = 0.0


@dataclass(frozen=True)
class TraceWithMore(ActionTrace):
    level: int = 0


def with_more(wind: float) -> RolloutWithMore:
    return RolloutWithMore(**{part.name: getattr(ROLLOUT, part.name) for part in fields(ROLLOUT)}, wind=wind)


def test_a_field_added_to_rollouts_tells_them_apart() -> None:
    calm, windy = with_more(0.0), with_more(1.0)
    assert calm.id == with_more(0.0).id
    assert len({ROLLOUT.id, calm.id, windy.id}) == 3
    for deterministic in (True, False):
        told = [sameness(rollout, {}, deterministic=deterministic) for rollout in (calm, windy)]
        assert told[0] != told[1]


def test_a_field_added_to_traces_tells_them_and_their_rollouts_apart() -> None:
    low, high = TraceWithMore("corridor", 0, (0, 1), level=1), TraceWithMore("corridor", 0, (0, 1), level=2)
    assert low.id != high.id
    assert replace(ROLLOUT, start=low).id != replace(ROLLOUT, start=high).id
    same = [sameness(replace(ROLLOUT, start=start), {}, deterministic=True) for start in (low, high)]
    assert same[0] != same[1]


@pytest.mark.parametrize("name", [part.name for part in fields(Rollout)])
def test_every_field_is_part_of_the_id(name: str) -> None:
    others = {
        "start": START.then([0]), "agent": "somebody", "actions": (0,), "length": 3, "seed": 8, "fixed_prefix": True,
        "record_keys": True, "record_positions": True,
    }  # fmt: skip
    assert replace(ROLLOUT, **{name: others[name]}).id != ROLLOUT.id


def test_an_identifier_may_have_a_fingerprint_in_place_of_a_name() -> None:
    late, early = replace(ROLLOUT, agent="late"), replace(ROLLOUT, agent="early")
    assert late.identifier(agent="f00d") == early.identifier(agent="f00d") != late.identifier(agent="beef")
    assert late.identifier() == late.id


def same(a: Episode, b: Episode) -> bool:
    """Equal in every field, arrays and what is no number included."""
    return all(repr(getattr(a, name)) == repr(getattr(b, name)) for name in ("rollout", *FIELDS))


def test_an_episode_comes_back_with_every_field() -> None:
    unused = [name for name in FIELDS if getattr(FULL, name) is None or repr(getattr(FULL, name)) == "()"]
    assert not unused, "every field is tried here"
    assert same(unpack_episode(ROLLOUT, pack_episode(FULL)), FULL)
    assert same(episode_from_json(ROLLOUT, json.loads(json.dumps(episode_to_json(FULL), allow_nan=False))), FULL)


def test_episodes_of_an_engine_come_back() -> None:
    task = corridor_task(slip=0.3)
    with Engine(task) as engine:
        (episode,) = engine.run([Rollout(start=ActionTrace(task.label, 0, (0,)), actions=(1, 1), record_keys=True)])
    again = episode_from_json(episode.rollout, json.loads(json.dumps(episode_to_json(episode))))
    assert same(again, episode)
    assert "error" not in episode_to_json(episode), "what is as it would be anyway is left out"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"wind": 3}, "an episode has no wind"),
        ({"prefix_steps": "many"}, "prefix_steps of an episode is int"),
        ({"rewards": 3.0}, "rewards of an episode is tuple"),
        ({"outcome": "sideways"}, "sideways"),
        ({"keys": {"array": "AAAA", "dtype": "O", "shape": [1]}}, "one of <u8, <f8"),
        ({"keys": {"array": "AAAA", "dtype": "<u8", "shape": [9]}}, "buffer"),
    ],
)
def test_what_is_no_episode_is_refused(change: dict[str, object], told: str) -> None:
    with pytest.raises((TypeError, ValueError), match=told):
        episode_from_json(ROLLOUT, {**episode_to_json(FULL), **change})


def test_an_episode_that_lacks_a_field_is_refused() -> None:
    content = episode_to_json(FULL)
    del content["outcome"]
    with pytest.raises(KeyError, match="outcome"):
        episode_from_json(ROLLOUT, content)


def test_an_error_that_an_earlier_version_stored_as_text_is_kept_as_it_was() -> None:
    content = episode_to_json(FULL) | {"error": "Traceback …\nValueError: no\n"}
    again = episode_from_json(ROLLOUT, content)
    assert again.error == EpisodeError(kind=ErrorKind.UNKNOWN, message="Traceback …\nValueError: no")


def test_an_error_is_a_value_and_not_a_text_to_be_read_again() -> None:
    def broken() -> None:
        raise ValueError("two\nlines")

    with pytest.raises(ValueError, match="two") as caught:
        broken()
    error = EpisodeError.of(caught.value)
    assert (error.kind, error.message) == (ErrorKind.ENVIRONMENT, "ValueError: two\nlines")
    assert EpisodeError.of(caught.value, asking=True).kind is ErrorKind.AGENT
    assert EpisodeError.of(AgentFailure("odd")).kind is ErrorKind.AGENT
    assert EpisodeError.of(TookTooLong(3)).kind is ErrorKind.HANG
    assert str(error).startswith("Traceback")
    assert str(error).endswith("ValueError: two\nlines")
