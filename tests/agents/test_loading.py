from __future__ import annotations

import pickle
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import tightrope as tr
import tightrope.agents.sources.loaders as loaders_module
from tests.agents.networks import dense_network
from tests.agents.tasks import MOVES, VECTOR, noise_task
from tests.installing import install
from tightrope.agents import Agent, AgentLoader, AgentRequest, names_code, parse_agent_argument, register_loader
from tightrope.agents.preferences import preferences_of
from tightrope.errors import AgentError, MissingExtra, UnknownName, UsageError
from tightrope.execution.backends.packing import pack_agents
from tightrope.testing import ConstantAgent
from tightrope.testing.agent_contract import ask, walk

TASK = noise_task(VECTOR, MOVES)


@pytest.mark.parametrize(
    ("argument", "source", "name"),
    [
        ("agent.onnx", "agent.onnx", None),
        ("early=runs/1/agent.onnx", "runs/1/agent.onnx", "early"),
        ("v1.2-late=pkg.module:make", "pkg.module:make", "v1.2-late"),
        ("runs/lr=0.1/agent.zip", "runs/lr=0.1/agent.zip", None),
        ("a=w.pt@m:C", "w.pt@m:C", "a"),
    ],
)
def test_an_agent_on_the_command_line(argument: str, source: str, name: str | None) -> None:
    assert parse_agent_argument(argument) == (source, name)


def test_an_existing_file_is_a_path_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dense_network(tmp_path / "lr=1.onnx", 5, 4)
    assert parse_agent_argument("lr=1.onnx") == ("lr=1.onnx", None)
    assert tr.load_agent("lr=1.onnx", TASK).name == "lr=1"


def test_a_sign_in_a_folder_is_no_network(tmp_path: Path) -> None:
    (tmp_path / "me@home").mkdir()
    assert tr.load_agent(dense_network(tmp_path / "me@home" / "a.onnx", 5, 4), TASK).name == "a"


def test_names_come_from_the_file_the_argument_or_the_caller(tmp_path: Path) -> None:
    path = dense_network(tmp_path / "early.onnx", 5, 4)
    assert tr.load_agent(path, TASK).name == "early"
    assert tr.load_agent(f"first={path}", TASK).name == "first"
    assert tr.load_agent(f"first={path}", TASK, name="given").name == "given"


POLICIES = """
    def act(observation):
        return 2
    def make():
        return lambda observation: 1
    def make_for(task):
        return lambda observation: task.max_steps % 4
    class Policy:
        def __call__(self, observation):
            return 3
    def broken():
        raise ValueError("no weights here")
    def broken_for(task):
        raise ValueError("no weights here")
    def refusing():
        from tightrope.errors import UsageError
        raise UsageError("train it first")
    number = 7
"""


@pytest.fixture
def policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import textwrap

    (tmp_path / "tightrope_test_policies.py").write_text(textwrap.dedent(POLICIES))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("tightrope_test_policies", None)


@pytest.mark.usefixtures("policies")
@pytest.mark.parametrize(("attribute", "action"), [("act", 2), ("make", 1), ("make_for", 2), ("Policy", 3)])
def test_a_module_of_the_working_folder_gives_a_policy_or_makes_one(attribute: str, action: int) -> None:
    agent = tr.load_agent(f"tightrope_test_policies:{attribute}", TASK)
    assert agent.name == attribute
    assert ask(agent, walk(TASK, 1)).actions == [action]


@pytest.mark.usefixtures("policies")
def test_wrong_names_in_modules_get_a_hint() -> None:
    with pytest.raises(UnknownName, match="make_for"):
        tr.load_agent("tightrope_test_policies:make_four", TASK)
    with pytest.raises(AgentError, match="no module 'tightrope_test_polices'"):
        tr.load_agent("tightrope_test_polices:make", TASK)
    for file, folder in (
        ("tightrope_test_policies.py:make", ""),
        ("./some/policies.py:make", ", in the folder ./some"),
    ):
        with pytest.raises(AgentError, match=rf"named as Python imports it{folder}: \w*policies:make"):
            tr.load_agent(file, TASK)
    with pytest.raises(AgentError, match="7 is not an agent"):
        tr.load_agent("tightrope_test_policies:number", TASK)


@pytest.mark.usefixtures("policies")
@pytest.mark.parametrize("attribute", ["broken", "broken_for"])
def test_a_factory_that_raises_is_named(attribute: str) -> None:
    told = f"^the agent's factory tightrope_test_policies:{attribute} raised ValueError: no weights here$"
    with pytest.raises(AgentError, match=told) as caught:
        tr.load_agent(f"tightrope_test_policies:{attribute}", TASK)
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.usefixtures("policies")
def test_what_a_factory_says_itself_is_left_as_it_is() -> None:
    with pytest.raises(UsageError, match=r"^train it first$"):
        tr.load_agent("tightrope_test_policies:refusing", TASK)


def test_an_agent_is_taken_as_it_is() -> None:
    agent = ConstantAgent(1)
    assert tr.load_agent(agent, TASK) is agent
    with pytest.raises(AgentError, match="already a finished agent"):
        tr.load_agent(agent, TASK, epsilon=0.1)


