"""Making what a run stores: each thing once, with what it was made from and what it cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from tightrope.agents import Agent
from tightrope.outcome import StopReason
from tightrope.progress import Progress, ProgressCallback
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.runs.run import Run
from tightrope.runs.steps import stages
from tightrope.runs.storage import layout
from tightrope.runs.storage.artefacts import Artefact
from tightrope.runs.storage.manifest import Cost, Source
from tightrope.runs.storage.store import RememberingEngine
from tightrope.safety import TestSuite

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Making:
    """A run, and what is to be done in it now."""

    run: Run
    config: CampaignConfig
    """Of this call: a single step may ask for a part of what the run holds."""
    agents: Mapping[str, Agent]
    on_progress: ProgressCallback | None = None
    given: TestSuite | None = None
    """A suite made elsewhere, to be run instead of those made from a reference."""

    def made(
        self,
        artefact: Artefact[T],
        make: Callable[[], T],
        engine: RememberingEngine | None = None,
        spent: Callable[[T], dict[str, float]] = lambda value: {},
    ) -> T:
        """The stored thing, made now unless it is there, still valid, and nothing raised when it was made."""
        known = self.run.get(artefact)
        if known is not None and not self.run.manifest.artefacts[artefact.path].errors:
            return known
        self.begin(artefact.path)
        started = time.monotonic()
        before = {} if engine is None else engine.counters.as_dict()
        believed = self.run.manifest.task.stochastic
        value = make()
        self.run.note_stochastic()
        if self.run.manifest.task.stochastic is not believed:
            # It was made anew when that was seen, but not what it was made from.
            artefact = self.run.renewed(artefact)
        counters = dict(spent(value))
        if engine is not None:
            # A mean is not a count.
            counters |= {key: n - before[key] for key, n in engine.counters.as_dict().items() if key != "mean_batch"}
        self.run.put(artefact, value, Cost(seconds=round(time.monotonic() - started, 3), counters=counters))
        return value

    def begin(self, path: str) -> None:
        """Say what is being made now: how far it has come is not known before something of it is done."""
        stage, note = stages.stage_of(path)
        if stage:
            self.tell(stage, note)

    def tell(self, stage: str, note: str) -> None:
        """Say what begins."""
        if self.on_progress is not None:
            self.on_progress(Progress(stage, 0, None, note))

    def main_sources(self) -> tuple[Source, ...]:
        """The reference that fuzzing begins from: the main one, or the first there is."""
        if layout.REFERENCE in self.run.manifest.artefacts:
            return (self.run.source(layout.ACTIONS, layout.REFERENCE),)
        return (self.run.source(layout.FURTHER, layout.OTHERS),)

    def reference_sources(self) -> tuple[Source, ...]:
        """All references, with their boundary states."""
        main = tuple(self.run.source(name, layout.REFERENCE) for name in (layout.ACTIONS, layout.BOUNDARY))
        several = layout.OTHERS in self.run.manifest.artefacts
        return (*main, self.run.source(layout.FURTHER, layout.OTHERS)) if several else main


def go_on_only_if_finished(reason: StopReason) -> None:
    """A step that the user interrupted returns what it knows; as a finished step it must not be stored."""
    if reason is StopReason.CANCELLED:
        raise KeyboardInterrupt
