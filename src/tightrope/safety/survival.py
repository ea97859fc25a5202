"""Escape witnesses: could anyone survive from a case, or is it doomed whoever plays?

*Yes* takes an action sequence that survives as long as the agent is watched, or to the end of the episode; it is
recorded, and replayed from reset once before it counts. *No* takes a proof: on a deterministic task, every sequence of
the agent's actions ends in an unsafe situation. Everything else is *unknown*. The answer does not depend on how the
tested agent fared, or the frequency over survivable cases would be biased in its favour.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from tightrope.execution import Engine, Episode, Rollout
from tightrope.exploration.escapes import Escapes, EscapeTask, Survival, find_escapes
from tightrope.outcome import Outcome
from tightrope.progress import Progress, ProgressCallback
from tightrope.reference import Survivability
from tightrope.safety.proofs import Step, proven_again, step_off
from tightrope.safety.replay import Replay
from tightrope.safety.shorthand import possible_actions
from tightrope.safety.suites import TestCase, TestSuite
from tightrope.trace import Action, ActionTrace

STEPS_PER_CASE = 2000
"""Environment steps spent on one case: fifty attempts of the usual 40 steps."""

GROUPS_AT_A_TIME = 16
"""Boundary states between two reports of progress: enough to keep a machine's cores busy."""


def find_survival(
    engine: Engine,
    suite: TestSuite,
    length: int,
    *,
    reference: Replay | None = None,
    actions: Sequence[Action] | None = None,
    steps_per_case: int = STEPS_PER_CASE,
    on_progress: ProgressCallback | None = None,
) -> dict[str, Survival]:
    """What is known about every case of the suite, by case id.

    ``actions`` are those the tested agent can take; None: those of the coverage suite, or all the environment takes.
    ``reference`` is the reference played again, which vouches for the cases that lie on it.
    """
    if actions is None:
        actions = suite.parameters.get("actions") or possible_actions(engine.task)
    chosen = None if actions is None else tuple(actions)

    def find_out() -> dict[str, Survival]:
        known = _by_knowledge(engine, suite, length, reference, chosen)
        return known | _by_attempts(engine, suite, known, length, chosen, steps_per_case, on_progress)

    return engine.once((suite.id, length, reference, chosen, steps_per_case), find_out)


def _by_knowledge(
    engine: Engine, suite: TestSuite, length: int, reference: Replay | None, actions: tuple[Action, ...] | None
) -> dict[str, Survival]:
    """What the reference says, and proofs of doom where the search found some, which are made again here."""
    known = {}
    provable = reference is not None and engine.deterministic and actions is not None
    proofs = proven_again(engine, suite, actions) if provable and actions is not None else {}
    for case in suite.cases:
        survival = _by_reference(suite, case, length, reference)
        if survival is None:
            survival = _by_proof(suite, case, length, proofs)
        if survival is not None:
            known[case.id] = survival
    return known


def _by_reference(suite: TestSuite, case: TestCase, length: int, reference: Replay | None) -> Survival | None:
    """The rest of the reference survives, since it does in the replay."""
    handover = len(case.prefix)
    if reference is None or case.prefix.actions != suite.reference.actions[:handover]:
        return None
    witness = suite.reference.suffix(handover)[:length]
    survives = reference.outcome is Outcome.GOAL or len(witness) == length
    if not witness or not survives:
        return None
    steps = length if len(witness) == length else None
    return Survival(survivable=Survivability.YES, witness=witness, evidence="the rest of the reference", steps=steps)


def _by_proof(suite: TestSuite, case: TestCase, length: int, proofs: Mapping[Step, int]) -> Survival | None:
    """The prefix leaves the reference by a step that leads to doom, and soon enough to be watched."""
    step = step_off(suite, case)
    if step is None or step not in proofs:
        return None
    left = step[0]
    steps = max(left + proofs[step] - len(case.prefix), 0)
    if steps > length:
        return None
    return Survival(survivable=Survivability.NO, evidence=f"proven doomed after {left + 1} actions", steps=steps)


def _open_groups(suite: TestSuite, known: dict[str, Survival]) -> list[list[TestCase]]:
    """The cases still open by boundary state: one group shares what it finds out, whoever works on it."""
    groups: dict[int, dict[str, TestCase]] = defaultdict(dict)
    taken = set(known)
    for case in suite.cases:
        if case.id not in taken:
            taken.add(case.id)
            groups[case.boundary][case.id] = case
    return [list(group.values()) for group in groups.values()]


def _by_attempts(
    engine: Engine,
    suite: TestSuite,
    known: dict[str, Survival],
    length: int,
    actions: tuple[Action, ...] | None,
    steps_per_case: int,
    on_progress: ProgressCallback | None,
) -> dict[str, Survival]:
    groups = _open_groups(suite, known)
    if not groups:
        return {}
    _report(on_progress, 0, len(groups))
    work = [
        EscapeTask(
            prefixes=tuple(case.prefix for case in group),
            reference=suite.reference.actions,
            actions=engine.task.search_actions if actions is None else actions,
            deterministic=engine.deterministic,
            provable=engine.deterministic and actions is not None,
            length=length,
            steps_per_case=steps_per_case,
        )
        for group in groups
    ]
    found: list[Escapes] = []
    for start in range(0, len(work), GROUPS_AT_A_TIME):
        found += engine.map(find_escapes, work[start : start + GROUPS_AT_A_TIME])
        _report(on_progress, len(found), len(groups))
    pairs = [
        pair for group, escapes in zip(groups, found, strict=True) for pair in zip(group, escapes.answers, strict=True)
    ]
    return _confirmed(engine, pairs, length)


def _confirmed(engine: Engine, pairs: Sequence[tuple[TestCase, Survival]], length: int) -> dict[str, Survival]:
    """Replay every witness from reset; one that does not survive again is no witness."""
    known = {case.id: survival for case, survival in pairs}
    witnessed = [(case, survival.witness) for case, survival in pairs if survival.witness is not None]
    episodes = engine.run([exact_replay(case.prefix.then(witness)) for case, witness in witnessed])
    for (case, _), episode in zip(witnessed, episodes, strict=True):
        if not _survives(episode, len(case.prefix), length):
            known[case.id] = Survival(survivable=Survivability.UNKNOWN, evidence="its witness did not survive a replay")
    return known


def exact_replay(trace: ActionTrace) -> Rollout:
    """The rollout that plays a trace as it was found, random events included; all of it is prefix."""
    return Rollout(start=trace, fixed_prefix=True)


def _survives(episode: Episode, handover: int, length: int) -> bool:
    if episode.error is not None or episode.prefix_outcome is Outcome.UNSAFE:
        return False
    return episode.prefix_outcome.terminal or episode.prefix_steps - handover >= length


def _report(on_progress: ProgressCallback | None, finished: int, total: int) -> None:
    if on_progress is not None:
        on_progress(Progress("survival", finished, total, "looking for escapes"))
