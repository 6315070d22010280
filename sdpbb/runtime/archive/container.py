"""Container files: a JSON document and the arrays that it refers to.

    sdpbb-<kind> <version>\\n
    <decimal length of the document in bytes>\\n
    <the document: a JSON object, UTF-8>
    <the arrays, one after the other>
    <checksum of everything before>

The document's "arrays" lists dtype, shape and length of each array. Arrays are as they are in
memory, in C order.
"""

from __future__ import annotations

import io
import itertools
import json
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import ArchiveError

# Digits of whole numbers: of the length of the document, and within it.
_MAX_DIGITS, _MAX_DIGITS_WITHIN = 15, 20
# Rows or columns of an array, at most.
_MAX_SIZE = 2**40
_LONGEST_LINE = 100
_CHUNK = 2**18


@dataclass(frozen=True)
class Format:
    """Kind of container file.

    name, version : in the first line; the name is one word
    dtypes : that arrays may have; those of other byte orders are written as little-endian
    dimensions : that arrays may have
    checksum : of a file: makes an object with the interface of hashlib's
    """

    name: str
    version: int
    dtypes: Collection[str]
    dimensions: range
    checksum: Callable[[], Any]

    @property
    def first_line(self) -> bytes:
        return b"sdpbb-%s %d\n" % (self.name.encode(), self.version)


@dataclass(frozen=True)
class StoredArray:
    """Array in a file: its dtype and shape, and the place of its bytes."""

    dtype: str
    shape: tuple[int, ...]
    file: io.BufferedIOBase
    place: range

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    def load(self) -> NDArray[Any]:
        """Return the array.

        Raises
        ------
        ArchiveError
            If the bytes are no such array. No more memory is taken than its shape says.
        """
        try:
            array = np.empty(self.shape, self.dtype)
        except ValueError:  # too many dimensions, or too long ones, of no entries
            raise ArchiveError(
                "the shape of an array is too large; expected a smaller one"
            ) from None
        self.file.seek(self.place.start)
        length = self.file.readinto(_bytes_of(array))
        if length < self.nbytes:
            raise _damaged()
        return array


def write(
    file: BinaryIO, kind: Format, document: dict[str, Any], arrays: Sequence[NDArray[Any]]
) -> None:
    """Write a file; "arrays" of the document is filled in here.

    Arrays are copied only if they are not in C order, one at a time.

    Raises
    ------
    ValueError
        If the document holds numbers that are not finite or text that is not Unicode, or an array
        is of a dtype that such files do not have.
    """
    dtypes = [_stored_dtype(array, kind, position) for position, array in enumerate(arrays)]
    shapes, lengths = [array.shape for array in arrays], [array.nbytes for array in arrays]
    contents: Iterable[Any] = map(_bytes_of, arrays, dtypes)
    table = list(zip(dtypes, shapes, lengths, strict=True))
    text = json.dumps(
        {**document, "arrays": table}, separators=(",", ":"), allow_nan=False, ensure_ascii=False
    ).encode()
    checksum = kind.checksum()
    head = b"%s%d\n%s" % (kind.first_line, len(text), text)
    for content in itertools.chain([head], contents):
        checksum.update(content)
        file.write(content)
    file.write(checksum.digest())


def _stored_dtype(array: NDArray[Any], kind: Format, position: int) -> str:
    for dtype in (array.dtype.str, array.dtype.newbyteorder("<").str):
        if dtype in kind.dtypes:
            return dtype
    raise ValueError(f"arrays[{position}]: {array.dtype}; expected one of {kind.dtypes}")


def _bytes_of(array: NDArray[Any], dtype: str | None = None) -> memoryview:
    """Return the bytes of an array in C order, as a dtype: a view if they are that, else a copy."""
    return np.ascontiguousarray(array, dtype).reshape(-1).view(np.uint8).data


def find_document(file: io.BufferedIOBase, kind: Format) -> range:
    """Return the place of the document in a file of a kind; nothing but the head is read.

    Raises
    ------
    ArchiveError
        If the file does not begin as those of that kind do, or is shorter than its document.
    """
    file.seek(0)
    first = file.readline(_LONGEST_LINE)
    if not first:
        raise ArchiveError(f"the file is empty; expected an sdpbb {kind.name}")
    found = re.fullmatch(rb"sdpbb-(\w+) (\d{1,9})\n", first)
    if found is None:
        raise ArchiveError(f"is not an sdpbb {kind.name}, or not all of it; expected a whole one")
    if found[1] != kind.name.encode():
        raise ArchiveError(f"is an sdpbb {found[1].decode()}; expected an sdpbb {kind.name}")
    if int(found[2]) != kind.version:
        raise ArchiveError(
            f"is in format {int(found[2])} of another version of sdpbb, which can read it; "
            f"expected format {kind.version}"
        )
    digits = file.readline(_MAX_DIGITS + 1).removesuffix(b"\n")
    start = file.tell()
    if not digits.isdigit() or start != len(b"%s%d\n" % (first, int(digits))):
        raise _damaged()
    place = range(start, start + int(digits))
    size, least = file.seek(0, os.SEEK_END), place.stop + kind.checksum().digest_size
    if size < least:
        raise ArchiveError(f"is incomplete: it has {size:,} bytes; expected at least {least:,}")
    return place


