"""What the console's memory says, read from a save state.

A *blob* is a complete FCEUmm save state. The 2 KiB of work RAM lie in it uncompressed, so reading a byte of it costs
nothing, while asking the emulator for its RAM costs as much as emulating a frame.
"""

from __future__ import annotations

from typing import Final

RAM_SIZE: Final = 2048
RAM_TAG: Final = b"RAM\x00\x00\x08\x00\x00"
"""FCEUmm's chunk header of work RAM: name and little-endian size."""
RAM_START: Final = 93
"""Where the first byte of work RAM lies in a blob; `Machine` checks it against `RAM_TAG` once."""

_AT = RAM_START
PLAYER_STATE: Final = _AT + 0x0E
FLOAT_STATE: Final = _AT + 0x1D
X_PAGE: Final = _AT + 0x6D
X_PIXEL: Final = _AT + 0x86
X_SPEED: Final = _AT + 0x57
Y_SPEED: Final = _AT + 0x9F
Y_PAGE: Final = _AT + 0xB5
Y_PIXEL: Final = _AT + 0x3B8
X_FORCE: Final = _AT + 0x705
Y_FORCE: Final = _AT + 0x433
SCREEN_PAGE: Final = _AT + 0x71A
SCREEN_PIXEL: Final = _AT + 0x71C
CLOUD_AREA: Final = _AT + 0x743
AREA_DATA: Final = slice(_AT + 0xE7, _AT + 0xE9)
"""Where the ROM describes the current area: as good as its name."""
LIVES: Final = _AT + 0x75A
STAGE: Final = _AT + 0x75C
WORLD: Final = _AT + 0x75F
AREA: Final = _AT + 0x760
STATUS: Final = _AT + 0x756
MODE: Final = _AT + 0x770
AREA_CHANGE_TIMER: Final = _AT + 0x6DE
LEVEL_TIMER: Final = _AT + 0x7A0
MAZE_COUNTERS: Final = slice(_AT + 0x6D9, _AT + 0x6DB)
CLOCK: Final = _AT + 0x7F8
SCORE: Final = _AT + 0x7DE
COINS: Final = _AT + 0x7ED
ENEMY_FLAGS: Final = _AT + 0x0F
ENEMY_TYPES: Final = _AT + 0x16
ENEMY_STATES: Final = _AT + 0x1E
POINTS_SHOWN: Final = _AT + 0x110
ENEMY_SLOTS: Final = 5
POWER_UP_SLOT: Final = 5

DYING, DEAD, CLIMBING, LEVEL_WON = 0x0B, 0x06, 3, 2
BUSY: Final = frozenset({0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x07})
"""Player states in which the game plays itself: pipes, vines, walking into a castle, entering an area."""
FLAGPOLE, POWER_UP, BOWSER = 0x31, 0x2E, 0x2D
LAST_PLAIN_ENEMY: Final = 0x14
"""Object types up to this one are enemies that can be defeated; above it come platforms, fire bars and the like."""


def x(blob: bytes) -> int:
    """Horizontal position in the level, in pixels."""
    return blob[X_PAGE] << 8 | blob[X_PIXEL]


def y(blob: bytes) -> int:
    """Height above the bottom of the screen, in pixels; above 255 when over its upper edge."""
    return 510 - blob[Y_PIXEL] if blob[Y_PAGE] < 1 else 255 - blob[Y_PIXEL]


def clock(blob: bytes) -> int:
    """What the level's clock shows."""
    return blob[CLOCK] * 100 + blob[CLOCK + 1] * 10 + blob[CLOCK + 2]


def score(blob: bytes) -> int:
    """Points, without the constant last digit."""
    total = 0
    for digit in blob[SCORE : SCORE + 6]:
        total = total * 10 + digit
    return total


def coins(blob: bytes) -> int:
    """Coins, 0 to 99."""
    return blob[COINS] * 10 + blob[COINS + 1]


def level(blob: bytes) -> str:
    """World and stage, as in ``"1-1"``."""
    return f"{blob[WORLD] + 1}-{blob[STAGE] + 1}"


def status(blob: bytes) -> str:
    """How big Mario is."""
    return ("small", "tall", "fireball")[min(blob[STATUS], 2)]


def dying(blob: bytes) -> bool:
    """Whether Mario is dying or dead: hit, fallen, or out of time.

    Below the screen counts as dying at once, but not in the bonus areas in the clouds, where falling leads back down.
    """
    return blob[PLAYER_STATE] in (DYING, DEAD) or (blob[Y_PAGE] > 1 and not blob[CLOUD_AREA])


def flag(blob: bytes) -> bool:
    """Whether the level is won: sliding down the flagpole, or the axe taken."""
    if blob[MODE] == LEVEL_WON:
        return True
    return blob[FLOAT_STATE] == CLIMBING and FLAGPOLE in blob[ENEMY_TYPES : ENEMY_TYPES + ENEMY_SLOTS]


def busy(blob: bytes) -> bool:
    """Whether the game plays itself and buttons do nothing."""
    return blob[PLAYER_STATE] in BUSY


def screen_left(blob: bytes) -> int:
    """Level position of the left edge of the screen."""
    return blob[SCREEN_PAGE] << 8 | blob[SCREEN_PIXEL]


def area(blob: bytes) -> int:
    """Which area this is: where the ROM describes it, a 16-bit address above 0."""
    return int.from_bytes(blob[AREA_DATA], "little")


def place(blob: bytes) -> tuple[int, ...]:
    """Which part of the game this is: level, area and, in the mazes, how many turns were taken right."""
    return (blob[WORLD], blob[STAGE], *blob[AREA_DATA], *blob[MAZE_COUNTERS])


def motion(blob: bytes) -> tuple[int, ...]:
    """The search's state key: where Mario is, to the sub-pixel, and how fast he moves."""
    return (
        blob[X_PAGE] << 8 | blob[X_PIXEL],
        blob[Y_PAGE] << 8 | blob[Y_PIXEL],
        blob[X_FORCE],
        blob[Y_FORCE],
        blob[X_SPEED],
        blob[Y_SPEED],
    )


def work_ram(blob: bytes) -> bytes:
    """All 2 KiB."""
    return blob[RAM_START : RAM_START + RAM_SIZE]


def defeated(before: bytes, after: bytes) -> int:
    """How many enemies were stomped, shot or knocked over between two frames."""
    return sum(
        1
        for slot in range(ENEMY_SLOTS)
        if before[ENEMY_FLAGS + slot]
        and (before[ENEMY_TYPES + slot] <= LAST_PLAIN_ENEMY or before[ENEMY_TYPES + slot] == BOWSER)
        and not _out_of_action(before[ENEMY_STATES + slot])
        and _out_of_action(after[ENEMY_STATES + slot])
    )


def _out_of_action(state: int) -> bool:
    # Bit 5: knocked over. Low bits 4: stomped into its shell or flat.
    return bool(state & 0x20) or state & 0x1F == 4


def power_up_taken(before: bytes, after: bytes) -> bool:
    """Whether a mushroom, flower, star or extra life was picked up between two frames."""
    slot = POWER_UP_SLOT
    return (
        bool(before[ENEMY_FLAGS + slot])
        and before[ENEMY_TYPES + slot] == POWER_UP
        and not after[ENEMY_FLAGS + slot]
        and bool(after[POINTS_SHOWN + slot])
    )


def written(blob: bytes, values: dict[int, int]) -> bytes:
    """A copy of the blob with some bytes changed; the keys are positions in the blob."""
    changed = bytearray(blob)
    for position, value in values.items():
        changed[position] = value
    return bytes(changed)
