"""The settings of the report."""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.settings.ranges import Natural
from tightrope.settings.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class ReportConfig(Section):
    """What the report shows."""

    videos: Natural = setting(6, "how many failures to film", decides=())
    title: str | None = setting(None, "headline", none="the task", decides=())
