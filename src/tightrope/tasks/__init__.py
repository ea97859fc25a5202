"""Tasks: an environment, what is goal and unsafe in it, and how the search looks at it."""

from tightrope.tasks.keys import LossyKey, freeze, info_key, observation_bytes, parts_key, rounded_key
from tightrope.tasks.registry import BroughtTask, make_task, register_task, task_builders, task_from_label
from tightrope.tasks.spaces import action_decoder, encode_action, span_box
from tightrope.tasks.task import Task, Transition, Visit

__all__ = [
    "BroughtTask",
    "LossyKey",
    "Task",
    "Transition",
    "Visit",
    "action_decoder",
    "encode_action",
    "freeze",
    "info_key",
    "make_task",
    "observation_bytes",
    "parts_key",
    "register_task",
    "rounded_key",
    "span_box",
    "task_builders",
    "task_from_label",
]
