"""Probing inside one worker: a block of successors along the reference."""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass

from tightrope.exploration.doom import Classifier
from tightrope.exploration.knowledge import End, Knowledge, Way, Witness
from tightrope.exploration.sameness import Sameness
from tightrope.outcome import Outcome
from tightrope.reference import Survivability
from tightrope.seeding import derive_seed
from tightrope.simulation import Snapshot, exploring, play
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace

Question = tuple[int, tuple[Action, ...]]
"""A depth of the reference and the actions to be tried there."""


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What one replay of the reference shows."""

    questions: tuple[Question, ...]
    """What to try at each depth."""
    knowledge: Knowledge
    """Every situation of a reference that reaches the goal survives, with the rest of it."""
    steps: int
    outcome: Outcome
    """Where it stands at its end."""
    replays: bool
    """Whether situations are put back by playing the way to them again."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """Work for one worker."""

    reference: ActionTrace
    questions: tuple[Question, ...]
    knowledge: Knowledge
    effort: int
    """Steps to spend on one successor."""
    limit: int
    """Steps to spend on all of them, ways there included."""
    deadline: float
    """Seconds since the epoch, which all workers of a machine agree on."""
    deterministic: bool
    repetitions: int
    seed: int
    exact: bool = True
    """Whether a name may stand for one situation; False once it was seen to stand for two."""


@dataclass(frozen=True, kw_only=True)
class ActionFinding:
    """What became of one action."""

    depth: int
    action: Action
    survivable: Survivability
    witness: Witness | None = None
    harms: int = 0
    """Branches that ended unsafe."""
    harmful: bool = False
    """Whether the action leads (on stochastic tasks: can lead) into a situation proven doomed."""
    final: bool = True
    """Whether more work could not settle more."""
    fuse: int | None = None
    """Of a doomed one: within how many steps harm follows, the action included."""
    merged: bool = False
    """Whether the verdict may rest on a name that was met more than once."""


@dataclass(frozen=True, kw_only=True)
class BlockAnswer:
    """What a block found out, and what others can use of it."""

    findings: tuple[ActionFinding, ...]
    learnt: Knowledge
    steps: int
    refutation: str = ""
    """What showed that a name stands for two situations; the findings then rest on no name."""


def survey(task: Task, request: tuple[ActionTrace, bool]) -> Survey:
    """Replay the reference; which actions are to be tried, and its situations as known to survive.

    On a deterministic task these are the actions it does not take; on a stochastic one its own can do harm as well.
    """
    reference, deterministic = request
    with exploring(task) as simulator:
        questions, names, sameness = [], list[Hashable](), Sameness(simulator)
        for moment in play(simulator, reference):
            if moment.upcoming is None:
                break
            own = {moment.upcoming} if deterministic else set()
            available = simulator.available_actions()
            questions.append((moment.depth, tuple(action for action in available if action not in own)))
            names.append(sameness.name())
        # A run that does not reach the goal is no proof that one can survive.
        survives = simulator.outcome is Outcome.GOAL and sameness.exact
        return Survey(
            questions=tuple(questions),
            knowledge=_reference_survives(names, reference.actions) if survives else Knowledge(),
            steps=simulator.depth,
            outcome=simulator.outcome,
            replays=simulator.snapshotter is None,
        )


def probe_block(task: Task, block: Block) -> BlockAnswer:
    """Classify the successors of a block."""
    with exploring(task) as simulator:
        classifier = Classifier(
            simulator,
            block.knowledge.copy(),
            preferred=block.reference.actions,
            deterministic=block.deterministic,
            deadline=block.deadline,
            exact=block.exact,
        )
        classifier.limit = block.limit
        findings = _findings(classifier, block)
        refutation = classifier.sameness.refutation
        if refutation:
            findings = _findings(classifier, block)
        learnt = classifier.knowledge.beyond(block.knowledge) if classifier.exact else Knowledge()
        return BlockAnswer(findings=tuple(findings), learnt=learnt, steps=classifier.spent, refutation=refutation)


def _findings(classifier: Classifier, block: Block) -> list[ActionFinding]:
    """One finding per question; those the limit does not reach for stay open."""
    simulator, asked, findings = classifier.simulator, dict(block.questions), list[ActionFinding]()
    if classifier.spent < block.limit:
        for depth in (moment.depth for moment in play(simulator, block.reference.prefix(max(asked)))):
            if depth in asked:
                here = simulator.save()
                findings += [_probe(classifier, here, depth, action, block) for action in asked[depth]]
                if classifier.spent >= block.limit:
                    break
                simulator.load(here)
    answered = {(finding.depth, finding.action) for finding in findings}
    findings += [_open(*each) for each in _places(block) if each not in answered]
    return findings


def _places(block: Block) -> list[tuple[int, Action]]:
    return [(depth, action) for depth, actions in block.questions for action in actions]


def _open(depth: int, action: Action) -> ActionFinding:
    return ActionFinding(depth=depth, action=action, survivable=Survivability.UNKNOWN, final=False)


def _reference_survives(names: list[Hashable], actions: tuple[Action, ...]) -> Knowledge:
    knowledge = Knowledge()
    # A situation met twice keeps the later way, so that following the ways always comes nearer to the goal.
    for name, action, target in zip(names, actions, [*names[1:], End.GOAL], strict=True):
        knowledge.surviving[name] = Way(action, target)
    return knowledge


def _probe(classifier: Classifier, here: Snapshot, depth: int, action: Action, block: Block) -> ActionFinding:
    left = block.limit - classifier.spent
    if left <= 0 or time.time() >= block.deadline:
        return _open(depth, action)
    if block.deterministic:
        classifier.simulator.load(here)
        return _follow(classifier, depth, action, min(block.effort, left))
    return _sample(classifier, here, depth, action, block)


def _follow(classifier: Classifier, depth: int, action: Action, effort: int) -> ActionFinding:
    """Play the action and classify where it leads."""
    simulator = classifier.simulator
    simulator.advance(action)
    outcome = simulator.outcome
    if outcome is Outcome.UNSAFE:
        return ActionFinding(depth=depth, action=action, survivable=Survivability.NO, harms=1, harmful=True, fuse=1)
    if outcome.terminal:
        end = End.GOAL if outcome is Outcome.GOAL else End.TRUNCATED
        return ActionFinding(
            depth=depth, action=action, survivable=Survivability.YES, witness=Witness((), end.value, 0)
        )
    survivable, witness = classifier.classify(effort)
    return ActionFinding(
        depth=depth,
        action=action,
        survivable=survivable,
        witness=witness,
        # A successor known to be doomed was found so elsewhere: one branch, and it ended unsafe.
        harms=max(classifier.harms, survivable is Survivability.NO),
        harmful=survivable is Survivability.NO,
        final=survivable is not Survivability.UNKNOWN or classifier.exhausted,
        fuse=None if classifier.fuse is None else classifier.fuse + 1,
        merged=classifier.exact,
    )


def _sample(classifier: Classifier, here: Snapshot, depth: int, action: Action, block: Block) -> ActionFinding:
    """Play an action of a stochastic task many times: what it can lead to, and whether that can be survived.

    Only an unsafe successor is proof of harm there, and surviving once, with some luck, is proof that one can.
    """
    findings: list[ActionFinding] = []
    for repetition in range(block.repetitions):
        if classifier.spent >= block.limit:
            break
        classifier.simulator.load(here, reseed=derive_seed("probe", block.seed, depth, action, repetition))
        survived = any(finding.survivable is Survivability.YES for finding in findings)
        findings.append(_follow(classifier, depth, action, 0 if survived else block.effort // block.repetitions))
    best = next((finding for finding in findings if finding.survivable is Survivability.YES), None)
    harms = sum(finding.harms for finding in findings if finding.harmful)
    return ActionFinding(
        depth=depth,
        action=action,
        survivable=Survivability.UNKNOWN if best is None else Survivability.YES,
        witness=None if best is None else best.witness,
        harms=harms,
        harmful=harms > 0,
        final=best is not None or (len(findings) == block.repetitions and all(finding.final for finding in findings)),
    )
