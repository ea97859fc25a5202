"""What cannot be put back exactly is caught, by name and by step."""

from __future__ import annotations

import pickle
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest

from tests.simulation.broken import (
    Clock,
    HiddenState,
    Line,
    NestedNoise,
    NumpyGlobal,
    OldReset,
    PythonGlobal,
    Raising,
    SlottedCounter,
    StaleReward,
    Unseedable,
    line_task,
)
from tightrope.errors import EnvironmentFailure, NotReproducible, TaskError, UnknownName, UsageError
from tightrope.simulation import check_task, examine_snapshotter, open_simulator
from tightrope.simulation.snapshots import AttributesSnapshotter, find_snapshotter, register_snapshotter
from tightrope.tasks import Task, observation_bytes, rounded_key
from tightrope.testing import corridor_task


def test_a_well_behaved_environment_is_saved_by_its_attributes() -> None:
    verdict = check_task(line_task())
    assert (verdict.method, verdict.deterministic, verdict.transferable) == ("attributes", True, True)
    assert verdict.exact
    assert not verdict.rejected
    assert verdict.save_microseconds is not None
    assert verdict.save_microseconds > 0
    assert verdict.steps_per_second > 0


def rejection_of(task: Task) -> str:
    verdict = check_task(task)
    assert verdict.method == "replay"
    assert not verdict.transferable
    assert verdict.save_microseconds is None
    (rejection,) = verdict.rejected
    assert rejection.method == "attributes"
    return rejection.reason


def test_state_hidden_outside_the_attributes_is_caught() -> None:
    assert "observation differs at step" in rejection_of(line_task(HiddenState))


def test_a_wrapper_counter_that_is_lost_is_caught() -> None:
    assert "reward differs at step" in rejection_of(line_task(lambda: SlottedCounter(Line())))


def test_a_reward_that_reads_stale_data_is_caught() -> None:
    assert "reward differs at step" in rejection_of(line_task(StaleReward))


def test_a_snapshotter_that_forgets_the_wrappers_is_caught() -> None:
    class InnerOnly(AttributesSnapshotter):
        name: ClassVar[str] = "inner only"

        def __init__(self, env: Any) -> None:
            super().__init__(env, [env.unwrapped])

    rejection = examine_snapshotter(line_task(), InnerOnly)
    assert rejection is not None
    assert "the step counter of an added wrapper differs" in rejection.reason


def test_a_snapshotter_that_raises_is_rejected_with_its_words() -> None:
    class Failing(AttributesSnapshotter):
        name: ClassVar[str] = "failing"

        def save(self) -> Any:
            raise OSError("disk on fire")

    rejection = examine_snapshotter(line_task(), Failing)
    assert rejection is not None
    assert rejection.reason == "raised OSError: disk on fire"


@pytest.mark.parametrize(
    ("environment", "culprit"),
    [
        (NumpyGlobal, "NumPy's global generator"),
        (PythonGlobal, "Python's global generator"),
        (Clock, "Something outside the environment's seeded generator"),
    ],
)
def test_an_environment_that_cannot_be_replayed_is_refused(environment: type[Line], culprit: str) -> None:
    with pytest.raises(NotReproducible, match=culprit) as refusal:
        check_task(line_task(environment))
    assert "reward differs at step 1" in str(refusal.value)


def test_a_difference_inside_a_nested_observation_is_named() -> None:
    reason = rejection_of(line_task(NestedNoise))
    assert "observation['pair'][1] differs" in reason


def test_a_key_that_differs_is_named() -> None:
    calls = iter(range(10**9))
    task = line_task(state_key=lambda env, observation, info: next(calls))
    with pytest.raises(NotReproducible, match="state key differs at step 0"):
        check_task(task)


def test_stochastic_tasks_are_recognised() -> None:
    assert check_task(corridor_task()).deterministic
    assert not check_task(corridor_task(slip=0.1)).deterministic


def test_a_verdict_can_be_sent_to_another_process() -> None:
    verdict = check_task(corridor_task())
    assert pickle.loads(pickle.dumps(verdict)) == verdict


def test_a_known_verdict_saves_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    task = corridor_task()
    verdict = check_task(task)
    monkeypatch.setattr("tightrope.simulation.opening.examine", lambda task: pytest.fail("checked again"))
    open_simulator(task).close()
    open_simulator(corridor_task(), verdict).close()


def test_rendering_does_not_disturb() -> None:
    pytest.importorskip("pygame")
    task = line_task(lambda: gym.make("CartPole-v1", render_mode="rgb_array"), unsafe=lambda t: t.terminated)
    verdict = check_task(task)
    assert (verdict.method, verdict.transferable) == ("attributes", True)


# ------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("role", ["goal", "unsafe"])
def test_a_task_that_every_first_action_ends_is_refused(role: str) -> None:
    with pytest.raises(TaskError, match=f"{role}.* is true after the first step .* whichever action it is"):
        check_task(line_task(**{role: lambda transition: True}))
    assert check_task(line_task(**{role: lambda transition: transition.observation[0] > 0})).exact


