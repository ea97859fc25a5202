"""A campaign that begins at a suite file made elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tightrope.progress import ProgressCallback
from tightrope.runs.campaign import ActionSet, Campaign
from tightrope.runs.config import CampaignConfig
from tightrope.runs.folder import RunFolder
from tightrope.runs.trust import require_trust
from tightrope.safety import TestSuite, load_suite
from tightrope.tasks import task_from_label


class SuiteCampaign(Campaign):
    """Runs one given suite; there is no reference to search for."""

    def __init__(
        self,
        config: CampaignConfig,
        folder: RunFolder,
        suite: TestSuite,
        *,
        on_progress: ProgressCallback | None = None,
    ) -> None:
        # Written to run.json, this is where a replay looks for the suite's results.
        safety = config.safety.model_copy(update={"suites": (suite.name,), "control": False})
        super().__init__(config.model_copy(update={"safety": safety}), folder, on_progress=on_progress)
        self.suite = suite

    def suites(self, actions: ActionSet = None) -> dict[str, TestSuite]:
        """The given suite under its own name."""
        return {self.suite.name: self.suite}


def campaign_of_suite(
    path: Path, folder: Path, *, trust: bool, option: str = "--trust", **changes: Any
) -> SuiteCampaign:
    """A campaign that runs nothing but one suite file; ``option`` is how the user trusts it."""
    suite = load_suite(path)
    require_trust(path, suite.task.partition("(")[0], trust=trust, option=option)
    task = task_from_label(suite.task)
    config = CampaignConfig(task=task.name, options=dict(task.options)).model_copy(update=changes)
    return SuiteCampaign(config, RunFolder.create_or_open(folder), suite)
