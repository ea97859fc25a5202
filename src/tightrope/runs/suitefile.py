"""A run that begins at a suite file made elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tightrope.progress import ProgressCallback
from tightrope.runs.campaign import working_on
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.runs.steps.pipeline import Pipeline
from tightrope.runs.trust import require_trust
from tightrope.safety import load_suite
from tightrope.tasks import task_from_label


@contextmanager
def working_on_suite(
    path: Path,
    out: Path,
    *,
    trust: bool,
    option: str = "--trust",
    anew: bool = False,
    on_progress: ProgressCallback | None = None,
    **changes: Any,
) -> Iterator[Pipeline]:
    """A run of nothing but one suite file; there is no reference to search for. ``option`` is how one trusts it."""
    suite = load_suite(path)
    require_trust(path, suite.task.partition("(")[0], trust=trust, option=option)
    task = task_from_label(suite.task)
    config = CampaignConfig(task=task.name, options=dict(task.options)).model_copy(update=changes)
    # Written to run.json, this is where a replay looks for the suite's results.
    safety = config.safety.changed(suites=(suite.name,), control=False)
    config = config.model_copy(update={"safety": safety})
    with working_on(out, config, given=suite, wait=anew, anew=anew, on_progress=on_progress) as pipeline:
        yield pipeline
