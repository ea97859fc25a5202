"""The sentence says what is known and no more: a variant for each kind of knowledge."""

from __future__ import annotations

import pytest

import tightrope as tr
from tightrope.explanation import Cause
from tightrope.explanation.words import either, named, sentence, survival_in_words
from tightrope.reference import Survivability
from tightrope.statistics import Estimate
from tightrope.trace import ActionTrace

NAMES = ("right+B", "right+A+B", "left")
TRACE = ActionTrace("world", 0, (0,) * 80)
YES, NO, UNKNOWN = Survivability.YES, Survivability.NO, Survivability.UNKNOWN


def why(**fields: object) -> tr.Explanation:
    known = {"depth": 75, "action": 0, "better": (1,), "doomed": (0,), "agents_fault": True, "proven": True}
    return tr.Explanation(trace=TRACE, handover=70, horizon=40, **{**known, **fields})


def drop(value: float, low: float, high: float) -> Estimate:
    return Estimate(value, low, high, 40, "95% Newcombe, fresh runs")


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, "At step 75 it chose right+B; right+A+B would have survived"),
        (
            {"doomed": (0, 2)},
            "At step 75 it chose right+B; right+A+B would have survived (all other actions are doomed)",
        ),
        ({"better": (1, 2, 3, 4, 5)}, "At step 75 it chose right+B; any other action would have survived"),
        (
            {"better": (1, 2, 3, 4, 5), "doomed": (0, 6)},
            "At step 75 it chose right+B; any of 5 others, such as right+A+B, would have survived (all other actions "
            "are doomed)",
        ),
        ({"better": (1, 2)}, "At step 75 it chose right+B; right+A+B or left would have survived"),
        (
            {"unsettled": (2,)},
            "At step 75 it chose right+B; right+A+B would have survived (not known for left)",
        ),
        (
            {"unsettled": (2, 3, 4, 5, 6)},
            "At step 75 it chose right+B; right+A+B would have survived (not known for 5 others)",
        ),
        (
            {"proven": False, "doomed": (), "unsettled": (0,)},
            "At step 75 it chose right+B, and no escape was found after that, which is not a proof; right+A+B would "
            "have survived",
        ),
        (
            {"proven": False, "better": (), "doomed": ()},
            "When it was lost is not known: no escape is known after right+B at step 75, nor after any other action "
            "there",
        ),
        (
            {"proven": False, "better": (), "doomed": (), "depth": 60, "agents_fault": None},
            "When it was lost is not known: no escape is known after right+B at step 60, before hand-over, nor after "
            "any other action there",
        ),
        (
            {"better": ()},
            "At step 75 it chose right+B; until then the next 40 steps could be survived, after it they could "
            "not, and no other action there does better",
        ),
        (
            {"depth": 60, "agents_fault": False},
            "At step 60 right+B was played, before hand-over; right+A+B would have survived",
        ),
        (
            {"depth": 60, "agents_fault": None, "proven": False},
            "At step 60 right+B was played, before hand-over, and it is not known whether it could have been survived "
            "from hand-over on; right+A+B would have survived",
        ),
        ({"depth": None, "action": None, "agents_fault": False}, "No player could have survived, right from the start"),
        (
            {"depth": None, "action": None, "agents_fault": False, "proven": False},
            "At hand-over it could no longer be survived; at which earlier step it was lost is not known",
        ),
        (
            {"depth": None, "action": None, "agents_fault": None, "proven": False},
            "At which step it was lost could not be found out within the steps allowed for it",
        ),
        (
            {"drop": drop(0.33, 0.2, 0.45), "proven": False},
            "At step 75 it chose right+B, after which even the best player known survives 33 percentage points less "
            "often (20 to 45) than before; right+A+B would have been better",
        ),
        (
            {"drop": drop(0.05, -0.1, 0.2), "proven": False, "better": (), "agents_fault": None},
            "No decision stands out: after the worst one seen, right+B at step 75, the best player known survives 5 "
            "percentage points less often (from 20 less to 10 more) than before, which may be chance",
        ),
        (
            {"drop": drop(-0.15, -0.4, 0.1), "proven": False, "better": (), "agents_fault": None},
            "No decision stands out: after none of them does the best player known survive less often than before",
        ),
    ],
)
def test_each_kind_of_knowledge_has_its_sentence(fields: dict[str, object], told: str) -> None:
    assert sentence(why(**fields), NAMES) == told


