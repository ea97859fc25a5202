"""Agents behind HTTP: answers like a local agent's, and servers that lie, hang or talk nonsense are told by name."""

from __future__ import annotations

import json
import pickle
import random
import runpy
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import cloudpickle
import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tests.agents.tasks import MOVES, PARTS, TORQUES, VECTOR, noise_task
from tightrope.agents import names_code
from tightrope.agents.remote import exchange as http_exchange
from tightrope.errors import AgentError, AgentFailure
from tightrope.testing import AgentContract
from tightrope.testing.agent_contract import ask, walk

EXAMPLE = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "agent_server.py"))
SAYS = {"protocol": "tightrope-agent/1", "name": "far", "fingerprint": "1", "deterministic": True}


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def server(answer: Callable[[dict[str, Any]], Any], says: Any = None, get: Any = None) -> type[BaseHTTPRequestHandler]:
    """A server whose answers to questions are ``answer(question)``: a table, or bytes as they are."""

    class Handler(EXAMPLE["Server"]):  # type: ignore[misc, valid-type, name-defined]
        def do_GET(self) -> None:
            self.say((says or SAYS) if get is None else get)

        def do_POST(self) -> None:
            said = answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.say({"fingerprint": "1", **said} if isinstance(said, dict) else said)

        def say(self, content: Any) -> None:
            if not isinstance(content, bytes):
                return self.answer(content)
            self.wfile.write(content)
            self.close_connection = True
            return None

    return Handler


def zeros(question: dict[str, Any]) -> Any:
    return {"actions": [0] * len(question["observations"])}


def test_the_example_plays_as_the_function_in_it_does() -> None:
    task = tr.make_task("CartPole-v1", max_episode_steps=60)
    local = tr.load_agent(EXAMPLE["act"], task, name="leaning")
    with serving(EXAMPLE["Server"]) as address:
        remote = tr.load_agent(address, task)
        assert (remote.name, remote.deterministic, remote.recurrent) == ("leaning", True, False)
        # As it is rebuilt in a worker process.
        far = tr.evaluate(task, pickle.loads(cloudpickle.dumps(remote)), episodes=6)
    near = tr.evaluate(task, local, episodes=6)
    assert [episode.actions for episode in far.episodes] == [episode.actions for episode in near.episodes]


def test_the_example_is_short() -> None:
    lines = (Path(__file__).parents[2] / "examples" / "agent_server.py").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) <= 36


@pytest.fixture(scope="module")
def drawing() -> Iterator[str]:
    def answer(question: dict[str, Any]) -> Any:
        return {"actions": [random.Random(seed).randrange(4) for seed in question["seeds"]]}

    with serving(server(answer, {**SAYS, "deterministic": False})) as address:
        yield address


@pytest.fixture(scope="module")
def counting() -> Iterator[str]:
    def answer(question: dict[str, Any]) -> Any:
        steps = [0 if memory is None else memory["steps"] for memory in question["memories"]]
        return {"actions": [one % 4 for one in steps], "memories": [{"steps": one + 1} for one in steps]}

    with serving(server(answer, {**SAYS, "recurrent": True, "batch": 3})) as address:
        yield address


@pytest.mark.usefixtures("drawing")
class TestDrawing(AgentContract):
    address = ""

    @pytest.fixture(autouse=True)
    def _address(self, drawing: str) -> None:
        type(self).address = drawing

    def make_task(self) -> Any:
        return noise_task(VECTOR, MOVES)

    def make_agent(self, task: Any) -> Any:
        return tr.load_agent(self.address, task)


class TestCounting(AgentContract):
    address = ""

    @pytest.fixture(autouse=True)
    def _address(self, counting: str) -> None:
        type(self).address = counting

    def make_task(self) -> Any:
        return noise_task(VECTOR, MOVES)

    def make_agent(self, task: Any) -> Any:
        return tr.load_agent(self.address, task)


def test_draws_follow_the_episodes_own_numbers(drawing: str) -> None:
    task = noise_task(VECTOR, MOVES)
    agent = tr.load_agent(drawing, task)
    assert not agent.deterministic
    assert len(set(ask(agent, walk(task)).actions)) > 1


