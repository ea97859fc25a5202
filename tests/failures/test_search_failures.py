"""Failures near an agent's own runs: replayable, ordered by likelihood, with the moment they were lost."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tightrope.cli import run_command
from tightrope.errors import UsageError
from tightrope.exploration.playing import replay
from tightrope.failures import Disturbance
from tightrope.failures.likelihood import log_likelihood
from tightrope.failures.moments import find_moments
from tightrope.runs.storage.store import EpisodeStore, RememberingEngine
from tightrope.simulation import open_simulator
from tightrope.testing import JUMP, WALK, corridor_task

CARTPOLE = tr.make_task("CartPole-v1")
GALLERY = Path(__file__).parents[2] / "agents" / "gallery"


def walker(task: tr.Task, holes: tuple[int, ...]) -> Any:
    """Jumps over the holes it knows and walks into every other."""
    return tr.load_agent(lambda cell: JUMP if int(cell) + 1 in holes else WALK, task, name="walker")


def leaning(task: tr.Task) -> Any:
    """Balances well, but gives up once the pole leans: what it never meets by itself."""

    def act(observation: Any) -> int:
        wanted = observation @ [0.1, 0.5, 3.0, 1.0] > 0
        return int(wanted if abs(observation[2]) < 0.08 else not wanted)

    return tr.load_agent(act, task, name="leaning")


def test_what_plain_episodes_do_not_see_is_found_with_a_witness() -> None:
    agent = leaning(CARTPOLE)
    assert tr.evaluate(CARTPOLE, agent, episodes=10).unsafe_rate.value == 0
    found = tr.search_failures(CARTPOLE, agent, tr.Budget(steps=20_000))
    assert found.avoidable
    simulator = open_simulator(CARTPOLE)
    for failure in found.avoidable:
        assert replay(simulator, failure.trace).outcome is tr.Outcome.UNSAFE
        assert failure.witness is not None
        survived = replay(simulator, failure.witness)
        assert survived.outcome is not tr.Outcome.UNSAFE
        assert len(survived) > len(failure.trace)
        assert failure.witness.actions[: failure.moment.depth] == failure.trace.actions[: failure.moment.depth]


def test_the_most_likely_come_first_and_the_budget_is_kept() -> None:
    found = tr.search_failures(CARTPOLE, leaning(CARTPOLE), tr.Budget(steps=20_000))
    likelihoods = [failure.disturbance.total[0] for failure in found.failures]
    assert likelihoods == sorted(likelihoods, reverse=True)
    assert found.steps <= 20_000 + 500, "within one episode"
    assert found.failed >= len(found.failures)


def test_the_same_seed_finds_the_same() -> None:
    one, again, other = (
        tr.search_failures(CARTPOLE, leaning(CARTPOLE), tr.Budget(steps=8_000), seed=seed) for seed in (0, 0, 1)
    )
    assert [failure.trace for failure in one.failures] == [failure.trace for failure in again.failures]
    assert [failure.trace for failure in one.failures] != [failure.trace for failure in other.failures]


def test_what_is_spent_hangs_neither_on_who_works_nor_on_what_is_remembered(tmp_path: Path) -> None:
    """A budget in steps ends at the same place, or the same seed finds something else on another back end."""
    agent = leaning(CARTPOLE)
    alone = tr.search_failures(CARTPOLE, agent, tr.Budget(steps=6_000))
    by_two = tr.search_failures(CARTPOLE, agent, tr.Budget(steps=6_000), backend="processes", workers=2)
    assert (by_two.steps, by_two.failures) == (alone.steps, alone.failures)
    with RememberingEngine(EpisodeStore(tmp_path / "episodes.sqlite"), CARTPOLE, {agent.name: agent}) as engine:
        for _ in range(2):
            again = tr.search_failures(CARTPOLE, agent, tr.Budget(steps=6_000), engine=engine)
            assert (again.steps, again.failures) == (alone.steps, alone.failures)
        assert engine.remembered


def test_an_agent_that_fails_by_itself_needs_no_disturbance() -> None:
    task = corridor_task(10, holes=(3, 6))
    found = tr.search_failures(task, walker(task, holes=(3,)), tr.Budget(steps=500))
    first = found.failures[0]
    assert str(first.disturbance) == "none"
    assert first.disturbance.total == (0.0, 0)
    assert first.avoidable
    assert first.moment is not None
    # It stands before the hole, where a jump would have saved it.
    assert first.moment.depth == len(first.trace) - 1
    assert first.moment.action == WALK


def test_the_same_failure_from_every_reset_is_found_once() -> None:
    """Where all resets are one, the search must not spend itself on the same run again and again."""
    task = corridor_task(length=12, holes=(4,))
    found = tr.search_failures(task, walker(task, holes=()), tr.Budget(steps=5_000))
    assert len(found.failures) == 1
    assert found.failed <= 4, "once from each cell before the hole, however often it is led there"
    assert found.steps < 2_500, "half of what it was given"
    assert found.stop_reason is tr.StopReason.EXHAUSTED


def test_an_agent_without_faults_is_not_blamed() -> None:
    task = corridor_task(10, holes=(3, 6))
    found = tr.search_failures(task, walker(task, holes=(3, 6)), tr.Budget(steps=2_000))
    assert not found.avoidable


def test_a_failure_two_slips_away_is_found_in_a_small_world() -> None:
    """Where nothing near the agent's runs is new, what it survived is disturbed again."""
    lake = tr.make_task("FrozenLake-v1", is_slippery=False)
    # It stays in its corner, comes to others from most cells, and walks into a hole from the seventh alone.
    answers = (0, 3, 2, 3, 0, 0, 2, 0, 3, 1, 0, 0, 0, 2, 1, 0)
    agent = tr.load_agent(lambda cell: answers[int(cell)], lake, name="cornered")
    for seed in range(2):
        [failure] = tr.search_failures(lake, agent, tr.Budget(steps=16_000), seed).avoidable
        assert failure.moment is not None
        assert (failure.moment.action, failure.disturbance.total[1] >= 2) == (2, True)


