"""Decoder of archives: nested values from a document and arrays; see `sdpbb.archive.encoder`."""

from __future__ import annotations

import dataclasses
import json
import math
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.archive.encoder import is_plain, shown
from sdpbb.archive.stored import TYPES, fields, has_own_state
from sdpbb.errors import ArchiveError

_LENGTHS = range(2**63)


class Decoder:
    """Decoder of an archive: rebuilds a value from its document and arrays.

    Use: `Decoder(document)`, `blank_arrays`, which the caller fills, `value`. Nothing is called but
    the registered types, by the names of their fields, or their `__setstate__`, and no more memory
    is asked for than the document has bytes, times a constant, and the arrays that the caller
    allows.

    Raises
    ------
    ArchiveError
        Without the name of a file.
    """

    def __init__(self, document: bytes) -> None:
        try:
            parsed = json.loads(document.decode("utf-8", "surrogatepass"))
            self._fields = {name: list(names) for name, names in parsed["types"].items()}
            self._described = [(dtype, tuple(shape), o) for dtype, shape, o in parsed["arrays"]]
            self._items = list(parsed["items"])
            self._root = parsed["value"]
        except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
            raise _malformed() from None
        for name, names in self._fields.items():
            expected = fields(_type(name, dataclasses.is_dataclass))
            if sorted(map(str, names)) != sorted(expected):
                raise ArchiveError(
                    f"holds a {name} of ({shown(', '.join(map(str, names)))}); "
                    f"expected ({', '.join(expected)})"
                )

    def blank_arrays(self, n_bytes: int) -> Iterator[NDArray[Any]]:
        """Yield the arrays, of n_bytes altogether, for their contents to be filled in."""
        sizes = []
        for dtype, shape, order in self._described:
            counts = all(type(length) is int and length in _LENGTHS for length in shape)
            if not (is_plain(dtype) and order in ("C", "F") and counts and len(shape) <= 64):
                raise _malformed()
            sizes.append(math.prod(shape) * np.dtype(dtype).itemsize)
        if sum(sizes) != n_bytes:
            raise _malformed()
        for dtype, shape, order in self._described:
            try:
                yield np.empty(shape, dtype, order)
            except ValueError:  # too many dimensions, or too long ones, to no entries
                raise _malformed() from None

    def value(self, arrays: list[NDArray[Any]]) -> Any:
        """Return the value, with the given arrays in it."""
        self._arrays = arrays
        self._values: list[Any] = []
        makers: dict[str, Callable[..., Any]] = {
            "tuple": lambda *slots: tuple(map(self._filled, slots)),
            "list": lambda *slots: list(map(self._filled, slots)),
            "dict": self._dict,
            "enum": self._enum,
            "object": self._object,
            "state": self._state,
            "array": lambda position: self._arrays[_index(position)],
            "scalar": _scalar,
            "int": lambda digits: int(digits, 16),
            "float": lambda digits: struct.unpack(">d", bytes.fromhex(digits))[0],
        }
        try:
            for word, *parts in self._items:
                self._values.append(makers[word](*parts))
            return self._filled(self._root)
        except (LookupError, TypeError, ValueError, struct.error):
            raise _malformed() from None

    def _filled(self, slot: Any) -> Any:
        if type(slot) is list:
            (position,) = slot
            return self._values[_index(position)]
        if type(slot) is dict:
            raise _malformed()
        return slot

    def _dict(self, *parts: Any) -> dict[str, Any]:
        keys, slots = parts[::2], parts[1::2]
        made = dict(zip(keys, map(self._filled, slots), strict=True))
        if len(made) < len(keys) or not all(type(key) is str for key in keys):
            raise _malformed()
        return made

    def _enum(self, name: str, member: str) -> Enum:
        kind: type[Enum] = _type(name, lambda cls: issubclass(cls, Enum))
        if member not in kind.__members__:
            raise ArchiveError(
                f"holds {shown(f'{name}.{member}')}; expected {', '.join(kind.__members__)}"
            )
        return kind[member]

    def _object(self, name: str, *slots: Any) -> Any:
        values = dict(zip(self._fields[name], map(self._filled, slots), strict=True))
        kind = _type(name, lambda cls: dataclasses.is_dataclass(cls) and not has_own_state(cls))
        with _validation(name):
            return kind(**values)

    def _state(self, name: str, slot: Any) -> Any:
        kind = _type(name, lambda cls: dataclasses.is_dataclass(cls) and has_own_state(cls))
        state = self._filled(slot)
        with _validation(name):
            made = kind.__new__(kind)
            made.__setstate__(state)
            return made


@contextmanager
def _validation(name: str) -> Iterator[None]:
    """Context manager: any error of a constructor becomes an ArchiveError that names the type."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        why = shown(f"{type(error).__name__}: {error}")
        raise ArchiveError(f"holds what is no {name} ({why}); expected valid values") from None


def _type(name: Any, is_fit: Callable[[type], bool]) -> Any:
    if type(name) is not str:
        raise _malformed()
    if name not in TYPES or not is_fit(TYPES[name]):
        expected = shown(", ".join(TYPES)) or "plain values"
        raise ArchiveError(f"holds an unknown {shown(name)}; expected {expected}")
    return TYPES[name]


def _index(position: Any) -> int:
    if type(position) is not int or position < 0:
        raise _malformed()
    return position


def _scalar(dtype: str, digits: str) -> np.generic:
    if not is_plain(dtype):
        raise _malformed()
    scalar: np.generic
    (scalar,) = np.frombuffer(bytes.fromhex(digits), dtype)
    return scalar


def _malformed() -> ArchiveError:
    return ArchiveError("its contents make no sense; expected a file as it was written")
