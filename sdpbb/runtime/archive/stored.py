"""Registry of the dataclasses and enums that archives can hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from enum import Enum
from typing import Any, TypeVar

Stored = TypeVar("Stored", bound=type)

# By the names that archives have for them.
TYPES: dict[str, type] = {}


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


def parts(value: Any) -> dict[str, Any]:
    """Return the parts of a value of a registered type, by their names.

    Raises
    ------
    TypeError
        For a combination of flags, which has no name of its own.
    """
    cls: Any = type(value)
    if isinstance(value, Enum):
        if cls.__members__.get(value.name) is not value:
            raise TypeError(f"expected a member of {cls.__name__}")
        return {"name": value.name}
    if has_own_state(cls):
        return {"state": value.__getstate__()}
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(cls)}


def rebuilt(cls: Any, values: Sequence[Any]) -> Any:
    """Return a value of a registered type from its parts; any error may be raised."""
    if issubclass(cls, Enum):
        (name,) = values
        return cls[name]
    if has_own_state(cls):
        (state,) = values
        made = cls.__new__(cls)
        made.__setstate__(state)
        return made
    names = [field.name for field in dataclasses.fields(cls)]
    return cls(**dict(zip(names, values, strict=True)))
