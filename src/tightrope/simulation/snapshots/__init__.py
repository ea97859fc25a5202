"""Ways of saving an environment exactly, in the order in which they are tried."""

from tightrope.simulation.snapshots.attributes import AttributesSnapshotter
from tightrope.simulation.snapshots.base import (
    Snapshotter,
    applicable_snapshotters,
    canonical_reseed,
    find_snapshotter,
    register_snapshotter,
    registered_snapshotters,
)

for _snapshotter in (AttributesSnapshotter,):
    register_snapshotter(_snapshotter, first=False)

__all__ = [
    "AttributesSnapshotter",
    "Snapshotter",
    "applicable_snapshotters",
    "canonical_reseed",
    "find_snapshotter",
    "register_snapshotter",
    "registered_snapshotters",
]