def test_a_complete_agent_takes_another_name() -> None:
    agent = ConstantAgent(1)
    named = tr.load_agent(agent, TASK, name="other")
    assert (named.name, named.fingerprint, agent.name) == ("other", agent.fingerprint, ConstantAgent(1).name)
    assert ask(named, walk(TASK, 2)).actions == [1, 1]
    assert tr.load_agent(agent, TASK, name=agent.name) is agent


SOURCES: dict[str, tuple[Any, set[str]]] = {
    "onnx": ("a.onnx", {"normalisation"}),
    "Stable-Baselines3 archive": ("a.zip", {"normalisation"}),
    "torch weights": ("a.pt", {"normalisation", "network"}),
    "CleanRL": ("a.cleanrl_model", {"normalisation", "network"}),
    "server": ("http://127.0.0.1:9/", set()),
    "function": (lambda observation: 0, {"batch"}),
    "complete agent": (ConstantAgent(1), set()),
    "torch module": ("torch", set()),
    "Stable-Baselines3 model": ("sb3", {"normalisation"}),
    "JAX network": (tr.JaxNetwork(lambda parameters, observations: observations, {}), set()),
}
GIVEN: dict[str, Any] = {"batch": True, "network": "package.module:Class", "normalisation": False}


@pytest.mark.parametrize("option", GIVEN)
@pytest.mark.parametrize("kind", SOURCES)
def test_an_argument_is_used_or_refused(kind: str, option: str) -> None:
    source, used = SOURCES[kind]
    if source == "torch":
        source = pytest.importorskip("torch").nn.Linear(2, 2)
    if source == "sb3":
        # Nothing but where its class comes from is looked at before the arguments are.
        source = type("Model", (), {"__module__": "stable_baselines3.fake"})()
    loader = loaders_module.loader_for(source)
    assert loader is not None
    if option in used:
        assert option in loader.uses
        return
    with pytest.raises(AgentError, match=rf"{option}=.* does not apply to it; leave it out"):
        tr.load_agent(source, TASK, **{option: GIVEN[option]})


def test_what_a_factory_returns_decides_which_arguments_apply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tightrope_test_kinds.py").write_text(
        "def whole():\n    return lambda observations: [3] * len(observations)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    agent = tr.load_agent("tightrope_test_kinds:whole", TASK, batch=True)
    assert ask(agent, walk(TASK, 2)).actions == [3, 3]
    with pytest.raises(AgentError, match=r"network='a\.b:C' does not apply"):
        tr.load_agent("tightrope_test_kinds:whole", TASK, network="a.b:C")


def test_a_missing_file_says_what_an_agent_can_be() -> None:
    with pytest.raises(AgentError, match=r"no file 'agent.onx'.*package.module:factory"):
        tr.load_agent("agent.onx", TASK)


@pytest.mark.parametrize("name", ["agent.pkl", "agent.h5", "agent"])
def test_a_file_of_an_unknown_kind_names_the_known(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    with pytest.raises(AgentError, match=r"\.onnx, \.zip, \.pt, \.pth"):
        tr.load_agent(tmp_path / name, TASK)


def test_a_folder_is_no_agent(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match=r"is a folder.*factory$"):
        tr.load_agent(tmp_path, TASK)
    (tmp_path / "README.md").touch()
    (tmp_path / "ppo-Noise.zip").touch()
    with pytest.raises(AgentError, match=r"is a folder.*; it holds ppo-Noise\.zip: give the path of that file$"):
        tr.load_agent(tmp_path, TASK)


def test_a_misspelt_behaviour_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="'greedy'"):
        tr.load_agent(lambda observation: 0, TASK, behaviour="gredy")
    with pytest.raises(AgentError, match=r"from 0 to 1, not 1\.5"):
        tr.load_agent(lambda observation: 0, TASK, epsilon=1.5)


