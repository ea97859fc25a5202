"""Results that rest on episodes: stored as numbers and the ids of the episodes, which have a home of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tightrope.errors import FormatError
from tightrope.evaluation import Evaluation, plain_rollouts
from tightrope.execution import Episode, Rollout
from tightrope.files import check_header
from tightrope.runs.storage.artefacts import Codec
from tightrope.runs.storage.layout import result_source
from tightrope.runs.storage.manifest import TaskRecord
from tightrope.runs.storage.store import EpisodeStore, episode_id
from tightrope.safety import SafetyResult, SuiteSurvival, TestSuite
from tightrope.safety.judging.storage import summary_from_json, summary_to_json
from tightrope.trace import content_id

PLAIN_FORMAT, PLAIN_VERSION = "tightrope/plain", 1


class LostEpisode(FormatError):
    """A result names an episode that is not there any more."""


def plain_codec(episodes: Path, task: TaskRecord) -> Codec[Evaluation]:
    """How plain episodes are stored: by their ids; how they were made follows from a few numbers."""

    def write(result: Evaluation) -> dict[str, Any]:
        return {
            "format": PLAIN_FORMAT,
            "version": PLAIN_VERSION,
            "agent": result.agent,
            "fingerprint": result.fingerprint,
            "seed": result.seed,
            "length": result.length,
            "starts_alike": result.starts_alike,
            "episodes": [episode_id(each.rollout, result.fingerprint, task.fingerprint) for each in result.episodes],
        }

    def read(content: Any) -> Evaluation:
        check_header("the plain episodes", content, PLAIN_FORMAT, PLAIN_VERSION)
        ids, agent = content["episodes"], content["agent"]
        rollouts = plain_rollouts(task.label, agent, len(ids), content["seed"], content["length"])
        with stored_episodes(episodes) as fetch:
            played = tuple(fetch(rollout, {"id": name}) for rollout, name in zip(rollouts, ids, strict=True))
        return Evaluation(
            task=task.label,
            agent=agent,
            fingerprint=content["fingerprint"],
            episodes=played,
            seed=content["seed"],
            length=content["length"],
            starts_alike=content["starts_alike"],
        )

    return Codec(write=write, read=read, errors=lambda result: result.errors)


def safety_codec(episodes: Path, task: TaskRecord, suite: TestSuite, survival: SuiteSurvival) -> Codec[SafetyResult]:
    """How results of a suite are stored: its episodes, the suite and what is known of its cases by their ids."""

    def namer(result: SafetyResult) -> Callable[[Episode], dict[str, str]]:
        return lambda episode: {"id": episode_id(episode.rollout, result.fingerprint, task.fingerprint)}

    def write(result: SafetyResult) -> dict[str, Any]:
        name = namer(result)
        raised = [episode for case in result.distinct_cases for episode in case.episodes if episode.error]
        if raised:
            # Judging may find an error where running found none, as in an answer outside of the action space.
            with closing(EpisodeStore(episodes)) as store:
                for episode in raised:
                    store.add(name(episode)["id"], episode)
        return summary_to_json(result, name)

    def read(content: Any) -> SafetyResult:
        with stored_episodes(episodes) as fetch:
            return summary_from_json(content, suite, survival, fetch)

    def ids(result: SafetyResult) -> dict[str, str]:
        played = [(case.verdicts, [*map(namer(result), case.episodes)]) for case in result.distinct_cases]
        return {result_source(result): content_id(result.suite.id, result.length, played)}

    return Codec(write=write, read=read, ids=ids, errors=lambda result: result.errors)


@contextmanager
def stored_episodes(path: Path) -> Iterator[Callable[[Rollout, Mapping[str, Any]], Episode]]:
    """A way to the stored episodes by what results call them."""
    if not path.exists():
        raise LostEpisode(f"{path} is gone")
    with closing(EpisodeStore(path, read_only=True)) as store:

        def fetch(rollout: Rollout, named: Mapping[str, Any]) -> Episode:
            episode = store.get(named["id"], rollout)
            if episode is None:
                raise LostEpisode(f"{path} has no episode {named['id']}")
            return episode

        yield fetch