def test_actions_without_names_are_told_as_they_are() -> None:
    assert named(3, NAMES) == "action 3"
    assert named((0.12345, -1.0), ()) == "(0.123, -1)"
    assert named(0.5, ()) == "action 0.5"
    assert either(range(6), ()) == "any of 6 others, such as action 0,"


def test_survival_over_time() -> None:
    assert survival_in_words(why()) == "survivable until step 75, then not"
    assert survival_in_words(why(depth=None, agents_fault=False)) == "never survivable"
    unproven = why(proven=False, curve=((70, YES), (78, NO), (79, NO)))
    assert unproven.first_doomed == 78
    told = "survivable until step 75, then not known to be; proven doomed from step 78 on"
    assert survival_in_words(unproven) == told
    over = why(proven=False, curve=((75, YES), (78, UNKNOWN)))
    told = f"survivable until step 75, then not known to be; the harm is done at step {len(TRACE)}"
    assert survival_in_words(over) == told, "nothing was proven"


def share(value: float, low: float, high: float) -> Estimate:
    return Estimate(value, low, high, 5000, "95% by drawing again what 5000 steps of a learnt model showed")


BEST = Estimate(0.4, 0.2, 1.0, 25, "95% Clopper-Pearson from below, over fresh runs of: random actions")


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            {"cause": Cause.LOST, "estimates": ((70, BEST),), "who": "random actions"},
            "No player known survives the next 40 steps from where it took over: of 25 runs of the best (here random "
            "actions), none did",
        ),
        (
            {"cause": Cause.LUCK, "given_away": share(0.02, 0.01, 0.05)},
            "Bad luck: all its decisions together gave away 2% (1–5%) of the best known chance to survive, on "
            "average over fails like this",
        ),
        (
            {"cause": Cause.LITTLE_BY_LITTLE, "given_away": share(0.2, 0.1, 0.3), "depth": 75, "action": 0},
            "Little by little: no single decision stands out, and all together gave away 20% (10–30%) of the best "
            "known chance to survive, on average over fails like this; most of it by right+B, here last at step 75",
        ),
        (
            {"cause": Cause.OPEN, "given_away": share(0.1, 0.0, 0.4)},
            "No decision stands out, and it is not known whether it was bad luck: all its decisions together gave away "
            "10% (0–40%) of the best known chance to survive, on average over fails like this",
        ),
        (
            {"cause": Cause.WORSE, "behind": drop(0.4, 0.3, 0.5), "estimates": ((70, BEST),), "who": "random actions"},
            "Another player would have survived more often: from where it took over, it survives 40 percentage "
            "points less often (30 to 50) than the best player known (here random actions); the decision that lost it "
            "was not found",
        ),
        (
            {"cause": Cause.LUCK, "behind": drop(0.02, -0.05, 0.08)},
            "Bad luck, as far as is known: from where it took over, it survives 2 percentage points less often (from "
            "8 less to 5 more) than the best player known",
        ),
        (
            {"cause": Cause.OPEN, "behind": drop(0.1, -0.1, 0.3)},
            "Whether another player would have done better is not known: from where it took over, it survives 10 "
            "percentage points less often (from 30 less to 10 more) than the best player known",
        ),
        (
            {"cause": Cause.UNBEATEN, "estimates": ((70, BEST),)},
            "No better player is known: of all players tried from where it took over, the agent itself survives most "
            "often, in 40% of 25 runs",
        ),
    ],
)
def test_what_no_single_decision_lost(fields: dict[str, object], told: str) -> None:
    known = {"depth": None, "action": None, "better": (), "doomed": (), "proven": False, "agents_fault": None}
    assert sentence(why(**{**known, **fields}), NAMES) == told


def test_who_does_best_is_told_with_the_names_of_the_actions() -> None:
    lost = why(depth=None, action=None, cause=Cause.LOST, estimates=((70, BEST),), who="action 2 held, with foresight")
    told = sentence(lost, NAMES)
    assert "(here left held, with foresight)" in told


def test_over_time_it_is_said_how_often_somebody_survives() -> None:
    known = {"depth": None, "action": None, "proven": False, "cause": Cause.LUCK}
    told = survival_in_words(why(**known, estimates=((70, BEST), (79, share(0.1, 0.0, 0.2)))))
    assert told == "the best player known survives 40% from step 70 on and 10% from step 79 on"
    assert survival_in_words(why(**known)) == "how often it can be survived is not known"