def test_memory_travels_with_the_episode(counting: str) -> None:
    task = noise_task(VECTOR, MOVES)
    agent = tr.load_agent(counting, task)
    assert agent.recurrent
    memory, actions = None, []
    for observation in walk(task)[:6]:
        answer = agent.act([observation, observation], [memory, None], [None, None], [None, None])
        memory = answer.memories[0]
        actions.append(answer.actions)
    assert actions == [[step % 4, 0] for step in range(6)]


def test_every_kind_of_observation_action_and_mask_arrives() -> None:
    seen: list[dict[str, Any]] = []

    def answer(question: dict[str, Any]) -> Any:
        seen.append(question)
        return {"actions": [[0.5, 0.25]] * len(question["observations"])}

    task = noise_task(PARTS, TORQUES)
    observations = walk(task)[:3]
    with serving(server(answer)) as address:
        assert ask(tr.load_agent(address, task), observations).actions == [(0.5, 0.25)] * 3
    sent = seen[-1]["observations"]
    assert all(
        np.array_equal(np.float32(one["view"]), two["view"]) for one, two in zip(sent, observations, strict=True)
    )
    with serving(server(lambda question: (seen.append(question), zeros(question))[1])) as address:
        agent = tr.load_agent(address, noise_task(gym.spaces.Discrete(5), MOVES))
        agent.act([3], [None], [None], [np.array([1, 0, 0, 1], np.int8)])
        assert (seen[-1]["observations"], seen[-1]["masks"]) == ([3], [[1, 0, 0, 1]])
        with pytest.raises(AgentFailure, match="not available"):
            agent.act([3], [None], [None], [np.array([0, 1, 1, 1], np.int8)])


def test_large_batches_go_in_blocks() -> None:
    sizes: list[int] = []
    with serving(server(lambda question: (sizes.append(len(question["observations"])), zeros(question))[1])) as address:
        agent = tr.load_agent(address, noise_task(VECTOR, MOVES))
        sizes.clear()
        ask(agent, walk(noise_task(VECTOR, MOVES)) * 4)
    assert sizes == [64, 64, 20]


class Counter:
    """Answers by how often it was asked, and says that it does not."""

    asked = 0

    def __call__(self, question: dict[str, Any]) -> Any:
        self.asked += 1
        return {"actions": [self.asked % 4] * len(question["observations"])}


def test_a_server_that_lies_about_being_deterministic_is_refused() -> None:
    with (
        serving(server(Counter())) as address,
        pytest.raises(AgentError, match="'far' cannot be tested as it is: asked again in another batch"),
    ):
        tr.load_agent(address, noise_task(VECTOR, MOVES))


def test_a_server_that_becomes_another_agent_is_noticed() -> None:
    said = {"fingerprint": "1"}
    with serving(server(lambda question: {**zeros(question), **said})) as address:
        task = noise_task(VECTOR, MOVES)
        agent = tr.load_agent(address, task)
        said["fingerprint"] = "2"
        with pytest.raises(AgentFailure, match="now answers as '2', and was '1'"):
            ask(agent, walk(task))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda question: {"actions": [0]}, r"a list of 37 actions"),
        (lambda question: {"actions": 0}, r"a list of 37 actions"),
        (lambda question: {}, r"a list of 37 actions"),
        (lambda question: [1, 2], r"answered \[1, 2\] where there should be a table"),
        (lambda question: {"actions": [7] * 37}, r"the action space of task noise is Discrete\(4\)"),
        (lambda question: {"actions": [True] * 37}, r"answered None, and the action space"),
        (lambda question: {"actions": [0.5] * 37}, r"the action space of task noise"),
        (lambda question: {"actions": ["0"] * 37}, r"the action space of task noise"),
        (lambda question: b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{'no': 1}", "is not a JSON file"),
        (lambda question: b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{", "IncompleteRead"),
        (lambda question: b"HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n" + b"[" * 90000, "lists|JSON|deep"),
        (lambda question: b"HTTP/1.1 500 Oh\r\nContent-Length: 6\r\n\r\nbroken", "500 Oh .*'broken'"),
        (lambda question: b"HTTP/1.1 302 Found\r\nLocation: http://x/\r\nContent-Length: 0\r\n\r\n", "302 Found"),
        (lambda question: b"SSH-2.0 hello\r\n\r\n", "BadStatusLine"),
        (lambda question: b"", "RemoteDisconnected"),
    ],
)  # fmt: skip
def test_wrong_answers_are_told_by_name(answer: Any, told: str) -> None:
    answers: list[Any] = []

    def first_well(question: dict[str, Any]) -> Any:
        return answers[0](question) if answers else zeros(question)

    task = noise_task(VECTOR, MOVES)
    with serving(server(first_well)) as address:
        agent = tr.load_agent(address, task)
        answers.append(answer)
        with pytest.raises(AgentFailure, match=rf"(?s)agent 'far'.*{told}"):
            ask(agent, walk(task))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"hello": 1}, "tightrope-agent/1"),
        ([], "tightrope-agent/1"),
        ({**SAYS, "protocol": "tightrope-agent/2"}, "tightrope-agent/1"),
        ({**SAYS, "fingerprint": ""}, "'fingerprint' .* is a text"),
        ({**SAYS, "fingerprint": "x" * 201}, "'fingerprint' .* is a text"),
        ({**SAYS, "name": 3}, "'name' .* is a text"),
        ({**SAYS, "deterministic": 1}, "'deterministic' .* is true or false"),
        ({**SAYS, "batch": 0}, "'batch' .* is a whole number"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "404"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", "not a JSON file"),
    ],
)
def test_wrong_descriptions_are_told(said: Any, told: str) -> None:
    with serving(server(zeros, get=said)) as address, pytest.raises(AgentError, match=told):
        tr.load_agent(address, noise_task(VECTOR, MOVES))


