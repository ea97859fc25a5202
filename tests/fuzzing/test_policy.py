from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzzing.worlds import (
    Alternating,
    Blind,
    Careful,
    Counting,
    Dice,
    Pusher,
    rail_task,
    turnstile_task,
)  # fmt: skip
from tightrope.agents.agent import Agent
from tightrope.budget import Budget
from tightrope.errors import UsageError
from tightrope.execution import Engine, Rollout
from tightrope.fuzzing import FuzzResult, Perturbation, PerturbationKind, Script, action_source, fuzz_policy
from tightrope.fuzzing.disturbed import DisturbedAgent
from tightrope.fuzzing.perturbation import ScriptOperators
from tightrope.fuzzing.playing import TracePlayer
from tightrope.fuzzing.population import Member
from tightrope.fuzzing.scripts import ScriptPlayer, cast
from tightrope.outcome import Outcome, StopReason
from tightrope.tasks import Task
from tightrope.testing import JUMP, WALK, corridor_task
from tightrope.trace import ActionTrace

CORRIDOR = corridor_task()


def held(start: int, length: int, action: int) -> Perturbation:
    return Perturbation(start=start, length=length, kind=PerturbationKind.HELD, action=action, seed=0)


def of_kind(kind: PerturbationKind, start: int, length: int, seed: int = 0) -> Perturbation:
    return Perturbation(start=start, length=length, kind=kind, action=WALK, seed=seed)


def evaluate(agent: Agent, *scripts: Script, task: Task = CORRIDOR, max_length: int | None = None):
    source = action_source(task)
    with Engine(task, cast(agent, source)) as engine:
        evaluator = ScriptPlayer(TracePlayer(engine, source, 0), ActionTrace(task.label, task.seed), agent, max_length)
        return evaluator(scripts)


def test_the_empty_script_is_the_agent_itself() -> None:
    (own,) = evaluate(Careful(), Script())
    assert own.outcome is Outcome.GOAL
    assert own.trace.actions == (0, 0, 1, 0, 1, 0, 0, 0)
    assert own.keys.size == 9


def test_a_held_action_comes_between_what_the_agent_does() -> None:
    fell, detour = evaluate(Careful(), Script((held(2, 1, WALK),)), Script((held(0, 1, JUMP), held(3, 1, JUMP))))
    assert (fell.trace.actions, fell.outcome) == ((0, 0, 0), Outcome.UNSAFE)
    # Jump to 2, jump over 3 to 4, walk to 5, jump (held, as it would anyway) to 7, walk on.
    assert (detour.trace.actions, detour.outcome) == ((1, 1, 0, 1, 0, 0, 0), Outcome.GOAL)
    assert detour.rewards == (-1,) * 6 + (9,)


def test_another_action_is_never_the_agents_own() -> None:
    (result,) = evaluate(
        Careful(), Script((of_kind(PerturbationKind.OTHER, 0, 1), of_kind(PerturbationKind.OTHER, 3, 1)))
    )
    assert result.trace.actions[0] == JUMP
    (longer,) = evaluate(Blind(), Script((of_kind(PerturbationKind.OTHER, 0, 5),)), task=corridor_task(30, ()))
    assert longer.trace.actions == (JUMP,) * 5 + (WALK,) * 20


def test_noise_replaces_some_actions() -> None:
    task = corridor_task(400, ())
    (result,) = evaluate(Blind(), Script((of_kind(PerturbationKind.NOISE, 10, 200),)), task=task)
    assert result.trace.actions[:10] == (WALK,) * 10
    jumps = result.trace.actions[10:210].count(JUMP)
    assert 30 < jumps < 70  # half of the steps are random, half of those jump
    assert JUMP not in result.trace.actions[210:]


def test_continuous_noise_stays_near_the_agents_action() -> None:
    (result,) = evaluate(Pusher(), Script((of_kind(PerturbationKind.NOISE, 2, 6),)), task=rail_task())
    noisy = [action[0] for action in result.trace.actions[2:8]]  # type: ignore[index]
    assert len(set(noisy)) == 6
    assert all(abs(value - 0.25) < 1 for value in noisy)


def test_a_perturbation_after_the_end_never_happens() -> None:
    (result,) = evaluate(Careful(), Script((held(30, 5, WALK),)))
    assert len(result.trace) == 8
    operators = ScriptOperators(source=action_source(CORRIDOR))
    assert operators.cut(Script((held(2, 1, 0), held(30, 5, 0))), result) == Script((held(2, 1, 0),))


def test_max_length_ends_the_episode() -> None:
    scripts = Script(), Script((held(2, 4, JUMP),)), Script((held(4, 4, JUMP),))
    assert [len(result.trace) for result in evaluate(Careful(), *scripts, max_length=4)] == [4, 4, 4]


def test_a_recurrent_agent_remembers_what_it_saw_before() -> None:
    (result,) = evaluate(Counting(), Script((held(1, 1, WALK),)), task=corridor_task(12, ()))
    assert result.trace.actions == (0, 0, 1, 0, 0, 1, 0, 0, 1)


KINDS = st.sampled_from(list(PerturbationKind))
PARTS = st.builds(
    Perturbation,
    start=st.integers(0, 12),
    length=st.integers(1, 4),
    kind=KINDS,
    action=st.integers(0, 1),
    seed=st.integers(0, 3),
)
SCRIPTS = st.lists(PARTS, max_size=4).map(Script.tidied)


