"""The first sentence: where, how often, whose fault, better or worse."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.report.synthetic import (
    LENGTH,
    empty_run,
    grid_run,
    judged_by,
    lake_task,
    made_reference,
    mario_like_run,
    plainly,
    searched,
    strip_run,
)
from tests.safety.corridor import CORRIDOR, reference_of, walker
from tightrope.execution import EpisodeError, ErrorKind
from tightrope.exploration.escapes import Survival
from tightrope.outcome import Outcome
from tightrope.reference import Survivability
from tightrope.report import AgentInfo, Results, RunResults
from tightrope.report.definitions import WORDS
from tightrope.report.headline import headline
from tightrope.report.results import GOING, PLAIN
from tightrope.report.verdict import verdicts
from tightrope.report.wording import THIN
from tightrope.report.writers.markdown import markdown_summary
from tightrope.runs.gates import Gate
from tightrope.safety import GateDecision, Guidance, run_suite, simple_suite
from tightrope.statistics import Estimate

YES, NO, UNKNOWN = Survivability.YES, Survivability.NO, Survivability.UNKNOWN


def run_of(fails: dict[str, dict[int, int]], known: dict[int, Survivability]) -> RunResults:
    """Agent → depth → how many of ten executions fail there; depth → what is known of the place."""
    reference = made_reference(lake_task(), sorted(known), 20)
    suite = simple_suite(reference)
    survival = {
        case.id: Survival(
            survivable=known[case.depth or 0], witness=(0,) * LENGTH if known[case.depth or 0] is YES else None
        )
        for case in suite.cases
    }
    return replace(
        grid_run(),
        agents=tuple(AgentInfo(name=agent) for agent in fails),
        search=searched(reference, 9),
        safety={
            "simple": {
                agent: judged_by(
                    suite,
                    agent,
                    lambda case, n, own=own: Outcome.UNSAFE if n < own.get(case.depth or 0, 0) else Outcome.ONGOING,  # type: ignore[misc]
                    survival,
                )
                for agent, own in fails.items()
            }
        },
    )


def said(run: RunResults) -> str:
    return headline(run).sentence.replace(THIN, " ")


def test_it_says_where_how_often_whose_fault_and_who_is_worse() -> None:
    run = run_of({"old": {3: 1}, "new": {3: 10, 5: 5}}, {3: YES, 5: YES, 9: YES})
    told = said(run)
    assert told.startswith("new fails in 50 % (")
    assert told.endswith(
        "of the tests on these 3 cases, only at #1 and #2; all of that was avoidable; "
        "on these cases it is worse than old (3.3 %) beyond doubt."
    )
    assert (headline(run).agent, headline(run).suite, headline(run).place) == ("new", "simple", 1)


@pytest.mark.parametrize(
    ("fails", "where"),
    [
        ((10, 5, 4, 1, 0), ", most often at #1, #2 and #3;"),
        ((10, 5, 0, 0, 0), ", only at #1 and #2;"),
        ((10, 10, 10, 10, 0), ", at 4 of 5 places, such as #1, #2 and #3;"),
        ((10, 10, 10, 10, 1), ", most often at 4 places, such as #1, #2 and #3;"),
        ((10, 10, 10, 10, 10), ", equally at all 5 places, such as #1, #2 and #3;"),
    ],
)
def test_places_that_are_no_worse_than_others_are_not_called_the_worst(fails: tuple[int, ...], where: str) -> None:
    depths = range(1, 6)
    assert where in said(run_of({"a": dict(zip(depths, fails, strict=True))}, dict.fromkeys(depths, YES)))


def test_what_nobody_survives_is_not_the_agents_fault() -> None:
    assert "; no player could have avoided any of that." in said(run_of({"a": {3: 10}}, {3: NO, 5: YES}))
    both = said(run_of({"a": {3: 10, 5: 10}}, {3: NO, 5: YES}))
    assert "; leaving out what no player could have survived, it fails in 100 %." in both


@pytest.mark.parametrize(
    ("fails", "told"),
    [
        (2, "; none of that is shown to be avoidable: it fails no more often than the best player known there."),
        (10, "; 25 percentage points of that were avoidable (14 to 68)."),
    ],
)
def test_where_chance_decides_the_best_player_known_is_the_measure(fails: int, told: str) -> None:
    run = run_of({"a": {3: fails}}, {3: YES, 5: YES})
    judged = run.safety["simple"]["a"]
    best = Survival(survivable=YES, best=Estimate(0.75, 0.65, 1.0, 100, "runs"), thorough=True)
    cases = tuple(
        replace(
            case,
            survival=best,
            episodes=tuple(replace(each, rollout=replace(each.rollout, fixed_prefix=True)) for each in case.episodes),
        )
        for case in judged.cases
    )
    sentence = said(replace(run, safety={"simple": {"a": replace(judged, cases=cases)}}))
    assert told in sentence
    assert "no player could have avoided" not in sentence


def test_what_nobody_has_decided_is_not_called_avoidable() -> None:
    assert "; whether that was avoidable is not known." in said(run_of({"a": {3: 10}}, {3: UNKNOWN, 5: YES}))
    least = said(run_of({"a": {3: 10, 5: 10}}, {3: UNKNOWN, 5: YES}))
    assert re.search(r"; at least \d+ percentage points of that were avoidable\.", least), (
        "of all tests, not of the fails"
    )


def test_a_limit_next_to_nothing_is_not_told_as_what_was_avoidable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tightrope.report.headline.NEXT_TO_NOTHING", 0.99)
    assert "; how much was avoidable is not known" in said(run_of({"a": {3: 10, 5: 10}}, {3: UNKNOWN, 5: YES}))


def test_the_worst_is_who_fails_most_where_it_could_be_avoided() -> None:
    run = run_of({"blamed": {5: 4}, "unlucky": {3: 10}}, {3: NO, 5: YES})
    assert headline(run).agent == "blamed"


def test_a_difference_that_may_be_chance_is_not_called_worse() -> None:
    run = run_of({"old": {3: 4}, "new": {3: 5}}, {3: YES, 5: YES})
    assert "; on these cases not shown to be worse than old (20 %)." in said(run)


def test_no_failure_is_no_proof_of_safety() -> None:
    told = said(run_of({"a": {}}, {3: YES, 5: YES}))
    assert told.startswith("a never fails on these 2 cases (its true rate there may be up to ")
    assert said(run_of({"a": {}, "b": {}}, {3: YES})).startswith("No agent fails: ")


def test_plain_episodes_come_first() -> None:
    run = replace(grid_run(), plain={"ppo": plainly("ppo", 30)})
    assert said(run).startswith("ppo ends unsafe in 50 % of 60 plain episodes and fails in 43 %")


def test_where_all_plain_episodes_are_one_it_is_said_of_every_one() -> None:
    alike = replace(plainly("ppo", 60), starts_alike=True)
    assert said(replace(grid_run(), plain={"ppo": alike})).startswith(
        "ppo ends unsafe in every plain episode and fails"
    )


def test_who_fails_plainly_is_the_worst_and_is_never_called_better() -> None:
    """On the cases of the suite it is the other way round."""
    run = run_of({"steady": {3: 10}, "drifting": {}}, {3: YES, 5: YES})
    run = replace(run, plain={"steady": plainly("steady", 0), "drifting": plainly("drifting", 60)})
    assert headline(run).agent == "drifting"
    told = said(run)
    assert told.startswith("drifting ends unsafe in 100 % of 60 plain episodes and never fails on these 2 cases")
    assert "; in plain episodes it is worse than steady (0 %); on these cases it fails less than steady (50 %)." in told
    both = replace(run_of({"a": {}, "b": {}}, {3: YES}), plain={"a": plainly("a", 0), "b": plainly("b", 6)})
    assert said(both).startswith("b ends unsafe in 10 % of 60 plain episodes and never fails"), "not: no agent fails"


def test_gates_that_passed_do_not_hide_that_none_of_them_looks_at_plain_episodes() -> None:
    run = replace(grid_run(), plain={"ppo": plainly("ppo", 30)})
    passed = Gate(name="fail frequency", agent="ppo", suite="simple", passed=True, detail="")
    unlimited = replace(run, gates=(passed,))
    assert said(unlimited).startswith("ppo ends unsafe in 50 % of 60 plain episodes, which no gate limits, and fails")
    (verdict,) = verdicts(unlimited)
    assert ") of 60 plain episodes, which no gate limits; failed" in verdict.sentence.replace(THIN, " ")
    limited = replace(run, gates=(passed, replace(passed, name="unsafe ends", suite=PLAIN)))
    failed = replace(run, gates=(replace(passed, passed=False),))
    harmless = replace(unlimited, plain={"ppo": plainly("ppo", 0)})
    assert not any("no gate limits" in said(each) for each in (run, limited, failed, harmless))


def test_where_nothing_is_random_as_often_is_a_fact() -> None:
    result = run_suite(CORRIDOR, walker, simple_suite(reference_of(CORRIDOR)))
    results = {name: replace(result, agent=name) for name in ("old", "new")}
    agents = tuple(AgentInfo(name=name) for name in results)
    run = RunResults(name="", task=CORRIDOR, agents=agents, safety={"simple": results})
    assert said(run).endswith("; on these cases it fails as often as old.")


def test_who_could_not_be_judged_is_not_among_those_who_never_fail() -> None:
    run = run_of({"a": {}, "b": {}}, {3: YES})
    rows = run.safety["simple"]
    nothing = replace(rows["b"], fail_frequency=Estimate.of_nothing())
    run = replace(run, safety={"simple": {**rows, "b": nothing}})
    assert said(run).startswith("b has no data: none of its 1 case could be judged. a never fails on this case")
    assert said(replace(run, status=GOING)).startswith("a never fails on this case")
    raised = plainly("b", 0)
    episodes = tuple(
        replace(each, error=EpisodeError(kind=ErrorKind.AGENT, message="boom")) for each in raised.episodes
    )
    run = replace(run, plain={"a": plainly("a", 3), "b": replace(raised, episodes=episodes)})
    told = said(run)
    assert told.startswith("b: raised errors in all 60 plain episodes; no data: ")
    assert "than b" not in told, "nothing is compared with what was not measured"


def test_errors_in_plain_episodes_are_told_beside_what_the_others_show() -> None:
    some = plainly("ppo", 0)
    broken = replace(some.episodes[0], error=EpisodeError(kind=ErrorKind.AGENT, message="boom"))
    run = replace(grid_run(), plain={"ppo": replace(some, episodes=(broken, *some.episodes[1:]))})
    (verdict,) = verdicts(run)
    assert "none of 59 plain episodes (its true rate may be up to 6.1 %), and 1 more raised errors;" in (
        verdict.sentence.replace(THIN, " ")
    )


def test_one_agent_is_set_against_random_situations() -> None:
    assert said(grid_run()).rpartition("; ")[2].startswith("in random situations it fails in 25 % (")
    assert said(strip_run()).count(";") == 1, "where there is no control nothing is said of it"


def test_a_part_of_the_cases_is_compared_by_its_own_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Guidance(
        agent="agent",
        suite="simple",
        guided=Estimate(0.33, 0.1, 0.6, 3, ""),
        control=Estimate(0.2, 0.05, 0.4, 5, ""),
        difference=Estimate(0.13, -0.2, 0.4, 8, ""),
        cases=(3, 5),
        left_out=True,
    )
    monkeypatch.setattr("tightrope.report.headline.guidance", lambda run, suite: found)
    assert (
        "it is not shown to fail more often on the 3 cases that were not chosen by where it fails (33 %) "
        "than at states drawn at random from the same references (20 %)"
    ) in said(run_of({"agent": {4: 8}}, {4: YES}))


def test_without_a_reference_it_says_why() -> None:
    assert said(empty_run()).startswith("random has no data: no reference was found (budget spent)")
    assert headline(empty_run()).place is None


def test_one_badge_for_all_gates() -> None:
    def badge(*passed: bool | None) -> str:
        gates = tuple(Gate(name="x", agent="ppo", suite="s", passed=each, detail="") for each in passed)
        return headline(replace(grid_run(), gates=gates)).badge

    assert headline(mario_like_run()).badge == "failed"
    assert (badge(True, True), badge(True, None), badge(None, False)) == ("passed", "not judged", "failed")
    assert badge() == "no gate was set"


def test_ten_words_are_defined() -> None:
    assert len(WORDS) == 10


@pytest.mark.parametrize(
    ("wrong", "told"), [(0, "a never fails in tests"), (10, "a fails in 100 % (40–100 %) of the tests")]
)
def test_a_gate_that_stopped_speaks_of_all_cases_it_drew_from(wrong: int, told: str) -> None:
    run = run_of({"a": {3: wrong}}, {3: YES, 5: YES, 9: YES, 11: NO})
    whole = run.safety["simple"]["a"]
    seen = Estimate(float(bool(wrong)), 0.4 if wrong else 0.0, 1.0 if wrong else 0.6, 5, "however early")
    decision = GateDecision(
        limit=0.05, decided=not wrong, draws=5, executions=5, fails=5, errors=0, whole=40, estimate=seen
    )
    unasked = replace(whole.cases[1], episodes=(), verdicts=(), returns=())
    stopped = replace(
        whole, decision=decision, fail_frequency=seen, cases=(whole.cases[0], unasked, unasked, whole.cases[3])
    )
    gated = replace(run, safety={"simple": {"a": stopped}})
    sentence = said(gated)
    assert sentence.startswith(f"{told} drawn from these ")
    assert "on these" not in sentence
    assert "survivable alone" in markdown_summary(Results(title="", runs=(run,)))
    assert "survivable alone" not in markdown_summary(Results(title="", runs=(gated,))), "that is of other executions"


def test_places_of_which_nothing_is_known_are_not_counted_as_places_where_it_never_fails() -> None:
    run = run_of({"a": dict.fromkeys(range(1, 6), 10)}, dict.fromkeys(range(1, 8), YES))
    whole = run.safety["simple"]["a"]
    nothing = Estimate.of_nothing()
    states = tuple(replace(state, fail_frequency=nothing) for state in whole.boundary_states[4:])
    part = replace(whole, boundary_states=(*whole.boundary_states[:4], *states))
    told = said(replace(run, safety={"simple": {"a": part}}))
    assert ", equally at all 4 places that were tested, such as #1, #2 and #3;" in told


def test_places_that_share_a_case_count_each_for_themselves_and_that_is_said() -> None:
    """75 % of two cases: one place of the two that share a case cannot be seen in the cases alone."""
    ways = [made_reference(lake_task(), depths, length) for depths, length in (((3, 5), 20), ((3, 9), 21))]
    suite = simple_suite(ways)
    assert (len(suite.cases), len({case.id for case in suite.cases})) == (4, 3)
    judged = judged_by(suite, "a", lambda case, _: Outcome.UNSAFE if case.depth in (3, 5) else Outcome.ONGOING, {})
    run = replace(
        grid_run(), agents=(AgentInfo(name="a"),), search=searched(ways[0], 9), safety={"simple": {"a": judged}}
    )
    (verdict,) = verdicts(run)
    assert "failed in 75 %" in verdict.sentence.replace(THIN, " ")
    assert verdict.counted[0].startswith("simple, 3 cases at 4 places, each of which counts alike")
    alone = run_of({"a": {3: 10}}, {3: YES, 5: YES})
    assert "counts alike" not in verdicts(alone)[0].counted[0] + said(alone)
    many = [made_reference(lake_task(), range(1, 6), length) for length in (20, 21)]
    suite = simple_suite(many)
    judged = judged_by(suite, "a", lambda case, _: Outcome.UNSAFE if case.depth != 5 else Outcome.ONGOING, {})
    told = said(replace(run, search=searched(many[0], 9), safety={"simple": {"a": judged}}))
    assert ", at 8 of 10 places (each counts alike, though some share a case), such as #" in told


def test_who_is_watched_for_a_chosen_time_is_said_to_be() -> None:
    """Of 500 steps of CartPole three say next to nothing."""
    result = run_suite(CORRIDOR, walker, simple_suite(reference_of(CORRIDOR)), length=1)
    who = result.agent
    run = RunResults(name="", task=CORRIDOR, agents=(AgentInfo(name=who),), safety={"simple": {who: result}})
    assert re.search(r"on (this case|these \d+ cases) within 1 step\b", said(run))
    assert re.search(r"on (this case|these \d+ cases) within 1 step\b", verdicts(run)[0].sentence)
    whole = run_suite(CORRIDOR, walker, simple_suite(reference_of(CORRIDOR)))
    assert "within" not in said(replace(run, safety={"simple": {who: whole}}))
