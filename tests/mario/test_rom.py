import sys

import pytest

from tightrope.errors import UsageError
from tightrope_mario.game import rom
from tightrope_mario.game.rom import ROM_VARIABLE, find_rom


def test_found_in_the_installed_package_without_importing_it(monkeypatch):
    monkeypatch.delenv(ROM_VARIABLE, raising=False)
    monkeypatch.delitem(sys.modules, rom.CARRIER, raising=False)
    assert find_rom().name == "super-mario-bros.nes"
    assert rom.CARRIER not in sys.modules


def test_a_wrong_dump_is_refused_with_its_hash(tmp_path):
    other = tmp_path / "other.nes"
    other.write_bytes(b"NES\x1a")
    with pytest.raises(UsageError, match="sha1"):
        find_rom(other)


def test_a_missing_file_says_who_named_it(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="given as rom"):
        find_rom(tmp_path / "none.nes")
    monkeypatch.setenv(ROM_VARIABLE, str(tmp_path / "none.nes"))
    with pytest.raises(UsageError, match=ROM_VARIABLE):
        find_rom()


def test_without_any_rom_the_error_lists_the_ways(monkeypatch):
    monkeypatch.delenv(ROM_VARIABLE, raising=False)
    monkeypatch.setattr(rom, "CARRIER", "no_such_package")
    with pytest.raises(UsageError, match="pip install --no-deps gym-super-mario-bros"):
        find_rom()
