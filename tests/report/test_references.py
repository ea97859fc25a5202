"""The references of a run: where they come from, and what that means for the rates."""

from __future__ import annotations

from dataclasses import replace

from tests.report.synthetic import grid_run, judged_by, lake_task, made_reference, plainly, searched
from tightrope.cli.verbs.run import _kind_of_way, _ways_of
from tightrope.outcome import Outcome, StopReason
from tightrope.reference import Probing, Reference
from tightrope.report import AgentInfo, Results, RunResults, results_to_json
from tightrope.report.headline import headline
from tightrope.report.references import reference_notes, references_of, why_no_places
from tightrope.report.verdict import verdicts
from tightrope.report.wording import THIN
from tightrope.report.writers.page import render_page
from tightrope.safety import simple_suite
from tightrope.safety.suites.controls import uniform_suite


def way(
    depths: tuple[int, ...],
    method: str,
    agent: str | None = None,
    *,
    seed: int = 0,
    goal: bool = True,
    by_failing: bool = False,
) -> Reference:
    found = made_reference(lake_task(), depths, 10 + seed)
    outcome = Outcome.GOAL if goal else Outcome.ONGOING
    steps = (*found.trace.steps[:-1], replace(found.trace.steps[-1], outcome=outcome))
    actions = replace(found.actions, seed=seed)
    trace = replace(found.trace, steps=steps)
    return replace(found, method=method, agent=agent, by_failing=by_failing, trace=trace, actions=actions)


def failing(depths: tuple[int, ...], agent: str, told: str = "", *, seed: int = 0) -> Reference:
    return way(depths, f"failing run of {agent}{told}", agent, seed=seed, goal=False, by_failing=True)


def run_on(*ways: Reference, main: bool = True) -> RunResults:
    """An agent that fails always on the last reference, never elsewhere."""
    suite = simple_suite(ways)
    last = len(ways) - 1

    def judge(case, number: int) -> Outcome:
        return Outcome.UNSAFE if case.reference == last else Outcome.ONGOING

    return replace(
        grid_run(),
        agents=(AgentInfo(name="late"),),
        search=searched(
            ways[0] if main else None, 40, reason=StopReason.COMPLETED if main else StopReason.BUDGET_SPENT
        ),
        references=ways,
        safety={"simple": {"late": judged_by(suite, "late", judge)}},
        controls=(),
        map=None,
    )


MIXED = (
    way((2, 4), "dfs"),
    way((3,), "run of late", "late", seed=7),
    way((5,), "demonstration", seed=1),
    failing((6, 8, 9), "late", " after left held for 3 steps", seed=3),
)


def test_each_reference_says_where_it_comes_from_and_whether_it_arrives() -> None:
    ways = references_of(run_on(*MIXED))
    assert [(each.origin, each.reference.actions.seed, len(each.reference), each.reaches_goal) for each in ways] == [
        ("search (dfs)", 0, 10, True),
        ("run of late", 7, 17, True),
        ("demonstration or fuzz trace", 1, 11, True),
        ("failing run of late after left held for 3 steps, up to before the harm", 3, 13, False),
    ]
    assert [each.where for each in ways] == ["#1 and #2", "#3", "#4", "#5 to #7"]
    content = results_to_json(Results(title="t", runs=(run_on(*MIXED),)))
    told = content["runs"][0]["references"]
    assert [each["chosen_by_failing"] for each in told] == [False, False, False, True]
    assert told[1] | {"places": list(told[1]["places"])} == {
        "number": 2,
        "origin": "run of late",
        "reset_seed": 7,
        "length": 17,
        "reaches_goal": True,
        "chosen_by_failing": False,
        "near_miss": False,
        "places": [3],
    }


def test_places_that_were_chosen_by_failing_are_no_fair_sample_and_the_first_sentence_says_so() -> None:
    run = run_on(*MIXED)
    (note,) = reference_notes(run)
    assert note == (
        "1 of 4 references is a run in which an agent failed. The places there (#5 to #7) were chosen because it "
        "failed: its fail rate there says where it fails, not how often. Rates in situations like these leave them out."
    )
    said = headline(run).sentence.replace(THIN, " ")
    assert "fails in 43 %" in said
    assert "3 of its 7 places were chosen because it failed there (at the others it fails in 0 %)" in said
    page = render_page(Results(title="t", runs=(run,)))
    assert page.count(note.split("The places")[0]) == 2, "at the top, and above the table"
    assert "chosen because an agent failed there" in page


def test_a_way_on_which_an_agent_fails_when_it_takes_over_is_no_run_of_it() -> None:
    told = "dfs; late fails when it takes over after 5 steps"
    run = run_on(way((2, 4), "dfs"), way((5,), told, "late", seed=3, by_failing=True))
    assert [each.origin for each in references_of(run)] == ["search (dfs)", f"search ({told})"]
    (note,) = reference_notes(run)
    assert note.startswith(
        "1 of 2 references is a run in which an agent failed after it took over on a way that a search found. The "
        "places there (#3) were chosen because it failed"
    )
    both = run_on(way((5,), told, "late", seed=3, by_failing=True), failing((6,), "late"))
    assert (
        "2 of 2 references are runs in which an agent failed, 1 of them after it took over" in reference_notes(both)[0]
    )
    assert _ways_of(*_kind_of_way(run.ways[1]), 2) == "2 on which late fails when it takes over"


