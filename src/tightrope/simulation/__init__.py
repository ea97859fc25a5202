"""One environment that can be put back exactly, and the proof that it can."""

from tightrope.simulation.opening import open_simulator
from tightrope.simulation.simulator import Simulator, SimulatorCounters, Snapshot

__all__ = ["Simulator", "SimulatorCounters", "Snapshot", "open_simulator"]
