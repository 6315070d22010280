"""Registry of the dataclasses and enums that archives can hold."""

from __future__ import annotations

import dataclasses
import functools
from enum import Enum
from typing import Any, TypeVar

Stored = TypeVar("Stored", bound=type)

# By the names that archives have for them.
TYPES: dict[str, type] = {}


def stored(cls: Stored) -> Stored:
    """Register a dataclass or an enum as a type that archives can hold, and return it.

    Dataclasses are stored by the fields that their constructors take. What a constructor takes
    beside them (`InitVar` with a default) is part of these fields already. One with a
    `__getstate__` of its own is stored by what that returns, and rebuilt by `__setstate__` without
    its constructor, so that copies, pickles and archives agree.

    Raises
    ------
    TypeError
        If another type has that name, or the class cannot be rebuilt from what is stored.
    """
    name = full_name(cls)
    if TYPES.get(name, cls) is not cls:
        raise TypeError(f"two types of archives have the name {name}")
    if not issubclass(cls, Enum):
        if not dataclasses.is_dataclass(cls):
            raise TypeError(f"{name} is neither a dataclass nor an enum")
        if not has_own_state(cls) and _arguments(cls) != set(fields(cls)):
            raise TypeError(f"{name} is not made from all of its fields, and from these alone")
    TYPES[name] = cls
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


def _arguments(cls: Any) -> set[str]:
    """Return the names of the arguments of a constructor; `inspect.signature` takes far longer."""
    code = cls.__init__.__code__
    arguments: set[str] = {*code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]}
    beside = {
        name
        for name, field in cls.__dataclass_fields__.items()
        if name not in fields(cls) and field.default is not dataclasses.MISSING
    }
    return arguments - beside


def full_name(cls: type) -> str:
    """Return the name of a class with that of its module."""
    return f"{cls.__module__}.{cls.__qualname__}"


def has_own_state(cls: type) -> bool:
    """Return whether a class says itself what its copies are made from."""
    method: object = cls.__getstate__
    return method is not object.__getstate__


@functools.cache
def fields(cls: Any) -> list[str]:
    """Return the names of the parts that values of a registered type are stored by."""
    if issubclass(cls, Enum):
        return ["name"]
    if has_own_state(cls):
        return ["state"]
    return [field.name for field in dataclasses.fields(cls)]


def parts(value: Any) -> list[Any]:
    """Return the parts of a value of a registered type.

    Raises
    ------
    TypeError
        For a combination of flags, which has no name of its own.
    """
    cls: Any = type(value)
    if isinstance(value, Enum):
        if cls.__members__.get(value.name) is not value:
            raise TypeError(f"expected a member of {cls.__name__}")
        return [value.name]
    if has_own_state(cls):
        return [value.__getstate__()]
    return [getattr(value, name) for name in fields(cls)]


def is_made_from(cls: Any, names: Any) -> bool:
    """Return whether values of a registered type are made from parts of these names.

    Those that are missing have defaults: archives that are older than a field do not have it.
    """
    expected = fields(cls)
    if names == expected or issubclass(cls, Enum) or has_own_state(cls):
        return bool(names == expected)
    missing = [field for field in dataclasses.fields(cls) if field.name not in names]
    none = dataclasses.MISSING
    return names == [name for name in expected if name in names] and all(
        field.default is not none or field.default_factory is not none for field in missing
    )


def rebuilt(cls: Any, names: list[str], values: list[Any]) -> Any:
    """Return a value of a registered type from its parts of these names; any error may be raised.

    The names are such that `is_made_from` holds.
    """
    if issubclass(cls, Enum):
        (name,) = values
        return cls[name]
    if has_own_state(cls):
        (state,) = values
        made = cls.__new__(cls)
        made.__setstate__(state)
        return made
    return cls(**dict(zip(names, values, strict=True)))
