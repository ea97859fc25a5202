"""The house: imports go one way, and heavy libraries stay in their leaf files."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import tightrope

SOURCE = Path(tightrope.__file__).parent
ROOT = Path(__file__).parent.parent
ARCHITECTURE = ROOT / "docs" / "architecture.md"

# From the top of the house to its ground; a module may import from its own floor's package and from lower floors.
FLOORS = [
    {"__main__"},
    {"extending"},
    {"cli", "pytest_plugin"},
    {"live"},
    {"runs"},
    {"report"},
    {"training"},
    {"evaluation", "references", "safety", "fuzzing", "performance", "risk"},
    {"failures"},
    {"explanation"},
    {"exploration"},
    {"testing"},
    {"execution", "statistics"},
    {"simulation", "agents"},
    {"tasks"},
    {"reference", "tracefiles"},
    {"trace", "budget", "extensions"},
    {"files", "guards"},
    {"settings"},
    {"errors", "outcome", "seeding", "progress", "svg", "stubs"},
    {"display"},
]
FLOOR_OF = {part: level for level, parts in enumerate(FLOORS) for part in parts}

# Optional library -> the leaf files that may import it.
LEAVES = {
    "torch": {"agents/formats/torch_network.py", "agents/formats/torch_weights.py", "agents/formats/sb3.py"},
    "stable_baselines3": {"agents/formats/sb3.py"},
    "sb3_contrib": {"agents/formats/sb3.py"},
    "onnxruntime": {"agents/formats/onnx.py", "agents/formats/onnx_int8.py"},
    "jax": {"tasks/jaxworlds/rows.py", "testing/jax_pole.py"},
    "brax": {"tasks/jaxworlds/brax_worlds.py"},
    "gymnax": {"tasks/jaxworlds/gymnax_worlds.py"},
    "pgx": {"tasks/jaxworlds/pgx_worlds.py"},
    "ray": {"execution/backends/ray_cluster.py", "agents/formats/rllib.py"},
    "huggingface_hub": {"agents/sources/hub.py"},
    "stable_retro": set(),
    "cv2": set(),
    "ale_py": {"tasks/builtin/atari.py"},
    "mujoco": {"simulation/snapshots/mujoco.py"},
    "crafter": {"tasks/adapters/crafter.py"},
    "procgen": {"tasks/adapters/procgen.py"},
    "pettingzoo": set(),
    "pybullet": set(),
    "minigrid": {"tasks/builtin/minigrid.py"},
    "highway_env": {"tasks/builtin/highway.py"},
    "imageio_ffmpeg": {"report/films/video.py"},
    "PIL": {"report/films/images.py"},
    "minari": {"training/datasets.py"},
    "h5py": {"references/minari.py"},
    "plotly": set(),
    "pygame": {"cli/pictures/in_window.py"},
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def imported_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "require_extra"
            and isinstance(node.args[0], ast.Constant)
        ):
            yield str(node.args[0].value)


def part_of(name: str) -> str:
    return name.removesuffix(".py").split("/")[0]


def test_imports_go_one_way() -> None:
    wrong = []
    for name, tree in modules():
        part = part_of(name)
        if part == "__init__":
            continue
        for imported in imported_names(tree):
            if not imported.startswith("tightrope."):
                continue
            target = imported.split(".")[1]
            if target != part and FLOOR_OF[target] <= FLOOR_OF[part]:
                wrong.append(f"{name} imports {imported}")
    assert not wrong, "imports that go up or sideways:\n" + "\n".join(wrong)


def test_optional_libraries_stay_in_their_leaf_files() -> None:
    wrong = [
        f"{name} imports {imported}"
        for name, tree in modules()
        for imported in imported_names(tree)
        if name not in LEAVES.get(imported.split(".")[0], {name})
    ]
    assert not wrong, "\n".join(wrong)


def test_few_files_import_an_optional_library() -> None:
    """As docs/architecture.md says."""
    assert max(map(len, LEAVES.values())) == 3
    assert sum(len(files) > 1 for files in LEAVES.values()) < len(LEAVES) / 2


def test_optional_libraries_are_imported_inside_functions() -> None:
    wrong = [
        f"{name} imports {imported} when it is itself imported"
        for name, tree in modules()
        for statement in tree.body
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for imported in imported_names(statement)
        if imported.split(".")[0] in LEAVES
    ]
    assert not wrong, "\n".join(wrong)


def test_importing_tightrope_imports_nothing_heavy() -> None:
    code = "import sys, tightrope; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {*LEAVES, "gymnasium", "numpy", "scipy", "typer", "rich", "pydantic"}


def test_the_house_is_drawn_as_it_is() -> None:
    (drawn,) = re.findall(r"```text\n(.*?)```", ARCHITECTURE.read_text(encoding="utf-8"), re.DOTALL)
    above = -1
    for parts in FLOORS:
        rooms = [part for part in sorted(parts) if (SOURCE / part).is_dir()]
        places = {room: re.search(rf"\b{room}\b", drawn) for room in rooms}
        assert [room for room, place in places.items() if place is None] == [], "not drawn in docs/architecture.md"
        lines = [drawn.count("\n", 0, place.start()) for place in places.values() if place is not None]
        assert all(line > above for line in lines), f"drawn on another floor than it is on: {rooms}"
        above = max(lines, default=above)


def words_of(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The classes and names of types that a module defines and does not keep to itself, with what they stand for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, ast.unparse(node)
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            name = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
            if re.match("[A-Z][a-z]", name):
                yield name, ast.unparse(node.value)


def test_the_name_of_a_class_or_type_stands_for_one_thing() -> None:
    words: dict[str, set[str]] = {}
    for path in sorted(SOURCE.parent.glob("tightrope*/**/*.py")):
        for word, stands_for in words_of(ast.parse(path.read_text(encoding="utf-8"))):
            words.setdefault(word, set()).add(stands_for)
    doubled = {word for word, meant in words.items() if len(meant) > 1}
    assert doubled <= {"Function"}, "a variable of types, as local as x"
    assert not set(words) & {"Path", "Thread", "Process", "Event", "Queue", "Future", "Enum", "Env", "Module"}


def test_simulators_are_opened_where_the_architecture_page_says() -> None:
    inside = {"simulation", "testing"}
    openers = {
        name
        for name, tree in modules()
        if part_of(name) not in inside
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("open_simulator", "exploring", "Simulator")
    }
    (table,) = re.findall(r"\| file \| plays \|\n(.*?)\n\n", ARCHITECTURE.read_text(encoding="utf-8"), re.DOTALL)
    assert openers == set(re.findall(r"`([\w/]+\.py)`", table))


def test_environments_are_opened_where_the_architecture_page_says() -> None:
    openers: dict[str, set[str]] = {"make_env": set(), "open_env": set()}
    for name, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in openers:
                openers[node.func.attr].add(name)
    assert {part_of(name) for name in openers["make_env"]} == {"tasks"}, "Task.open_env says what is wrong with it"
    above = {name for name in openers["open_env"] if part_of(name) not in ("tasks", "simulation", "testing")}
    page = ARCHITECTURE.read_text(encoding="utf-8")
    (told,) = re.findall(r"Environments themselves are opened by `Task.open_env`(.*?)\n\n", page, re.DOTALL)
    assert above == set(re.findall(r"`([\w/]+\.py)`", told))


def test_whoever_borrows_an_engine_begins_again_when_randomness_is_met() -> None:
    forgotten = [
        f"{name}: {node.name}"
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(part, ast.Name) and part.id == "borrowed_engine" for part in ast.walk(node))
        and not any(getattr(mark, "id", "") == "begun_again_if_stochastic" for mark in node.decorator_list)
    ]
    assert not forgotten, "it plans by engine.deterministic, which may turn out to be wrong on the way"


def test_the_files_that_contributing_names_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:src|tests)/[\w./]+)`", text))
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []
    rows = re.findall(r"^\| (?:a|an) [^|]*\| (\d) \| (.*) \|$", text, re.MULTILINE)
    assert len(rows) > 5
    for files, which in rows:
        assert len(re.findall(r"`src/", which)) == int(files), which
