"""The contract of a snapshotter, as tests for those who write one."""

from __future__ import annotations

from typing import ClassVar

from tightrope.errors import TightropeError
from tightrope.seeding import generator
from tightrope.simulation import Simulator, Snapshotter, examine_snapshotter
from tightrope.tasks.task import Task
from tightrope.trace import Action

STEPS = 12


class SnapshotterContract:
    """Subclass it, name it Test…, and say which snapshotter on which task::

    class TestMySnapshotter(SnapshotterContract):
        task = my_task
        snapshotter = MySnapshotter
    """

    task: ClassVar[Task]
    snapshotter: ClassVar[type[Snapshotter]]

    def open_simulator(self) -> Simulator:
        """A simulator that saves in this way, right after reset."""
        env = self.task.open_env()
        simulator = Simulator(self.task, env, self.snapshotter(env))
        simulator.reset()
        return simulator

    def test_it_has_a_name(self) -> None:
        """The name is what reports and error messages call it."""
        assert isinstance(self.snapshotter.name, str)
        assert self.snapshotter.name

    def test_it_applies_to_the_environment(self) -> None:
        """Otherwise it would never be tried."""
        env = self.task.open_env()
        assert self.snapshotter.applies(env)
        env.close()

    def test_the_round_trip_is_exact(self) -> None:
        """Save, wander off, put back: everything that follows equals a fresh replay."""
        rejection = examine_snapshotter(self.task, self.snapshotter)
        assert rejection is None, f"{rejection.method}: {rejection.reason}" if rejection else ""

    def test_a_snapshot_can_be_loaded_again_and_again(self) -> None:
        """Loading does not use a snapshot up."""
        simulator = self.open_simulator()
        snapshot = simulator.save()
        futures = set()
        for _ in range(3):
            simulator.load(snapshot)
            futures.add(_future(simulator))
        simulator.close()
        assert len(futures) == 1

    def test_reseeding_is_reproducible_and_leaves_the_situation_alone(self) -> None:
        """The same seed gives the same future from the same key."""
        simulator = self.open_simulator()
        snapshot, key = simulator.save(), simulator.key()
        futures = set()
        for _ in range(2):
            simulator.load(snapshot, reseed=7)
            assert simulator.key() == key
            futures.add(_future(simulator))
        simulator.close()
        assert len(futures) == 1


def _future(simulator: Simulator) -> tuple[tuple[Action, float, object], ...]:
    rng = generator("snapshotter contract")
    steps: list[tuple[Action, float, object]] = []
    while len(steps) < STEPS and not simulator.outcome.terminal:
        actions = simulator.available_actions()
        if not actions:
            raise TightropeError("no action is available, and the episode is not over")
        action = actions[int(rng.integers(len(actions)))]
        steps.append((action, simulator.step(action).reward, simulator.key()))
    return tuple(steps)
