"""What one table of a manifest says, and of which types its values are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sdpbb.batch.errors import BatchError
from sdpbb.declaration import value_text
from sdpbb.problem.textfile import is_integer, is_number, shown

_TEXT = "a text that is not empty"
_INTEGER = "an integer"
_NUMBER = "a number"
_FLAG = "true or false"
_NAMES = "a list of names"

_SIGNED = 2**63
"""Beyond TOML's integers, from -2^63 to 2^63 - 1."""

EXPECTED = {
    "data": _TEXT,
    "name": _TEXT,
    "k": _INTEGER,
    "constraints": _TEXT,
    "constraints_format": _TEXT,
    "one_based": _FLAG,
    "index_column": _TEXT,
    "drop": _NAMES,
    "gap": _NUMBER,
    "seed": _INTEGER,
    "bounding": _TEXT,
    "sdp_solver": _TEXT,
    "time_limit": _NUMBER,
    "node_limit": _INTEGER,
    "memory_limit": _NUMBER,
}
"""What the value of each key has to be."""


@dataclass(frozen=True)
class Entry:
    """A table of a manifest, or a line.

    where : file and line or table, for messages
    values : by key, each of the type that `EXPECTED` says
    states_k : whether k is stated here, and not only for all
    """

    where: str
    values: Mapping[str, Any]
    states_k: bool = False


def check_values(entry: Entry) -> None:
    """Refuse values of the wrong type, and integers that TOML does not have.

    Raises
    ------
    BatchError
        On the first of them.
    """
    for key, value in entry.values.items():
        expected = EXPECTED[key]
        if not _IS[expected](value):
            raise _wrong(entry.where, key, value_text(value, str))
        if expected == _INTEGER and not -_SIGNED <= value < _SIGNED:
            raise _wrong(entry.where, key, value_text(value), "an integer of at most 64 bits")


def from_text(where: str, key: str, text: str) -> Any:
    """The value that a field of a CSV file states.

    Raises
    ------
    BatchError
        If it is not of the type that the key asks for.
    """
    try:
        return _OF_TEXT[EXPECTED[key]](text)
    except (KeyError, ValueError):
        raise _wrong(where, key, text) from None


def _wrong(where: str, key: str, text: str, expected: str | None = None) -> BatchError:
    return BatchError(f"{where}: {key} = {shown(text)}; expected {expected or EXPECTED[key]}")


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _checked(text: str, is_right: Callable[[str], bool]) -> str:
    if not is_right(text):
        raise ValueError
    return text


_IS: Mapping[str, Callable[[Any], bool]] = {
    _TEXT: lambda value: isinstance(value, str) and bool(value),
    _INTEGER: _is_integer,
    _NUMBER: lambda value: isinstance(value, float) or _is_integer(value),
    _FLAG: lambda value: isinstance(value, bool),
    _NAMES: lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value),
}

_OF_TEXT: Mapping[str, Callable[[str], Any]] = {
    _TEXT: str,
    _INTEGER: lambda text: int(_checked(text, is_integer)),
    _NUMBER: lambda text: float(_checked(text, is_number)),
    _FLAG: lambda text: {"true": True, "false": False}[text.lower()],
    _NAMES: lambda text: [name.strip() for name in text.split(";")],
}
