from __future__ import annotations

from pathlib import Path

import pytest

from tightrope.execution.prefixes import memory_limit

GIB = 2**30


@pytest.mark.parametrize(("container", "expected"), [("max\n", None), (f"{2 * GIB}\n", GIB // 2)])
def test_a_container_is_as_large_as_it_may_be(
    container: str, expected: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_limit, "CONTAINER_LIMITS", ())
    without = memory_limit.default_memory_limit()
    (tmp_path / "memory.max").write_text(container)
    monkeypatch.setattr(memory_limit, "CONTAINER_LIMITS", (tmp_path / "memory.max", tmp_path / "none"))
    assert memory_limit.default_memory_limit() == (expected or without)


def test_the_default_leaves_most_of_the_memory_to_others() -> None:
    assert 0 < memory_limit.default_memory_limit() <= 4 * GIB