def read(file: io.BufferedIOBase, kind: Format) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """Return the document of a file, without "arrays", and its arrays.

    Raises
    ------
    ArchiveError
        If the file is not exactly as this module says.
    """
    place = find_document(file, kind)
    is_sound = _has_its_checksum(file, kind)
    file.seek(place.start)
    try:
        document = _parsed(file.read(len(place)))
        stored = _stored(document.pop("arrays", None), kind, file, place.stop)
    except ArchiveError:
        if is_sound:
            raise
        raise _damaged() from None
    end = stored[-1].place.stop if stored else place.stop
    size, whole = file.seek(0, os.SEEK_END), end + kind.checksum().digest_size
    if size != whole:
        raise ArchiveError(
            f"is {'incomplete' if size < whole else 'damaged'}: it has {size:,} bytes; "
            f"expected {whole:,}, as it was written"
        )
    if not is_sound:
        raise _damaged()
    return document, [array.load() for array in stored]


def _damaged() -> ArchiveError:
    return ArchiveError("is damaged; expected the file as it was written")


def _has_its_checksum(file: io.BufferedIOBase, kind: Format) -> bool:
    checksum = kind.checksum()
    left = file.seek(0, os.SEEK_END) - checksum.digest_size
    file.seek(0)
    while left > 0 and (chunk := file.read(min(left, _CHUNK))):
        checksum.update(chunk)
        left -= len(chunk)
    return bool(file.read() == checksum.digest())


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        document = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_distinct,
            parse_constant=_finite,
            parse_float=_finite,
            parse_int=_whole,
        )
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"the document is not JSON ({error}); expected a JSON object") from None
    if not isinstance(document, dict):
        raise ArchiveError("the document is not a JSON object; expected one")
    return document


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ArchiveError("the document names a key twice; expected each key once")
    return values


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ArchiveError(f"the document holds {digits[:20]}; expected finite numbers")
    return number


def _whole(digits: str) -> int:
    if len(digits) > _MAX_DIGITS_WITHIN:
        raise ArchiveError(
            f"the document holds a whole number of {len(digits)} digits; expected at most "
            f"{_MAX_DIGITS_WITHIN}"
        )
    return int(digits)


def _stored(table: Any, kind: Format, file: io.BufferedIOBase, start: int) -> list[StoredArray]:
    """Return the arrays that a table lists, the first of which begins at start."""
    if not isinstance(table, list):
        raise ArchiveError("arrays: expected a list")
    stored = []
    for position, entry in enumerate(table):
        dtype, shape, length = _entry(entry, position, kind)
        place = range(start, start + length)
        array = StoredArray(dtype, shape, file, place)
        start = place.stop
        if array.nbytes != length:
            raise ArchiveError(
                f"arrays[{position}]: {array.nbytes} bytes from {length} stored ones; expected a "
                "shape that fits"
            )
        stored.append(array)
    return stored


def _entry(entry: Any, position: int, kind: Format) -> tuple[str, tuple[int, ...], int]:
    where = f"arrays[{position}]"
    if not isinstance(entry, list) or len(entry) != 3:
        raise ArchiveError(f"{where}: expected dtype, shape and length")
    dtype, shape, length = entry
    if type(dtype) is not str or dtype not in kind.dtypes:
        raise ArchiveError(f"{where}: expected a dtype among {', '.join(kind.dtypes)}")
    if not isinstance(shape, list) or len(shape) not in kind.dimensions:
        least, most = kind.dimensions[0], kind.dimensions[-1]
        raise ArchiveError(f"{where}: expected a shape of {least} to {most} dimensions")
    if not all(type(size) is int and 0 <= size < _MAX_SIZE for size in [*shape, length]):
        raise ArchiveError(f"{where}: expected whole numbers >= 0, below 2^40, as shape and length")
    return dtype, tuple(shape), length
