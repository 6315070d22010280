"""File format of certificates: a JSON document and the arrays that it refers to.

    sdpbb-certificate 2\\n
    <decimal length of the document in bytes>\\n
    <the document: a JSON object, UTF-8>
    <the arrays, one after the other, each compressed by zlib>
    <SHA-256 of everything before, 32 bytes>

The document's "arrays" lists dtype, shape and compressed length of each array. Arrays are
little-endian and in C order.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .rejection import Rejected

_FORMAT = 2
MAGIC = b"sdpbb-certificate %d\n" % _FORMAT
DTYPES = ("<f8", "<f4", "<i8", "<i4", "|u1")
# What all arrays together may occupy. A sound certificate of more would be of millions of nodes.
MAX_BYTES = 8 * 2**30
# A byte of zlib's stands for at most 1032 (https://zlib.net/zlib_tech.html); some for the ends.
_MAX_RATIO = 1032
_DIGEST = 32
# Of zlib: files are a few per cent larger than at the next levels, and written in a third of the
# time.
_LEVEL = 1
# Of a whole number: of the length of the document, of anything in it.
_MAX_DIGITS, _MAX_DIGITS_WITHIN = 15, 20
# What an array may have of rows or columns.
_MAX_SIZE = 2**40


@dataclass(frozen=True)
class StoredArray:
    """An array as it is stored: its dtype and shape, and the bytes they are compressed to."""

    dtype: str
    shape: tuple[int, ...]
    compressed: memoryview

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    def load(self) -> NDArray[Any]:
        """The array, read-only.

        Raises
        ------
        Rejected
            If the bytes are no such array. No more memory is taken than its shape says.
        """
        inflater = zlib.decompressobj()
        try:
            content = inflater.decompress(self.compressed, self.nbytes + 1)
        except zlib.error as error:
            raise Rejected(f"an array is not compressed as zlib does it ({error})") from None
        if len(content) != self.nbytes or not inflater.eof or inflater.unused_data:
            raise Rejected(f"an array has not the length that its shape {list(self.shape)} says")
        return np.frombuffer(content, self.dtype).reshape(self.shape)


class Arrays(Sequence[NDArray[Any]]):
    """Arrays of a file, decompressed whenever one is taken.

    Memory is that of the ones in use.
    """

    def __init__(self, stored: Sequence[StoredArray]) -> None:
        self.stored = tuple(stored)

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return [array.load() for array in self.stored[position]]
        return self.stored[position].load()


def pack(document: dict[str, Any], arrays: Sequence[NDArray[Any]]) -> bytes:
    """Return the bytes of a file; "arrays" of the document is filled in here.

    Raises
    ------
    ValueError
        If the document holds numbers that are not finite, or an array is of a dtype that files
        have not.
    """
    compressed = []
    table = []
    for position, array in enumerate(arrays):
        dtype = array.dtype.newbyteorder("<").str
        if dtype not in DTYPES:
            raise ValueError(f"arrays[{position}]: {array.dtype}; expected one of {DTYPES}")
        content = zlib.compress(np.ascontiguousarray(array, dtype=dtype).tobytes(), _LEVEL)
        compressed.append(content)
        table.append([dtype, list(array.shape), len(content)])
    text = json.dumps(
        {**document, "arrays": table},
        separators=(",", ":"),
        allow_nan=False,
        ensure_ascii=False,
    ).encode()
    content = b"".join([MAGIC, b"%d\n" % len(text), text, *compressed])
    return content + hashlib.sha256(content).digest()


def unpack(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return the document of a file, without "arrays", and its arrays.

    Raises
    ------
    Rejected
        If the file is not exactly as this module says; the arrays' contents are checked when they
        are taken.
    """
    content = memoryview(data)
    if bytes(content[: len(MAGIC)]) != MAGIC:
        raise Rejected(_other_format(bytes(content[:40])))
    if len(content) < len(MAGIC) + _DIGEST:
        raise Rejected("the file is cut off")
    content, digest = content[:-_DIGEST], bytes(content[-_DIGEST:])
    if hashlib.sha256(content).digest() != digest:
        raise Rejected("the file is damaged: its SHA-256 digest is another one")
    start, length = _document_place(content)
    document = _parsed(bytes(content[start : start + length]))
    stored = _stored(document.pop("arrays", None), content[start + length :])
    return document, Arrays(stored)


