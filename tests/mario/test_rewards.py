import json
from pathlib import Path

import pytest

from tightrope.errors import UnknownName
from tightrope_mario.game import ram
from tightrope_mario.game.emulator import shared_machine
from tightrope_mario.game.levels import find_level
from tightrope_mario.game.rewards import DEATH, dense, find_reward, segments_passed, sparse
from tightrope_mario.game.rom import find_rom

from .helpers import fresh

RECORDED = json.loads((Path(__file__).parent / "data" / "gym_super_mario_bros.json").read_text())


@pytest.mark.parametrize("recording", RECORDED, ids=lambda recording: f"{recording['level']}-{len(recording['x'])}")
def test_every_frame_pays_what_gym_super_mario_bros_pays(recording):
    """Recorded with nes-py, which takes input one frame late and clips rewards to ±15.

    ``idle`` frames bring the two clocks into step; ``offset`` is the lag that remains. The clocks may show different
    numbers where ours has ticked once more before the start, so what is compared is how they run.
    """
    env = fresh(level=recording["level"], frame_skip=1, lazy=True)
    held = ["none"] * recording["idle"] + [name for name, frames in recording["held"] for _ in range(frames)]
    ours, ahead = [], recording["time"][0] - ram.clock(env.blob)
    for name in held:
        _, reward, terminated, _, info = env.step(env.action_names.index(name))
        ours.append((max(-15, min(15, reward)), info["x"], info["time"] + ahead))
        if terminated:
            break
    theirs = list(zip(recording["rewards"], recording["x"], recording["time"], strict=True))
    first = max(0, recording["offset"])
    assert ours[first:] == theirs[first - recording["offset"] :]
    assert terminated
    assert info["flag"] == recording["flag"]


@pytest.fixture
def start():
    return shared_machine(find_rom()).level_start(find_level("1-1")).blob


def with_(blob, **values):
    return ram.written(blob, {getattr(ram, name): value for name, value in values.items()})


def test_dense_pays_pixels_and_charges_ticks_and_death(start):
    x = start[ram.X_PIXEL]
    assert dense(start, with_(start, X_PIXEL=x + 3), 0, 3000) == 3
    assert dense(start, with_(start, X_PIXEL=x - 2), 0, 3000) == -2
    assert dense(start, with_(start, X_PIXEL=x + 60), 0, 3000) == 0, "a jump to another place earns nothing"
    assert dense(start, with_(start, CLOCK=start[ram.CLOCK] - 1), 0, 3000) == -100
    assert dense(start, with_(start, CLOCK=start[ram.CLOCK] + 1), 0, 3000) == 0
    assert dense(start, with_(start, PLAYER_STATE=ram.DYING), 0, 3000) == DEATH == -25


def test_sparse_pays_each_fifth_of_the_level_once(start):
    halfway = with_(start, X_PAGE=6)  # x = 1576
    assert sparse(start, halfway, 40, 3000) == 20
    assert sparse(start, halfway, 1800, 3000) == 0
    assert sparse(start, with_(start, MODE=ram.LEVEL_WON), 2999, 3000) == 10, "the last fifth is the flag's"
    assert segments_passed(10_000, 3000) == 4


def test_sparse_pays_enemies_power_ups_and_charges_death(start):
    goomba = ram.written(start, {ram.ENEMY_FLAGS: 1, ram.ENEMY_TYPES: 6, ram.ENEMY_STATES: 0})
    assert sparse(goomba, ram.written(goomba, {ram.ENEMY_STATES: 4}), 40, 3000) == 1
    assert sparse(goomba, ram.written(goomba, {ram.ENEMY_STATES: 0x20}), 40, 3000) == 1
    flattened = ram.written(goomba, {ram.ENEMY_STATES: 4})
    assert sparse(flattened, flattened, 40, 3000) == 0, "counted once"
    slot = ram.POWER_UP_SLOT
    mushroom = ram.written(start, {ram.ENEMY_FLAGS + slot: 1, ram.ENEMY_TYPES + slot: ram.POWER_UP})
    taken = ram.written(mushroom, {ram.ENEMY_FLAGS + slot: 0, ram.POINTS_SHOWN + slot: 6})
    lost = ram.written(mushroom, {ram.ENEMY_FLAGS + slot: 0})
    assert sparse(mushroom, taken, 40, 3000) == 10
    assert sparse(mushroom, lost, 40, 3000) == 0
    assert sparse(start, with_(start, PLAYER_STATE=ram.DYING), 40, 3000) == -25


def test_an_unknown_reward_is_named_with_its_neighbours():
    with pytest.raises(UnknownName, match="dense"):
        find_reward("dens")
