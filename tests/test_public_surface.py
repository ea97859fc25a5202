"""What users may rely on: exact names with real types, told apart from the inside by their place."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import inspect
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_origin

import pytest

import tightrope
import tightrope.extending as tightrope_extending

SOURCE = Path(tightrope.__file__).parent
ROOT = Path(__file__).parent.parent

# Public are the names of `tightrope` itself, and all that these modules list; everything else is the inside.
PUBLIC_MODULES = {
    "tightrope",
    "tightrope.errors",
    "tightrope.extending",
    "tightrope.report",
    "tightrope.testing",
    "tightrope.training",
}

GOOD = """
import tightrope as tr
from tightrope import Budget

task: tr.Task = tr.make_task("corridor")
budget: Budget = tr.Budget(seconds=3)
found: tr.SearchResult = tr.search(task, budget=budget)
count: int = tr.repetitions(0.9, 0.1)
version: str = tr.__version__
config = tr.CampaignConfig(task="corridor", fuzzing=tr.FuzzingConfig(enabled=False))
where: tr.BackendName = "processes"
tr.search(task, "a-method-that-a-package-brings", backend=where)
drawn = tr.load_agent("agent.onnx", task, behaviour="sampled")
"""

# Each planted mistake, and the kind of error a type checker must answer it with.
PLANTED = """
import tightrope as tr
import tightrope.extending
import tightrope.testing
import tightrope.training
from tightrope import no_such_name  # attr-defined
from tightrope import *

