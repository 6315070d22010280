"""Stored types, and values of them as a JSON document and a list of arrays, and back.

The document is

    {"items": [[word, content], ...], "value": slot}

A slot is null, true, false, a number, a string, or [i] for item i. Items are, by their words:

    "tuple", "list"      [slot, ...]              "array", "scalar"    position of an array
    "dict"               {key: slot, ...}         name of a type       what its values are made of

The last is the name of a member of an enum, {field: slot, ...} of a dataclass, or the slot of what
`__getstate__` returns. An item refers only to items before it, so that reading needs no recursion
and nothing holds itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import ArchiveError

Stored = TypeVar("Stored", bound=type)

# By the names that archives have for them.
TYPES: dict[str, type] = {}

# Types of numbers that are the same on all machines, as a long double is not.
_CODES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
DTYPES = tuple(sorted({np.dtype(order + code).str for order in "<>" for code in _CODES}))
_INLINE = (type(None), bool, int, float, str)


def stored(cls: Stored) -> Stored:
    """Register a dataclass or an enum as a type that archives can hold, and return it.

    Dataclasses are stored by their fields, and rebuilt by their constructor, which takes all of
    them by name. What it takes beside them (`InitVar` with a default) is part of these
    fields already. One with a `__getstate__` of its own is stored by what that returns, and rebuilt
    by `__setstate__` without its constructor, so that copies, pickles and archives agree.
    """
    TYPES[full_name(cls)] = cls
    return cls


class Attached:
    """Base class of stored dataclasses that work on values which are not stored with them.

    A contraction is such a value. Methods `attach` set it, and what is derived from it. Copies,
    pickles and archives hold the fields that constructors take, and these alone.
    """

    def __getstate__(self) -> dict[str, Any]:
        of: Any = self
        return {
            field.name: getattr(self, field.name) for field in dataclasses.fields(of) if field.init
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def full_name(cls: type) -> str:
    """Return the name of a class with that of its module."""
    return f"{cls.__module__}.{cls.__qualname__}"


def has_own_state(cls: type) -> bool:
    """Return whether a class says itself what its copies are made from."""
    method: object = cls.__getstate__
    return method is not object.__getstate__


class Encoder:
    """Encoder of a value: its document, and the arrays that this refers to.

    An object or array that is in several places of the value (itself, not its equal) is one item.

    Raises
    ------
    TypeError
        For what an archive does not hold, with notes that say in what it is.
    """

    def __init__(self, value: Any) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._items: list[list[Any]] = []
        # By identity: the slot of an object, None while its parts are encoded. Objects are kept, so
        # that no other gets the identity of one meanwhile.
        self._slots: dict[int, list[int] | None] = {}
        self._kept: list[Any] = []
        slot = self._slot(value)
        self.document = {"items": self._items, "value": slot}

    def _slot(self, value: Any) -> Any:
        kind = type(value)
        if kind in _INLINE:
            return value
        if id(value) not in self._slots:
            self._slots[id(value)] = None
            self._kept.append(value)
            try:
                item = self._item(kind, value)
            except TypeError as error:
                error.add_note(f"in a {kind.__name__}")
                raise
            self._slots[id(value)] = [len(self._items)]
            self._items.append(item)
        slot = self._slots[id(value)]
        if slot is None:
            raise TypeError(f"an archive cannot hold a {kind.__name__} that holds itself")
        return slot

    def _item(self, kind: Any, value: Any) -> list[Any]:
        if kind is tuple or kind is list:
            return [kind.__name__, [*map(self._slot, value)]]
        if kind is dict and all(type(key) is str for key in value):
            return ["dict", {key: self._slot(part) for key, part in value.items()}]
        is_scalar = isinstance(value, np.generic)
        if (kind is np.ndarray or is_scalar) and value.dtype.str in DTYPES:
            self.arrays.append(np.asarray(value))
            return ["scalar" if is_scalar else "array", len(self.arrays) - 1]
        name = full_name(kind)
        if TYPES.get(name) != kind:
            raise TypeError(
                f"an archive cannot hold {shown(repr(value))}, a {name}; expected plain values, "
                "dictionaries by str, arrays of numbers and registered types"
            )
        if isinstance(value, Enum):
            return [name, kind[value.name].name]
        if has_own_state(kind):
            return [name, self._slot(value.__getstate__())]
        parts = [field.name for field in dataclasses.fields(kind)]
        return [name, {part: self._slot(getattr(value, part)) for part in parts}]


def decoded(document: Mapping[str, Any], arrays: Sequence[NDArray[Any]]) -> Any:
    """Return the value of a document.

    Nothing is called but the registered types, by the names of their fields, or their
    `__setstate__`, and no more memory is asked for than the document has bytes, times a constant.

    Raises
    ------
    ArchiveError
        For values that their types do not take; without the name of a file.
    AttributeError, LookupError, TypeError, ValueError
        For a document that no encoder makes.
    """
    values: list[Any] = []

    def filled(slot: Any) -> Any:
        if type(slot) is not list:
            return slot
        (position,) = slot
        return values[position]

    def entries(content: Mapping[str, Any]) -> dict[str, Any]:
        return {key: filled(slot) for key, slot in content.items()}

    for word, content in document["items"]:
        made: Any
        match word:
            case "tuple":
                made = tuple(map(filled, content))
            case "list":
                made = list(map(filled, content))
            case "dict":
                made = entries(content)
            case "array":
                made = arrays[content]
            case "scalar":
                made = arrays[content][()]
            case _:
                state = entries(content) if type(content) is dict else filled(content)
                made = _rebuilt(word, state)
        values.append(made)
    return filled(document["value"])


def _rebuilt(name: str, state: Any) -> Any:
    """Return a value of the type of this name."""
    if name not in TYPES:
        raise ArchiveError(f"holds an unknown {shown(name)}; expected a type that is registered")
    cls: Any = TYPES[name]
    try:
        if issubclass(cls, Enum):
            return cls[state]
        if not has_own_state(cls):
            return cls(**state)
        made = cls.__new__(cls)
        made.__setstate__(state)
    except MemoryError:
        raise
    except Exception as error:
        why = shown(f"{type(error).__name__}: {error}")
        raise ArchiveError(
            f"holds an invalid {cls.__name__} ({why}); expected valid values"
        ) from None
    return made


def shown(text: str) -> str:
    """Return text on one line, and of bounded length."""
    line = " ".join(text.split())
    line = line if line.isprintable() else ascii(line)
    return line if len(line) <= 200 else f"{line[:197]}..."
