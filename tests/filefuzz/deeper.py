"""Damage that leaves a file of its kind: networks, weights, arrays, data sets and databases that say something else."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import wraps
from random import Random
from typing import Any

import numpy as np

from tests.filefuzz.mutations import Mutation, damaged_bytes, damaged_json, damaged_packed_json

NUMBERS = (0, 1, -1, 2, 3, 7, 16, 127, 2**31 - 1, -(2**31), 2**40, 2**63 - 1, -(2**63))
FRACTIONS = (0.0, -1.0, 1e308, float("nan"), float("inf"), 1e-320)
TEXTS = ("", "x", "\x00", "é", "float", "../x", "/etc/passwd", "agent.onnx", "gone.data", "a" * 3000, "0", "-1", "1e99")
SMALL = 64
"""Of a number that says how large something is: arrays are made of it here."""

SQL = (
    "drop table episodes", "drop table traces", "drop index episodes_by_start", "delete from episodes",
    "delete from traces", "pragma user_version = 1", "pragma user_version = 99", "pragma user_version = -5",
    "alter table episodes rename column content to contents", "alter table traces rename to trace",
    "alter table episodes add column more text", "create view v as select 1", "create table x (y)",
    "create trigger t after insert on traces begin delete from episodes; end", "update episodes set raised = 1",
    "update episodes set start = 'x'", "update episodes set agent = x'00'", "update episodes set raised = 'x'",
)  # fmt: skip


def where_possible(deep: Mutation) -> Mutation:
    """Libraries refuse some changes, such as a move to where something is; then bytes are damaged."""

    @wraps(deep)
    def mutate(rng: Random, content: bytes) -> bytes:
        try:
            return deep(rng, content)
        except (TypeError, ValueError, LookupError, RuntimeError, OSError, sqlite3.Error):
            return damaged_bytes(rng, content)

    return mutate


def sometimes_in_bytes(deep: Mutation, share: float = 0.2) -> Mutation:
    """Mostly the one kind of damage, now and then the other."""
    return lambda rng, content: damaged_bytes(rng, content) if rng.random() < share else deep(rng, content)


def either(*mutations: Mutation) -> Mutation:
    """Any of these kinds of damage."""
    return lambda rng, content: rng.choice(mutations)(rng, content)


@where_possible
def damaged_onnx(rng: Random, content: bytes) -> bytes:
    """A network with some of its fields changed, dropped or doubled, or with weights said to lie elsewhere."""
    import onnx

    model = onnx.ModelProto.FromString(content)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if rng.random() < 0.2:
            _weights_elsewhere(rng, model)
        else:
            _change_message(rng, model)
    return bytes(model.SerializeToString())


def _weights_elsewhere(rng: Random, model: Any) -> None:
    if model.graph.initializer:
        tensor = rng.choice(model.graph.initializer)
        tensor.data_location = 1
        if rng.random() < 0.8:
            tensor.ClearField("raw_data")
        for key in rng.sample(("location", "offset", "length", "checksum", "x"), rng.randrange(5)):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, rng.choice(TEXTS)


def _change_message(rng: Random, message: Any) -> None:
    """Go down to any field that is set, and change it."""
    while True:
        fields = message.ListFields()
        if not fields:
            return
        field, value = rng.choice(fields)
        repeated = field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED
        if repeated and (field.message_type is None or rng.random() < 0.15):
            _change_list(rng, field, value)
            return
        if field.message_type is None or rng.random() < 0.05:
            _change_field(rng, message, field, value)
            return
        message = rng.choice(value) if repeated else value


def _change_list(rng: Random, field: Any, values: Any) -> None:
    place, kind = rng.randrange(len(values)), rng.randrange(3)
    if kind == 0:
        del values[place]
    elif kind == 1 and field.message_type is not None:
        values.add().CopyFrom(values[place])
    elif field.message_type is None:
        values[place] = _other_value(rng, field, values[place])


def _change_field(rng: Random, message: Any, field: Any, value: Any) -> None:
    if field.message_type is not None or rng.random() < 0.3:
        message.ClearField(field.name)
    else:
        setattr(message, field.name, _other_value(rng, field, value))


def _other_value(rng: Random, field: Any, value: Any) -> Any:
    """Of the field's own kind; what has only 32 bits gets a small number."""
    if field.enum_type is not None:
        return rng.choice(field.enum_type.values).number
    if isinstance(value, bytes):
        return damaged_bytes(rng, value)
    if isinstance(value, str):
        return rng.choice((*TEXTS, "Relu", "Gemm", "Loop", "ArgMax", "Conv", "Identity", "observation", "actions"))
    if isinstance(value, float):
        return rng.choice(FRACTIONS[:2])
    if field.cpp_type in (field.CPPTYPE_INT64, field.CPPTYPE_UINT64):
        number = rng.choice((*NUMBERS, value + 1))
        return abs(number) % 2**63 if field.cpp_type == field.CPPTYPE_UINT64 else number
    return rng.randrange(SMALL) if field.cpp_type != field.CPPTYPE_BOOL else not value