tr.no_such_thing  # attr-defined
tr.Budget(sekonds=3)  # call-arg
tr.search("CartPole-v1")  # arg-type
text: str = tr.repetitions()  # assignment
tr.make_task("corridor").no_such_field  # attr-defined
Budget(steps="many")  # arg-type
tr.CampaignConfig(task="corridor", sead=3)  # call-arg
tr.FuzzingConfig(generatoins=3)  # call-arg
tightrope.extending.no_such_thing  # attr-defined
tightrope.training.no_such_thing  # attr-defined
tightrope.training.situations_from(3)  # arg-type
tightrope.training.SituationStartsVector(tr.make_task("corridor"), [], 2, wieghts="equal")  # call-arg
tightrope.training.SituationStarts(tr.make_task("corridor"), [], weights="fials")  # arg-type
tr.estimate_failure(tr.make_task("corridor"), tightrope.testing.ConstantAgent(0), learn_from=3)  # arg-type
tr.Engine(tr.make_task("corridor"), backend="proceses")  # arg-type
tr.evaluate(tr.make_task("corridor"), tightrope.testing.ConstantAgent(0), backend="proceses")  # arg-type
tr.search(tr.make_task("corridor"), backend="thread")  # arg-type
tr.ExecutionConfig(backend="proceses")  # arg-type
tr.load_agent("agent.onnx", tr.make_task("corridor"), behaviour="gready")  # arg-type
tr.AgentConfig(source="agent.onnx", behaviour="random")  # arg-type
tr.SafetyConfig(boundary_states="prooven")  # arg-type
tr.SafetyConfig(gate_on="hihg")  # arg-type
chosen: tr.BackendName = "proceses"  # assignment
weights: tightrope.training.StartWeights = "fials"  # assignment
"""


def stub_names(stub: str = "__init__.pyi") -> list[str]:
    tree = ast.parse((SOURCE / stub).read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert all(alias.asname == alias.name for node in imports for alias in node.names), (
        "re-exports are written `x as x`"
    )
    return sorted(alias.name for node in imports for alias in node.names)


def test_the_public_names_are_exactly_these() -> None:
    # Golden: adding or removing a public name is a decision, so it is made here as well.
    golden = (Path(__file__).parent / "public_names.txt").read_text().split()
    beside = [
        f"{module}.{name}"
        for module in sorted(PUBLIC_MODULES - {"tightrope"})
        for name in sorted(importlib.import_module(module).__all__)
    ]
    assert [name for name in golden if "." not in name] == tightrope.__all__ == stub_names()
    assert [name for name in golden if "." in name] == beside


@pytest.mark.parametrize("name", tightrope.__all__)
def test_every_public_name_exists_and_comes_from_tightrope(name: str) -> None:
    value = getattr(tightrope, name)
    # A choice of words has no home of its own.
    assert get_origin(value) is Literal or getattr(value, "__module__", "tightrope").startswith("tightrope")


@pytest.mark.parametrize("name", tightrope.__all__)
def test_no_public_name_is_also_a_module(name: str) -> None:
    assert importlib.util.find_spec(f"tightrope.{name}") is None


def test_importing_a_module_by_its_name_gives_that_module() -> None:
    """A package that re-exports a function of the name of one of its modules hides that module."""
    inside = (path.relative_to(SOURCE.parent).with_suffix("") for path in SOURCE.rglob("*.py") if path.stem[0] != "_")
    hidden = []
    for path in inside:
        importlib.import_module(".".join(path.parts))
        if not inspect.ismodule(getattr(sys.modules[".".join(path.parts[:-1])], path.name)):
            hidden.append(path.as_posix())
    assert hidden == []


def described(thing: object) -> bool:
    """Whether its arguments are listed in its docstring: functions, and classes that are made by calling them."""
    if not inspect.isclass(thing):
        return inspect.isfunction(thing)
    made_by_hand = "__init__" in vars(thing) and not getattr(thing, "_is_protocol", False)
    return made_by_hand and not dataclasses.is_dataclass(thing)


def arguments(function: object) -> list[str]:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    return [stars.get(parameter.kind, "") + parameter.name for parameter in parameters]


def described_names() -> Iterator[str]:
    for module in sorted(PUBLIC_MODULES):
        public = importlib.import_module(module)
        yield from (f"{module}.{name}" for name in public.__all__ if described(getattr(public, name)))


@pytest.mark.parametrize("name", list(described_names()))
def test_every_argument_of_a_public_function_is_described(name: str) -> None:
    module, _, own = name.rpartition(".")
    function = getattr(importlib.import_module(module), own)
    _, _, listed = (inspect.getdoc(function) or "").partition("Args:\n")
    assert re.findall(r"^    (\*{0,2}\w+): \S", listed, re.MULTILINE) == arguments(function), inspect.getsourcefile(
        function
    )


# What agents and state keys are asked with is said once, where the protocol is.
OF_PROTOCOLS = {"act", "state_key"}


def methods_with_several_arguments() -> Iterator[str]:
    for module in sorted(PUBLIC_MODULES):
        public = importlib.import_module(module)
        for owner in (getattr(public, name) for name in public.__all__):
            if inspect.isclass(owner) and not getattr(owner, "_is_protocol", False):
                own = ((name, getattr(owner, name)) for name in vars(owner) if name[0] != "_")
                bound = (name for name, value in own if inspect.isfunction(value) or inspect.ismethod(value))
                methods = [name for name in bound if name not in OF_PROTOCOLS]
                yield from (
                    f"{module}.{owner.__name__}.{name}" for name in methods if len(own_arguments(owner, name)) > 2
                )


def own_arguments(owner: type, name: str) -> list[str]:
    return [argument for argument in arguments(getattr(owner, name)) if argument != "self"]


@pytest.mark.parametrize("name", list(methods_with_several_arguments()))
def test_every_argument_of_a_method_with_several_is_described(name: str) -> None:
    path, _, method = name.rpartition(".")
    module, _, owner = path.rpartition(".")
    value = getattr(importlib.import_module(module), owner)
    _, _, listed = (inspect.getdoc(getattr(value, method)) or "").partition("Args:\n")
    assert re.findall(r"^    (\*{0,2}\w+): \S", listed, re.MULTILINE) == own_arguments(value, method)


def shown_code() -> Iterator[tuple[str, str]]:
    """The Python that users are shown: examples, and the blocks of the documentation."""
    for path in ROOT.glob("examples/**/*.py"):
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        for block in re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
            yield str(path.relative_to(ROOT)), block


def test_examples_and_documentation_use_only_what_is_public() -> None:
    modules = {
        (place, module)
        for place, code in shown_code()
        for module in re.findall(r"(?:from|import) (tightrope(?:\.\w+)*)\b", code)
    }
    assert len(modules) > 5
    assert not {(place, module) for place, module in modules if module not in PUBLIC_MODULES}


def test_the_extension_that_comes_along_uses_only_what_is_public() -> None:
    """It is an extension like anyone's, and what it needs anyone's may need."""
    inside = [
        f"{path.relative_to(SOURCE.parent)}: {module}"
        for path in (SOURCE.parent / "tightrope_mario").rglob("*.py")
        for module in re.findall(r"^ *(?:from|import) (tightrope(?:\.\w+)*)\b", path.read_text(encoding="utf-8"), re.M)
        if module not in PUBLIC_MODULES
    ]
    assert inside == []


def test_what_extensions_may_import_is_typed_and_costs_nothing_before() -> None:
    assert tightrope_extending.__all__ == stub_names("extending.pyi")
    assert all(hasattr(tightrope_extending, name) for name in tightrope_extending.__all__)
    code = "import sys, tightrope.extending; print('typer' in sys.modules, 'gymnasium' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["False", "False"]


def test_public_modules_say_what_is_public_in_them() -> None:
    for module in map(importlib.import_module, PUBLIC_MODULES):
        assert module.__all__
        assert all(hasattr(module, name) and not name.startswith("_") for name in module.__all__)


def test_an_unknown_name_is_refused_and_a_near_one_suggested() -> None:
    code = "import tightrope as tr; tr.Bugdet"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "module 'tightrope' has no attribute 'Bugdet'" in answer.stderr
    assert "Did you mean: 'Budget'" in answer.stderr


@pytest.fixture(scope="module")
def users_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python in which tightrope is installed the way it is for a user: found on the path, typed by `py.typed`."""
    home = tmp_path_factory.mktemp("user") / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    site = next(home.glob("lib/python*/site-packages"))
    (site / "first.pth").write_text(f"{SOURCE.parent}\n{sysconfig.get_path('purelib')}\n")
    return home / "bin" / "python"


