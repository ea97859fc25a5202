"""A section of the report."""

from __future__ import annotations

from collections.abc import Iterator

from tightrope.report import Finding, Results


def about_the_lights(results: Results) -> Iterator[Finding]:
    """What a reader of this task's report should know."""
    if any(run.task.label.startswith("crossing") for run in results.runs):
        yield Finding(
            title="About the lights",
            text="All lights change together: an agent that stops on a crossing is caught there.",
        )
