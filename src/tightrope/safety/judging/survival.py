"""Whose fault could it be? What is known about every case of a suite before anyone is blamed.

On deterministic tasks a case is survivable with a witness, doomed with a proof, or unknown. A witness is recorded, and
replayed from reset once before it counts. Where chance decides, one lucky run means nothing: there it is said how often
somebody survives. The answers do not depend on how the tested agent fared in the executions that are judged, or the
frequency over survivable cases would be biased in its favour.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from tightrope.execution import Engine, Episode, Rollout
from tightrope.exploration.escapes import Escapes, EscapeTask, Survival, find_escapes
from tightrope.outcome import Outcome
from tightrope.progress import Progress, ProgressCallback
from tightrope.reference import Survivability
from tightrope.safety.judging.claims import SuiteSurvival
from tightrope.safety.judging.findings import SafetyFinding, SafetyFindingKind
from tightrope.safety.judging.proofs import StepOff, proven_again, step_off
from tightrope.safety.judging.survival_by_chance import ByChance
from tightrope.safety.suites.replay import ReplayedTrace, parts_under_reseeding, played_again
from tightrope.safety.suites.shorthand import possible_actions
from tightrope.safety.suites.suite import TestCase, TestSuite
from tightrope.settings import SURVIVAL_STEPS
from tightrope.simulation import RandomnessMet
from tightrope.statistics import Estimate
from tightrope.trace import Action, ActionTrace

STEPS_PER_CASE, ATTEMPTS = 2000, 20
"""Environment steps spent on one case: fifty attempts of the paper's 40 steps, and of longer ones at least twenty.
Trying every sequence of actions gets no more than the first: what that leaves open, more hardly settles."""
LITTLE = 500
"""What each case gets at least of the steps in which those of a suite share: quick attempts from where situations can
be saved, and one or two where each is a replay of hundreds of steps. Of fewer steps than usual the same part."""

GROUPS_AT_A_TIME = 16
"""Boundary states between two reports of progress: enough to keep a machine's cores busy."""

ESCAPES, PROOF = "an escape was replayed", "proven doomed"


def find_survival(
    engine: Engine,
    suite: TestSuite,
    length: int,
    *,
    seed: int = 0,
    reference: ReplayedTrace | None = None,
    actions: Sequence[Action] | None = None,
    steps_per_case: int | None = None,
    steps: int = SURVIVAL_STEPS,
    known: Sequence[SuiteSurvival] = (),
    on_progress: ProgressCallback | None = None,
) -> SuiteSurvival:
    """What is known about every case of the suite.

    ``actions`` are those the tested agent can take; None: all the environment takes. Where they cannot be listed,
    nothing is proven. ``reference`` is the reference played again, which vouches for the cases that lie on it and for
    where proofs are worth looking for. Where chance decides, the engine's agents are among those who are tried.
    ``steps`` is what the cases share in; where chance decides, as large a part of ``SURVIVAL_STEPS`` is spent on each.
    ``known`` is what was found out for other suites and as many steps: a case that they share need not be asked again.
    ``seed`` is that of the executions: where chance decides, whoever survives best plays with the same luck.
    """
    given = _agents_actions(engine, suite, actions)
    # What was proven for other actions proves nothing for these.
    told = {case: each for earlier in known if earlier.actions == given for case, each in earlier.by_case.items()}
    agents = tuple(sorted((name, agent.fingerprint) for name, agent in engine.agents.items()))

    def find_out() -> SuiteSurvival:
        search = _Search(engine, suite, length, reference, given, steps_per_case, steps, on_progress)
        search.told = {case.id: told[case.id] for case in suite.cases if case.id in told}
        search.seed = seed
        return search.for_deterministic() if engine.deterministic else search.for_stochastic()

    who = () if engine.deterministic else agents
    luck = None if engine.deterministic else seed
    asked = ("survival", suite.id, length, reference, given, steps_per_case, steps, who, frozenset(told), luck)
    return engine.once(asked, find_out)