class Maps(gym.Env[int, int]):
    """A corridor of 12 cells with a door to the side in each, some of them open: which, the reset seed says."""

    observation_space, action_space = gym.spaces.Discrete(24), gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        drawn = np.random.default_rng(seed).random(13).tolist()
        self.cell, self.aside, self.prize, self.open = 0, False, drawn[0], [each < 0.3 for each in drawn[1:]]
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        fell = self.aside and self.open[self.cell]
        self.cell, self.aside = self.cell + 1, bool(action)
        over = fell or self.cell == 11
        return self.cell + 12 * self.aside, self.prize, over, False, {"fell": fell}


class Closed(Maps):
    """All doors are closed, so that nobody ever falls, and there is always another map."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        seen, info = super().reset(seed=seed)
        self.open = [False] * 12
        return seen, info


def walked_straight(make_env: type[Maps]) -> tuple[tr.Task, Any]:
    task = tr.Task(
        name="maps",
        make_env=make_env,
        goal=lambda t: t.terminated and not t.info["fell"],
        unsafe=lambda t: t.info.get("fell", False),
    )
    return task, tr.load_agent(lambda seen: 0, task, name="straight")


def test_where_nothing_fails_all_steps_go_into_finding() -> None:
    """Half of them were kept for judging, whatever there was to judge."""
    found = tr.search_failures(*walked_straight(Closed), tr.Budget(steps=4_000))
    assert (found.failures, found.judging_steps) == ((), 0)
    assert found.finding_steps == found.steps >= 4_000


def test_judging_takes_no_more_than_its_share_and_what_it_leaves_goes_on_with_finding() -> None:
    agent = leaning(CARTPOLE)
    for share in (0.2, 0.5):
        found = tr.search_failures(CARTPOLE, agent, tr.Budget(steps=10_000), judging=share)
        assert 0 < found.judging_steps < share * 10_000 + 500
        assert found.finding_steps + found.judging_steps == found.steps >= 10_000
    alone = tr.search_failures(CARTPOLE, agent, tr.Budget(steps=10_000), judging=0)
    assert alone.judging_steps == 0
    assert alone.failures
    assert not any(each.looked or each.moment for each in alone.failures)


def test_the_likelihood_is_that_of_what_the_agent_would_have_answered_meanwhile() -> None:
    """It steers against a disturbance; it was compared with what it does where nobody disturbs it."""
    agent = leaning(CARTPOLE)
    found = tr.search_failures(CARTPOLE, agent, tr.Budget(steps=20_000))
    disturbed = [each for each in found.failures if each.disturbance.steps]
    assert len(disturbed) > 3
    for failure in disturbed:
        env = gym.make("CartPole-v1").unwrapped
        observation, _ = env.reset(seed=failure.trace.seed)
        others = 0
        for action in failure.trace.actions:
            [own] = agent.act([observation], [None], [None], [None]).actions
            others += own != action
            observation, *_ = env.step(action)
        assert failure.disturbance.asked
        assert failure.disturbance.total[0] == pytest.approx(others * log_likelihood(CARTPOLE, (1,), (0,)))


def test_the_same_place_on_another_map_is_another_situation() -> None:
    task, agent = walked_straight(Maps)
    found = tr.search_failures(task, agent, tr.Budget(steps=6_000), judging=0)
    assert found.stop_reason is tr.StopReason.BUDGET_SPENT, "there is always another map"
    assert found.failed > 6


def test_where_chance_decides_the_same_situation_can_be_lost_again() -> None:
    lake = tr.make_task("FrozenLake-v1")
    answers = (2, 2, 2, 3, 1, 1, 2, 1, 3, 1, 2, 1, 1, 1, 1, 1)
    agent = tr.load_agent(lambda cell: answers[int(cell)], lake, name="careless")
    found = tr.search_failures(lake, agent, tr.Budget(steps=6_000), judging=0)
    assert found.stop_reason is tr.StopReason.BUDGET_SPENT, "not when the agent has been handed over in every cell"
    assert any(not each.disturbance.steps and each.episode.prefix_steps for each in found.failures), "by chance alone"


def test_the_moment_is_the_last_from_which_somebody_survives() -> None:
    task = corridor_task(10, holes=(6,))
    with tr.Engine(task) as engine:
        [episode] = engine.run([tr.Rollout(start=tr.ActionTrace(task.label, 0), actions=(WALK,) * 10)])
        assert episode.outcome is tr.Outcome.UNSAFE
        [moment], steps = find_moments(engine, [episode])
    assert moment is not None
    assert moment.depth == len(episode.trace) - 1
    assert moment.escape.actions[moment.depth] == JUMP
    assert steps > 0


def test_noise_is_seen_by_the_agent_alone_and_only_where_numbers_are_real() -> None:
    found = tr.search_failures(CARTPOLE, leaning(CARTPOLE), tr.Budget(steps=8_000), noise=0.2, longest=4)
    assert found.episodes > 10
    task = corridor_task()
    with pytest.raises(UsageError, match="noise needs observations of real numbers"):
        tr.search_failures(task, walker(task, ()), noise=0.1)


def test_who_fails_while_it_sees_through_noise_has_failed() -> None:
    """It was thrown away, and only what failed after the noise was kept: by then it mostly recovers."""
    agent = tr.load_agent(GALLERY / "cartpole-late.onnx", CARTPOLE, name="late")
    found = tr.search_failures(CARTPOLE, agent, tr.Budget(steps=16_000), noise=0.5, longest=64)
    noisy = [each for each in found.failures if each.disturbance.noise and each.avoidable]
    within = [each for each in noisy if len(each.trace) == each.disturbance.depth + each.disturbance.steps]
    assert within
    with closing(open_simulator(CARTPOLE)) as simulator:
        for failure in within:
            assert failure.disturbance.noise == 0.5
            assert failure.disturbance.total[0] == 0 or failure.disturbance.earlier is not None
            assert replay(simulator, failure.trace).outcome is tr.Outcome.UNSAFE
            assert failure.witness is not None
            assert replay(simulator, failure.witness).outcome is not tr.Outcome.UNSAFE
    assert tr.explain(CARTPOLE, agent, within[0]).depth is not None


def test_a_search_shows_itself_in_one_short_line() -> None:
    found = tr.search_failures(CARTPOLE, leaning(CARTPOLE), tr.Budget(steps=6_000))
    assert len(found.failures) > 2
    assert len(repr(found)) < 400
    assert len(repr(found.failures[0])) < 200


def test_likelihood_counts_what_the_agent_would_not_have_done() -> None:
    assert log_likelihood(CARTPOLE, (1, 1, 1), (1, 1, 1)) == 0
    once, twice = log_likelihood(CARTPOLE, (1, 1), (1, 0)), log_likelihood(CARTPOLE, (1, 1), (0, 0))
    assert twice == pytest.approx(2 * once)
    assert once < -3
    again = Disturbance(reset=0, depth=9, steps=1, action=0, log_likelihood=-1.0, earlier=Disturbance(reset=0, depth=3))
    assert again.total == (-1.0, 1)
    assert str(again) == "action 0 held for 1 step from step 9"
    assert str(replace(again, steps=2)) == "action 0 held for 2 steps from step 9"


@pytest.mark.parametrize(
    "wrong", [{"longest": 0}, {"noise": -1.0}, {"reset_seeds": 0}, {"length": 0}, {"judging": 1.5}]
)
def test_wrong_use_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        tr.search_failures(CARTPOLE, leaning(CARTPOLE), **wrong)


def test_the_command_prints_and_writes_what_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    traces = tmp_path / "failures.json"
    arguments = ["failures", "FrozenLake-v1", "--set", "is_slippery=false", "--agent", "tests.sample_agents:zigzag"]
    assert run_command([*arguments, "--steps", "500", "--backend", "inline", "--json", "--traces", str(traces)]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["agent"] == "zigzag"
    assert len(tr.read_traces(traces)) == len(told["failures"])
    assert run_command(["failures", "FrozenLake-v1"]) == 2
    assert "which agent?" in capsys.readouterr().err


def test_what_nobody_looked_at_is_not_said_to_be_beyond_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the steps were spent before the moments were found."""
    monkeypatch.setattr("tightrope.failures.searching.with_moments", lambda engine, agent, found, meter: found)
    arguments = ["failures", "FrozenLake-v1", "--set", "is_slippery=false", "--agent", "tests.sample_agents:zigzag"]
    assert run_command([*arguments, "--steps", "500", "--backend", "inline"]) == 0
    printed = capsys.readouterr().out
    assert "not examined" in printed
    assert "no survivor found" not in printed


