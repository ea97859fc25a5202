"""Where agents are to go on learning: shortly before they lose games, and along references that no test stands on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import tightrope as tr
from tightrope.training import situations_from
from tightrope_mario.reproduce import ALL_ACTIONS
from tightrope_mario.shipped import ShippedAgent
from tightrope_mario.training import defaults

EPSILON = 0.02
"""Random actions in the games that are to be lost: as many as agents are tested with."""
SEED = 1
"""Of games and references. Tests have seed 0, so that nothing is learned by heart that is asked later."""
LONGEST = 600
"""Steps of a game; one that takes longer stands still."""
STEPS_BEFORE = (15, 40)
"""How far before a loss games begin: so late that it is near, and so early that it can still be avoided."""


def lessons(
    agents: Sequence[ShippedAgent],
    *,
    games: int = defaults.LESSON_GAMES,
    references: int = defaults.LESSON_REFERENCES,
    places: int = defaults.LESSON_PLACES,
    steps: int = defaults.LESSON_STEPS,
    rom: str | None = None,
) -> Iterator[tuple[ShippedAgent, tuple[tr.ActionTrace, ...]]]:
    """For each agent of a level the traces to the situations that it is to begin games in.

    Args:
        agents: All of one level.
        games: How many each plays, from the start of the level.
        references: How many ways through the level, by searches and by the agents' own runs, have their boundary states
            among the situations.
        places: How many further situations are drawn evenly from these ways.
        steps: What the ways and their boundary states may cost.
        rom: Where the game lies.
    """
    task = tr.make_task("mario", level=agents[0].level, actions=ALL_ACTIONS, rom=rom)
    loaded = {agent: tr.load_agent(agent.path, task, name=agent.name, epsilon=EPSILON) for agent in agents}
    tested = tr.search(task, "dfs", seed=0, probe=False).reference
    ways = tr.find_references(
        task,
        references + 1,
        list(loaded.values()),
        tr.Budget(steps=steps),
        SEED,
        known=[] if tested is None else [tested],
        reset_seeds=1,
    )
    ways = tuple(way for way in ways if tested is None or way.actions.id != tested.actions.id)
    shared = situations_from(tr.simple_suite(ways), tr.uniform_suite(ways, places, seed=SEED))
    for known, agent in loaded.items():
        lost = tr.evaluate(task, agent, games, SEED, length=LONGEST).failing_episodes
        own = [situation for steps in STEPS_BEFORE for situation in situations_from(lost, steps_before=steps)]
        yield known, tuple(situation.trace for situation in (*shared, *own))
