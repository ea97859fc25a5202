"""A task and agents that leave in the middle of their work, named on command lines as ``tests.cli.leaving:…``."""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym

import tightrope as tr
from tests.sample_agents import careful, zigzag

Answer = Callable[[Any], int]


def leave(how: str) -> None:
    """End this process in one of the ways there are."""
    if how == "exit":
        sys.exit(0)
    elif how == "exit with 256":
        sys.exit(256)  # the system keeps the last eight bits of it: 0
    elif how == "exit with text":
        sys.exit("so long")
    elif how == "_exit":
        os._exit(0)
    elif how == "copy":
        # The copy comes back to whoever asked, and through to the end of the command.
        if os.fork():
            os._exit(0)
        raise RuntimeError("the copy has had enough")
    elif how == "thread":
        threading.Thread(target=os._exit, args=(0,)).start()
        time.sleep(60)
    elif how == "sleep":
        time.sleep(3600)
    elif how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    else:
        raise ValueError(how)


class Lake(gym.Wrapper[Any, Any, Any, Any]):
    """FrozenLake that is left at one place of the interface."""

    def __init__(self, how: str, where: str) -> None:
        if where == "make_env":
            leave(how)
        super().__init__(gym.make("FrozenLake-v1", is_slippery=False))
        self.how, self.where = how, where

    def reset(self, **options: Any) -> Any:
        if self.where == "reset":
            leave(self.how)
        return super().reset(**options)

    def step(self, action: Any) -> Any:
        if self.where == "step":
            leave(self.how)
        return super().step(action)

    def close(self) -> None:
        if self.where == "close":
            leave(self.how)
        super().close()


def lake(how: str, where: str) -> tr.Task:
    """FrozenLake, left at one place of the task."""
    if where == "builder":
        leave(how)

    def judge(role: str, reward: float) -> Callable[[tr.Transition], bool]:
        def judged(transition: tr.Transition) -> bool:
            if where == role and transition.terminated:
                leave(how)
            return transition.terminated and transition.reward == reward

        return judged

    def key(env: Any, observation: Any, info: Any) -> int:
        if where == "state_key":
            leave(how)
        return int(observation)

    return tr.Task(
        name="lake", make_env=lambda: Lake(how, where), goal=judge("goal", 1), unsafe=judge("unsafe", 0), state_key=key
    )


def _answering(how: str) -> Callable[[], Answer]:
    def factory() -> Answer:
        def answer(observation: Any) -> int:
            leave(how)
            return 0

        return answer

    return factory


exits, exits_with_256, exits_with_text = map(_answering, ("exit", "exit with 256", "exit with text"))
leaves, copies, threads, killed = map(_answering, ("_exit", "copy", "thread", "killed"))


os.environ.setdefault("PROCESS_OF_THE_TEST", str(os.getpid()))


def leaves_elsewhere() -> Answer:
    """Ends any process but the one that runs the test: an agent is asked there too, when it is loaded."""

    def answer(observation: Any) -> int:
        if os.environ["PROCESS_OF_THE_TEST"] != str(os.getpid()):
            os._exit(0)
        return 0

    return answer


def unmade() -> Answer:
    """Leaves before there is an agent."""
    sys.exit(0)


def failing_politely() -> Answer:
    """Fails its gate, and says at exit that all is well."""
    atexit.register(os._exit, 0)
    return zigzag()


def passing_then_hanging() -> Answer:
    """Passes its gate, and has a thread that never ends."""
    threading.Thread(target=time.sleep, args=(3600,)).start()
    return careful()


def slow() -> Answer:
    """Takes its time, and tells a file which process it is asked in."""

    def answer(observation: Any) -> int:
        with open(os.environ["ASKED_IN"], "a") as asked:
            asked.write(f"{os.getpid()}\n")
        time.sleep(0.2)
        return 0

    return answer


def _hanging(library: type[ctypes.CDLL]) -> Callable[[], Answer]:
    def factory() -> Answer:
        def answer(observation: Any) -> int:
            lock, here = ctypes.create_string_buffer(128), library(None)
            here.pthread_mutex_lock(lock)
            return int(here.pthread_mutex_lock(lock))

        return answer

    return factory


compiled, holding = _hanging(ctypes.CDLL), _hanging(ctypes.PyDLL)
"""Wait for ever in compiled code; the second does not let go of the interpreter."""


def asleep() -> Answer:
    """Waits for ever in Python code."""

    def answer(observation: Any) -> int:
        time.sleep(3600)
        return 0

    return answer


def talkative() -> Answer:
    """Prints what it does, as Python code and as compiled code would."""
    known = careful()

    def answer(observation: Any) -> int:
        print("I see", observation)
        sys.__stdout__ and sys.__stdout__.write("and again\n") and sys.__stdout__.flush()
        os.write(1, b"from below\n")
        return known(observation)

    return answer
