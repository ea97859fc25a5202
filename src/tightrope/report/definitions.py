"""The words that one needs to read a report, each in a sentence."""

from __future__ import annotations

WORDS = {
    "plain episode": "The agent plays from the task's own start to the end, as in normal use.",
    "reference": "A way through the task that reaches the goal. A search found it, or an agent played it.",
    "place": "A boundary state: a situation on a reference from which a wrong action leads to harm. Places are "
    "numbered (#7), and the number is the same on the map, in charts, films, tables and on the command line.",
    "case": "One test: actions are played up to a situation, then the agent takes over. That moment is the hand-over.",
    "fail": "The agent ended unsafe within the watched steps after hand-over. A rate of fails is a share of the tests.",
    "survivable": "An escape from there is known: it is stored and was replayed.",
    "doomed": "It is proven that no player survives the watched steps from there. Such a fail says nothing about "
    "the agent.",
    "avoidable": "The part of an agent's fails that another player would have avoided: the agent's own fault.",
    "on these cases": "The rate if exactly these cases were executed again. Where nothing is random it is exact.",
    "in situations like these": "The rate on other references found in the same way. One reference alone gives no "
    "interval.",
}
"""Ten of them; the documentation's glossary has the others."""
