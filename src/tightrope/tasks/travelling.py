"""A task on its way to another process, with what it needs to be the same task there."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import cloudpickle
import gymnasium as gym

from tightrope.errors import UsageError
from tightrope.tasks.registry import make_task
from tightrope.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class TravellingTask:
    """A task as bytes. Functions of modules travel by name, those of a script or a notebook by what they are."""

    pickled: bytes
    """By cloudpickle; empty when ``name`` and ``options`` say it all."""
    name: str
    options: Mapping[str, Any]
    registrations: bytes
    """What was registered with Gymnasium here: the module that did it may be imported by nobody there."""
    paths: tuple[str, ...]
    """Where modules are imported from here, so that the other process finds the same ones."""

    @classmethod
    def of(cls, task: Task) -> TravellingTask:
        """Pack a task; UsageError when it cannot be."""
        return cls(
            pickled=_pickled(task),
            name=task.name,
            options=dict(task.options),
            registrations=_pickled_registrations(),
            paths=tuple(sys.path),
        )

    def arrived(self) -> Task:
        """The task, in the process it was sent to."""
        sys.path.extend(path for path in self.paths if path not in sys.path)
        task: Task = pickle.loads(self.pickled) if self.pickled else make_task(self.name, **self.options)
        return replace(task, make_env=_Registering(task.make_env, self.registrations))


class _Registering:
    """A factory that knows the registrations of the process it came from, and uses them when one is missing here."""

    def __init__(self, make_env: Callable[[], Any], registrations: bytes) -> None:
        self.make_env, self.registrations = make_env, registrations

    def __call__(self) -> Any:
        try:
            return self.make_env()
        except gym.error.UnregisteredEnv:
            for spec in pickle.loads(self.registrations):
                gym.registry.setdefault(spec.id, spec)
            return self.make_env()


def _pickled(task: Task) -> bytes:
    try:
        return cloudpickle.dumps(task)  # type: ignore[no-any-return]
    except Exception as error:
        if task.registered:
            return b""
        raise UsageError(
            f"task {task.label} cannot be sent to a worker process ({type(error).__name__}: {error}); make_env, goal, "
            f"unsafe and state_key must be functions that can be pickled, or register the task by name "
            f'(tightrope.register_task), or use backend="inline"'
        ) from error


def _pickled_registrations() -> bytes:
    """What is registered beside Gymnasium's own environments, as far as it can travel."""
    specs = [_importable(spec) for spec in gym.registry.values() if not _comes_with_gymnasium(spec)]
    try:
        return cloudpickle.dumps(specs)  # type: ignore[no-any-return]
    except Exception:
        return cloudpickle.dumps([spec for spec in specs if _can_travel(spec)])  # type: ignore[no-any-return]


def _comes_with_gymnasium(spec: Any) -> bool:
    return isinstance(spec.entry_point, str) and spec.entry_point.startswith("gymnasium.")


def _importable(spec: Any) -> Any:
    """A class named in ``__main__`` travels itself: the other process has another main module."""
    if isinstance(spec.entry_point, str) and spec.entry_point.startswith("__main__:"):
        found = getattr(sys.modules["__main__"], spec.entry_point.partition(":")[2], None)
        return spec if found is None else replace(spec, entry_point=found)
    return spec


def _can_travel(spec: Any) -> bool:
    try:
        cloudpickle.dumps(spec)
    except Exception:
        return False
    return True
