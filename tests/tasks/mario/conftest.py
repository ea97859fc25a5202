"""Everything here needs the emulator and the ROM; without them there is nothing to test."""

import pytest

from tightrope.errors import UsageError
from tightrope.tasks.mario.rom import find_rom


def pytest_collection_modifyitems(items):
    try:
        import stable_retro  # noqa: F401

        find_rom()
    except (ImportError, UsageError) as error:
        reason = pytest.mark.skip(reason=str(error))
        for item in items:
            if "tasks/mario" in str(item.path):
                item.add_marker(reason)
