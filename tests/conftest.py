"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.installing import forget_extensions

# No deadline: a machine that is busy with something else is no bug. Hosted machines set CI, and there a failure is the
# same at every attempt; elsewhere new examples are tried each time.
hypothesis.settings.register_profile("here", deadline=None)
hypothesis.settings.register_profile("ci", parent=hypothesis.settings.get_profile("here"), derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path for packages that are installed for one test."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    forget_extensions()
    yield site
    forget_extensions()
