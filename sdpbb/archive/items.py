"""Nested values as a JSON document and a list of arrays, and back.

The document is

    {"types":  {name of a dataclass: [its fields]},
     "arrays": [[dtype, shape, order], ...],
     "items":  [item, ...],
     "value":  slot}

A slot is null, true, false, an integer of 64 bits, a finite float, a string, or [i] for item i. An
item is a list that begins with a word:

    "tuple", slot ...           "array", position in "arrays"
    "list", slot ...            "scalar", dtype, its bytes in hexadecimal
    "dict", key, slot ...       "int", hexadecimal
    "enum", type, member        "float", its bytes (big-endian) in hexadecimal
    "object", type, slot ...    in the order of the type's fields

and refers only to items before it, so that reading needs no recursion and nothing holds itself.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Of which a file says all there is to say. What a long double is depends on the machine.
_CODES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
_DTYPES = frozenset(np.dtype(order + code).str for order in "<>" for code in _CODES)
INLINE = range(-(2**63), 2**63)


def is_plain(dtype: Any) -> bool:
    """Whether dtype is the string (`np.dtype.str`) of a type of arrays that archives hold."""
    return type(dtype) is str and dtype in _DTYPES


def registry(types: Iterable[type]) -> dict[str, type]:
    """The types by their names.

    Raises
    ------
    TypeError
        If one cannot be stored, or two have one name: told the programmer, whatever the file.
    """
    named: dict[str, type] = {}
    for cls in types:
        if named.setdefault(cls.__name__, cls) is not cls:
            raise TypeError(f"two of the types of an archive have the name {cls.__name__}")
        if issubclass(cls, Enum):
            continue
        if not dataclasses.is_dataclass(cls):
            raise TypeError(f"{cls.__name__} is neither a dataclass nor an enum")
        # Otherwise it could be written but not rebuilt from its fields.
        if set(inspect.signature(cls).parameters) != set(init_fields(cls)):
            raise TypeError(f"{cls.__name__} is not made from its fields alone")
    return named


def init_fields(cls: Any) -> list[str]:
    """The names of the fields that a dataclass is made from."""
    return [field.name for field in dataclasses.fields(cls) if field.init]


def order_of(array: NDArray) -> str:
    """The order that an array is stored in."""
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def contiguous_bytes(array: NDArray) -> memoryview:
    """The bytes of an array in its order: a view if it is contiguous, else a copy."""
    straight = array.T if order_of(array) == "F" else array
    return np.ascontiguousarray(straight).reshape(-1).view(np.uint8).data


def shown(text: str) -> str:
    """Text on one line, and of bounded length."""
    line = " ".join(text.split())
    line = line if line.isprintable() else ascii(line)
    return line if len(line) <= 200 else f"{line[:197]}..."