def _agents_actions(engine: Engine, suite: TestSuite, actions: Sequence[Action] | None) -> tuple[Action, ...] | None:
    """All the agent can do, or None where that cannot be listed: a few of many actions prove nothing."""
    if actions is not None:
        return tuple(actions)
    every = possible_actions(engine.task)
    return tuple(suite.parameters.get("actions") or every) if every is not None else None


class _Search:
    """One call of ``find_survival``."""

    def __init__(
        self,
        engine: Engine,
        suite: TestSuite,
        length: int,
        reference: ReplayedTrace | None,
        actions: tuple[Action, ...] | None,
        steps_per_case: int | None,
        steps: int,
        on_progress: ProgressCallback | None,
    ) -> None:
        self.engine, self.suite, self.length, self.reference = engine, suite, length, reference
        self.actions, self.steps_per_case, self.on_progress = actions, steps_per_case, on_progress
        self.steps, self._part = steps, min(1.0, steps / SURVIVAL_STEPS)
        self.findings: list[SafetyFinding] = []
        self.told: Mapping[str, Survival] = {}
        self.seed = 0
        self.exact = True
        self.provable = actions is not None

    def for_deterministic(self) -> SuiteSurvival:
        """Witnesses and proofs; names that turn out to lie are not used, and proofs that rest on them made anew."""
        self._test_determinism()
        known = self._known()
        if self.exact and any(finding.kind is SafetyFindingKind.TWO_CONTINUATIONS for finding in self.findings):
            self.exact = False
            known = self._known()
        return SuiteSurvival(
            by_case={case: replace(survival, best=_certain(survival)) for case, survival in known.items()},
            findings=tuple(dict.fromkeys(self.findings)),
            actions=self.actions,
        )

    def for_stochastic(self) -> SuiteSurvival:
        """How often somebody survives."""
        asked = ByChance(
            engine=self.engine,
            suite=self.suite,
            length=self.length,
            actions=self.actions,
            seed=self.seed,
            steps=self.steps,
            steps_per_case=self.steps_per_case,
            told=self.told,
            report=self._report,
        )
        return asked.find()

    @property
    def _enough(self) -> int:
        enough = max(STEPS_PER_CASE, ATTEMPTS * self.length)
        return min(enough, max(LITTLE, int(self._part * enough)))

    def _test_determinism(self) -> None:
        """Proofs rest on it; a reference that parts under fresh randomness begins everything again."""
        parted = None if self.reference is None else parts_under_reseeding(self.engine, self.suite)
        if parted is not None:
            raise RandomnessMet(f"under fresh seeds the reference takes another course after {parted} steps")

    def _known(self) -> dict[str, Survival]:
        known = dict(self.told) if self.exact else {}
        if self.reference is not None:
            proofs = self._proofs()
            for case in self.suite.cases:
                survival = self._by_reference(case) or _by_proof(self.suite, case, self.length, proofs)
                if survival is not None:
                    known[case.id] = survival
        return known | self._by_attempts(known)

    def _proofs(self) -> dict[StepOff, int]:
        """What the suite says is doomed, as far as it can be proven again for what the agent can do."""
        if not self.provable or self.actions is None:
            return {}
        return proven_again(self.engine, self.suite, self.actions, exact=self.exact)

    def _by_reference(self, case: TestCase) -> Survival | None:
        """The rest of the reference survives, since it does in the replay."""
        handover, way = len(case.prefix), self.suite.way_of(case)
        if handover > len(way.actions) or case.prefix != way.actions.prefix(handover):
            return None
        witness = way.actions.suffix(handover)[: self.length]
        survives = len(witness) == self.length or played_again(self.engine, way).outcome is Outcome.GOAL
        if not witness or not survives:
            return None
        return Survival(
            survivable=Survivability.YES,
            witness=witness,
            evidence="the rest of the reference",
            steps=self.length if len(witness) == self.length else None,
        )

    def _open_groups(self, known: Mapping[str, Survival]) -> list[list[TestCase]]:
        """The cases still open by boundary state: one group shares what it finds out, whoever works on it."""
        groups: dict[tuple[int, int], dict[str, TestCase]] = defaultdict(dict)
        taken = set(known)
        for case in self.suite.cases:
            if case.id not in taken:
                taken.add(case.id)
                groups[case.reference, case.boundary][case.id] = case
        return [list(group.values()) for group in groups.values()]

    def _by_attempts(self, known: Mapping[str, Survival]) -> dict[str, Survival]:
        groups = self._open_groups(known)
        if not groups:
            return {}
        self._report(0, len(groups))
        found: list[Escapes] = []
        while len(found) < len(groups):
            part, rest = groups[len(found) : len(found) + GROUPS_AT_A_TIME], sum(map(len, groups[len(found) :]))
            share = (self.steps - sum(escapes.steps for escapes in found)) // rest
            little = int(self._part * LITTLE)
            work = [self._escape_task(group, max(little, min(self._enough, share))) for group in part]
            told = partial(self._report_more, len(found), len(groups))
            found += self.engine.map(find_escapes, work, told)
        for refutation in dict.fromkeys(escapes.refutation for escapes in found if escapes.refutation):
            text = f"{refutation}. Nothing that was proven rests on it"
            self.findings.append(SafetyFinding(kind=SafetyFindingKind.TWO_CONTINUATIONS, text=text))
        answers = [answer for escapes in found for answer in escapes.answers]
        cases = [case for group in groups for case in group]
        return self._confirmed(list(zip(cases, answers, strict=True)))

    def _escape_task(self, group: Sequence[TestCase], steps: int) -> EscapeTask:
        return EscapeTask(
            prefixes=tuple(case.prefix for case in group),
            reference=self.suite.way_of(group[0]).actions.actions,
            actions=self.engine.task.search_actions if self.actions is None else self.actions,
            deterministic=True,
            provable=self.provable,
            length=self.length,
            steps_per_case=steps if self.steps_per_case is None else self.steps_per_case,
            steps_to_exhaust=STEPS_PER_CASE,
            exact=self.exact,
        )

    def _confirmed(self, pairs: Sequence[tuple[TestCase, Survival]]) -> dict[str, Survival]:
        """Replay every witness from reset; one that does not survive again is no witness."""
        known = {case.id: survival for case, survival in pairs}
        witnessed = [(case, survival.witness) for case, survival in pairs if survival.witness is not None]
        episodes = self.engine.run([exact_replay(case.prefix.then(witness)) for case, witness in witnessed])
        for (case, _), episode in zip(witnessed, episodes, strict=True):
            if not _survives(episode, len(case.prefix), self.length):
                known[case.id] = known[case.id].withdrawn("its witness did not survive a replay")
        return known

    def _report_more(self, before: int, total: int, done: int) -> None:
        self._report(before + done, total)

    def _report(self, finished: int, total: int, what: str = "looking for escapes") -> None:
        if self.on_progress is not None:
            self.on_progress(Progress("survival", finished, total, what))


def _by_proof(suite: TestSuite, case: TestCase, length: int, proofs: Mapping[StepOff, int]) -> Survival | None:
    """The prefix leaves the reference by a step that leads to doom, and soon enough to be watched."""
    step = step_off(suite, case)
    if step is None or step not in proofs:
        return None
    left = step[1]
    steps = max(left + proofs[step] - len(case.prefix), 0)
    if steps > length:
        return None
    return Survival(survivable=Survivability.NO, evidence=f"proven doomed after {left + 1} actions", steps=steps)


def _certain(survival: Survival) -> Estimate | None:
    """Where nothing is left to chance, the best survive always or never."""
    if survival.survivable is Survivability.UNKNOWN:
        return None
    survives = survival.survivable is Survivability.YES
    return Estimate.certain(float(survives), ESCAPES if survives else PROOF)


def exact_replay(trace: ActionTrace) -> Rollout:
    """The rollout that plays a trace as it was found, random events included; all of it is prefix."""
    return Rollout(start=trace, fixed_prefix=True)


def _survives(episode: Episode, handover: int, length: int) -> bool:
    if episode.error is not None or episode.prefix_outcome is Outcome.UNSAFE:
        return False
    return episode.prefix_outcome.terminal or episode.prefix_steps - handover >= length