def _other_format(head: bytes) -> str:
    """Reason why a file with these first bytes cannot be read."""
    other = re.match(rb"sdpbb-certificate (\d{1,9})\n", head)
    if other is None:
        return f"the file does not begin with {MAGIC.decode().strip()!r}"
    return (
        f"the file is a certificate of format {int(other[1])}; expected format {_FORMAT}: the "
        "sdpbb that wrote it can check it, or the run has to be repeated"
    )


def _document_place(content: memoryview) -> tuple[int, int]:
    head = bytes(content[len(MAGIC) : len(MAGIC) + _MAX_DIGITS + 1])
    digits, newline, _ = head.partition(b"\n")
    if not newline or not digits.isdigit() or digits != b"%d" % int(digits):
        raise Rejected("the second line is not the length of the document")
    start, length = len(MAGIC) + len(digits) + 1, int(digits)
    if start + length > len(content):
        raise Rejected("the document is longer than the file")
    return start, length


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        document = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_distinct,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_whole,
        )
    except (ValueError, RecursionError) as error:
        raise Rejected(f"the document is not the JSON it should be ({error})") from None
    if not isinstance(document, dict):
        raise Rejected("the document is not a JSON object")
    return document


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise Rejected("the document names a key twice")
    return values


def _refuse_constant(name: str) -> NoReturn:
    raise Rejected(f"the document holds {name}; expected finite numbers")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise Rejected(f"the document holds {digits[:20]}; expected finite numbers")
    return number


def _whole(digits: str) -> int:
    if len(digits) > _MAX_DIGITS_WITHIN:
        raise Rejected(
            f"the document holds a whole number of {len(digits)} digits; expected at most "
            f"{_MAX_DIGITS_WITHIN}"
        )
    return int(digits)


def _stored(table: Any, content: memoryview) -> list[StoredArray]:
    if not isinstance(table, list):
        raise Rejected("arrays: expected a list")
    stored = []
    start = total = 0
    for position, entry in enumerate(table):
        dtype, shape, length = _entry(entry, position)
        array = StoredArray(dtype, shape, content[start : start + length])
        start += length
        total += array.nbytes
        if start > len(content):
            raise Rejected(f"arrays[{position}]: the file ends before it does")
        if total > MAX_BYTES:
            raise Rejected(f"the arrays are of more than {MAX_BYTES} bytes")
        if array.nbytes > _MAX_RATIO * length:
            raise Rejected(f"arrays[{position}]: too large for {length} compressed bytes")
        stored.append(array)
    if start != len(content):
        raise Rejected(f"{len(content) - start} bytes after the last array")
    return stored


def _entry(entry: Any, position: int) -> tuple[str, tuple[int, ...], int]:
    if not isinstance(entry, list) or len(entry) != 3:
        raise Rejected(f"arrays[{position}]: expected dtype, shape and length")
    dtype, shape, length = entry
    if dtype not in DTYPES:
        raise Rejected(f"arrays[{position}]: expected a dtype among {', '.join(DTYPES)}")
    if not isinstance(shape, list) or not 1 <= len(shape) <= 2:
        raise Rejected(f"arrays[{position}]: expected a shape of one or two dimensions")
    if not all(type(size) is int and size >= 0 for size in [*shape, length]):
        raise Rejected(f"arrays[{position}]: expected whole numbers >= 0 as shape and length")
    if max([*shape, length]) >= _MAX_SIZE:
        raise Rejected(f"arrays[{position}]: the arrays are of more than {MAX_BYTES} bytes")
    return dtype, tuple(shape), length
