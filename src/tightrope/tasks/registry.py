"""Named tasks: built in, registered by the user, or brought by a package's entry point."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from importlib.util import find_spec
from typing import Any

import gymnasium as gym

from tightrope.errors import TaskError, TightropeError, UnknownName, UsageError
from tightrope.extensions import Extension, extensions
from tightrope.guards.faults import misdeed
from tightrope.guards.importing import import_object, look_in_this_folder
from tightrope.tasks.task import Task

GROUP = "tightrope.tasks"
"""Entry points of packages that bring tasks: each names a function that builds one from its options."""

TaskBuilder = Callable[..., Task]
FAMILIES = {
    "brax": "tightrope.tasks.jaxworlds.brax_worlds:brax_task",
    "gymnax": "tightrope.tasks.jaxworlds.gymnax_worlds:gymnax_task",
    "pgx": "tightrope.tasks.jaxworlds.pgx_worlds:pgx_task",
}
"""Libraries whose worlds are tasks as ``library:world``, and what builds one from its name."""
OTHER_FAMILIES = ("craftax", "jaxmarl", "jumanji", "mujoco_playground", "navix", "playground", "xminigrid")
"""Libraries of worlds written in JAX that have no names here; a module of the user's may be called the same."""
_registered: dict[str, TaskBuilder] = {}


def register_task(name: str, builder: TaskBuilder) -> None:
    """Make ``make_task(name, **options)`` call ``builder(**options)``.

    Args:
        name: What the task is called.
        builder: Makes the task from its options.
    """
    from tightrope.tasks.builtin import BUILTIN_TASKS

    if {**BUILTIN_TASKS, **_registered}.get(name, builder) is not builder:
        raise UsageError(f"a task named {name!r} is registered already; choose another name")
    _registered[name] = builder


def make_task(name: str, **options: Any) -> Task:
    """Build a task by its name.

    Args:
        name: A known name, or ``package.module:name``: a task, or a function that builds one, in a module of the
            user's.
        **options: Go to the task's builder, as in ``make_task("CartPole-v1", max_episode_steps=200)``.
    """
    builder = task_builders().get(name) or _of_family(name) or _imported(name)
    if builder is None:
        raise _unknown_task(name, options)
    _check_options(name, builder, options)
    task = builder(**options) if _is_builtin(name, builder) else _built(name, builder, options)
    return replace(task, name=name, options=dict(options), registered=True)


def task_from_label(label: str) -> Task:
    """Build the named task that a label (``Task.label``) describes; labels are what files know a task by."""
    name, bracket, arguments = label.partition("(")
    try:
        call = ast.parse(f"task({arguments}" if bracket else "task()", mode="eval").body
        assert isinstance(call, ast.Call)
        options = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError, TypeError, AssertionError, RecursionError, MemoryError):
        raise TaskError(f"{label!r} does not name a task and its options; build the task and pass it instead") from None
    return make_task(name, **options)


def task_builders() -> dict[str, TaskBuilder]:
    """All named tasks and their builders; a name that is built in or registered here hides a package's."""
    from tightrope.tasks.builtin import BUILTIN_TASKS

    brought = {name: BroughtTask(extension) for name, extension in extensions(GROUP).items()}
    return {**brought, **BUILTIN_TASKS, **_registered}


class BroughtTask:
    """The builder of a task that a package brings, imported when it is first asked for."""

    def __init__(self, extension: Extension) -> None:
        self._extension = extension

    @cached_property
    def builder(self) -> TaskBuilder:
        """The package's own function."""
        return self._extension.load(_broken_rule)  # type: ignore[no-any-return]

    def __call__(self, **options: Any) -> Task:
        """The task with these options."""
        return self.builder(**options)


def _broken_rule(builder: Any) -> str:
    return "" if callable(builder) else f"a function that builds a task is needed, not {builder!r:.80}"


def _is_builtin(name: str, builder: TaskBuilder) -> bool:
    from tightrope.tasks.builtin import BUILTIN_TASKS

    return BUILTIN_TASKS.get(name) is builder


def _built(name: str, builder: TaskBuilder, options: dict[str, Any]) -> Task:
    """What a builder of the user's returns, with errors that name it when it does not build a task."""
    try:
        task = builder(**options)
    except TightropeError:
        raise
    except BaseException as error:
        raise TaskError(f"the task function {name!r} {misdeed(error)}") from error
    if not isinstance(task, Task):
        raise _no_task(name, "returned", task)
    return task


def _no_task(name: str, verb: str, found: Any) -> TaskError:
    is_env = isinstance(found, gym.Env) or (isinstance(found, type) and issubclass(found, gym.Env))
    return TaskError(
        f"{name!r} {verb} {'a gymnasium.Env' if is_env else f'{found!r:.80}'}, not a Task; say what is goal and what "
        f"is unsafe: tightrope.Task(name=…, make_env=…, goal=…, unsafe=…)"
    )


def _check_options(name: str, builder: TaskBuilder, options: dict[str, Any]) -> None:
    if isinstance(builder, BroughtTask):
        builder = builder.builder
    parameters = inspect.signature(builder).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for option in options:
        if option not in parameters:
            raise UnknownName(f"option of task {name!r}", option, parameters)
        if str(parameters[option].annotation) in ("bool", "<class 'bool'>") and not isinstance(options[option], bool):
            raise UsageError(f"option {option!r} of task {name!r} is true or false, not {options[option]!r}")


def _of_family(name: str) -> TaskBuilder | None:
    """The builder of a world of a known library; None for other names."""
    family, _, world = name.partition(":")
    if family in OTHER_FAMILIES and world:
        return _of_other_family(name, family)
    if family not in FAMILIES:
        return None
    module, _, function = FAMILIES[family].partition(":")
    return partial(getattr(importlib.import_module(module), function), world)


def _of_other_family(name: str, library: str) -> TaskBuilder:
    """What the user's own module of that name holds; TaskError where it is the library that is meant."""
    look_in_this_folder()
    try:
        if find_spec(library) is not None and (builder := _imported(name)):
            return builder
    except UnknownName:
        pass
    raise TaskError(
        f"the worlds of {library} have no goal and danger that tightrope knows, so there is no task {name!r}. Named "
        f"are some of {', '.join(sorted(FAMILIES))} (as in brax:hopper); any other is a World of your own, some twenty "
        f"lines that call its reset and step and say what is goal and unsafe: tightrope.jax_task(make_world, name=…)"
    )


def _imported(name: str) -> TaskBuilder | None:
    """The builder that ``package.module:name`` points to; None when the name is not of that form."""
    _, colon, attribute = name.partition(":")
    if not colon or not attribute.isidentifier():
        return None
    found = import_object(name, TaskError, "task")
    if isinstance(found, Task):
        return lambda: found
    if not callable(found) or (isinstance(found, type) and issubclass(found, gym.Env)):
        raise _no_task(name, "is", found)
    return found  # type: ignore[no-any-return]


def _unknown_task(name: str, options: dict[str, Any]) -> UsageError:
    if name in gym.registry:
        return TaskError(
            f"tightrope does not know what is goal and what is unsafe in {name!r}. Say so:\n"
            f"  tightrope.Task(name={name!r}, make_env=lambda: gymnasium.make({name!r}),\n"
            f"                 goal=lambda t: t.terminated and t.reward > 0,\n"
            f"                 unsafe=lambda t: t.terminated and t.reward <= 0)"
        )
    return UnknownName("task", name, [*task_builders(), *gym.registry], hint="`tightrope tasks` lists all of them.")
