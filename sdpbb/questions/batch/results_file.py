"""File of the rows of a batch, each of them on disk as soon as it is appended."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any, BinaryIO

from sdpbb.errors import FileInUse
from sdpbb.questions.batch.events import BatchError
from sdpbb.questions.batch.row import Row
from sdpbb.runtime.files import shown_path
from sdpbb.runtime.locks import hold


class ResultsFile:
    """File of rows, one line of JSON each, that one process writes to at a time.

    A row is on disk when `append` returns. A line that the end of a process left unfinished is cut
    off when the file is opened the next time; nobody was told of that row.
    """

    def __init__(self, path: str, file: BinaryIO, rows: list[Row], length: int) -> None:
        """Use `open_results`."""
        self.path = path
        self.rows = rows
        self._file = file
        self._length = length

    def append(self, row: Row) -> None:
        """Add a row.

        Raises
        ------
        BatchError
            If it cannot be written; then the file is as it was before.
        """
        line = row.to_line().encode()
        try:
            self._write(line)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(self._length)
            n = len(self.rows)
            raise BatchError(
                f"{shown_path(self.path)}: could not be written ({error.strerror or error}); the "
                f"{n} row{'' if n == 1 else 's'} before {'is' if n == 1 else 'are'} safe: resume "
                "with --resume"
            ) from None
        self._length += len(line)
        self.rows.append(row)

    def _write(self, line: bytes) -> None:
        self._file.seek(self._length)
        rest = line
        while rest:  # a disk that becomes full takes a part of it, and only then raises
            rest = rest[self._file.write(rest) :]
        self._file.flush()
        os.fsync(self._file.fileno())


@contextlib.contextmanager
def open_results(path: str, resume: bool) -> Iterator[ResultsFile]:
    """Open the file of rows at path, and read those that it holds; a new file if there is none.

    Parameters
    ----------
    path : in a folder that is there
    resume : whether it may hold rows

    Raises
    ------
    BatchError
        If it holds rows and should not, or lines that are no rows; if it cannot be opened, or
        another process has it open.
    """
    name = shown_path(path)
    try:
        # Unbuffered: what could not be written must not be tried again when the file is closed.
        file = open(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b", buffering=0)  # noqa: SIM115
    except OSError as error:
        raise BatchError(f"{name}: cannot be written ({error.strerror or error})") from None
    with file:
        try:
            hold(file, path, "batch")
        except FileInUse as error:
            raise BatchError(str(error)) from None
        content = file.read()
        if content and not resume:
            raise BatchError(
                f"{name}: holds results already; resume with --resume, or give a new folder"
            )
        end = content.rfind(b"\n") + 1
        rows = _rows(content[:end], name)
        file.truncate(end)
        yield ResultsFile(path, file, rows, end)


def _rows(content: bytes, name: str) -> list[Row]:
    rows = []
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            rows.append(Row.from_dict(_object(line)))
        except (KeyError, TypeError, ValueError, RecursionError):
            raise BatchError(
                f"{name}:{number}: is not a row of a batch of this version of sdpbb; expected an "
                "unchanged file"
            ) from None
    return rows


def _object(line: bytes) -> dict[str, Any]:
    values = json.loads(line)
    if not isinstance(values, dict):
        raise TypeError
    return values