def test_an_agent_that_raises_at_once_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOD", "bad")
    task = tr.make_task("FrozenLake-v1", is_slippery=False)
    found = tr.search_failures(task, tr.load_agent("tests.sample_agents:moody", task), tr.Budget(steps=20_000))
    assert found.failures == ()
    assert found.episodes < 200
    assert found.judged == 0
    assert found.errors
    assert "not today" in found.first_error


def test_an_agent_that_only_raises_is_not_shown_to_have_no_failures(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["failures", "FrozenLake-v1", "--agent", "tests.sample_agents:moody", "--steps", "500"]
    assert run_command([*arguments, "--backend", "inline"]) == 3
    assert "raised errors and show neither failing nor surviving; the first error was" in capsys.readouterr().out


def test_errors_of_some_episodes_are_counted() -> None:
    def act(observation: Any) -> int:
        if abs(observation[2]) > 0.1:
            raise RuntimeError("too far")
        return int(observation[2] + observation[3] > 0)

    agent = tr.load_agent(act, CARTPOLE, name="raises when the pole leans")
    found = tr.search_failures(CARTPOLE, agent, tr.Budget(steps=3_000))
    assert 0 < found.errors < found.episodes
    assert 0 < found.judged <= found.episodes - found.errors
    assert "too far" in found.first_error