@pytest.mark.parametrize("drips", [False, True])
def test_a_server_that_hangs_or_drips_is_given_up(drips: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    end = threading.Event()

    class Hanging(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            while not end.wait(0.02):
                if drips:
                    self.wfile.write(b"H")

        def log_message(self, *args: Any) -> None:
            pass

    monkeypatch.setattr(http_exchange.Exchange.__init__, "__defaults__", (0.3,))
    started = time.monotonic()
    with serving(Hanging) as address:
        with pytest.raises(AgentError, match=r"gave no complete answer within 0\.3 seconds"):
            tr.load_agent(address, noise_task(VECTOR, MOVES))
        end.set()
    assert time.monotonic() - started < 60


def test_an_answer_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_exchange, "LARGEST_ANSWER", 1024**2)
    body = b"HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n" + b" " * 3_000_000
    with serving(server(zeros, get=body)) as address, pytest.raises(AgentError, match="more than 1 MiB"):
        tr.load_agent(address, noise_task(VECTOR, MOVES))


def test_nobody_there_and_addresses_that_are_none() -> None:
    task = noise_task(VECTOR, MOVES)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(AgentError, match=r"cannot be asked \(ConnectionRefusedError.*agent_server\.py"):
        tr.load_agent(f"http://127.0.0.1:{port}/", task)
    for address in ("http://", "http://[::1", "http://127.0.0.1:99999/"):
        with pytest.raises(AgentError, match="http://host:port/path"):
            tr.load_agent(address, task)
    with pytest.raises(AgentError, match="password") as told:
        tr.load_agent("http://me:secret@127.0.0.1/", task)
    assert "secret" not in str(told.value)


def test_a_connection_that_was_closed_meanwhile_is_opened_again() -> None:
    class Closing(EXAMPLE["Server"]):  # type: ignore[misc, valid-type, name-defined]
        def answer(self, content: Any) -> None:
            super().answer(content)
            self.close_connection = True

    task = tr.make_task("CartPole-v1")
    with serving(Closing) as address:
        agent = tr.load_agent(address, task)
        for observation in walk(task)[:5]:
            assert ask(agent, [observation]).actions == [EXAMPLE["act"](observation)]


def test_what_json_cannot_carry_is_told() -> None:
    with serving(server(zeros)) as address:
        agent = tr.load_agent(address, noise_task(VECTOR, MOVES))
        with pytest.raises(AgentFailure, match="NaN"):
            agent.act([np.array([np.nan] * 5, np.float32)], [None], [None], [None])


def test_a_file_may_name_a_server_only_when_trusted() -> None:
    assert names_code("http://127.0.0.1:8000/")
    assert names_code("far=https://example.invalid/agent")


def test_noise_is_added_here(drawing: str) -> None:
    task = noise_task(VECTOR, MOVES)
    agent = tr.load_agent(drawing, task, epsilon=0.5)
    assert agent.fingerprint != tr.load_agent(drawing, task).fingerprint
    with pytest.raises(AgentError, match="behaviour='sampled' means nothing"):
        tr.load_agent(drawing, task, behaviour="sampled")
