"""Files made to do harm when they are read. What they would do is to make a folder named ``owned``."""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
import shutil
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle
import h5py
import numpy as np
import onnx
import torch
from gymnasium.envs.registration import EnvSpec
from onnx import TensorProto, helper

from tests.agents.networks import dense_network
from tests.agents.test_sb3 import saved
from tests.files.bombs import MIB, header, npz, zeros

OWNED = "owned"


class Harm:
    """Makes a folder when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (OWNED,)


PICKLE = pickle.dumps(Harm())
PICKLED = {":type:": "<class 'dict'>", ":serialized:": base64.b64encode(cloudpickle.dumps(Harm())).decode()}


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A file and what loading it should end in."""

    name: str
    loader: str
    path: Path
    ends: str
    """How the outcome begins, as a regular expression."""


class Attacks:
    """Collects files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.found = folder, list[Attack]()

    def add(self, name: str, loader: str, path: Path, ends: str) -> None:
        self.found.append(Attack(name=name, loader=loader, path=path, ends=ends))

    def place(self, suffix: str) -> Path:
        return self.folder / f"{len(self.found)}{suffix}"


def all_attacks(folder: Path) -> list[Attack]:
    attacks = Attacks(folder)
    for part in (policies, arguments, archives, weights, torch_files, onnx_files, arrays, texts, data_sets):
        part(attacks)
    return attacks.found


def trusted_harm(folder: Path) -> list[Path]:
    """Files that do their harm once they are trusted."""
    attacks = Attacks(folder)
    forge(attacks, "", "", policy_class=PICKLED)
    (folder / "harm.pt").write_bytes(PICKLE)
    return [attacks.found[0].path, folder / "harm.pt"]


def policy(module: str, name: str) -> dict[str, str]:
    """A policy class as archives describe it."""
    return {":type:": "<class 'abc.ABCMeta'>", "__module__": module, "__init__": f"<function {name}.__init__ at 0x7f>"}


def forge(attacks: Attacks, name: str, ends: str, *, loader: str = "agent", base: str = "ppo", **changes: Any) -> None:
    """An honest archive with some of its data changed."""
    path = attacks.place(".zip")
    with zipfile.ZipFile(saved(base)) as old, zipfile.ZipFile(path, "w") as new:
        weights = changes.pop("policy_pth", None)
        new.writestr("data", json.dumps({**json.loads(old.read("data")), **changes}))
        new.writestr("policy.pth", old.read("policy.pth") if weights is None else weights)
    attacks.add(name, loader, path, ends)


ANY_CALLABLE = [
    ("stable_baselines3.common.save_util", "json_to_data", {"json_string": json.dumps({"a": PICKLED})}),
    ("stable_baselines3.common.save_util", "save_to_pkl", {"path": OWNED, "obj": "x"}),
    ("stable_baselines3.common.save_util", "save_to_zip_file", {"save_path": OWNED, "data": {}}),
    ("stable_baselines3.common.save_util", "load_from_pkl", {"path": "harm.pkl"}),
    ("stable_baselines3.common.save_util", "load_from_zip_file", {"load_path": "harm.zip"}),
    ("stable_baselines3.common.save_util", "pickle.loads", {}),
    ("stable_baselines3.common.policies", "BasePolicy", {}),
    ("stable_baselines3.common.policies", "partial", {}),
    ("stable_baselines3.common.policies", "warnings", {}),
    ("stable_baselines3.common.policies\n", "ActorCriticPolicy", {}),
    ("stable_baselines3.common.policies.", "ActorCriticPolicy", {}),
    ("stable_baselines3.common", "policies", {}),
    ("stable_baselines3.common.vec_env", "SubprocVecEnv", {"env_fns": []}),
    ("stable_baselines3.common.monitor", "Monitor", {"env": None, "filename": OWNED}),
    ("stable_baselines3.common.logger", "configure", {"folder": OWNED}),
    ("sb3_contrib.common.wrappers", "TimeFeatureWrapper", {"env": None}),
    ("sb3_contrib.qrdqn.policies", "QuantileNetwork", {}),
    ("torch.hub", "load", {"repo_or_dir": "x"}),
    ("os", "mkdir", {"path": OWNED}),
    ("subprocess", "Popen", {"args": f"mkdir {OWNED}", "shell": True}),
    ("planted", "Policy", {}),
]


def policies(attacks: Attacks) -> None:
    for module, name, given in ANY_CALLABLE:
        told = r"TrustRequired: .*its policy class \(.*--trust"
        forge(attacks, f"policy {module!r} {name}", told, policy_class=policy(module, name), policy_kwargs=given)
    for name, entry in (("text", "os.mkdir"), ("nothing", None), ("list", []), ("pickle alone", PICKLED)):
        forge(attacks, f"policy is {name}", "TrustRequired: .*unnamed", policy_class=entry)
    forge(
        attacks, "owner of another class", "TrustRequired", policy_class=policy("sb3_contrib.ars.policies", "MlpPolicy")
    )


def class_text(name: str) -> str:
    return f"<class '{name}'>"


def arguments(attacks: Attacks) -> None:
    unknown = "TrustRequired: .*are pickled objects"
    for value in (
        "stable_baselines3.common.save_util.json_to_data",
        "subprocess.Popen",
        "planted.Extractor",
        "torch.nn.modules.activation.os",
        "torch.nn.modules.activation.MultiheadAttention",
        "torch.nn.modules.activation.warnings",
        "torch.nn.modules.linear.LazyLinear",
        "stable_baselines3.common.torch_layers.create_mlp",
        "stable_baselines3.common.torch_layers.BaseFeaturesExtractor",
    ):
        for argument in ("activation_fn", "features_extractor_class"):
            forge(attacks, f"{argument} {value}", unknown, policy_kwargs={**PICKLED, argument: class_text(value)})
    relu, flat = (
        class_text(n) for n in ("torch.nn.modules.activation.ReLU", "stable_baselines3.common.torch_layers.NatureCNN")
    )
    wrong = "FormatError: .*(the policy's argument|the archive names)"
    for argument, value in {
        "activation_fn": [flat, {}, PICKLED, 5, None],
        "features_extractor_class": [relu, {"a": 1}, True],
        "features_extractor_kwargs": [{"features_dim": PICKLED}, {"observation_space": 1}, [], {"features_dim": -1}, 7],
        "net_arch": [
            [PICKLED],
            {"pi": PICKLED},
            {"os": [1]},
            [[1]],
            [1.5],
            [True],
            [-1],
            ["64"],
            64,
            [64] * 101,
            [2**40],
        ],
        "log_std_init": [PICKLED, [], None, True],
        "use_sde": ["true?", 1, {}],
        "squash_output": [0, []],
        "normalize_images": [PICKLED],
    }.items():
        for number, one in enumerate(value):
            told = unknown if one == "true?" else wrong
            forge(attacks, f"{argument} {number}", told, policy_kwargs={**PICKLED, argument: one})
    for name in ("observation_space", "action_space", "lr_schedule", "__class__", "dist_kwargs", "device", "n_critics"):
        for value in (1, PICKLED):
            told = "TrustRequired" if name != "n_critics" else "FormatError: .*takes no argument"
            forge(attacks, f"argument {name} {type(value).__name__}", told, policy_kwargs={name: value})
    forge(attacks, "arguments are a list", "FormatError", policy_kwargs=[1])
    forge(attacks, "a million critics", "FormatError: .*'n_critics' is a whole number up to 100", base="sac",
          policy_kwargs={"n_critics": 10**6})  # fmt: skip
    for name, value in (
        ("optimizer_class", class_text("subprocess.Popen")),
        ("optimizer_kwargs", {"args": f"mkdir {OWNED}", "shell": True}),
    ):
        forge(
            attacks,
            f"{name}, which is for training",
            "loaded",
            policy_kwargs={**PICKLED, name: value, "activation_fn": relu},
        )
    others = ("lr_schedule", "clip_range", "observation_space", "action_space", "_last_obs", "rollout_buffer_class")
    everything = dict.fromkeys(others, PICKLED)
    forge(attacks, "pickles that are not needed", "loaded", **everything)
    for widths in ([60_000, 60_000], [2**20], {"pi": [2**20] * 100, "vf": []}, [4096] * 100):
        forge(
            attacks,
            f"huge net {str(widths)[:20]}",
            "FormatError: .*more numbers than there are weights",
            policy_kwargs={"net_arch": widths},
        )


def archives(attacks: Attacks) -> None:
    """Tricks of the zip format."""
    honest = zipfile.ZipFile(saved("ppo"))
    data, weights = honest.read("data"), honest.read("policy.pth")
    missing = "FormatError: .*not a Stable-Baselines3 archive"
    for name, members in {
        "names that climb": {"../data": data, "../policy.pth": weights},
        "names from the root": {"/data": data, "/tmp/policy.pth": weights},
        "no weights": {"data": data},
        "folders": {"data/": b"", "policy.pth/": b""},
        "data is a list": {"data": b"[]", "policy.pth": weights},
        "data is deep": {"data": b"[" * 100_000, "policy.pth": weights},
        "data has long numbers": {"data": b'{"a": ' + b"9" * 10_000 + b"}", "policy.pth": weights},
        "data are lists of nothing": {"data": b"[" + b"[]," * 10**7 + b"1]", "policy.pth": weights},
        "data is no text": {"data": b"\xff\xfe", "policy.pth": weights},
    }.items():
        path = attacks.place(".zip")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, content in members.items():
                archive.writestr(member, content)
        attacks.add(f"zip: {name}", "agent", path, missing)
    for member, other in (("data", "policy.pth"), ("policy.pth", "data")):
        path = attacks.place(".zip")
        path.write_bytes(zeros(member, 100 * MIB))
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(other, honest.read(other))
        attacks.add(f"zip: {member} is a bomb", "agent", path, "FormatError: .*would unpack to 100 MiB")
    path = attacks.place(".zip")
    os.symlink("/dev/zero", path)
    attacks.add("zip: a device", "agent", path, "(FormatError|AgentError)")


def torch_zip(pickled: bytes, **more: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in {"data.pkl": pickled, "version": b"3\n", **more}.items():
            archive.writestr(f"archive/{name}", content)
    return buffer.getvalue()


def wrong_weights() -> Iterator[tuple[str, bytes, str]]:
    """Files of torch that hold more than weights, or claim to."""
    refused = "TrustRequired: .*weights only"
    call = b"cos\nmkdir\n(X\x05\x00\x00\x00ownedtR."
    yield "a pickle", PICKLE, refused
    yield "a pickle of protocol 0", call, refused
    yield "a zip of a pickle", torch_zip(PICKLE), refused
    yield "a zip of a pickle of protocol 0", torch_zip(call), refused
    yield "posix", torch_zip(b"cposix\nmkdir\n(X\x05\x00\x00\x00ownedtR."), refused
    yield "an instance", torch_zip(b"(X\x05\x00\x00\x00ownedios\nmkdir\n."), refused
    yield "an object", torch_zip(b"(cos\nmkdir\nX\x05\x00\x00\x00ownedo."), refused
    yield (
        "a name from the stack",
        torch_zip(b"\x80\x04X\x02\x00\x00\x00osX\x05\x00\x00\x00mkdir\x93X\x05\x00\x00\x00owned\x85R."),
        refused,
    )
    yield "an extension", torch_zip(b"\x82\x01."), refused
    yield "torch's own functions", torch_zip(b"ctorch.hub\nload\n(X\x01\x00\x00\x00xtR."), refused
    yield "a program", torch_zip(pickle.dumps({}, 2), **{"constants.pkl": PICKLE, "code/x.py": b"x"}), refused
    yield "nothing in it", torch_zip(b""), refused
    yield "no pickle", torch_zip(b"x").replace(b"data.pkl", b"data.txt"), refused
    yield "lists of nothing", torch_zip(b"\x80\x02" + b"]" * 10**7 + b"."), "FormatError: .*more than 1,000,000 steps"
    yield "half of it", torch_zip(pickle.dumps({}, 2))[:50], "(TrustRequired|FormatError)"
    yield "a list", torch_zip(pickle.dumps([1], 2)), "FormatError: .*not a state_dict"
    yield "a bomb", zeros("archive/data.pkl", 100 * MIB), "FormatError: .*would unpack to 100 MiB"
    old = io.BytesIO()
    torch.save({"a": torch.zeros(2)}, old, _use_new_zipfile_serialization=False)
    yield "the format before torch 1.6", old.getvalue(), refused
    two = io.BytesIO(torch_zip(pickle.dumps({}, 2)))
    with zipfile.ZipFile(two, "a") as archive:
        archive.writestr("archive/data.pkl", PICKLE)
    yield "two pickles of one name", two.getvalue(), refused


def tensors(content: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def weights(attacks: Attacks) -> None:
    for name, content, ends in wrong_weights():
        forge(attacks, f"weights: {name}", ends, policy_pth=content)
    for name, value, ends in (
        (
            "huge for its size",
            {"w": torch.zeros(1).expand(10**6, 10**6)},
            "FormatError: .*numbers that are all in the file",
        ),
        ("sparse", {"w": torch.zeros(10, 10).to_sparse()}, "TrustRequired"),
        ("not tensors", {"w": [1, 2]}, "FormatError: .*holds tensors"),
        ("without names", {3: torch.zeros(1)}, "FormatError: .*holds tensors"),
        ("of another policy", {"w": torch.zeros(10**5)}, "AgentError: .*do not fit"),
    ):
        forge(attacks, f"weights: {name}", ends, policy_pth=tensors(value))
    shared = torch.zeros(2000, 2000)
    huge = {"policy_kwargs": {"net_arch": [2000] * 60}}
    forge(attacks, "weights that are shared by many layers", "FormatError: .*more numbers than there are weights",
          policy_pth=tensors({str(n): shared for n in range(60)}), **huge)  # fmt: skip


def torch_files(attacks: Attacks) -> None:
    for name, content, ends in wrong_weights():
        path = attacks.place(".pt")
        path.write_bytes(content)
        attacks.add(f"pt: {name}", "agent", path, ends)
        path = attacks.place(".cleanrl_model")
        path.write_bytes(content)
        attacks.add(
            f"cleanrl: {name}", "agent", path, ends if content.startswith(b"PK") else "AgentError: .*not a torch file"
        )
    honest: dict[Any, Any] = {}
    for place, out, given in ((0, 120, 5), (2, 84, 120), (4, 4, 84)):
        honest |= {f"network.{place}.weight": torch.zeros(out, given), f"network.{place}.bias": torch.zeros(out)}
    for name, content, ends in (
        ("a name of another kind", {**honest, 5: torch.zeros(1)}, "FormatError: .*holds tensors"),
        ("weights beside a program", ({"a": Harm()}, honest), "TrustRequired: .*weights only"),
        ("arguments that are a program", {"model_weights": honest, "args": Harm()}, "TrustRequired: .*weights only"),
        ("a layer that claims more than there is", {**honest, "network.4.weight": torch.zeros(1).expand(4, 84)},
         "FormatError: .*numbers that are all in the file"),
        ("a million actions", {**honest, "network.4.weight": torch.zeros(1).expand(10**6, 84)}, "FormatError"),
        ("a layer too many", {**honest, "x" * 10**5: torch.zeros(1)}, "AgentError: .{,1500}$"),
    ):  # fmt: skip
        path = attacks.place(".cleanrl_model")
        torch.save(content, path)
        attacks.add(f"cleanrl: {name}", "agent", path, ends)
    checkpoint = attacks.place("")
    checkpoint.mkdir()
    (checkpoint / "metadata.json").write_text('{"checkpoint_version": "2.1", "class_and_ctor_args_file": "/harm.pkl"}')
    for part in ("class_and_ctor_args.pkl", "module_state.pkl"):
        (checkpoint / part).write_bytes(PICKLE)
    attacks.add("rllib: a folder of pickles", "agent", checkpoint, "TrustRequired: .*checkpoint of RLlib")
    path = attacks.place(".pt")
    torch.save(torch.nn.Linear(2, 2), path)
    attacks.add("pt: a whole module", "agent", path, "TrustRequired")
    path = attacks.place(".pth")
    path.write_bytes(PICKLE)
    attacks.add(
        "pth: with a class of the user's",
        "agent",
        Path(f"{path}@torch.nn:ReLU"),
        "TrustRequired",
    )


def onnx_files(attacks: Attacks) -> None:
    (attacks.folder / "outside").mkdir()
    (attacks.folder / "outside" / "numbers").write_bytes(bytes(80))
    (attacks.folder / "link").symlink_to("/etc/hostname")
    inside = attacks.folder / "networks"
    marked = inside / "*" / "_ORT_MEM_ADDR_"
    marked.mkdir(parents=True)
    (marked / "*").write_bytes(bytes(80))
    refused = "AgentError: .*which is outside its folder"
    for location in ("/etc/hostname", "../outside/numbers", "x/../../outside/numbers", "../link", "*/_ORT_MEM_ADDR_/*"):
        for where in ("initializer", "constant", "branch", "function"):
            path = inside / f"{len(attacks.found)}.onnx"
            path.write_bytes(reads_from(location, where).SerializeToString())
            attacks.add(f"onnx: {location} by a {where}", "agent", path, refused)
    for name, content in {
        "a pickle": PICKLE,
        "nothing": b"",
        "a group": b"\x0b\x0c",
        "a number without end": b"\x08" + b"\xff" * 50,
        "half a network": Path(dense_network(inside / "whole.onnx", 5, 4)).read_bytes()[:200],
    }.items():
        path = inside / f"{len(attacks.found)}.onnx"
        path.write_bytes(content)
        attacks.add(f"onnx: {name}", "agent", path, "(FormatError|AgentError)")
    path = inside / "bomb.onnx"
    path.write_bytes(asks_for(10**10).SerializeToString())
    attacks.add("onnx: 40 GB in 150 bytes", "agent", path, "AgentError|AgentFailure|FormatError")


def reads_from(location: str, where: str) -> Any:
    """A network with a tensor whose numbers lie elsewhere."""
    numbers = helper.make_tensor("w", TensorProto.FLOAT, [5, 4], bytes(80), raw=True)
    numbers.ClearField("raw_data")
    numbers.data_location = TensorProto.EXTERNAL
    numbers.external_data.add(key="location", value=location)
    nodes, weights, functions = [helper.make_node("MatMul", ["x", "w"], ["y"])], [], []
    if where == "initializer":
        weights = [numbers]
    elif where == "constant":
        nodes.insert(0, helper.make_node("Constant", [], ["w"], value=numbers))
    elif where == "branch":
        branch = helper.make_graph(
            [], "b", [], [helper.make_tensor_value_info("w", TensorProto.FLOAT, [5, 4])], [numbers]
        )
        flag = helper.make_tensor("c", TensorProto.BOOL, [], [True])
        nodes[:0] = [
            helper.make_node("Constant", [], ["c"], value=flag),
            helper.make_node("If", ["c"], ["w"], then_branch=branch, else_branch=branch),
        ]
    else:
        inner = helper.make_node("Constant", [], ["w"])
        inner.attribute.add(name="value", ref_attr_name="v", type=onnx.AttributeProto.TENSOR)
        opset = [helper.make_opsetid("", 17)]
        default = helper.make_attribute("v", numbers)
        functions = [helper.make_function("own", "F", [], ["w"], [inner], opset, attribute_protos=[default])]
        nodes.insert(0, helper.make_node("F", [], ["w"], domain="own"))
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])], weights,
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9, functions=functions)


def asks_for(numbers: int) -> Any:
    """A network that works out as many numbers as it is told, to add them up."""
    size = helper.make_tensor("s", TensorProto.INT64, [1], [numbers])
    nodes = [
        helper.make_node("ConstantOfShape", ["s"], ["many"]),
        helper.make_node("ReduceSum", ["many"], ["sum"], keepdims=0),
        helper.make_node("Add", ["x", "sum"], ["five"]),
        helper.make_node("Slice", ["five", "zero", "four", "one"], ["y"]),
    ]
    given = [
        size,
        *(helper.make_tensor(n, TensorProto.INT64, [1], [v]) for n, v in (("zero", 0), ("four", 4), ("one", 1))),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])], given,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def arrays(attacks: Attacks) -> None:
    for name, content in {
        "objects": header("|O", (1,), PICKLE),
        "a pickle in place of an array": PICKLE,
        "a header that is a program": b"\x93NUMPY\x01\x00\x1e\x00" + b"__import__('os').mkdir('owned')"[:30],
        "a bomb of a header": header("<i8", (10**12,)),
    }.items():
        attacks.add(
            f"npz: {name}", "traces", npz(attacks.place(".npz"), header=content, actions=content), "FormatError"
        )
        attacks.add(f"npz: {name}", "normalisation", npz(attacks.place(".npz"), format=content), "FormatError")
    for loader in ("traces", "normalisation"):
        path = attacks.place(".npz")
        path.write_bytes(zeros("actions.npy", 300 * MIB))
        attacks.add("npz: a bomb", loader, path, "FormatError: .*would unpack to 300 MiB")
        path = attacks.place(".npz")
        path.write_bytes(PICKLE)
        attacks.add("npz: a pickle", loader, path, "FormatError")
    path = attacks.place(".pkl")
    path.write_bytes(PICKLE)
    attacks.add("vecnormalize.pkl", "normalisation", path, "TrustRequired")


LAUGHS = "\n".join(["a: &a [x, x, x, x, x, x, x, x, x]", *(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True))])  # fmt: skip


def texts(attacks: Attacks) -> None:
    """JSON, YAML and TOML."""
    for loader, kind in (("traces", "traces"), ("reference", "reference"), ("suite", "suite")):
        for name, text in {
            "deep": "[" * 200_000,
            "long numbers": f'{{"format": "tightrope/{kind}", "version": {"9" * 10_000}}}',
            "nothing but a header": f'{{"format": "tightrope/{kind}", "version": 1}}',
            "no text": "\x00",
        }.items():
            path = attacks.place(".json")
            path.write_text(text)
            attacks.add(f"{kind}: {name}", loader, path, "FormatError")
    for name, text in {
        "laughs": LAUGHS,
        "python tags": f"task: !!python/object/apply:os.mkdir [{OWNED}]",
        "python names": "task: !!python/name:os.mkdir",
        "deep": "[" * 100_000,
        "itself": "a: &a [*a]",
        "long numbers": "seed: " + "9" * 10_000,
    }.items():
        path = attacks.place(".yaml")
        path.write_text(text)
        attacks.add(f"yaml: {name}", "campaign", path, "FormatError")
    for name, text in {
        "deep": "a = " + "[" * 100_000,
        "dots": "a." * 100_000 + "a = 1",
        "long numbers": "seed = " + "9" * 10_000,
    }.items():
        path = attacks.place(".toml")
        path.write_text(text)
        attacks.add(f"toml: {name}", "campaign", path, "FormatError")
    for name, task in {
        "a function": f"os:mkdir(path='{OWNED}')",
        "a module of the working folder": "planted:task",
        "a shell": f"subprocess:call(args='mkdir {OWNED}', shell=True)",
    }.items():
        attacks.add(
            f"suite: {name}",
            "foreign suite",
            suite_of(attacks.place(".suite.json"), task),
            "UsageError: .*names code to run",
        )
    label = f"FrozenLake-v1(map_name=__import__('os').mkdir('{OWNED}'))"
    attacks.add(
        "suite: options that are a program", "foreign suite", suite_of(attacks.place(".suite.json"), label), "TaskError"
    )


def suite_of(path: Path, task: str) -> Path:
    """A suite file that is in order but for its task."""
    from tightrope.safety import TestSuite, save_suite
    from tightrope.trace import ActionTrace

    trace = ActionTrace(task, 0, (0, 1))
    return save_suite(
        TestSuite(kind="simple", parameters={}, reference=trace, checksums=(1, 2, 3), depths=(), cases=()), path
    )


def minari_data(folder: Path, fill: Callable[[Any], Any], **metadata: Any) -> Path:
    """A data set of one episode."""
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "metadata.json").write_text(json.dumps({"data_format": "hdf5", **metadata}))
    with h5py.File(folder / "data" / "main_data.hdf5", "w") as file:
        group = file.create_group("episode_0")
        group.attrs["seed"] = 3
        fill(group)
    return folder


def data_sets(attacks: Attacks) -> None:
    def data_set(name: str, ends: str, fill: Callable[[Any], Any] = lambda group: None, **metadata: Any) -> None:
        attacks.add(f"minari: {name}", "minari", minari_data(attacks.place(""), fill, **metadata), ends)

    def honest(group: Any) -> None:
        group["actions"] = np.array([1, 1, 2])

    harm = EnvSpec("Harm-v0", entry_point="os:mkdir", disable_env_checker=True, kwargs={"path": OWNED})
    outside = attacks.folder / "outside.bin"
    outside.write_bytes(bytes(24))
    not_read = "FormatError: .*not a data set that can be read"
    data_set("an environment that is a function", "loaded", honest, env_spec=harm.to_json())
    data_set(
        "spaces that are bombs",
        "loaded",
        honest,
        action_space=json.dumps({"type": "Discrete", "n": 10**30, "start": 0}),
    )
    data_set("another format", "UsageError", honest, data_format="arrow")
    data_set("nothing", not_read)
    data_set(
        "a link to another file", not_read, lambda g: g.__setitem__("actions", h5py.ExternalLink(str(outside), "/a"))
    )
    data_set("a link within", not_read, lambda g: g.__setitem__("actions", h5py.SoftLink("/episode_0")))
    data_set("numbers of another file", not_read,
             lambda g: g.create_dataset("actions", (3,), "i8", external=[(str(outside), 0, 24)]))  # fmt: skip
    data_set(
        "a bomb", not_read, lambda g: g.create_dataset("actions", (10**10,), "i8", compression="gzip", chunks=(10**6,))
    )
    data_set(
        "a chunk that is a bomb",
        not_read,
        lambda g: g.create_dataset("actions", (3,), "i8", maxshape=(None,), chunks=(10**8,)),
    )
    data_set("texts", not_read, lambda g: g.create_dataset("actions", data=["a", "b"]))
    data_set("references", not_read, lambda g: g.create_dataset("actions", (3,), h5py.ref_dtype))
    data_set("a seed that is a text", not_read, lambda g: g.attrs.__setitem__("seed", "x" * 1000))
    data_set("seeds by the thousand", not_read, lambda g: g.attrs.__setitem__("seed", np.zeros(5000)))

    def virtual(group: Any) -> None:
        layout = h5py.VirtualLayout((3,), "i8")
        layout[:] = h5py.VirtualSource(str(outside), "a", (3,))
        group.create_virtual_dataset("actions", layout)

    data_set("an array put together of other files", not_read, virtual)
    broken = attacks.place("")
    shutil.copytree(attacks.found[-1].path, broken)
    (broken / "data" / "main_data.hdf5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(500))
    attacks.add("minari: damage", "minari", broken, not_read)
