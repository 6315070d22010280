"""Archive files: a JSON document and the arrays that it refers to.

An archive is a ZIP file of NumPy arrays, as `numpy.savez` writes them, so that `numpy.load` shows
what is in it. Its first member is the document (`encoding`), with the version of sdpbb; its comment
is `sdpbb-checkpoint FORMAT`.

Members are as they are in memory: iterates in single precision hardly get smaller. The checksums of
ZIP find every change within 32 neighbouring bits, and miss one in 2^32 of the others. Nobody who
wants to deceive is kept from computing them.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import ArchiveError
from sdpbb.runtime.archive.encoding import DTYPES, Decoder, Encoder, shown
from sdpbb.runtime.files import FilePath, name_problem, replacement, shown_path
from sdpbb.runtime.version import installed_version

FORMAT = 5
_DOCUMENT = "document.json"
# The comment; files of earlier formats began with these words.
_KIND = re.compile(rb"sdpbb-checkpoint (\d{1,9})(\n|$)")
_DAMAGED = "is damaged; expected the file as it was written"
_FOREIGN = "is not an sdpbb checkpoint, or not all of it; expected a whole one"
_INCONSISTENT = "its contents are inconsistent; expected an unchanged file"


def write_archive(path: FilePath, value: Any) -> None:
    """Write a value (see `sdpbb.runtime.archive`) to path, wholly or not at all.

    Arrays are copied a few MiB at a time. They must not change meanwhile.

    Raises
    ------
    TypeError
        For what an archive does not hold, or what holds itself. Nothing is written then.
    OSError
        See `sdpbb.runtime.files.replacement`. What was at path is still there.
    """
    encoder = Encoder(value)
    document = {"sdpbb": installed_version()} | encoder.document
    with replacement(path) as file, zipfile.ZipFile(file, "w") as archive:
        archive.comment = b"sdpbb-checkpoint %d" % FORMAT
        archive.writestr(_DOCUMENT, json.dumps(document, separators=(",", ":")))
        for number, array in enumerate(encoder.arrays):
            with archive.open(f"{number}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def read_archive(path: FilePath) -> Any:
    """Return the value in an archive.

    The constructors of stored types are called (or `__setstate__`, where they have one), with
    values that passed the checksums but that somebody may have made up; nothing else is, and memory
    is taken in proportion to the file. Arrays are writable.

    Raises
    ------
    ArchiveError
        If it cannot be read, is no archive, damaged, incomplete, of another version of sdpbb or of
        values that the types do not take. One line that names the file.
    """
    with _opened(path) as archive:
        document = json.loads(archive.read(_DOCUMENT))
        written_by, this = shown(str(document["sdpbb"])), installed_version()
        # What a value means is defined by the code of its version.
        if written_by != this:
            raise ArchiveError(
                f"written by sdpbb {written_by}; this is {this} (sdpbb {written_by} can resume it)"
            )
        n_arrays = len(archive.namelist()) - 1
        return Decoder(document, [_array(archive, i) for i in range(n_arrays)]).value()


def check_header(path: FilePath) -> None:
    """Raise `ArchiveError`, as `read_archive` does, for a file that is no archive of this format.

    This is quick: nothing is read but the list of its members.
    """
    with _opened(path):
        pass


def _array(archive: zipfile.ZipFile, number: int) -> NDArray[Any]:
    entry = archive.getinfo(f"{number}.npy")
    with archive.open(entry) as member:
        np.lib.format.read_magic(member)
        shape, _, dtype = np.lib.format.read_array_header_1_0(member)
        length = math.prod(shape) * dtype.itemsize
        if dtype.str not in DTYPES or length != entry.file_size - member.tell():
            raise ValueError
        member.seek(0)
        return np.lib.format.read_array(member, allow_pickle=False)


@contextmanager
def _opened(path: FilePath) -> Iterator[zipfile.ZipFile]:
    """Context manager: the open archive. Errors become one line that begins with its name."""
    if problem := name_problem(path):
        raise ArchiveError(problem)
    name, expected = shown_path(path), "expected an sdpbb checkpoint"
    try:
        if os.path.isdir(path):
            raise ArchiveError(f"is a folder; {expected}")
        # Asked before opening it, which would wait for the other end of a pipe.
        if os.path.exists(path) and not os.path.isfile(path):
            raise ArchiveError(f"is not a regular file; {expected}")
        with open(Path(path), "rb") as file:
            yield _members(file)
    except ArchiveError as error:
        reason = str(error)
    except FileNotFoundError:
        reason = f"there is no such file; {expected}"
    except OSError as error:
        reason = f"cannot be read ({error.strerror or error}); {expected}"
    except (zipfile.BadZipFile, EOFError, NotImplementedError, struct.error):
        reason = _DAMAGED
    except (LookupError, TypeError, ValueError, RuntimeError):
        reason = _INCONSISTENT
    else:
        return
    raise ArchiveError(f"{name}: {reason}")


def _members(file: BinaryIO) -> zipfile.ZipFile:
    """Return the archive in a file.

    Raises
    ------
    ArchiveError
        If it is none of this format, or its members take more memory than the file has bytes.
    """
    head, size = file.read(64), file.seek(0, os.SEEK_END)
    if not head:
        raise ArchiveError("the file is empty; expected an sdpbb checkpoint")
    archive = None
    with suppress(zipfile.BadZipFile, EOFError, LookupError, ValueError, struct.error):
        archive = zipfile.ZipFile(file)
    kind = _KIND.match(head if archive is None else archive.comment)
    if kind is not None and int(kind[1]) != FORMAT:
        raise ArchiveError(
            f"is in format {int(kind[1])} of another version of sdpbb, which can read it; "
            f"expected format {FORMAT}"
        )
    if archive is None or kind is None:
        raise ArchiveError(_FOREIGN)
    members = archive.infolist()
    is_stored = all(each.compress_type == zipfile.ZIP_STORED for each in members)
    if not is_stored or sum(each.file_size for each in members) > size:
        raise ArchiveError(_DAMAGED)
    return archive
