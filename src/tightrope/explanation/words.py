"""An explanation in one sentence. Every place that tells why something failed tells this sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tightrope.explanation.cause import Cause
from tightrope.statistics import Estimate
from tightrope.statistics.words import change_text, interval_text, percent, plainly
from tightrope.trace import Action, action_text

if TYPE_CHECKING:
    from tightrope.explanation.explanation import Explanation

MOST_NAMED = 4
"""Actions that are named one by one; of more it is said how many they are."""
NUMBERED = re.compile(r"\baction (\d+)\b")
MISSING = "Why it failed was not looked into"
BLAME = {True: "avoidable", False: "not avoidable after hand-over", None: "not known to be avoidable"}
"""Whose fault it was."""


def sentence(why: Explanation, names: Sequence[str] = ()) -> str:
    """The explanation in words; ``names`` are those of the actions 0, 1, …"""
    if why.cause is not None:
        return _by_cause(why, names)
    if why.depth is None or why.action is None:
        return _nowhere(why)
    if why.drop is not None:
        return _by_chance(why, why.drop, names)
    told = f"At step {why.depth} {_done(why, names)}"
    if not why.better and why.proven:
        known = ", as far as is known" if why.unsettled else ""
        return (
            f"{told}; until then the next {why.horizon} steps could be survived, after it they could not, and "
            f"no other action there does better{known}"
        )
    if not why.better:
        taken = f"{named(why.action, names)} at step {why.depth}"
        before = "" if why.depth >= why.handover else ", before hand-over"
        return (
            f"When it was lost is not known: no escape is known after {taken}{before}, nor after any other action there"
        )
    if len(why.better) > MOST_NAMED and not set(why.doomed + why.unsettled) - {why.action}:
        return f"{told}; any other action would have survived{_how_long(why)}"
    return f"{told}; {either(why.better, names)} would have survived{_how_long(why)}{_rest(why, names)}"


def _how_long(why: Explanation) -> str:
    """For how many steps that is known, where those are fewer than the agent was watched for."""
    lasted = [len(escape) - why.horizon == why.depth for escape in why.witnesses.values()]
    return f" the next {why.horizon} steps" if why.shortened and any(lasted) else ""


def _done(why: Explanation, names: Sequence[str]) -> str:
    """What was done at the blame point, by whom, and whether that is proven to be the end."""
    action = named(why.action, names)
    by_agent = why.depth is not None and why.depth >= why.handover
    done = f"it chose {action}" if by_agent else f"{action} was played, before hand-over"
    if why.proven:
        return done
    unknown = "no escape was found after that, which is not a proof"
    if not by_agent and why.agents_fault is None:
        unknown = "it is not known whether it could have been survived from hand-over on"
    return f"{done}, and {unknown}"


def _rest(why: Explanation, names: Sequence[str]) -> str:
    """What is known of the actions that were neither taken nor are better."""
    unsettled = [action for action in why.unsettled if action != why.action]
    if unsettled:
        known = either(unsettled, names) if len(unsettled) <= MOST_NAMED else f"{len(unsettled)} others"
        return f" (not known for {known})"
    others = [action for action in why.doomed if action != why.action]
    return " (all other actions are doomed)" if others else ""


def _by_chance(why: Explanation, drop: Estimate, names: Sequence[str]) -> str:
    done, less = named(why.action, names), _survives_less(drop)
    if not why.agents_fault:
        if drop.value is not None and drop.value <= 0:
            return (
                "No decision stands out: after none of them does the best player known survive less often than before"
            )
        return (
            f"No decision stands out: after the worst one seen, {done} at step {why.depth}, the best player known "
            f"survives {less}, which may be chance"
        )
    instead = f"; {either(why.better, names)} would have been better" if why.better else ""
    return f"At step {why.depth} it chose {done}, after which even the best player known survives {less}{instead}"


def _by_cause(why: Explanation, names: Sequence[str]) -> str:
    """What lost it where no single decision did."""
    if why.cause is Cause.LOST:
        return f"No player known survives the next {why.horizon} steps from where it took over{_tried(why, names)}"
    if why.cause is Cause.UNBEATEN:
        tried = "of all players tried from where it took over, the agent itself survives most often"
        return f"No better player is known: {tried}{_itself(why)}"
    if why.given_away is not None:
        given = plainly(f"{percent(why.given_away.value)} ({interval_text(why.given_away)})")
        if why.cause is Cause.LUCK:
            return (
                f"Bad luck: all its decisions together gave away {given} of the best known chance to survive, on "
                f"average over fails like this"
            )
        if why.cause is Cause.OPEN:
            return (
                f"No decision stands out, and it is not known whether it was bad luck: all its decisions together gave "
                f"away {given} of the best known chance to survive, on average over fails like this"
            )
        return (
            f"Little by little: no single decision stands out, and all together gave away {given} of the best known "
            f"chance to survive, on average over fails like this; most of it by {named(why.action, names)}, here "
            f"last at step {why.depth}"
        )
    less = "" if why.behind is None else _less(why.behind, "the best player known")
    told = f"from where it took over, it survives {less}"
    if why.cause is Cause.WORSE:
        unfound = "the decision that lost it was not found"
        return f"Another player would have survived more often: {told}{_whom(why, names)}; {unfound}"
    if why.cause is Cause.LUCK:
        return f"Bad luck, as far as is known: {told}"
    return f"Whether another player would have done better is not known: {told}"


def _tried(why: Explanation, names: Sequence[str]) -> str:
    return f": of {why.estimates[0][1].n} runs of the best{_whom(why, names)}, none did" if why.estimates else ""


def _itself(why: Explanation) -> str:
    return (
        f", in {plainly(percent(why.estimates[0][1].value))} of {why.estimates[0][1].n} runs" if why.estimates else ""
    )


def _whom(why: Explanation, names: Sequence[str]) -> str:
    """Who the best player known is, here: ``(here main engine held)``."""
    who = NUMBERED.sub(lambda found: named(int(found[1]), names), why.who)
    return f" (here {who})" if who else ""


def _survives_less(drop: Estimate) -> str:
    """``33 percentage points less often (20 to 45) than before``."""
    return _less(drop, "before")


def _less(drop: Estimate, other: str) -> str:
    value, low, high = (None if side is None else -side for side in (drop.value, drop.high, drop.low))
    return plainly(change_text(replace(drop, value=value, low=low, high=high), other))


def _nowhere(why: Explanation) -> str:
    if why.proven:
        return "No player could have survived, right from the start"
    if why.agents_fault is False:
        return "At hand-over it could no longer be survived; at which earlier step it was lost is not known"
    return "At which step it was lost could not be found out within the steps allowed for it"


def survival_in_words(why: Explanation) -> str:
    """How survival went over time: "survivable until step 83, then not"."""
    if why.cause is not None:
        return _over_time(why)
    if why.depth is None:
        return "never survivable" if why.proven else "not known to be survivable at any step"
    if why.drop is not None:
        return f"the largest drop is at step {why.depth}"
    if why.proven:
        return f"survivable until step {why.depth}, then not"
    told = f"survivable until step {why.depth}, then not known to be"
    if why.first_doomed == len(why.trace):
        # That it is over when it is over is no proof of doom.
        return f"{told}; the harm is done at step {why.first_doomed}"
    return f"{told}; proven doomed from step {why.first_doomed} on"


def _over_time(why: Explanation) -> str:
    """How often somebody survives from hand-over on, and from the last decision on."""
    if not why.estimates:
        return "how often it can be survived is not known"
    told = [f"{plainly(percent(estimate.value))} from step {depth} on" for depth, estimate in why.estimates]
    return f"the best player known survives {' and '.join(dict.fromkeys((told[0], told[-1])))}"


def either(actions: Sequence[Action], names: Sequence[str]) -> str:
    """``left, right or jump``; of many only how many they are."""
    told = [named(action, names) for action in actions]
    if len(told) > MOST_NAMED:
        return f"any of {len(told)} others, such as {told[0]},"
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} or {told[-1]}"


def named(action: Action | None, names: Sequence[str]) -> str:
    """An action by its name, where it has one; a number alone would not be taken for an action."""
    alone = not isinstance(action, tuple) and not (isinstance(action, int) and 0 <= action < len(names))
    return f"action {action_text(action)}" if alone else action_text(action, names)
