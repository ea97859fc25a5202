"""Resetting an environment, with errors that say what is wrong when it cannot be."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from tightrope.errors import EnvironmentFailure, TaskError
from tightrope.guards.calls import calls_out
from tightrope.guards.faults import misdeed
from tightrope.simulation.snapshots.layers import environment_layers
from tightrope.tasks.task import Task


@calls_out("task {task.label}", reset="reset()")
def checked_reset(task: Task, env: Any, seed: int | None) -> tuple[Any, Mapping[str, Any]]:
    """Reset, with an error that says what is wrong when the environment cannot."""
    try:
        result = env.reset() if seed is None else env.reset(seed=seed)
    except TypeError as error:
        if seed is None or all(map(_takes_a_seed, environment_layers(env))):
            raise EnvironmentFailure(f"task {task.label}: reset(seed={seed}) {misdeed(error)}") from error
        raise TaskError(
            f"task {task.label}: the environment's reset() does not take a seed ({error}), so results could not be "
            f"reproduced. Give it the Gymnasium signature reset(self, *, seed=None, options=None) and draw all "
            f"randomness from self.np_random after super().reset(seed=seed)"
        ) from error
    except BaseException as error:
        raise EnvironmentFailure(f"task {task.label}: reset(seed={seed}) {misdeed(error)}") from error
    if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], Mapping)):
        raise TaskError(
            f"task {task.label}: reset() must return (observation, info), not {type(result).__name__}; environments "
            f"of the old Gym interface need a wrapper such as shimmy's"
        )
    return result


def _takes_a_seed(layer: Any) -> bool:
    try:
        parameters = inspect.signature(layer.reset).parameters
    except (TypeError, ValueError):
        return True
    return "seed" in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())
