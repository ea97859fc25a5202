"""Near misses: on a run that ends well, the moment at which the agent came closest to failing, as far as is seen.

At moments of the run another action is held for some steps, then the agent plays on. Held for long enough, most make it
fail; the fewer steps that takes, the closer it was. The number of steps is found by bisection, and so is the moment:
first the run is looked at in a few places, then on both sides of the best so far, each time half as far away, where
only fewer steps count. Where nothing makes it fail, actions are held four times as long at the same places: who stands
firm can still be thrown. What comes out has both sides: with so many steps the agent fails, with one less it survives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tightrope.budget import Meter
from tightrope.execution import Engine, Episode, Rollout
from tightrope.failures.attempts import ENOUGH, RUNS_BY_CHANCE
from tightrope.failures.likelihood import candidates
from tightrope.failures.moments import price
from tightrope.outcome import Outcome
from tightrope.seeding import derive_seed, generator
from tightrope.settings import FailuresConfig
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.trace import Action, ActionTrace, action_text

FIRST_PLACES = (1 / 2, 1 / 4, 3 / 4, 1 / 8, 3 / 8, 5 / 8, 7 / 8)
"""Parts of the run that are looked at first."""
FIRST_PLACES_BY_REPLAY = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 7 / 8)
"""The same where the way to a moment is played again for each disturbance: each look is about as dear as all before it,
so that there is an answer however few steps there are."""
LONGEST = (FailuresConfig.longest, 4 * FailuresConfig.longest)
"""Steps that an action is held at most, and where nobody fails after that."""
MOST_ACTIONS = 6
"""Other actions that are held at one moment; of more, drawn ones."""


@dataclass(frozen=True, kw_only=True)
class NearMiss:
    """A moment of a run at which little was missing."""

    depth: int
    """Steps of the run before the disturbance."""
    action: Action
    """What is held."""
    steps: int
    """Held for so many steps, the agent fails; for one less, it survives."""
    survived: Episode
    """How it survives, and ends, after one step less."""

    def told(self, agent: str) -> str:
        """That in words."""
        what = f"action {action_text(self.action)} held for {self.steps} step{'' if self.steps == 1 else 's'}"
        return f"near miss of {agent}: {what} from step {self.depth} on, it fails; with one less it does not"


class Nearest:
    """Looks for the nearest miss of one run.

    Args:
        engine: Where the agent plays.
        agent: Whose run it is.
        run: The run, which ends well.
        seed: Determines everything random.
        meter: What that costs, and the most that it may.
    """

    def __init__(self, engine: Engine, agent: str, run: ActionTrace, seed: int, meter: Meter) -> None:
        self._engine, self._agent, self._run, self._seed, self._meter = engine, agent, run, seed, meter
        self._rng = generator("near miss", seed, run.id)
        self._best: NearMiss | None = None
        self._longest = LONGEST[0]

    def find(self) -> NearMiss | None:
        """The nearest that was met while steps last; None: no disturbance of the longest kind made it fail."""
        for self._longest in LONGEST:
            self._find()
            if self._best is not None or self._meter.spent:
                break
        return self._best

    def _find(self) -> None:
        seen: set[int] = set()
        for depth in self._places():
            if self._meter.spent:
                return
            if depth in seen or not 0 <= depth < len(self._run):
                continue
            seen.add(depth)
            self._look(depth)
            if self._best is not None and self._best.steps == 1:
                return

    def _places(self) -> Iterator[int]:
        length, replayed = len(self._run), self._engine.conformance.method == REPLAY
        first = FIRST_PLACES_BY_REPLAY if replayed else FIRST_PLACES
        yield from (int(part * length) for part in first)
        apart = length // len(first)
        while self._best is not None and apart:
            apart //= 2
            for side in (-1, 1):
                yield self._best.depth + side * apart

    def _look(self, depth: int) -> None:
        """Whether an action held there makes it fail sooner than is known from elsewhere."""
        longest = self._longest if self._best is None else self._best.steps - 1
        own = self._run.actions[depth]
        others = [each for each in candidates(self._engine.task, own, self._rng) if each != own]
        chosen = [others[place] for place in self._rng.permutation(len(others))[:MOST_ACTIONS]]
        fails = dict.fromkeys((each for each, survived in self._held(depth, chosen, longest) if not survived), longest)
        survives = dict.fromkeys(fails, 0)
        while not self._meter.spent and (open_ := [each for each in fails if fails[each] - survives[each] > 1]):
            # Who needs more steps than another is known to is not looked at any closer.
            least = min(fails.values())
            open_ = [each for each in open_ if survives[each] + 1 < least or fails[each] == least]
            if not open_:
                break
            for each in open_:
                middle = (fails[each] + survives[each]) // 2
                [(_, survived)] = self._held(depth, [each], middle)
                (survives if survived else fails)[each] = middle
        for action in sorted(fails, key=lambda each: fails[each]):
            if fails[action] - survives[action] == 1 and self._is_best(depth, action, fails[action]):
                return

    def _is_best(self, depth: int, action: Action, steps: int) -> bool:
        """Take it if it is survived with one step less, all the way to the end."""
        [(_, survived)] = self._held(depth, [action], steps - 1, length=None)
        if survived is None or not survived.reached_handover:
            return False
        self._best = NearMiss(depth=depth, action=action, steps=steps, survived=survived)
        return True

    def _held(
        self, depth: int, actions: Sequence[Action], steps: int, length: int | None = FailuresConfig.length
    ) -> list[tuple[Action, Episode | None]]:
        """For each action held for so many steps, how the agent survives after that; None: it fails, where chance
        decides often. What raised an error is no fail."""
        runs = 1 if self._engine.deterministic else RUNS_BY_CHANCE
        starts = [self._run.prefix(depth).then([action] * steps) for action in actions]
        rollouts = [
            Rollout(
                start=start,
                agent=self._agent,
                length=length,
                seed=derive_seed("near miss", self._seed, start.id, number),
                fixed_prefix=True,
            )
            for start in starts
            for number in range(runs)
        ]
        episodes = self._engine.run(rollouts)
        self._meter.spend(price(self._engine, episodes))
        answers: list[tuple[Action, Episode | None]] = []
        for place, action in enumerate(actions):
            these = episodes[place * runs : (place + 1) * runs]
            safe = [each for each in these if each.error is not None or each.outcome is not Outcome.UNSAFE]
            answers.append((action, safe[0] if len(safe) >= min(runs, ENOUGH) else None))
        return answers
