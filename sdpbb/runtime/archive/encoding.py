"""Encoding of archives: nested values as a JSON document and a list of arrays, and back.

The document is

    {"types": [[full name, [names of parts]], ...],
     "items": [item, ...],
     "value": slot}

A slot is null, true, false, an integer of 64 bits, a finite float, a string, or [i] for item i. An
item is a list that begins with a word:

    "tuple", slot ...               "array", position
    "list", slot ...                "transposed", position of its transpose: of Fortran order
    "dict", key, value ...: slots   "scalar", dtype, its bytes in hexadecimal
    "object", position of its       "int", hexadecimal
      type, slot ... of its parts   "float", its bytes (big-endian) in hexadecimal
                                    "str", its bytes in hexadecimal: halves of surrogate pairs

and refers only to items before it, so that reading needs no recursion and nothing holds itself.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import ArchiveError
from sdpbb.runtime.archive.stored import TYPES, fields, full_name, is_made_from, parts, rebuilt

# Types of numbers that are the same on all machines, as a long double is not.
_CODES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
DTYPES = tuple(sorted({np.dtype(order + code).str for order in "<>" for code in _CODES}))
_INLINE = range(-(2**63), 2**63)


class Encoder:
    """Encoder of an archive: turns a value into a document and arrays.

    Raises
    ------
    TypeError
        For what an archive does not hold, with notes that say where in the value it is.
    """

    def __init__(self, value: Any) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._types: dict[type, int] = {}
        self._items: list[list[Any]] = []
        # By identity: the slot of what is stored, None while its parts are. The objects are kept
        # so that the identity of none is given to another one meanwhile.
        self._slots: dict[int, list[int] | None] = {}
        self._kept: list[Any] = []
        slot = self._slot(value)
        types = [[full_name(cls), fields(cls)] for cls in self._types]
        self.document = {"types": types, "items": self._items, "value": slot}

    def _slot(self, value: Any) -> Any:
        if _is_inline(value):
            return value
        identity = id(value)
        if identity in self._slots:
            if self._slots[identity] is None:
                name = type(value).__name__
                raise TypeError(f"an archive cannot hold a {name} that holds itself")
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
        if kind is dict:
            item: list[Any] = ["dict"]
            for key, entry in value.items():
                if type(key) is not str:
                    raise _unsupported(key, "a str as the key of a dict")
                item += (self._slot(key), self._noted(entry, f"in the entry {key!r} of a dict"))
            return item
        if kind is np.ndarray and value.dtype.str in DTYPES:
            is_transposed = value.flags.f_contiguous and not value.flags.c_contiguous
            self.arrays.append(value.T if is_transposed else value)
            return ["transposed" if is_transposed else "array", len(self.arrays) - 1]
        if isinstance(value, np.generic) and value.dtype.str in DTYPES:
            return ["scalar", value.dtype.str, value.tobytes().hex()]
        if kind is int:
            return ["int", f"{value:x}"]
        if kind is float:
            return ["float", struct.pack(">d", value).hex()]
        if kind is str:
            return ["str", value.encode("utf-8", "surrogatepass").hex()]
        if TYPES.get(full_name(kind)) is kind:
            return self._object(value)
        raise _unsupported(value, "plain values, arrays of numbers and registered types")

    def _object(self, value: Any) -> list[Any]:
        kind: Any = type(value)
        try:
            found = parts(value)
        except TypeError as error:
            raise _unsupported(value, str(error)) from None
        position = self._types.setdefault(kind, len(self._types))
        slots = [
            self._noted(part, f"in the field {name} of a {kind.__name__}")
            for name, part in zip(fields(kind), found, strict=True)
        ]
        return ["object", position, *slots]

    def _noted(self, value: Any, where: str) -> Any:
        try:
            return self._slot(value)
        except TypeError as error:
            error.add_note(where)
            raise


def _is_inline(value: Any) -> bool:
    """Return whether a value is its own slot."""
    kind = type(value)
    if kind is str:
        return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)
    return (
        value is None
        or kind is bool
        or (kind is int and value in _INLINE)
        or (kind is float and math.isfinite(value))
    )


def _unsupported(value: Any, expected: str) -> TypeError:
    return TypeError(
        f"an archive cannot hold {shown(repr(value))}, a {full_name(type(value))}; "
        f"expected {expected}"
    )


class Decoder:
    """Decoder of an archive: rebuilds a value from its document and arrays.

    Nothing is called but the registered types, by the names of their fields, or their
    `__setstate__`, and no more memory is asked for than the document has bytes, times a constant.
    """

    def __init__(self, document: dict[str, Any], arrays: Sequence[NDArray[Any]]) -> None:
        self._document, self._arrays = document, arrays
        self._values: list[Any] = []
        self._makers: dict[str, Callable[..., Any]] = {
            "tuple": lambda *slots: tuple(map(self._filled, slots)),
            "list": lambda *slots: list(map(self._filled, slots)),
            "dict": self._dict,
            "object": self._object,
            "array": lambda position: self._arrays[_index(position)],
            "transposed": lambda position: self._arrays[_index(position)].T,
            "scalar": _scalar,
            "int": lambda digits: int(digits, 16),
            "float": lambda digits: struct.unpack(">d", bytes.fromhex(digits))[0],
            "str": lambda digits: bytes.fromhex(digits).decode("utf-8", "surrogatepass"),
        }

    def value(self) -> Any:
        """Return the value.

        Raises
        ------
        ArchiveError
            Without the name of a file.
        """
        try:
            self._types = [_type(name, names) for name, names in self._document["types"]]
            for word, *parts in self._document["items"]:
                self._values.append(self._makers[word](*parts))
            return self._filled(self._document["value"])
        except (LookupError, TypeError, ValueError, struct.error):
            raise _malformed() from None

    def _filled(self, slot: Any) -> Any:
        if type(slot) is list:
            (position,) = slot
            return self._values[_index(position)]
        if type(slot) is dict:
            raise _malformed()
        return slot

    def _dict(self, *slots: Any) -> dict[str, Any]:
        values = list(map(self._filled, slots))
        keys = values[::2]
        made = dict(zip(keys, values[1::2], strict=True))
        if len(made) < len(keys) or not all(type(key) is str for key in keys):
            raise _malformed()
        return made

    def _object(self, position: Any, *slots: Any) -> Any:
        cls, names = self._types[_index(position)]
        values = list(map(self._filled, slots))
        try:
            return rebuilt(cls, names, values)
        except MemoryError:
            raise
        except Exception as error:
            why = shown(f"{type(error).__name__}: {error}")
            raise ArchiveError(
                f"holds an invalid {cls.__name__} ({why}); expected valid values"
            ) from None


def _type(name: Any, names: Any) -> tuple[type, list[str]]:
    """Return the registered type of a name and these names, if its values are made from them."""
    if type(name) is not str:
        raise _malformed()
    if name not in TYPES:
        raise ArchiveError(f"holds an unknown {shown(name)}; expected a type that is registered")
    if type(names) is not list or not is_made_from(TYPES[name], names):
        expected = fields(TYPES[name])
        raise ArchiveError(
            f"holds a {name} of {shown(str(names))}; expected ({', '.join(expected)})"
        )
    return TYPES[name], names


def _index(position: Any) -> int:
    if type(position) is not int or position < 0:
        raise _malformed()
    return position


def _scalar(dtype: str, digits: str) -> np.generic:
    if dtype not in DTYPES:
        raise _malformed()
    scalar: np.generic
    (scalar,) = np.frombuffer(bytes.fromhex(digits), dtype)
    return scalar


def _malformed() -> ArchiveError:
    return ArchiveError("its contents are inconsistent; expected an unchanged file")


def shown(text: str) -> str:
    """Return text on one line, and of bounded length."""
    line = " ".join(text.split())
    line = line if line.isprintable() else ascii(line)
    return line if len(line) <= 200 else f"{line[:197]}..."
