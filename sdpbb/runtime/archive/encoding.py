"""Encoding of archives: nested values as a JSON document and a list of arrays, and back.

The document is

    {"types": [full name, ...], "items": [item, ...], "value": slot}

A slot is null, true, false, a number, a string, or [i] for item i. An item is a list that begins
with a word:

    "tuple", slot ...                "array", position
    "list", slot ...                 "scalar", position of an array of no dimensions
    "dict", key, slot ...            "object", position of its type, slot ... of its parts

and refers only to items before it, so that reading needs no recursion and nothing holds itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import ArchiveError
from sdpbb.runtime.archive.stored import TYPES, full_name, parts, rebuilt

# Types of numbers that are the same on all machines, as a long double is not.
_CODES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
DTYPES = tuple(sorted({np.dtype(order + code).str for order in "<>" for code in _CODES}))
_INLINE = (type(None), bool, int, float, str)


class Encoder:
    """Encoder of an archive: turns a value into a document and arrays.

    Raises
    ------
    TypeError
        For what an archive does not hold, with notes that say where in the value it is.
    """

    def __init__(self, value: Any) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._types: dict[str, int] = {}
        self._items: list[list[Any]] = []
        # By identity: the slot of what is stored, None while its parts are. The objects are kept
        # so that the identity of none is given to another one meanwhile.
        self._slots: dict[int, list[int] | None] = {}
        self._kept: list[Any] = []
        slot = self._slot(value)
        self.document = {"types": [*self._types], "items": self._items, "value": slot}

    def _slot(self, value: Any) -> Any:
        if type(value) in _INLINE:
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
                item += (key, self._noted(entry, f"in the entry {key!r} of a dict"))
            return item
        is_scalar = isinstance(value, np.generic)
        if (kind is np.ndarray or is_scalar) and value.dtype.str in DTYPES:
            self.arrays.append(np.asarray(value))
            return ["scalar" if is_scalar else "array", len(self.arrays) - 1]
        if TYPES.get(full_name(kind)) is kind:
            return self._object(value)
        raise _unsupported(value, "plain values, arrays of numbers and registered types")

    def _object(self, value: Any) -> list[Any]:
        kind = type(value)
        try:
            found = parts(value)
        except TypeError as error:
            raise _unsupported(value, str(error)) from None
        position = self._types.setdefault(full_name(kind), len(self._types))
        slots = [
            self._noted(part, f"in the field {name} of a {kind.__name__}")
            for name, part in found.items()
        ]
        return ["object", position, *slots]

    def _noted(self, value: Any, where: str) -> Any:
        try:
            return self._slot(value)
        except TypeError as error:
            error.add_note(where)
            raise


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
            "scalar": lambda position: self._arrays[_index(position)][()],
        }

    def value(self) -> Any:
        """Return the value.

        Raises
        ------
        ArchiveError
            For values that their types do not take; without the name of a file.
        LookupError, TypeError, ValueError
            For a document that no encoder makes.
        """
        self._types = [_type(name) for name in self._document["types"]]
        for word, *slots in self._document["items"]:
            self._values.append(self._makers[word](*slots))
        return self._filled(self._document["value"])

    def _filled(self, slot: Any) -> Any:
        if type(slot) is list:
            (position,) = slot
            return self._values[_index(position)]
        if type(slot) is dict:
            raise TypeError
        return slot

    def _dict(self, *slots: Any) -> dict[str, Any]:
        keys = slots[::2]
        made = dict(zip(keys, map(self._filled, slots[1::2]), strict=True))
        if not all(type(key) is str for key in keys):
            raise TypeError
        return made

    def _object(self, position: Any, *slots: Any) -> Any:
        cls = self._types[_index(position)]
        values = list(map(self._filled, slots))
        try:
            return rebuilt(cls, values)
        except MemoryError:
            raise
        except Exception as error:
            why = shown(f"{type(error).__name__}: {error}")
            raise ArchiveError(
                f"holds an invalid {cls.__name__} ({why}); expected valid values"
            ) from None


def _type(name: Any) -> type:
    if name not in TYPES:
        raise ArchiveError(
            f"holds an unknown {shown(str(name))}; expected a type that is registered"
        )
    return TYPES[name]


def _index(position: Any) -> int:
    if type(position) is not int or position < 0:
        raise TypeError
    return position


def shown(text: str) -> str:
    """Return text on one line, and of bounded length."""
    line = " ".join(text.split())
    line = line if line.isprintable() else ascii(line)
    return line if len(line) <= 200 else f"{line[:197]}..."