@pytest.mark.parametrize("role", ["goal", "unsafe"])
def test_goal_and_unsafe_see_transitions_only(role: str) -> None:
    class Telling(Line):
        def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            observation, reward, terminated, truncated, _ = super().step(action)
            return observation, reward, terminated, truncated, {"place": self.place}

    task = line_task(Telling, **{role: lambda transition: transition.info["place"] > 3})
    verdict = check_task(task)
    assert verdict.exact
    simulator = open_simulator(task)
    simulator.reset()
    while not simulator.outcome.terminal:
        simulator.step(1)
    assert (str(simulator.outcome), simulator.depth) == (role, 4)


def test_a_reset_without_seed_is_refused() -> None:
    with pytest.raises(TaskError, match="does not take a seed"):
        check_task(line_task(Unseedable))


def test_a_reset_that_takes_a_seed_and_stumbles_over_it_is_not_called_seedless() -> None:
    class Stumbling(Line):
        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            raise TypeError("seed must be a string")

    with pytest.raises(EnvironmentFailure, match="raised TypeError: seed must be a string"):
        check_task(line_task(Stumbling))


def test_a_reset_of_the_old_interface_is_refused() -> None:
    with pytest.raises(TaskError, match=r"must return \(observation, info\)"):
        check_task(line_task(OldReset))


def test_a_key_that_is_not_hashable_is_refused() -> None:
    with pytest.raises(TaskError, match=r"state_key returned ndarray .* not hashable"):
        check_task(line_task(state_key=lambda env, observation, info: observation))


def test_an_environment_that_raises_in_the_middle_says_how_to_get_there() -> None:
    task = line_task(Raising)
    with pytest.raises(EnvironmentFailure, match="the line is broken"):
        check_task(task)
    verdict = check_task(line_task())
    simulator = open_simulator(task, verdict)
    simulator.reset()
    simulator.step(1)
    simulator.step(1)
    with pytest.raises(EnvironmentFailure, match=r"step 3 with action 0 raised ZeroDivisionError.*\[1, 1\]"):
        simulator.step(0)


def no_flag(*shown: Any) -> Any:
    return {}["flag"]


@pytest.mark.parametrize("role", ["goal", "unsafe", "state_key", "identity"])
def test_a_function_of_the_task_that_raises_is_named(role: str) -> None:
    task = line_task(**{role: no_flag})
    told = f"^{role} of task {task.label} raised KeyError: 'flag'.*info.get\\('flag'\\)$"
    with pytest.raises(TaskError, match=told) as caught:
        check_task(task)
    assert isinstance(caught.value.__cause__, KeyError)
    simulator = open_simulator(task, check_task(line_task()))
    simulator.reset()
    with pytest.raises(TaskError, match=told):
        (simulator.step(1), simulator.key(), simulator.identity())


def test_what_tightrope_says_in_a_key_is_left_as_it_is() -> None:
    with pytest.raises(UsageError, match=r"^rounded_key got 2 steps"):
        check_task(line_task(state_key=rounded_key(1.0, 2.0)))


def test_a_step_of_the_old_interface_is_told() -> None:
    class Old(Line):
        def step(self, action: int) -> Any:
            observation, reward, terminated, _, info = super().step(action)
            return observation, reward, terminated, info

    told = r"step\(\) must return \(observation, reward, terminated, truncated, info\), not 4 values; .*shimmy"
    with pytest.raises(TaskError, match=told):
        check_task(line_task(Old))
    simulator = open_simulator(line_task(Old), check_task(line_task()))
    simulator.reset()
    with pytest.raises(TaskError, match=told):
        simulator.step(1)


def test_make_env_that_raises_or_returns_something_else() -> None:
    def fails() -> Any:
        raise RuntimeError("no display")

    with pytest.raises(EnvironmentFailure, match=r"make_env\(\) raised RuntimeError: no display"):
        check_task(line_task(fails))
    with pytest.raises(TaskError, match=r"must return a gymnasium\.Env, not int"):
        check_task(line_task(lambda: 3))


def test_options_are_only_blamed_for_an_environment_that_they_never_made() -> None:
    working = [True]

    def makes_one() -> Line:
        if not working:
            raise RuntimeError("no such colour")
        working.clear()
        return Line()

    task = line_task(makes_one, options={"colour": "red"})
    task.open_env()
    with pytest.raises(EnvironmentFailure, match="no such colour"):
        task.open_env()
    with pytest.raises(TaskError, match=r"options colour='red' .* raised RuntimeError: no such colour"):
        line_task(makes_one, options={"colour": "red"}).open_env()


def test_a_process_that_holds_one_environment_gets_a_hint() -> None:
    alive: list[Line] = []

    class Single(Line):
        def __init__(self) -> None:
            if alive:
                raise RuntimeError("one emulator per process")
            super().__init__()
            alive.append(self)

        def close(self) -> None:
            alive.clear()

    with pytest.raises(EnvironmentFailure, match="one_per_process=True"):
        check_task(line_task(Single))
    verdict = check_task(line_task(Single, one_per_process=True))
    assert verdict.method == "attributes"
    assert not verdict.transferable


def test_snapshotters_have_unique_names() -> None:
    with pytest.raises(UsageError, match="registered already"):
        register_snapshotter(AttributesSnapshotter)
    with pytest.raises(UnknownName, match="attributes"):
        find_snapshotter("atributes")


def test_default_key_is_the_observation() -> None:
    assert line_task().state_key is observation_bytes
    assert observation_bytes(None, np.array([1.0]), {}) == np.array([1.0]).tobytes()
