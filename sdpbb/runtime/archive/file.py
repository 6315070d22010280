"""Archive files: a JSON document and the arrays that it refers to.

An archive is a ZIP file of NumPy arrays, as `numpy.savez` writes them, so that `numpy.load` shows
what is in it. Its first member is the document (`stored`), with the version of sdpbb.

Members are as they are in memory: iterates in single precision hardly get smaller. The checksums of
ZIP find every change within 32 neighbouring bits, and miss one in 2^32 of the others. Nobody who
wants to deceive is kept from computing them.
"""

from __future__ import annotations

import json
import os
import zipfile
from typing import Any

import numpy as np

from sdpbb.errors import ArchiveError
from sdpbb.runtime.archive.stored import Encoder, decoded
from sdpbb.runtime.files import FilePath, replacement, shown_path
from sdpbb.runtime.version import installed_version

_DOCUMENT = "sdpbb-checkpoint.json"


def write_archive(path: FilePath, value: Any) -> None:
    """Write a value (see `sdpbb.runtime.archive`) to path, wholly or not at all.

    Arrays are copied a few MiB at a time. They must not change meanwhile.

    Raises
    ------
    TypeError
        For what an archive does not hold. Nothing is written then.
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
    values that passed the checksums but that somebody may have made up; nothing else is. Arrays are
    writable.

    Raises
    ------
    ArchiveError
        If it cannot be read, is no archive, damaged, incomplete, of another version of sdpbb or of
        values that the types do not support. One line that names the file.
    """
    name, this = shown_path(path), installed_version()
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe would wait for its other end
            raise OSError("not a regular file")
        with zipfile.ZipFile(path) as archive:
            document = json.loads(archive.read(_DOCUMENT))
            written_by = document["sdpbb"]
            if written_by == this:  # what a value means is defined by the code of its version
                arrays = []
                for number in range(len(archive.namelist()) - 1):
                    with archive.open(f"{number}.npy") as member:
                        arrays.append(np.lib.format.read_array(member, allow_pickle=False))
                return decoded(document, arrays)
        problem = (
            f"written by sdpbb {written_by}; this is {this} (sdpbb {written_by} can resume it)"
        )
    except OSError as error:
        problem = f"cannot be read ({error.strerror or error}); expected an sdpbb checkpoint"
    except MemoryError:
        raise
    except Exception as error:
        problem = "is not an sdpbb checkpoint, or is damaged; expected the file as it was written"
        raise ArchiveError(f"{name}: {problem}") from error
    raise ArchiveError(f"{name}: {problem}")
