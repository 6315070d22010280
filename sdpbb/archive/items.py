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
    "state", type, slot         what its __getstate__ returned

and refers only to items before it, so that reading needs no recursion and nothing holds itself.
"""

from __future__ import annotations

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
