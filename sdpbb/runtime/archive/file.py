"""Archive files: a JSON document and the arrays that it refers to.

An archive is a ZIP file of NumPy arrays, as `numpy.savez` writes them, so that `numpy.load` shows
what is in it. Its first member is the document (`stored`), with the version of sdpbb.

Members are as they are in memory: iterates in single precision hardly get smaller. The checksums of
ZIP find every change within 32 neighbouring bits, and miss one in 2^32 of the others. Nobody who
wants to deceive is kept from computing them.
"""

from __future__ import annotations

import json
import math
import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import ArchiveError
from sdpbb.runtime.archive.stored import DTYPES, Encoder, decoded, shown
from sdpbb.runtime.files import FilePath, name_problem, replacement, shown_path
from sdpbb.runtime.version import installed_version

_DOCUMENT = "sdpbb-checkpoint.json"
# What reading a file that is not as it was written ends with.
_ERRORS = (
    *(zipfile.BadZipFile, struct.error, EOFError),
    *(AttributeError, LookupError, TypeError, ValueError, RuntimeError),
)


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
        return decoded(document, [_array(archive, i) for i in range(n_arrays)])


def check_header(path: FilePath) -> None:
    """Raise `ArchiveError`, as `read_archive` does, for a file that is no archive.

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
    reason = "is not an sdpbb checkpoint, or not all of it; expected a whole one"
    try:
        if os.path.isdir(path):
            raise ArchiveError("is a folder; expected an sdpbb checkpoint")
        # Asked before opening it, which would wait for the other end of a pipe.
        if os.path.exists(path) and not os.path.isfile(path):
            raise ArchiveError("is not a regular file; expected an sdpbb checkpoint")
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            archive.getinfo(_DOCUMENT)
            reason = "is damaged; expected the file as it was written"
            # No more memory is taken than the file has bytes.
            if sum(each.file_size for each in archive.infolist()) <= os.path.getsize(path):
                yield archive
                return
    except ArchiveError as error:
        reason = str(error)
    except FileNotFoundError:
        reason = "there is no such file; expected an sdpbb checkpoint"
    except OSError as error:
        reason = f"cannot be read ({error.strerror or error}); expected an sdpbb checkpoint"
    except _ERRORS:  # of the archive that cannot be opened, or is damaged
        pass
    raise ArchiveError(f"{shown_path(path)}: {reason}")
