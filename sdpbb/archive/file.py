"""Archive files: header, document, arrays and checksums.

    sdpbb-archive 1                                    the format's version
    {"kind": ..., "sdpbb": ..., "document": ..., "arrays": ...}
    document                                           see `sdpbb.archive.encoder`
    CRC-32 of everything so far, 4 bytes
    arrays                                             one after the other, uncompressed
    CRC-32 of everything but itself and the other, 4 bytes

where the JSON in the second line tells the kind of archive, the version of sdpbb that wrote it, and
the lengths of the document and the arrays in bytes. The document has a checksum of its own because
its shapes say how much memory the arrays take.

CRC-32 finds every change within 32 neighbouring bits, and misses one in 2^32 of the others. It
takes a fraction of the time of the writing, which cryptographic digests do not (4.3 GB/s against
1.8 of SHA-256 and 0.9 of BLAKE2b on one machine), and nobody who wants to deceive is kept from
computing either. Nothing is compressed: iterates in single precision hardly get smaller.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

from sdpbb.archive.decoder import Decoder
from sdpbb.archive.encoder import Encoder, contiguous_bytes
from sdpbb.errors import ArchiveError
from sdpbb.files import name_problem, replacement, shown_path
from sdpbb.version import installed_version

FilePath = str | os.PathLike[str]

_FORMAT = 1
_MAGIC = b"sdpbb-archive "
_LONGEST_LINE = 1000
_CHECKSUM = 4
# A line that json.loads makes a dict of, with these types.
_HEAD = {"kind": str, "sdpbb": str, "document": int, "arrays": int}


@dataclass(frozen=True)
class ArchiveHeader:
    """Header of an archive.

    kind : what it is, as its writer called it
    version : of the sdpbb that wrote it
    """

    kind: str
    version: str


def write_archive(path: FilePath, kind: str, value: Any) -> None:
    """Write a value (see `sdpbb.archive`) to path, wholly or not at all.

    kind : a noun that messages call the file by ("checkpoint"); reading asks for the same

    Arrays are not copied, except for those that are not contiguous, one at a time. They must not
    change meanwhile.

    Raises
    ------
    TypeError
        For what an archive does not hold, or what holds itself. Nothing is written then.
    OSError
        See `sdpbb.files.replacement`. What was at path is still there.
    """
    encoder = Encoder(value)
    document = encoder.document()
    lengths = {"document": len(document), "arrays": sum(array.nbytes for array in encoder.arrays)}
    line = json.dumps({"kind": kind, "sdpbb": _version()} | lengths).encode()
    if len(line) >= _LONGEST_LINE or not kind.isprintable():
        raise ValueError(f"{kind!r} is not a name for a kind of archive")
    head = b"%s%d\n%s\n%s" % (_MAGIC, _FORMAT, line, document)
    with replacement(path) as file:
        checksum = zlib.crc32(head)
        file.write(head)
        file.write(_packed(checksum))
        for array in encoder.arrays:
            content = contiguous_bytes(array)
            checksum = zlib.crc32(content, checksum)
            file.write(content)
        file.write(_packed(checksum))


def read_archive(
    path: FilePath,
    kind: str,
    accept: Callable[[ArchiveHeader], None] | None = None,
) -> Any:
    """Return the value in an archive of a kind.

    accept : is called with the header before anything is made of the contents, and raises an error
        if the version is not to its liking (the file's name is put before that of an ArchiveError).
        Without it, any version will do whose dataclasses have the same fields

    The constructors of stored types are called (or `__setstate__`, where they have one), with
    values that passed the checksum but that somebody may have made up; nothing else is, and memory
    is taken in proportion to the file. Arrays are writable.

    Raises
    ------
    ArchiveError
        If it cannot be read, is no archive, damaged, incomplete, of another kind, in a later format
        or of values that the types do not take. One line that names the file.
    """
    with _opened(path, kind) as file:
        header, document, checksum, n_bytes = _read_head(file, kind)
        if accept is not None:
            accept(header)
        try:
            decoder = Decoder(document)
            del document
            arrays = []
            for array in decoder.blank_arrays(n_bytes):
                content = contiguous_bytes(array)
                if file.readinto(content) < len(content):
                    raise _damaged()  # it became shorter since its length was asked for
                checksum = zlib.crc32(content, checksum)
                arrays.append(array)
            if file.read(_CHECKSUM) != _packed(checksum):
                raise _damaged()
            return decoder.value(arrays)
        except ArchiveError as error:
            if header.version == _version():
                raise
            whose = f"written by sdpbb {header.version}, this is {_version()}"
            raise ArchiveError(f"{error} ({whose})") from None


def read_header(path: FilePath, kind: str) -> ArchiveHeader:
    """Return the header of an archive of a kind; of the rest only the length is checked.

    Raises
    ------
    ArchiveError
        As `read_archive` does.
    """
    with _opened(path, kind) as file:
        return _read_head(file, kind)[0]


@contextmanager
def _opened(path: FilePath, kind: str) -> Iterator[BufferedReader]:
    """Context manager: the open file; its name is put before the message of every ArchiveError."""
    if problem := name_problem(path):
        raise ArchiveError(problem)
    name, expected = shown_path(path), f"expected an sdpbb {kind}"
    try:
        if os.path.isdir(path):
            raise ArchiveError(f"is a folder; {expected}")
        # Asked before opening it, which would wait for the other end of a pipe.
        if os.path.exists(path) and not os.path.isfile(path):
            raise ArchiveError(f"is not a regular file; {expected}")
        with open(Path(path), "rb") as file:
            yield file
    except ArchiveError as error:
        raise ArchiveError(f"{name}: {error}") from None
    except FileNotFoundError:
        raise ArchiveError(f"{name}: there is no such file; {expected}") from None
    except OSError as error:
        raise ArchiveError(
            f"{name}: cannot be read ({error.strerror or error}); {expected}"
        ) from None


def _read_head(file: BufferedReader, kind: str) -> tuple[ArchiveHeader, bytes, int, int]:
    """Return the header, the document, the checksum of all so far, and the length of the arrays."""
    size = os.fstat(file.fileno()).st_size
    if size == 0:
        raise ArchiveError(f"the file is empty; expected an sdpbb {kind}")
    first = file.readline(_LONGEST_LINE)
    found = re.fullmatch(_MAGIC + rb"(\d{1,9})\n", first)
    if found is None:
        raise ArchiveError(f"is not an sdpbb {kind}, or not all of it; expected a whole one")
    if int(found[1]) != _FORMAT:
        raise ArchiveError(
            f"is in format {int(found[1])} of another version of sdpbb; "
            f"expected format {_FORMAT}, which sdpbb {_version()} reads"
        )
    second = file.readline(_LONGEST_LINE)
    try:
        head = json.loads(second)
        declared = [head[key] for key in _HEAD]
    except (LookupError, TypeError, ValueError, RecursionError):
        raise _damaged() from None
    if [type(value) for value in declared] != list(_HEAD.values()):
        raise _damaged()
    found_kind, version, document_length, arrays_length = declared
    printable = found_kind.isprintable() and version.isprintable()  # they go into messages
    if min(document_length, arrays_length) < 0 or not printable:
        raise _damaged()
    whole = file.tell() + document_length + arrays_length + 2 * _CHECKSUM
    if size != whole:
        raise ArchiveError(
            f"is {'incomplete' if size < whole else 'damaged'}: it has {size:,} bytes; "
            f"expected {whole:,}, as it was written"
        )
    document = file.read(document_length)
    checksum = zlib.crc32(first + second)
    checksum = zlib.crc32(document, checksum)
    if file.read(_CHECKSUM) != _packed(checksum):
        raise _damaged()
    if found_kind != kind:
        raise ArchiveError(f"is an sdpbb {found_kind}; expected an sdpbb {kind}")
    return ArchiveHeader(found_kind, version), document, checksum, arrays_length


def _damaged() -> ArchiveError:
    return ArchiveError("is damaged; expected the file as it was written")


def _packed(checksum: int) -> bytes:
    return checksum.to_bytes(_CHECKSUM, "little")


def _version() -> str:
    return installed_version()