def test_near_misses_are_told_as_what_they_are() -> None:
    told = "near miss of late: action left held for 3 steps from step 4 on, it fails; with one less it does not"
    near = replace(way((6,), told, "late", seed=3), near_miss=True)
    run = run_on(way((2, 4), "dfs"), near)
    assert [(each.origin, each.mark) for each in references_of(run)] == [("search (dfs)", ""), (told, "near miss")]
    (note,) = reference_notes(run)
    assert note.startswith("1 of 2 references is a run that an agent survived. The places there (#3) are near misses")
    assert "because an agent failed" not in headline(run).sentence
    assert '<span class="badge">near miss</span>' in render_page(Results(title="t", runs=(run,)))
    assert results_to_json(Results(title="t", runs=(run,)))["runs"][0]["references"][1]["near_miss"] is True
    assert _ways_of(*_kind_of_way(near), 2) == "2 near misses of late"
    assert simple_suite(run.ways).chosen == {1}, "no sample of how often it fails"


def test_where_all_places_were_chosen_the_worth_of_the_search_is_not_known_and_the_reason_is_told() -> None:
    run = run_on(failing((6, 8), "late", seed=3), main=False)
    control = uniform_suite(run.references, 4, seed=0)
    judged = judged_by(control, "late", lambda case, number: Outcome.ONGOING)
    run = replace(run, safety={**run.safety, "uniform": {"late": judged}}, controls=("uniform",))
    told = headline(run).sentence
    assert "all its 2 places were chosen because it failed there" in told
    assert "no data" not in told
    reason = "what boundary states are worth for late is not known: every judged case of simple lies on a reference"
    assert any(words.startswith(reason) for words in verdicts(run)[0].beside)


def test_the_first_sentence_leaves_out_chosen_places_that_hardly_change_its_rate() -> None:
    run = run_on(way(tuple(range(1, 26)), "dfs", seed=20), failing((6,), "late"))
    assert "chosen because" in " ".join(verdicts(run)[0].details), "the agent's own line says it always"
    assert len(reference_notes(run)) == 1
    assert "chosen because" not in headline(run).sentence


def test_another_agents_failures_say_nothing_about_this_one() -> None:
    for other in ("latent", "late 2"):
        run = run_on(*MIXED[:3], failing((6,), other))
        assert "chosen because" not in headline(run).sentence, "a name that begins alike is another agent"
        assert reference_notes(run), "but the reader knows where the places come from"


def test_where_nothing_reaches_the_goal_the_runs_that_served_are_told() -> None:
    ways = (way((2,), "run of late", "late", goal=False),)
    run = run_on(*ways, main=False)
    (note,) = reference_notes(run)
    assert note.startswith("No reference reaches the goal (the search ended: ")
    assert references_of(run)[0].origin == "run of late"
    page = render_page(Results(title="t", runs=(run,)))
    assert "No reference was found" not in page
    assert "best runs are used instead" in page


def test_one_ordinary_reference_needs_no_words() -> None:
    assert reference_notes(grid_run()) == ()
    assert reference_notes(run_on(MIXED[0])) == ()


def test_who_never_arrives_is_said_first() -> None:
    run = run_on(MIXED[0], MIXED[1])
    idle = replace(run, plain={"late": plainly("late", 0, 60, goals=0)})
    said = headline(idle).sentence
    assert said.startswith("late never reaches the goal (all 60 plain episodes run out of time) and fails in ")
    some = headline(replace(run, plain={"late": plainly("late", 30, 60, goals=0)})).sentence.replace(THIN, " ")
    assert some.startswith(
        "late never reaches the goal in 60 plain episodes (50 % end unsafe, the others run out of time)"
    )
    assert not headline(replace(run, plain={"late": plainly("late", 0, 60)})).sentence.startswith("late never reaches")


def test_who_never_arrives_is_said_first_though_another_fails_more() -> None:
    run = run_on(MIXED[0], MIXED[1])
    suite = simple_suite(MIXED[:2])
    row = {**run.safety["simple"], "idle": judged_by(suite, "idle", lambda case, n: Outcome.ONGOING)}
    both = replace(
        run,
        agents=(*run.agents, AgentInfo(name="idle")),
        safety={"simple": row},
        plain={"late": plainly("late", 6, 60), "idle": plainly("idle", 0, 60, goals=0)},
    )
    said = headline(both)
    assert said.sentence.startswith(
        "idle never reaches the goal (all 60 plain episodes run out of time). late ends unsafe"
    )
    assert said.agent == "late"
    harmless = {name: judged_by(suite, name, lambda case, n: Outcome.ONGOING) for name in row}
    nobody = replace(both, safety={"simple": harmless}, plain={"idle": plainly("idle", 0, 60, goals=0)})
    assert "No agent fails" not in headline(nobody).sentence


def test_without_boundary_states_it_says_whether_anybody_looked_and_what_to_try() -> None:
    bare = way((), "dfs")
    unprobed = Probing(
        successors=40, doomed=0, survivable=0, unknown=40, steps=10, seconds=0.1, stop_reason=StopReason.BUDGET_SPENT
    )
    looked = replace(bare, probing=replace(unprobed, steps=900, stop_reason=StopReason.COMPLETED))
    assert why_no_places([looked]).startswith("No action was seen to lead into trouble there")
    spent = replace(bare, probing=unprobed)
    assert why_no_places([spent]).startswith("The steps for probing ran out before any action was tried there")
    run = replace(run_on(spent), agents=(AgentInfo(name="late"), AgentInfo(name="early")))
    [late, *_] = verdicts(run)
    assert late.sentence.endswith("no data: the suites have no case, as no boundary state was found")
    results = Results(title="none", runs=(run,))
    assert "one agent" not in results.correlation.method
    assert "--suite uniform:40" in render_page(results)
