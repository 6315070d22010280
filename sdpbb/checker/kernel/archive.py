"""Archive of a certificate: arrays by name in one file, as `numpy.savez_compressed` writes them.

`numpy.load(file, allow_pickle=False)` reads it. Here nothing of a file is believed: an array takes
no more memory than its member of the archive says that it is long, and has the header that NumPy
writes, of a few types of numbers.
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

# A sound certificate of more would be of millions of nodes.
_MAX_BYTES = 8 * 2**30
# The first that ZIP knows: files of the same contents are the same.
_DATE = (1980, 1, 1, 0, 0, 0)
# Text is stored as it is: what is made of it takes memory in proportion to its length.
_METHODS = (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED)
# Higher levels make files a few per cent smaller, and take three times as long.
_LEVEL = 1
# What reading a file that is not as it was written ends with.
_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(RuntimeError, ValueError, LookupError, OverflowError),
)

Length = int | range
"""Length that a dimension of an array must have, or those that it may have."""


class Archive:
    """Arrays of a file, each read when it is taken: memory is that of the ones in use."""

    def __init__(self, file: BinaryIO) -> None:
        """file : which stays open while arrays are taken

        Raises
        ------
        Rejected
            If it is no archive of moderate size.
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
        """Return the arrays of a step alone, by the names that they have in it."""
        own = copy.copy(self)
        own._prefix = f"{number}."
        return own

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._members

    def take(self, name: str, dtypes: tuple[str, ...], *lengths: Length) -> NDArray[Any]:
        """Return an array of one of the types, and of these lengths; it is read-only.

        Raises
        ------
        Rejected
            If it is not there, or another one.
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
        """Raise `Rejected` if there is an array that nothing has asked for."""
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
    file.seek(0)
    head = file.read(4)
    file.seek(0)
    if not head:
        raise Rejected("the file is empty; expected a certificate of sdpbb")
    if head != b"PK\x03\x04":
        raise Rejected("is not a certificate of sdpbb; expected an archive of NumPy arrays")


def _header(stream: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
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
