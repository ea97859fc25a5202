"""One environment that can be put back exactly, and the proof that it can."""

from tightrope.simulation.conformance.cross_checking import CrossCheck, ExpectedTrace, Sighting, cross_check
from tightrope.simulation.conformance.examination import Conformance, Rejection, examine_snapshotter
from tightrope.simulation.fresh_seeds import RandomnessMet, fresh_seeds_of
from tightrope.simulation.history import Reseed
from tightrope.simulation.opening import (
    check_task,
    conformance_of,
    exploring,
    is_known_stochastic,
    open_simulator,
    remember_stochastic,
    turn_stochastic,
)
from tightrope.simulation.pace import look_seconds, step_seconds
from tightrope.simulation.player import TraceMoment, play
from tightrope.simulation.simulator import Simulator, SimulatorCounters
from tightrope.simulation.snapshot import Snapshot
from tightrope.simulation.snapshots import AttributesSnapshotter, Snapshotter, register_snapshotter

__all__ = [
    "AttributesSnapshotter",
    "Conformance",
    "CrossCheck",
    "ExpectedTrace",
    "RandomnessMet",
    "Rejection",
    "Reseed",
    "Sighting",
    "Simulator",
    "SimulatorCounters",
    "Snapshot",
    "Snapshotter",
    "TraceMoment",
    "check_task",
    "conformance_of",
    "cross_check",
    "examine_snapshotter",
    "exploring",
    "fresh_seeds_of",
    "is_known_stochastic",
    "look_seconds",
    "open_simulator",
    "play",
    "register_snapshotter",
    "remember_stochastic",
    "step_seconds",
    "turn_stochastic",
]
