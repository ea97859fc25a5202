import pytest


@pytest.fixture(autouse=True)
def one_torch_thread():
    """Several threads that wait for each other on busy cores take a hundred times as long."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