@pytest.mark.parametrize(
    ("library", "file", "extra"),
    [("onnxruntime", "agent.onnx", "onnx"), ("torch", "agent.pt@m:C", "torch")],
)
def test_a_missing_library_names_its_extra(
    library: str, file: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    dense_network(tmp_path / "agent.onnx", 5, 4)
    (tmp_path / "agent.pt").touch()
    with pytest.raises(MissingExtra, match=rf"pip install 'tightrope\[{extra}\]'"):
        tr.load_agent(f"{tmp_path}/{file}", TASK, network="collections:OrderedDict" if extra == "torch" else None)


class Remote:
    """What a stranger's loader might make an agent of."""


def remote_agent(request: AgentRequest) -> Agent:
    return request.agent_of(lambda observation: 3, name=str(request.source).rpartition("/")[2])


REMOTE = AgentLoader(
    accepts=lambda source: isinstance(source, Remote) or str(source).startswith("far://"),
    load=remote_agent,
    runs_code=lambda source: True,
    endings=(".far",),
)


@pytest.fixture(params=["registered", "installed"])
def stranger(request: pytest.FixtureRequest, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaders_module, "_registered", [])
    if request.param == "registered":
        register_loader(REMOTE)
        register_loader(REMOTE)
    else:
        install(site, "far-package", {"tightrope.agent_loaders": {"far": f"{__name__}:REMOTE"}})


@pytest.mark.usefixtures("stranger")
def test_a_loader_of_a_strangers_is_asked_first_and_is_all_it_takes() -> None:
    assert [loader for loader in loaders_module.all_loaders() if loader is REMOTE] == [REMOTE]
    agent = tr.load_agent("far://host/agent.onnx", TASK)
    assert (agent.name, ask(agent, walk(TASK, 1)).actions) == ("agent.onnx", [3])
    assert tr.load_agent("mine=far://host/agent.onnx", TASK).name == "mine"
    assert ask(tr.load_agent(Remote(), TASK), walk(TASK, 1)).actions == [3]
    assert names_code("far://host/agent.onnx")
    assert not names_code("agent.onnx")
    with pytest.raises(AgentError, match=r"\.far, \.onnx"):
        tr.load_agent(__file__, TASK)


def test_what_is_no_loader_is_refused() -> None:
    with pytest.raises(UsageError, match="a loader is a"):
        register_loader(7)  # type: ignore[arg-type]


def test_a_factory_may_return_the_path_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = dense_network(tmp_path / "agent.onnx", 5, 4)
    (tmp_path / "tightrope_test_paths.py").write_text(f"def make():\n    return {str(path)!r}\n")
    monkeypatch.syspath_prepend(tmp_path)
    agent = tr.load_agent("tightrope_test_paths:make", TASK)
    assert (agent.name, agent.block_sizes) == ("make", tr.load_agent(path, TASK).block_sizes)


def test_the_code_of_a_named_network_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    torch.save(torch.nn.Linear(5, 4).state_dict(), tmp_path / "w.pt")
    prints = []
    for sign in ("", "-", ""):
        (tmp_path / "tightrope_test_net.py").write_text(
            "import torch\nclass Net(torch.nn.Linear):\n    def __init__(self):\n        super().__init__(5, 4)\n"
            f"    def forward(self, x):\n        return {sign}super().forward(x)\n"
        )
        sys.modules.pop("tightrope_test_net", None)
        prints.append(tr.load_agent(f"{tmp_path}/w.pt@tightrope_test_net:Net", TASK).fingerprint)
    assert prints[0] != prints[1]
    assert prints[0] == prints[2]


UNSENDABLE = """
    import threading

    from tightrope.testing import ConstantAgent

    made = 0

    class Locked:
        def __init__(self, best):
            self.lock, self.best = threading.Lock(), best

        def act(self, observation):
            with self.lock:
                return self.best

    def locked():
        return Locked(2)

    def for_a_task(task):
        return Locked(1)

    class Opinionated(ConstantAgent):
        def __init__(self):
            super().__init__(2)
            self.lock = threading.Lock()

        def preferences(self, observations, memories, masks):
            return [{1: 0.25, 2: 0.75} for _ in observations]

    def another_every_time():
        global made
        made += 1
        return Locked(made)
"""


@pytest.fixture
def unsendable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "unsendable.py").write_text(textwrap.dedent(UNSENDABLE))
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("unsendable")
def test_a_factory_is_called_again_in_a_worker_for_what_cannot_be_sent() -> None:
    task = noise_task(VECTOR, MOVES)
    agent = tr.load_agent("unsendable:locked", task, epsilon=0.25, name="mine")
    again = pickle.loads(pack_agents({"mine": agent}))["mine"]
    observations = walk(task)
    assert (again.name, again.fingerprint) == ("mine", agent.fingerprint)
    assert ask(again, observations).actions == ask(agent, observations).actions
    assert 2 in ask(agent, observations).actions


@pytest.mark.usefixtures("unsendable")
def test_what_cannot_be_sent_still_says_what_it_wants() -> None:
    task = noise_task(VECTOR, MOVES)
    for name in (None, "mine"):
        agent = tr.load_agent("unsendable:Opinionated", task, name=name)
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(agent.agent)
        assert preferences_of(agent, walk(task)[0], None, None).by_action == {1: 0.25, 2: 0.75}


@pytest.mark.usefixtures("unsendable")
def test_what_neither_can_be_sent_nor_made_again_names_the_inline_back_end() -> None:
    import unsendable

    task = noise_task(VECTOR, MOVES)
    with pytest.raises(AgentError, match=r"unsendable:for_a_task.*takes a task.*--backend inline"):
        pack_agents({"a": tr.load_agent("unsendable:for_a_task", task)})
    with pytest.raises(UsageError, match=r"agent 'b' cannot be sent.*package\.module:factory.*--backend inline"):
        pack_agents({"b": tr.load_agent(unsendable.locked(), task, name="b")})
    packed = pack_agents({"c": tr.load_agent("unsendable:another_every_time", task)})
    with pytest.raises(AgentError, match="made a different agent in a worker process"):
        pickle.loads(packed)
