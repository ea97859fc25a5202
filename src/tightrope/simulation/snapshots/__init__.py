"""Ways of saving an environment exactly, in the order in which they are tried."""

from tightrope.simulation.snapshots.ale import AleSnapshotter
from tightrope.simulation.snapshots.attributes import AttributesSnapshotter
from tightrope.simulation.snapshots.base import (
    Snapshotter,
    applicable_snapshotters,
    canonical_reseed,
    draws_nothing,
    find_snapshotter,
    pack_snapshotters,
    register_snapshotter,
    registered_snapshotters,
    shows_its_draws,
    unpack_snapshotters,
)
from tightrope.simulation.snapshots.mujoco import ChangingModelSnapshotter, MujocoSnapshotter
from tightrope.simulation.snapshots.own import OwnMethodsSnapshotter
from tightrope.simulation.snapshots.retro import RetroSnapshotter

for _snapshotter in (
    OwnMethodsSnapshotter,
    AleSnapshotter,
    MujocoSnapshotter,
    ChangingModelSnapshotter,
    RetroSnapshotter,
    AttributesSnapshotter,
):
    register_snapshotter(_snapshotter, first=False)

__all__ = [
    "AleSnapshotter",
    "AttributesSnapshotter",
    "ChangingModelSnapshotter",
    "MujocoSnapshotter",
    "OwnMethodsSnapshotter",
    "RetroSnapshotter",
    "Snapshotter",
    "applicable_snapshotters",
    "canonical_reseed",
    "draws_nothing",
    "find_snapshotter",
    "pack_snapshotters",
    "register_snapshotter",
    "registered_snapshotters",
    "shows_its_draws",
    "unpack_snapshotters",
]