@where_possible
def damaged_weights(rng: Random, content: bytes) -> bytes:
    """A state dict of which some entries have other shapes, kinds, values or names."""
    import torch

    whole: Any = dict(torch.load(io.BytesIO(content), weights_only=True))
    # Training scripts keep it under a name, beside other things.
    inner = next((name for name, part in whole.items() if isinstance(part, dict)), None)
    weights = whole if inner is None or rng.random() < 0.2 else whole[inner]
    for _ in range(rng.choice((1, 1, 2, 3))):
        _change_weights(rng, weights, torch)
    if rng.random() < 0.15:
        whole = rng.choice(({"state_dict": whole}, {"model": 3, **whole}, list(whole.values()), None))
    buffer = io.BytesIO()
    torch.save(whole, buffer)
    return buffer.getvalue()


def _change_weights(rng: Random, weights: dict[Any, Any], torch: Any) -> None:
    name = rng.choice(list(weights) or ["weight"])
    kind, tensor = rng.randrange(6), weights.get(name)
    if kind == 0:
        weights.pop(name, None)
    elif kind == 1:
        weights[rng.choice(("x", "", f"module.{name}", "\x00", 7, None))] = weights.pop(name, torch.zeros(2))
    elif kind == 2 and isinstance(tensor, torch.Tensor):
        weights[name] = rng.choice((_reshaped, _retyped, _with_odd_values))(rng, tensor)
    elif kind == 3:
        weights[name] = rng.choice((None, 1, "x", [1.0], {}, {"a": 1}, float("nan"), b"x", (1, 2), True))
    elif kind == 4:
        weights[rng.choice(("log_std", "optimizer", "foreign.weight"))] = torch.zeros(rng.randrange(5), 2)
    else:
        shape = [rng.randrange(5) for _ in range(rng.randrange(4))]
        weights[name] = torch.zeros(shape, dtype=rng.choice(_dtypes(torch)))


def _dtypes(torch: Any) -> list[Any]:
    return [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64]


def _reshaped(rng: Random, tensor: Any) -> Any:
    return rng.choice(
        (
            tensor.reshape(-1),
            tensor.reshape(tensor.shape[::-1]),
            tensor[:0],
            tensor[:1],
            tensor[None],
            tensor.repeat(2, 1),
        )
    )


def _retyped(rng: Random, tensor: Any) -> Any:
    import torch

    return tensor.to(rng.choice(_dtypes(torch)))


def _with_odd_values(rng: Random, tensor: Any) -> Any:
    return tensor.clone().fill_(rng.choice((float("nan"), float("inf"), -1e30, 1e38)))


@where_possible
def damaged_arrays(rng: Random, content: bytes) -> bytes:
    """An npz archive of which some arrays have other shapes, kinds, values or names."""
    with np.load(io.BytesIO(content)) as archive:
        arrays: dict[str, Any] = {name: archive[name] for name in archive.files}
    for _ in range(rng.choice((1, 1, 2, 3))):
        name = rng.choice(list(arrays) or ["x"])
        kind = rng.randrange(5)
        if kind == 0:
            arrays.pop(name, None)
        elif kind == 1:
            arrays[rng.choice(("x", f"{name}s", "mean/x", "variance/", "header"))] = arrays.pop(name, np.zeros(2))
        else:
            arrays[name] = _other_array(rng, arrays.get(name, np.zeros(2)))
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _other_array(rng: Random, array: Any) -> Any:
    # A text as a number, and a number too large for its kind, stay what they are.
    changes: tuple[Callable[[], Any], ...] = (
        lambda: array.reshape(-1)[:-1],
        lambda: array[None],
        lambda: np.concatenate([array.reshape(-1)] * 2),
        lambda: array.astype(str),
        lambda: np.zeros(array.shape, rng.choice(("f2", "f8", "i1", "u8", "c8", "?", "U3", "S2", "M8[s]", "m8[D]"))),
        lambda: np.full(array.shape, rng.choice(FRACTIONS)),
        lambda: np.full(array.shape, rng.choice(NUMBERS)),
        lambda: np.full(array.shape, rng.choice(TEXTS)),
        lambda: np.zeros(array.shape, [("a", "f4"), ("b", "i4")]),
        lambda: np.array(rng.choice((None, "x", 3, {}, [])), dtype=object),
        lambda: np.zeros([rng.randrange(4) for _ in range(rng.randrange(5))]),
    )
    return rng.choice(changes)()


