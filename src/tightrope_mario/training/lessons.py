"""Where agents are to go on learning: shortly before they lose games, and along references that no test stands on.

``python -m tightrope_mario.training.lessons agents/mario --level 1-1 --out lessons`` writes a trace file for each late
agent of the level; ``python -m tightrope_mario.training.train --continue AGENT --situations FILE --situation-actions
combined`` begins games there.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import tightrope as tr
from tightrope.errors import UsageError
from tightrope.training import situations_from
from tightrope_mario.reproduce import ALL_ACTIONS
from tightrope_mario.shipped import ShippedAgent, find_agents

EPSILON = 0.02
"""Random actions in the games that are to be lost: as many as agents are tested with."""
SEED = 1
"""Of games and references. Tests have seed 0, so that nothing is learned by heart that is asked later."""
LONGEST = 600
"""Steps of a game; one that takes longer stands still."""
GAMES, REFERENCES, PLACES, STEPS = 40, 5, 40, 40_000
STEPS_BEFORE = (15, 40)
"""How far before a loss games begin: so late that it is near, and so early that it can still be avoided."""


def lessons(
    agents: Sequence[ShippedAgent],
    *,
    games: int = GAMES,
    references: int = REFERENCES,
    places: int = PLACES,
    steps: int = STEPS,
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and write a trace file for each late agent of a level."""
    parser = argparse.ArgumentParser(prog="python -m tightrope_mario.training.lessons", description=__doc__)
    parser.add_argument("agents", type=Path, help="the folder with the trained agents")
    parser.add_argument("--level", required=True)
    parser.add_argument("--out", type=Path, required=True, help="the folder for the trace files")
    parser.add_argument("--games", type=int, default=GAMES, help="that each agent plays")
    parser.add_argument("--references", type=int, default=REFERENCES, help="ways through the level")
    parser.add_argument("--places", type=int, default=PLACES, help="drawn evenly from these ways")
    parser.add_argument("--steps", type=int, default=STEPS, help="that these ways and their boundary states may cost")
    parser.add_argument("--rom")
    given = parser.parse_args(arguments)
    late = [agent for agent in find_agents(given.agents) if agent.level == given.level and agent.stage == "late"]
    given.out.mkdir(parents=True, exist_ok=True)
    if not late:
        raise UsageError(f"no late agent in {given.agents} was trained on {given.level}")
    sizes = {name: getattr(given, name) for name in ("games", "references", "places", "steps", "rom")}
    for agent, traces in lessons(late, **sizes):
        target = given.out / f"{agent.path.stem}.json"
        tr.write_traces(target, traces)
        print(f"{target}: {len(traces)} situations", flush=True)


if __name__ == "__main__":
    main()
