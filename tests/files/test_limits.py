"""SECURITY.md states the limits that are in force."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tightrope.files import limits
from tightrope.files.content import in_words

ROWS = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", (Path(__file__).parents[2] / "SECURITY.md").read_text(), re.M)


def test_the_table_is_found() -> None:
    assert len(ROWS) > 8


@pytest.mark.parametrize(("name", "stated"), ROWS)
def test_a_stated_limit_is_the_one_in_force(name: str, stated: str) -> None:
    value = getattr(limits, name)
    assert stated == (in_words(value) if stated.endswith("iB") else f"{value:,}")
