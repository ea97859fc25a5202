"""What plays needs the emulator and the ROM; without them there is nothing to test."""

import pytest

from tightrope.errors import UsageError
from tightrope_mario.game.rom import find_rom


def pytest_collection_modifyitems(items):
    try:
        import stable_retro  # noqa: F401

        find_rom()
    except (ImportError, UsageError) as error:
        reason = pytest.mark.skip(reason=str(error))
        for item in items:
            if "tests/mario" in str(item.path):
                item.add_marker(reason)


@pytest.fixture(autouse=True)
def one_torch_thread():
    """Several threads that wait for each other on busy cores take a hundred times as long."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
