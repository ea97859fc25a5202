"""``tightrope mario levels``: a reference through each of the 32."""

from __future__ import annotations

from tightrope.extending import NOTHING_JUDGED, PASSED, current_interface, verb
from tightrope_mario.verbs.options import RomOption

EXAMPLE = "tightrope mario levels"
NEEDS_ARGUMENTS = False


@verb
def command(rom: RomOption = None) -> int:
    """Step 1 on all 32 levels, and the table of what it took."""
    from tightrope_mario.all_levels import solve_levels

    interface = current_interface()
    with interface.progress() as show:
        solved = solve_levels(rom=None if rom is None else str(rom), on_progress=show)
    rows = [
        (
            entry.level,
            entry.method,
            entry.frames,
            entry.seconds,
            entry.length,
            f"{entry.proven} / {entry.boundary_states}",
        )
        for entry in solved
    ]
    columns = ("level", "method", "frames", "seconds", "reference length", "boundary states (proven / all)")
    interface.table("Super Mario Bros.", columns, rows)
    interface.data([entry.to_json() for entry in solved])
    return PASSED if all(entry.length for entry in solved) else NOTHING_JUDGED
