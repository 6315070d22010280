"""Archive of a certificate: arrays by name in one file, as `numpy.savez_compressed` writes them.

`numpy.load(file, allow_pickle=False)` reads it, too. This reader trusts nothing in a file. It reads
an array only if its type and shape are expected, and its member of the archive is as long as these
say.
"""

from __future__ import annotations

import copy
import io
import math
import struct
import zipfile
import zlib
from collections.abc import Iterable
from contextlib import suppress
from typing import IO, Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from .rejection import Rejected

FORMAT = 4
"""Version of the format of certificates, which docs/certificate_format.md describes."""

REALS, NUMBERS, PARTS, TEXT = ("<f8", "<f4"), ("<i4",), ("<i8",), ("|u1",)
"""Types that arrays of each kind may have."""

# A certificate with more bytes would have millions of nodes.
_MAX_BYTES = 8 * 2**30
# The earliest date of ZIP, so that equal contents make equal files.
_DATE = (1980, 1, 1, 0, 0, 0)
# Text is not compressed: parsing it takes memory in proportion to the size of the file.
_METHODS = (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED)
# Higher levels make files a few per cent smaller, and take three times as long.
_LEVEL = 1
# Errors of Python and NumPy on a damaged file.
_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(RuntimeError, ValueError, LookupError, OverflowError),
)

Length = int | range
"""Length of a dimension of an array, or the range of its allowed lengths."""


class Archive:
    """Arrays of a file, each of which is read when it is taken."""

    def __init__(self, file: BinaryIO) -> None:
        """file : open until all arrays are taken

        Raises
        ------
        Rejected
            If it is not an archive of moderate size.
        """
        _check_head(file)
        try:
            self._file = zipfile.ZipFile(file)
            found = self._file.infolist()
        except _ERRORS as error:
            raise _damaged(error) from None
        self._members = {entry.filename.removesuffix(".npy"): entry for entry in found}
        if len(self._members) < len(found):
            raise Rejected("the archive has an array twice; expected each once")
        if sum(entry.file_size for entry in found) > _MAX_BYTES:
            raise Rejected(f"the arrays are of more than {_MAX_BYTES} bytes; expected fewer")
        self._taken: set[str] = set()
        self._prefix = ""

    def of_step(self, number: int) -> Self:
        """Return the arrays of a step, under the names that they have in it."""
        own = copy.copy(self)
        own._prefix = f"{number}."
        return own

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._members

    def take(self, name: str, dtypes: tuple[str, ...], *lengths: Length) -> NDArray[Any]:
        """Return the read-only array; check its type and shape.

        Raises
        ------
        Rejected
            If it is missing, or its type or shape differs.
        """
        name = self._prefix + name
        if name not in self._members:
            raise Rejected(f"{name}: there is no such array in the file; expected it")
        entry = self._members[name]
        try:
            with self._file.open(entry) as stream:
                shape, dtype = _header(stream, name)
                _check_shape(name, shape, dtype.str, dtypes, lengths)
                length = stream.tell() + math.prod(shape) * dtype.itemsize
                if entry.file_size != length:
                    raise Rejected(f"{name}: is not as long as its shape says")
                if entry.compress_type not in _METHODS[dtype == np.uint8 :]:
                    raise Rejected(f"{name}: is not stored as such arrays are")
                array = np.frombuffer(stream.read(), dtype).reshape(shape)
        except _ERRORS as error:
            raise _damaged(error) from None
        self._taken.add(name)
        return array

    def require_all_taken(self) -> None:
        """Raise `Rejected` if the file has an array that no step has taken."""
        for name in self._members:
            if name not in self._taken:
                raise Rejected(f"{name[:40]!r}: no step has such an array; expected none")


def write(file: BinaryIO, arrays: Iterable[tuple[str, NDArray[np.generic]]]) -> None:
    """Write arrays with their names, all different, to a file; little-endian, in C order."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays:
            content = io.BytesIO()
            little = array.astype(array.dtype.newbyteorder("<"), copy=False)
            np.lib.format.write_array(content, np.ascontiguousarray(little), (1, 0))
            entry = zipfile.ZipInfo(f"{name}.npy", _DATE)
            method = zipfile.ZIP_STORED if array.dtype == np.uint8 else zipfile.ZIP_DEFLATED
            archive.writestr(entry, content.getbuffer(), method, _LEVEL)


def _check_head(file: BinaryIO) -> None:
    """Raise `Rejected` unless the file begins as a ZIP archive does."""
    file.seek(0)
    head = file.read(4)
    file.seek(0)
    if not head:
        raise Rejected("the file is empty; expected a certificate of sdpbb")
    if head != b"PK\x03\x04":
        raise Rejected("is not a certificate of sdpbb; expected an archive of NumPy arrays")


def _header(stream: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and type of an array from its header; `Rejected` unless it is in C order."""
    with suppress(ValueError):
        if np.lib.format.read_magic(stream) == (1, 0):
            shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(stream)
            if not is_fortran and not dtype.hasobject:
                return shape, dtype
    raise Rejected(f"{name}: does not begin as an array of NumPy in C order does")


def _check_shape(
    name: str,
    shape: tuple[int, ...],
    dtype: str,
    dtypes: tuple[str, ...],
    lengths: tuple[Length, ...],
) -> None:
    """Raise `Rejected` unless the type is one of `dtypes` and each dimension has its length."""
    if (
        dtype not in dtypes
        or len(shape) != len(lengths)
        or not all(
            length in wanted if isinstance(wanted, range) else length == wanted
            for length, wanted in zip(shape, lengths, strict=True)
        )
    ):
        expected = ", ".join(map(_shown, lengths))
        raise Rejected(
            f"{name}: an array of {dtype} {shape}; expected {' or '.join(dtypes)} ({expected})"
        )


def _shown(length: Length) -> str:
    return f"{length[0]}..{length[-1]}" if isinstance(length, range) and length else str(length)


def _damaged(error: Exception) -> Rejected:
    reason = " ".join(str(error).split())[:100]
    return Rejected(f"is damaged, or not all of it ({reason}); expected the file as it was written")
