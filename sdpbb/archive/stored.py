"""Registry of the dataclasses and enums that archives can hold."""

from __future__ import annotations

import dataclasses
import inspect
from enum import Enum
from typing import TypeVar

Stored = TypeVar("Stored", bound=type)

# By name, which is what an archive tells them by.
TYPES: dict[str, type] = {}


def stored(cls: Stored) -> Stored:
    """Register a dataclass or an enum as a type that archives can hold, and return it.

    Dataclasses are stored by the fields that their constructors take. One with a `__getstate__` of
    its own is stored by what that returns, and rebuilt by `__setstate__` without its constructor,
    so that copies, pickles and archives agree.

    Raises
    ------
    TypeError
        If another type has that name, or the class cannot be rebuilt from what is stored.
    """
    name = cls.__name__
    if TYPES.get(name, cls) is not cls:
        raise TypeError(f"two types of archives have the name {name}")
    if not issubclass(cls, Enum):
        if not dataclasses.is_dataclass(cls):
            raise TypeError(f"{name} is neither a dataclass nor an enum")
        if not has_own_state(cls) and set(inspect.signature(cls).parameters) != set(fields(cls)):
            raise TypeError(f"{name} is not made from all of its fields, and from these alone")
    TYPES[name] = cls
    return cls


def fields(cls: type) -> list[str]:
    """Return the names of the fields of a dataclass."""
    return [field.name for field in dataclasses.fields(cls)]


def has_own_state(cls: type) -> bool:
    """Return whether a class says itself what its copies are made from."""
    method: object = cls.__getstate__
    return method is not object.__getstate__
