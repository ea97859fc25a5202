"""Step 1 in a run: a reference, its boundary states, and others that differ from it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tightrope.agents.objects.fingerprints import file_fingerprint
from tightrope.budget import Budget
from tightrope.errors import UsageError
from tightrope.reference import Reference
from tightrope.references import SearchResult, probe_boundary, search, with_keys
from tightrope.references.searching import default_budget
from tightrope.references.several import gather_references
from tightrope.runs.steps.making import Making, go_on_only_if_finished
from tightrope.runs.storage import layout
from tightrope.runs.storage.artefacts import Artefact
from tightrope.runs.storage.manifest import Source


@dataclass(frozen=True, kw_only=True)
class SearchStep(Making):
    """Finds references, or takes those that are there."""

    def search(self) -> SearchResult:
        """Step 1: find a reference and prove its boundary states, then find others."""
        result = self._searched()
        if self.config.search.references > 1:
            self._others(result)
        # Randomness that finding the others was the first to see.
        return result if self.run.outdated(layout.SEARCH) is None else self.search()

    def reference(self) -> Reference:
        """The reference found by step 1; an error when there is none."""
        reference = self.run.reference
        if reference is None:
            raise UsageError(
                f"{self.run.path} has no reference yet; look for one: "
                f"tightrope search {self.config.task} --out {self.run.path}"
            )
        return reference

    def _searched(self) -> SearchResult:
        found = self.made(
            Artefact(
                path=layout.SEARCH,
                settings=layout.search_settings(self.config),
                sources=(self.run.source(layout.TASK), *self._demonstration()),
                codec=layout.SEARCH_CODEC,
            ),
            self._search,
            spent=lambda result: {"steps_executed": result.stats.steps},
        )
        if found.reference is None:
            # One found before, with other settings, is not what this search found.
            self.run.remove(layout.REFERENCE)
            return found
        reference = self.made(
            Artefact(
                path=layout.REFERENCE,
                settings=layout.probing_settings(self.config),
                sources=(self.run.source(layout.TASK), self.run.source(layout.FOUND, layout.SEARCH)),
                codec=layout.REFERENCE_CODEC,
            ),
            lambda: self._probed(found),
            spent=lambda known: {"steps_executed": 0 if known.probing is None else known.probing.steps},
        )
        # Randomness that probing was the first to see.
        return replace(found, reference=reference) if self.run.outdated(layout.SEARCH) is None else self._searched()

    def _others(self, found: SearchResult) -> tuple[Reference, ...]:
        """References that differ from the main one; where that was not found, all there are."""
        config, known = self.config.search, () if found.reference is None else (found.reference,)

        spent: list[int] = []

        def find() -> tuple[Reference, ...]:
            with self.run.engine(self.agents) as engine:
                everything, steps = gather_references(
                    self.run.task,
                    config.references,
                    tuple(self.agents.values()),
                    Budget(seconds=config.seconds, steps=config.reference_steps),
                    self.config.seed,
                    known=known,
                    reset_seeds=config.reset_seeds,
                    engine=engine,
                    on_progress=self.on_progress,
                )
            spent.append(steps)
            return everything[len(known) :]

        artefact = Artefact(
            path=layout.OTHERS,
            settings=layout.others_settings(self.config),
            sources=(self.run.source(layout.TASK), self.run.source(layout.FOUND, layout.SEARCH)),
            codec=layout.OTHERS_CODEC,
        )
        whose = map(layout.agent_source, self.agents)
        # An agent that joins later is tested on the references there are, or nobody could be compared with it.
        if not self.run.is_current(artefact) or self.run.outdated(layout.OTHERS) is not None:
            artefact = replace(artefact, sources=(*artefact.sources, *map(self.run.source, whose)))
        return self.made(artefact, find, spent=lambda _: {"steps_executed": sum(spent)})

    def _demonstration(self) -> tuple[Source, ...]:
        """A file of the same name may hold another trace by now; one that is gone is no reason to search again."""
        given = self.config.search.demonstration
        if given is None:
            return ()
        if given.is_file():
            return (Source(name=layout.DEMONSTRATION, id=file_fingerprint(given)),)
        entry = self.run.manifest.artefacts.get(layout.SEARCH)
        return () if entry is None else tuple(source for source in entry.sources if source.name == layout.DEMONSTRATION)

    def _search(self) -> SearchResult:
        config = self.config.search
        result = search(
            self.run.task,
            method=config.method,
            repetitions=config.repetitions,
            budget=default_budget(self.run.task, steps=config.steps, seconds=config.seconds),
            seed=self.config.seed,
            demonstration=config.demonstration,
            probe=False,
            on_progress=self.on_progress,
        )
        go_on_only_if_finished(result.stop_reason)
        return result

    def _probed(self, found: SearchResult) -> Reference:
        assert found.reference is not None
        reference, config = with_keys(self.run.task, found.reference), self.config.search
        budgets = []
        if found.unprobed:
            # What was not found by backtracking has no boundary states yet, and gets what is left of the budget.
            seconds = None if config.seconds is None else max(0.0, config.seconds - found.stats.seconds)
            left = default_budget(self.run.task, steps=config.steps, seconds=config.seconds).start()
            left.spend(found.stats.steps)
            budgets.append((replace(left.remaining(), seconds=seconds), self.config.seed))
        if config.probe_steps:
            # A budget in steps, not in seconds: the boundary states must not depend on how busy the machine is.
            budgets.append((Budget(steps=config.probe_steps), 0))
        for budget, seed in budgets:
            reference = probe_boundary(self.run.task, reference, budget=budget, seed=seed, on_progress=self.on_progress)
            assert reference.probing is not None
            go_on_only_if_finished(reference.probing.stop_reason)
        return reference
