"""How often could anyone survive from a situation where chance decides? A bound from below, proven by simulation.

Many policies are tried; the one that survives most often is chosen; and only runs with fresh randomness, made after the
choice, count for the bound: luck in choosing is not luck in counting. What is found is what *somebody* can do. The best
there is may do better, and worse only beyond the confidence of the interval.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from tightrope.execution import Engine, Rollout
from tightrope.execution.naive import environment_seed
from tightrope.exploration.learnt_model import Transitions, safest_policy
from tightrope.exploration.policies import AtRandom, FixedActions, Improved, Policy
from tightrope.exploration.survival_bound import BestSurvival, survival_bound
from tightrope.exploration.tally import RUNS_TO_CHOOSE, Tally
from tightrope.exploration.trials import Trial, Trials, run_seed, run_trials
from tightrope.outcome import Outcome
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.trace import Action, ActionTrace

STEPS_PER_CASE = 8000
"""Environment steps spent on one situation, half of them after the choice: a hundred runs of the usual 40 steps."""
FEWEST_RUNS, MOST_RUNS = 20, 200
"""Runs that count for a bound; 200 of 200 bound the best survival by 0.98."""
FEWEST_ROUGHLY = 8
MOST_HELD = 8
"""Actions that are each tried held for ever; of more, the first."""
MOST_AGENTS = 4
ROUNDS_OF_LEARNING, RUNS_TO_LEARN, CURIOSITY = range(2, 7), 16, 0.2
"""A model learnt from what others played knows little of where its own policy leads, so it is tried and learnt anew:
at least twice, and again while that has cost less than an eighth of the steps."""
FINALISTS = 3
TRIALS_AT_A_TIME = 8
"""Situations in one piece of work: opening an environment must not cost more than using it."""

COUNT = "count"
"""The runs that count; all others are to choose by."""
DOING = {
    "choose": "trying who survives",
    "choose again": "trying the best once more",
    COUNT: "counting how often the best survive",
}
DOING_BETWEEN = "learning from what was seen"
"""What is told while it is done; the rounds of learning lie between choosing and counting."""

Survivals = tuple[tuple[bool, ...], ...]
"""Of each who was tried, whether they survived, run by run."""
Luck = Callable[[ActionTrace, int], int]
"""The seed of a rollout from a situation, by its number."""


def find_best_survival(
    engine: Engine,
    prefixes: Iterable[ActionTrace],
    length: int,
    *,
    references: Mapping[str, Sequence[Action]] | None = None,
    actions: tuple[Action, ...],
    agents: Sequence[str] = (),
    steps_per_case: int = STEPS_PER_CASE,
    first: Mapping[str, Action] | None = None,
    purpose: str = "",
    rough: bool = False,
    luck: Luck | None = None,
    least: Callable[[Collection[str]], int] = lambda reached: 0,
    told: Callable[[str], None] = lambda what: None,
) -> dict[str, BestSurvival]:
    """By the prefixes' ids, how often somebody survives ``length`` steps from there, with fresh randomness.

    Tried are the rest of its reference (``references``, by the prefixes' ids), each action held, random actions, the
    engine's agents of these names, and a policy learnt from all that was seen where the situations are few; of the
    best, where the steps allow it, a version with foresight. A prefix that ends early is left out.
    ``first`` are actions that everybody must play first, by the prefixes' ids; runs of another ``purpose`` have other
    randomness. ``rough``: to tell situations apart, with a third of the runs and no second look. With ``luck``, the
    runs that count meet the randomness that a rollout of such a seed would; and where a policy was worked out from a
    model of the whole task there are at least ``least`` of them for each of the situations reached. ``told`` is told
    what is being done.
    """
    search = _Search(engine, length, references or {}, actions, tuple(agents)[:MOST_AGENTS], steps_per_case)
    search.first, search.purpose, search.rough, search.told = first or {}, purpose, rough, told
    search.luck, search.least = luck, least
    return search.run({prefix.id: prefix for prefix in prefixes})


class _Search:
    """One call of ``find_best_survival``."""

    def __init__(
        self,
        engine: Engine,
        length: int,
        references: Mapping[str, Sequence[Action]],
        actions: tuple[Action, ...],
        agents: tuple[str, ...],
        steps: int,
    ) -> None:
        self.engine, self.length, self.references = engine, length, references
        self.actions, self.agents, self.steps = actions, agents, steps
        self.seen = Transitions()
        self.tallies: dict[str, Tally] = {}
        self.checksums: dict[str, int] = {}
        self.escapes: dict[str, ActionTrace | None] = {}
        self.first: Mapping[str, Action] = {}
        self.purpose = ""
        self.rough = False
        self.luck: Luck | None = None
        self.least: Callable[[Collection[str]], int] = lambda reached: 0
        self.told: Callable[[str], None] = lambda what: None
        self.thorough = False

    def run(self, prefixes: Mapping[str, ActionTrace]) -> dict[str, BestSurvival]:
        """Choose for every situation, then count."""
        self.tallies = {identifier: Tally() for identifier in prefixes}
        first = {identifier: self._first_policies(prefix) for identifier, prefix in prefixes.items()}
        dearest = self.length + self._way(prefixes)
        runs = max(4, min(RUNS_TO_CHOOSE, self.steps // 4 // (dearest * (len(self.actions) + 2))))
        self._try("choose", prefixes, first, runs, learn=True)
        reached = {each: prefix for each, prefix in prefixes.items() if self.tallies[each].policies}
        learnt = self._learn(reached)
        self.thorough = learnt is not None
        if learnt is not None:
            self._try("choose", reached, dict.fromkeys(reached, (learnt,)), RUNS_TO_CHOOSE)
        undecided = {each: prefix for each, prefix in reached.items() if not self.tallies[each].settled}
        # Nobody is excused by what was not thoroughly tried, so that a closer look is not worth hundreds of replays.
        again = RUNS_TO_CHOOSE if self.thorough else max(4, min(RUNS_TO_CHOOSE, self.steps // 16 // dearest))
        self._try_agents("choose", undecided, dict.fromkeys(undecided, self.agents), max(again, RUNS_TO_CHOOSE // 2))
        if not self.rough:
            self._try("choose again", undecided, {each: self._finalists(each) for each in undecided}, again)
        return self._counted(reached, self.steps // (2 if self.thorough else 4) // dearest)

    def _way(self, prefixes: Mapping[str, ActionTrace]) -> int:
        """Steps that putting a situation back takes, in the mean."""
        if self.engine.conformance.method != REPLAY:
            return 0
        return sum(map(len, prefixes.values())) // max(1, len(prefixes))

    def _first_policies(self, prefix: ActionTrace) -> list[Policy]:
        policies: list[Policy] = [FixedActions(f"action {action} held", (action,)) for action in self.actions]
        rest = tuple(self.references.get(prefix.id, ())[len(prefix) :])
        begun = [FixedActions("the rest of the reference", rest)] if rest else []
        return [*begun, *policies[:MOST_HELD], AtRandom()]

    def _learn(self, prefixes: Mapping[str, ActionTrace]) -> Policy | None:
        """A policy from all that was seen, tried out and learnt anew; None where there is too much to learn."""
        enough = self.seen.steps + self.steps * len(prefixes) // 8
        for number in range(ROUNDS_OF_LEARNING.stop):
            if not self.seen.learnable:
                return None
            if number in ROUNDS_OF_LEARNING and self.seen.steps >= enough:
                break
            curious = safest_policy(self.seen, self.length, CURIOSITY)
            self._run(f"learn {number}", prefixes, dict.fromkeys(prefixes, (curious,)), RUNS_TO_LEARN, learn=True)
        return safest_policy(self.seen, self.length) if self.seen.learnable else None

    def _finalists(self, identifier: str) -> list[Policy]:
        """Those that did best, to be looked at more closely, and the best of them with foresight."""
        tally = self.tallies[identifier]
        best = [tally.policies[name] for name in tally.best(FINALISTS)]
        policies = [policy for policy in best if policy is not None]
        if policies:
            improved = Improved(policies[0])
            cost = self.length * improved.samples * improved.foresight
            if cost * (RUNS_TO_CHOOSE + FEWEST_RUNS) <= self.steps:
                policies.append(improved)
        return policies

    def _counted(self, prefixes: Mapping[str, ActionTrace], affordable: int) -> dict[str, BestSurvival]:
        """Fresh runs of the chosen ones alone."""
        runs = FEWEST_ROUGHLY if self.rough else max(FEWEST_RUNS, min(MOST_RUNS, affordable))
        if self.thorough:
            runs = max(runs, self.least(prefixes))
        chosen = {each: self.tallies[each].best()[0] for each in prefixes}
        played = {each: policy for each, name in chosen.items() if (policy := self.tallies[each].policies[name])}
        counts = self._run(COUNT, prefixes, {each: [policy] for each, policy in played.items()}, runs)
        for_agents = {each: (name,) for each, name in chosen.items() if each not in played}
        counts |= self._run_agents(COUNT, prefixes, for_agents, runs)
        return {
            each: BestSurvival(
                estimate=survival_bound(counts[each][0], chosen[each]),
                policy=chosen[each],
                checksum=self.checksums[each],
                thorough=self.thorough,
                runs=() if self.luck is None else counts[each][0],
                escape=self.escapes.get(each),
            )
            for each in prefixes
            if each in counts
        }

    def _try(
        self,
        purpose: str,
        prefixes: Mapping[str, ActionTrace],
        policies: Mapping[str, Sequence[Policy]],
        runs: int,
        *,
        learn: bool = False,
    ) -> None:
        """Play policies and note how they did."""
        for each, survivals in self._run(purpose, prefixes, policies, runs, learn=learn).items():
            for policy, survived in zip(policies[each], survivals, strict=True):
                self.tallies[each].count(policy.name, policy, sum(survived), runs)

    def _run(
        self,
        purpose: str,
        prefixes: Mapping[str, ActionTrace],
        policies: Mapping[str, Sequence[Policy]],
        runs: int,
        *,
        learn: bool = False,
    ) -> dict[str, Survivals]:
        names = [each for each in prefixes if policies.get(each)]
        parts = [names[start : start + TRIALS_AT_A_TIME] for start in range(0, len(names), TRIALS_AT_A_TIME)]
        what = DOING.get(purpose, DOING_BETWEEN)
        self.told(what)
        answers = self.engine.map(
            run_trials,
            [
                Trials(
                    trials=tuple(
                        Trial(
                            prefix=prefixes[each],
                            policies=tuple(policies[each]),
                            runs=runs,
                            first=self.first.get(each),
                            seeds=self._seeds(purpose, prefixes[each], runs),
                        )
                        for each in part
                    ),
                    length=self.length,
                    actions=self.actions,
                    purpose=f"{self.purpose}{purpose}",
                    learn=learn,
                )
                for part in parts
            ],
            lambda done: self.told(f"{what}: {100 * done // len(parts)}%"),
        )
        survivals = dict[str, Survivals]()
        for part, answer in zip(parts, answers, strict=True):
            self.seen.update(answer.seen)
            for each, tried in zip(part, answer.tried, strict=True):
                if tried is not None:
                    survivals[each], self.checksums[each] = tried.survivals, tried.checksum
                    self.escapes[each] = tried.escapes[0]
        return survivals

    def _seeds(self, purpose: str, prefix: ActionTrace, runs: int) -> tuple[int, ...]:
        """The environment's randomness in the runs that count, where somebody else is to be compared with them."""
        if self.luck is None or purpose != COUNT:
            return ()
        return tuple(environment_seed(Rollout(start=prefix, seed=self.luck(prefix, each))) for each in range(runs))

    def _try_agents(
        self, purpose: str, prefixes: Mapping[str, ActionTrace], agents: Mapping[str, Sequence[str]], runs: int
    ) -> None:
        for each, survivals in self._run_agents(purpose, prefixes, agents, runs).items():
            for name, survived in zip(agents[each], survivals, strict=True):
                self.tallies[each].count(name, None, sum(survived), runs)

    def _run_agents(
        self, purpose: str, prefixes: Mapping[str, ActionTrace], agents: Mapping[str, Sequence[str]], runs: int
    ) -> dict[str, Survivals]:
        """Whether agents survive; one that raises does not."""
        asked = [(each, name) for each, names in agents.items() for name in names]
        episodes = self.engine.run(
            [self._rollout(purpose, prefixes[each], name, number) for each, name in asked for number in range(runs)]
        )
        counts: dict[str, Survivals] = {}
        for place, (each, _) in enumerate(asked):
            played = episodes[place * runs : (place + 1) * runs]
            safe = tuple(episode.error is None and episode.outcome is not Outcome.UNSAFE for episode in played)
            counts[each] = (*counts.get(each, ()), safe)
            if any(safe):
                self.escapes[each] = played[safe.index(True)].trace
        return counts

    def _rollout(self, purpose: str, prefix: ActionTrace, agent: str, number: int) -> Rollout:
        seed = run_seed(f"{self.purpose}{purpose}", agent, prefix, number)
        if self.luck is not None and purpose == COUNT:
            seed = self.luck(prefix, number)
        if prefix.id not in self.first:
            return Rollout(start=prefix, agent=agent, length=self.length, seed=seed, fixed_prefix=True)
        # What everybody must play first belongs to the prefix, with the fresh randomness that begins before it.
        begun = replace(prefix.then([self.first[prefix.id]]), reseeds=(*prefix.reseeds, (len(prefix), seed)))
        return Rollout(start=begun, agent=agent, length=max(self.length - 1, 1), seed=seed, fixed_prefix=True)
