"""A run is cross-checked: a sample of what it has seen is played again in other processes before it is believed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from tightrope.errors import NotReproducible
from tightrope.execution import Episode
from tightrope.outcome import Outcome
from tightrope.reference import Reference
from tightrope.runs.run import Run
from tightrope.runs.storage.manifest import CrossCheckRecord
from tightrope.runs.storage.store import RememberingEngine
from tightrope.simulation import ExpectedTrace, Sighting, cross_check

SHARE, FEWEST = 0.01, 5
"""One in a hundred of a run's episodes, and never fewer than these."""
SHARE_OF_TIME, FEWEST_SECONDS = 0.02, 1.0
"""How long that may take, as a share of the time the run took."""


def require_unbroken(run: Run) -> None:
    """Refuse to go on with a run whose episodes could not be found again, and to judge anything by them."""
    checked = run.manifest.cross_check
    if checked is not None and checked.failed:
        raise NotReproducible(
            f"{run.path} was stopped: its episodes cannot be judged, and it cannot be continued. Start a new run with "
            f"--out. {checked.failed}"
        )


def cross_check_run(run: Run, engine: RememberingEngine, seconds: float) -> None:
    """Cross-check the reference and a sample of the episodes, and record how many; NotReproducible stops the run.

    ``seconds``: how long the engine has worked. Where it had nothing to run, an earlier cross-check stands.
    """
    if run.manifest.cross_check is not None and not engine.added:
        return
    task, total = engine.task, len(engine.store)
    episodes = engine.store.sample(max(FEWEST, round(SHARE * total)))
    traces = [expected_episode(episode) for episode in episodes]
    references = [expected_reference(reference) for reference in run.references]
    # The main one first, and the others last: there may not be time for all.
    traces = [*references[:1], *traces, *references[1:]]
    try:
        checked = cross_check(task, traces, seconds=max(FEWEST_SECONDS, SHARE_OF_TIME * seconds))
    except NotReproducible as error:
        run.save(cross_check=CrossCheckRecord(failed=str(error)))
        raise
    run.save(cross_check=CrossCheckRecord(**asdict(checked), of=total))


def expected_reference(reference: Reference) -> ExpectedTrace:
    """The reference, and what the search has seen along it."""
    keys = reference.checksums
    sightings = {0: {"state key": _checksum(keys[0])}}
    for depth, step in enumerate(reference.trace.steps, 1):
        sightings[depth] = {
            "reward": Sighting.of(step.reward),
            "outcome": Sighting.of(str(step.outcome)),
            "state key": _checksum(keys[depth]),
        }
    return ExpectedTrace(name="the reference", trace=reference.actions, sightings=sightings)


def expected_episode(episode: Episode) -> ExpectedTrace:
    """An episode, and what it has shown."""
    who = "without an agent" if episode.rollout.agent is None else f"of agent {episode.rollout.agent!r}"
    name = f"the episode {who} that begins after {len(episode.rollout.start)} actions (rollout {episode.rollout.id})"
    sightings = {depth: dict(_seen(episode, depth)) for depth in range(len(episode.trace) + 1)}
    return ExpectedTrace(name=name, trace=episode.trace, sightings=sightings)


def _seen(episode: Episode, depth: int) -> Iterator[tuple[str, Sighting]]:
    if depth > episode.prefix_steps:
        yield "reward", Sighting.of(episode.rewards[depth - episode.prefix_steps - 1])
    is_last = depth == len(episode.trace)
    yield "outcome", Sighting.of(str(episode.outcome if is_last else Outcome.ONGOING))
    if episode.keys is not None:
        yield "state key", _checksum(int(episode.keys[depth]))
    elif depth == episode.prefix_steps and episode.checksum is not None:
        yield "state key", _checksum(episode.checksum)


def _checksum(value: int) -> Sighting:
    return Sighting(value, f"one with hash {value:016x}")