def mypy(python: Path, file: Path) -> str:
    # The cache outlives the run, because numpy's types alone take a quarter of a minute to read.
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context"]
    command += ["--python-executable", str(python), "--cache-dir", str(ROOT / ".mypy_cache" / "user"), file.name]
    return subprocess.run(command, cwd=file.parent, capture_output=True, text=True, check=False).stdout


def test_a_type_checker_knows_every_public_name(users_python: Path, tmp_path: Path) -> None:
    file = tmp_path / "names.py"
    names = [*tightrope.__all__, "__version__"]
    file.write_text("import tightrope as tr\n" + "".join(f"reveal_type(tr.{name})\n" for name in names))
    revealed = re.findall(r'Revealed type is "(.*)"', mypy(users_python, file))
    assert len(revealed) == len(names)
    assert "Any" not in revealed


def test_a_type_checker_accepts_a_users_file_and_finds_each_planted_mistake(users_python: Path, tmp_path: Path) -> None:
    good, planted = tmp_path / "good.py", tmp_path / "planted.py"
    good.write_text(GOOD)
    planted.write_text(PLANTED)
    expected = {
        (number, line.rpartition("# ")[2]) for number, line in enumerate(PLANTED.splitlines(), 1) if "  # " in line
    }
    assert mypy(users_python, good) == ""
    found = re.findall(r"planted\.py:(\d+): error: .*\[(.*)\]", mypy(users_python, planted))
    assert {(int(number), code) for number, code in found} == expected