@where_possible
def damaged_hdf5(rng: Random, content: bytes) -> bytes:
    """A data set whose parts have other kinds and shapes, lead elsewhere, or are not there."""
    import h5py

    buffer = io.BytesIO(content)
    with h5py.File(buffer, "r+") as file:
        for _ in range(rng.choice((1, 1, 2, 3))):
            _change_data_set(rng, file, h5py)
    return buffer.getvalue()


def _change_data_set(rng: Random, file: Any, h5py: Any) -> None:
    group = file[rng.choice([name for name in file if isinstance(file.get(name), h5py.Group)] or ["/"])]
    name, kind = rng.choice(("actions", "actions", "seed", "observations")), rng.randrange(7)
    if kind == 0:
        group.attrs["seed"] = rng.choice((-1, 2**63 - 1, 0.5, "x", b"x", [1, 2], np.zeros((2, 2)), np.nan))
    elif kind == 1 and "seed" in group.attrs:
        del group.attrs["seed"]
    elif kind == 2 and group.name != "/":
        file.move(group.name, rng.choice(("episode_", "episode_x", "episode_-1", "é", "episode_9" * 9)))
    elif kind == 3:
        target = rng.choice((h5py.SoftLink("/gone"), h5py.SoftLink("/"), h5py.ExternalLink("gone.hdf5", "/x")))
        _put(group, name, target)
    elif kind == 4:
        _put(group, name, {"a": np.zeros(2)} if rng.random() < 0.3 else None)
    else:
        _put(group, name, _other_actions(rng))


def _other_actions(rng: Random) -> Any:
    return rng.choice(
        (
            np.array([1, 99, -1]),
            np.array([0.5, 1.0]),
            np.array([np.nan]),
            np.zeros((3, 2)),
            np.array(3),
            np.zeros(0),
            np.array([b"x", b"y"]),
            np.array([2**63 - 1]),
            np.array([True, False]),
            np.zeros(2, [("a", "i4")]),
            np.zeros((1, 1, 1, 1)),
            np.array([1j]),
        )
    )


def _put(group: Any, name: str, value: Any) -> None:
    if group.get(name, getlink=True) is not None:
        del group[name]
    if isinstance(value, dict):
        inner = group.create_group(name)
        for part, content in value.items():
            inner[part] = content
    elif value is not None:
        group[name] = value


@where_possible
def damaged_database(rng: Random, content: bytes) -> bytes:
    """Values or tables of the database changed."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content)
        if rng.random() < 0.2:
            connection.executescript(rng.choice(SQL))
        else:
            _change_rows(rng, connection)
        connection.commit()
        return connection.serialize()


def _change_rows(rng: Random, connection: sqlite3.Connection) -> None:
    columns: dict[tuple[str, str], Mutation] = {
        ("episodes", "content"): damaged_packed_json,
        ("episodes", "rollout"): damaged_json,
        ("traces", "content"): damaged_json,
    }
    (table, column), mutate = rng.choice(list(columns.items()))
    for (identifier,) in connection.execute(f"select id from {table}").fetchall():
        (value,) = connection.execute(f"select {column} from {table} where id = ?", (identifier,)).fetchone()
        changed: Any = mutate(rng, value if isinstance(value, bytes) else value.encode())
        if rng.random() < 0.1:
            changed = rng.choice((1, 0.5, "", b"", "x", b"x", "1" * 400))
        elif isinstance(value, str):
            changed = changed.decode("utf-8", "replace")
        connection.execute(f"update {table} set {column} = ? where id = ?", (changed, identifier))
