from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import pytest
from typing_extensions import TypeAliasType

from tightrope.files.fields import WrongField, require_fields

Number = TypeVar("Number")
Count = TypeAliasType("Count", int)
# As NumPy 2.5 writes NDArray from Python 3.12 on: a name that is no class.
Array = TypeAliasType("Array", np.ndarray[tuple[Any, ...], np.dtype[Number]], type_params=(Number,))  # type: ignore[type-var]


@dataclass(frozen=True)
class Named:
    count: Count
    keys: Array[np.uint64] | None  # type: ignore[type-var]
    table: Mapping[str, Count]


def test_a_name_for_a_type_is_the_type_it_stands_for() -> None:
    require_fields(Named(1, np.zeros(2, dtype=np.uint64), {"a": 1}))
    require_fields(Named(1, None, {}))
    for wrong in (Named("1", None, {}), Named(1, [2], {}), Named(1, None, {"a": "1"})):  # type: ignore[arg-type]
        with pytest.raises(WrongField):
            require_fields(wrong)


@dataclass(frozen=True)
class Bred:
    level: Literal["traces", "policy"] | None


def test_a_choice_of_words_is_one_of_them() -> None:
    for right in ("policy", None):
        require_fields(Bred(right))  # type: ignore[arg-type]
    for wrong in ("polcy", 1, np.zeros(2), ["traces"]):
        with pytest.raises(WrongField):
            require_fields(Bred(wrong))  # type: ignore[arg-type]
