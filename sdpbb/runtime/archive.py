"""Stored types, and values of them as a JSON document and a list of arrays, and back.

A value is None, a bool, an int of any size, a float, a str, a NumPy array or scalar of numbers or
bools, a member of an enum, or a dataclass, tuple, list or dict with str keys of values. Dataclasses
and enums must be registered by `@stored`, and are stored by their full names.

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
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Stored = TypeVar("Stored", bound=type)

# Registered types by their names in archives.
TYPES: dict[str, type] = {}


def stored(cls: Stored) -> Stored:
    """Register a dataclass or an enum as a type that archives can hold, and return it.

    Dataclasses are stored by their fields, and rebuilt by their constructor with all fields as
    keywords. An `InitVar` needs a default. A class that defines `__getstate__` is stored by its
    value, and rebuilt by `__setstate__` without its constructor, so that copies, pickles and
    archives agree.
    """
    TYPES[full_name(cls)] = cls
    return cls


class Attached:
    """Base class of stored dataclasses that use a value, such as a contraction, unstored.

    A method `attach` sets this value, and attributes derived from it. Copies, pickles and archives
    hold the fields of the constructor only.
    """

    def __getstate__(self) -> dict[str, Any]:
        of: Any = self
        return {
            field.name: getattr(self, field.name) for field in dataclasses.fields(of) if field.init
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def full_name(cls: type) -> str:
    """Return the name of a class with the name of its module."""
    return f"{cls.__module__}.{cls.__qualname__}"


def has_own_state(cls: type) -> bool:
    """Return whether a class defines `__getstate__`."""
    method: object = cls.__getstate__
    return method is not object.__getstate__


class Encoder:
    """Encoder of a value: its document, and the arrays to which the document refers.

    An object that is in several places of the value is one item; equal objects are several items.

    Raises
    ------
    TypeError
        If an archive cannot hold the value.
    """

    def __init__(self, value: Any) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._items: list[tuple[str, Any]] = []
        # Slots by the identities of objects, which stay alive so that identities stay unique.
        self._slots: dict[int, list[int]] = {}
        self._kept: list[Any] = []
        slot = self._slot(value)
        self.document = {"items": self._items, "value": slot}

    def _slot(self, value: Any) -> Any:
        if type(value) in (type(None), bool, int, float, str):
            return value
        if id(value) not in self._slots:
            self._kept.append(value)
            self._items.append(self._item(type(value), value))
            self._slots[id(value)] = [len(self._items) - 1]
        return self._slots[id(value)]

    def _item(self, kind: Any, value: Any) -> tuple[str, Any]:
        if kind is tuple or kind is list:
            return kind.__name__, [*map(self._slot, value)]
        if kind is dict and all(type(key) is str for key in value):
            return "dict", self._slots_of(value)
        is_scalar = isinstance(value, np.generic)
        if (kind is np.ndarray or is_scalar) and value.dtype.kind in "biufc":
            self.arrays.append(np.asarray(value))
            return "scalar" if is_scalar else "array", len(self.arrays) - 1
        name = full_name(kind)
        if TYPES.get(name) != kind:
            raise TypeError(
                f"an archive cannot hold a {name}; expected plain values, dictionaries by str, "
                "arrays of numbers and registered types"
            )
        if isinstance(value, Enum):
            return name, value.name
        if has_own_state(kind):
            return name, self._slot(value.__getstate__())
        fields = dataclasses.fields(kind)
        return name, self._slots_of({each.name: getattr(value, each.name) for each in fields})

    def _slots_of(self, values: dict[str, Any]) -> dict[str, Any]:
        return {key: self._slot(part) for key, part in values.items()}


def decoded(document: Mapping[str, Any], arrays: Sequence[NDArray[Any]]) -> Any:
    """Return the value of a document.

    It calls only the constructors of registered types, or their `__setstate__`.

    Raises
    ------
    Exception
        If no encoder makes such a document, or a type does not support a value.
    """
    values: list[Any] = []

    def filled(slot: Any) -> Any:
        if type(slot) is not list:
            return slot
        (position,) = slot
        return values[position]

    for word, content in document["items"]:
        made: Any
        match word:
            case "tuple" | "list":
                made = list(map(filled, content))
                made = tuple(made) if word == "tuple" else made
            case "array" | "scalar":
                made = arrays[content]
                made = made[()] if word == "scalar" else made
            case _:
                is_entries = type(content) is dict
                made = {k: filled(v) for k, v in content.items()} if is_entries else filled(content)
                made = made if word == "dict" else _rebuilt(word, made)
        values.append(made)
    return filled(document["value"])


def _rebuilt(name: str, state: Any) -> Any:
    """Return a value of the type of this name."""
    module = name.rpartition(".")[0]
    if module.startswith(
        ("sdpbb.", "heuristics.")
    ):  # other modules have registered their types already
        import_module(module)
    cls: Any = TYPES[name]
    if issubclass(cls, Enum):
        return cls[state]
    if not has_own_state(cls):
        return cls(**state)
    made = cls.__new__(cls)
    made.__setstate__(state)
    return made
