"""Encoder of archives: nested values as a JSON document and a list of arrays.

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

import json
import math
import struct
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.archive.stored import TYPES, fields, has_own_state

# Types of numbers that are the same on all machines, as a long double is not.
_CODES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
_DTYPES = frozenset(np.dtype(order + code).str for order in "<>" for code in _CODES)
INLINE = range(-(2**63), 2**63)


class Encoder:
    """Encoder of an archive: turns a value into a document and arrays.

    Raises
    ------
    TypeError
        For what an archive does not hold, with notes that say where in the value it is.
    """

    def __init__(self, value: Any) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._fields: dict[str, list[str]] = {}
        self._items: list[list[Any]] = []
        # By identity: the slot of what is stored, None while its parts are. The objects are kept
        # so that the identity of none is given to another one meanwhile.
        self._slots: dict[int, list[int] | None] = {}
        self._kept: list[Any] = []
        self._value = self._slot(value)

    def document(self) -> bytes:
        described = [[a.dtype.str, a.shape, order_of(a)] for a in self.arrays]
        document = {
            "types": self._fields,
            "arrays": described,
            "items": self._items,
            "value": self._value,
        }
        # Half of a surrogate pair is a character to Python and to nobody else; an escape of two
        # that are neighbours would be read as one.
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "surrogatepass")

    def _slot(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if (kind is int and value in INLINE) or (kind is float and math.isfinite(value)):
            return value
        identity = id(value)
        if identity in self._slots:
            if self._slots[identity] is None:
                raise TypeError(f"an archive cannot hold a {kind.__name__} that holds itself")
            return self._slots[identity]
        self._slots[identity] = None
        self._kept.append(value)
        item = self._item(value)
        self._slots[identity] = slot = [len(self._items)]
        self._items.append(item)
        return slot

    def _item(self, value: Any) -> list[Any]:
        kind = type(value)
        if kind is tuple or kind is list:
            return [kind.__name__, *map(self._slot, value)]
        if TYPES.get(kind.__name__) is kind:
            return self._registered(value)
        if kind is dict:
            item: list[Any] = ["dict"]
            for key, entry in value.items():
                if type(key) is not str:
                    raise _unsupported(key, "a str as the key of a dict")
                item += (key, self._noted(entry, f"in the entry {key!r} of a dict"))
            return item
        if kind is np.ndarray and is_plain(value.dtype.str):
            self.arrays.append(value)
            return ["array", len(self.arrays) - 1]
        if isinstance(value, np.generic) and is_plain(value.dtype.str):
            return ["scalar", value.dtype.str, value.tobytes().hex()]
        if kind is int:
            return ["int", f"{value:x}"]
        if kind is float:
            return ["float", struct.pack(">d", value).hex()]
        raise _unsupported(value, "plain values, arrays of numbers and registered types")

    def _registered(self, value: Any) -> list[Any]:
        kind = type(value)
        name = kind.__name__
        if isinstance(value, Enum):
            # A combination of flags has no name of its own.
            if kind.__members__.get(value.name) is not value:
                raise _unsupported(value, f"a member of {name}")
            return ["enum", name, value.name]
        if has_own_state(kind):
            return ["state", name, self._noted(value.__getstate__(), f"in the state of a {name}")]
        if name not in self._fields:
            self._fields[name] = fields(kind)
        slots = [
            self._noted(getattr(value, field), f"in the field {field} of a {name}")
            for field in self._fields[name]
        ]
        return ["object", name, *slots]

    def _noted(self, value: Any, where: str) -> Any:
        try:
            return self._slot(value)
        except TypeError as error:
            error.add_note(where)
            raise


def _unsupported(value: Any, expected: str) -> TypeError:
    kind = type(value)
    return TypeError(
        f"an archive cannot hold {shown(repr(value))}, a {kind.__module__}.{kind.__qualname__}; "
        f"expected {expected}"
    )


def is_plain(dtype: Any) -> bool:
    """Return whether dtype is one of arrays that archives hold, as `np.dtype.str` states it."""
    return type(dtype) is str and dtype in _DTYPES


def order_of(array: NDArray[Any]) -> str:
    """Return the order that an array is stored in."""
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def contiguous_bytes(array: NDArray[Any]) -> memoryview:
    """Return the bytes of an array in its order: a view if it is contiguous, else a copy."""
    straight = array.T if order_of(array) == "F" else array
    return np.ascontiguousarray(straight).reshape(-1).view(np.uint8).data


def shown(text: str) -> str:
    """Return text on one line, and of bounded length."""
    line = " ".join(text.split())
    line = line if line.isprintable() else ascii(line)
    return line if len(line) <= 200 else f"{line[:197]}..."