@given(st.lists(PARTS, max_size=6))
def test_tidied_scripts_are_in_order_and_do_not_overlap(parts) -> None:
    tidy = Script.tidied(parts).perturbations
    assert all(first.end <= second.start for first, second in itertools.pairwise(tidy))
    assert set(tidy) <= set(parts)
    assert Script.tidied(tidy).perturbations == tidy
    assert bool(tidy) == bool(parts)


def test_what_is_known_is_not_run_again_and_makes_no_difference() -> None:
    """Scripts evaluated one after the other, with memory, against each evaluated alone."""
    task, agent = corridor_task(24, (3, 6, 11, 17)), Careful()
    operators, rng = ScriptOperators(source=action_source(task), size=4), np.random.default_rng(0)
    parents = [Script()]
    source = action_source(task)
    with Engine(task, cast(agent, source)) as engine:
        evaluator = ScriptPlayer(TracePlayer(engine, source, 0), ActionTrace(task.label, 0), agent, None)
        forgetful = ScriptPlayer(TracePlayer(engine, source, 0), ActionTrace(task.label, 0), agent, None)
        forgetful.repeatable = False
        for _ in range(60):
            parent = parents[int(rng.integers(len(parents)))]
            (own,) = evaluator([parent])
            child = operators.mutate(Member(genome=parent, played=own, fitness=None), rng)  # type: ignore[arg-type]
            (remembered,), (fresh,) = evaluator([child]), forgetful([child])
            assert (remembered.trace, remembered.rewards, remembered.outcome) == (
                fresh.trace, fresh.rewards, fresh.outcome,
            )  # fmt: skip
            assert np.array_equal(remembered.keys, fresh.keys)
            parents.append(child)


@given(SCRIPTS, SCRIPTS, st.integers(0, 10**6))
def test_operators_give_tidy_scripts_that_are_never_empty(first, second, seed) -> None:
    operators, rng = ScriptOperators(source=action_source(CORRIDOR), size=4), np.random.default_rng(seed)
    members = [
        Member(genome=script, played=own, fitness=None)  # type: ignore[arg-type]
        for script, own in zip((first, second), OWN * 2, strict=True)
    ]
    child = operators.mutate(members[0], rng)
    assert child.perturbations
    assert Script.tidied(child.perturbations) == child
    mixed = operators.cross(members[0], members[1], rng)
    assert mixed is None or set(mixed.perturbations) <= {*first.perturbations, *second.perturbations}


OWN = evaluate(Careful(), Script())


def test_fuzzing_a_policy_stays_near_it() -> None:
    result = fuzz_policy(CORRIDOR, Careful(), generations=6, population=10)
    assert result.level == "policy"
    assert result.agent == "careful"
    assert result.stop_reason is StopReason.COMPLETED
    assert len(result.fittest) == 6
    assert result.ancestors[0].trace.actions == (0, 0, 1, 0, 1, 0, 0, 0)
    assert any(individual.perturbations for individual in result.individuals)
    assert result.control is not None
    assert result.control.traces == 60
    assert result.goals > result.control.goals
    with Engine(CORRIDOR) as engine:
        for individual, episode in zip(
            result.individuals, engine.run([Rollout(start=trace) for trace in result.fittest]), strict=True
        ):
            assert (episode.prefix_reward, episode.outcome) == (individual.total_return, individual.outcome)


@pytest.mark.parametrize(("slip", "agent"), [(0.3, Careful()), (0.0, Dice()), (0.3, Counting())])
def test_randomness_is_part_of_the_individual(slip: float, agent: Agent) -> None:
    task = corridor_task(20, (3, 6), slip=slip)
    first, second = (fuzz_policy(task, agent, generations=3, population=6, seed=4) for _ in range(2))
    assert first == second
    with Engine(task) as engine:
        replays = engine.run([Rollout(start=trace, fixed_prefix=True) for trace in first.fittest])
    for individual, episode in zip(first.individuals, replays, strict=True):
        assert (episode.prefix_reward, episode.outcome) == (individual.total_return, individual.outcome)


def test_the_seed_matters() -> None:
    one, other = (fuzz_policy(CORRIDOR, Careful(), generations=2, population=6, seed=seed) for seed in (1, 2))
    assert one.individuals != other.individuals


def test_masks_are_kept_to() -> None:
    result = fuzz_policy(turnstile_task(), Alternating(), generations=4, population=8)
    assert sum(generation.errors for generation in result.generations) == 0
    assert any(individual.perturbations for individual in result.individuals)


def test_results_survive_json() -> None:
    for task, agent in ((CORRIDOR, Careful()), (rail_task(), Pusher())):
        result = fuzz_policy(task, agent, generations=2, population=4)
        assert FuzzResult.from_json(json.loads(json.dumps(result.to_json()))) == result


def test_budget_and_wrong_input() -> None:
    result = fuzz_policy(CORRIDOR, Careful(), budget=Budget(seconds=0))
    assert (result.stop_reason, result.fittest) == (StopReason.BUDGET_SPENT, ())
    with pytest.raises(UsageError, match="mutation_stop"):
        fuzz_policy(CORRIDOR, Careful(), mutation_stop=0)


def test_a_disturbed_agent_is_another_agent() -> None:
    source = action_source(CORRIDOR)
    other, noise = (
        DisturbedAgent(Careful(), kind, source) for kind in (PerturbationKind.OTHER, PerturbationKind.NOISE)
    )
    assert len({other.name, noise.name, "careful"}) == 3
    assert len({other.fingerprint, noise.fingerprint, "careful"}) == 3
    assert not other.deterministic
    with pytest.raises(UsageError, match="random generator"):
        other.act([0], [None], [None], [None])
