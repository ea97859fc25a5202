"""A campaign that begins at a suite file made elsewhere."""

from __future__ import annotations

from tightrope.campaign.campaign import ActionSet, Campaign
from tightrope.campaign.config import CampaignConfig
from tightrope.campaign.folder import RunFolder
from tightrope.progress import ProgressCallback
from tightrope.safety import TestSuite


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
        super().__init__(config, folder, on_progress=on_progress)
        self.suite = suite

    def suites(self, actions: ActionSet = None) -> dict[str, TestSuite]:
        """The given suite under its own name."""
        return {self.suite.name: self.suite}
