"""Folder of a batch: a line for each row as soon as it is there, and files of its jobs."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, TypeVar

from sdpbb.errors import FileInUse
from sdpbb.questions.batch.manifest import BatchError
from sdpbb.questions.batch.outcome import Row
from sdpbb.runtime.files import FilePath, hold, name_problem, shown_path, write_atomically

RESULTS = "results.jsonl"
_SAFE = f"; the rows in {RESULTS} are safe: resume with --resume"

Value = TypeVar("Value")


class BatchFolder:
    """Folder that one process writes to at a time, with the results of a batch.

    `results.jsonl` has an object of JSON on each line. A line is on disk when `append` returns. One
    that the end of a process left unfinished is cut off when the folder is opened the next time;
    nobody was told of it.

    Attributes
    ----------
    path : of the folder
    rows : those of earlier runs; the last one of a job counts
    """

    def __init__(self, path: str, rows: Sequence[Row], file: BinaryIO, length: int) -> None:
        """Use `open_folder`."""
        self.path, self.rows = path, rows
        self._file, self._length = file, length

    def append(self, values: Mapping[str, Any]) -> None:
        """Add a line.

        Raises
        ------
        BatchError
            If it cannot be written; then the file is as it was before.
        """
        line = json.dumps(values, allow_nan=False).encode() + b"\n"

        def write() -> None:
            try:
                self._file.seek(self._length)
                rest = line
                while rest:  # a disk that becomes full takes a part of it, and only then raises
                    rest = rest[self._file.write(rest) :]
                self._file.flush()
                os.fsync(self._file.fileno())
            except OSError:
                with contextlib.suppress(OSError):
                    self._file.truncate(self._length)
                raise

        _guarded(os.path.join(self.path, RESULTS), write)
        self._length += len(line)

    def file(self, name: str) -> str:
        """Return the path of a file, whose name may begin with a folder, which is made.

        Raises
        ------
        BatchError
            If the folder cannot be made.
        """
        path = os.path.join(self.path, name)
        folder = os.path.dirname(path)
        _guarded(folder, lambda: os.makedirs(folder, exist_ok=True))
        return path

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file, wholly or not at all.

        Raises
        ------
        BatchError
            If it cannot be written.
        """
        path = self.file(name)
        _guarded(path, lambda: write_atomically(path, content))

    def remove(self, name: str) -> None:
        """Remove a file of an earlier run, if there is one."""
        path = os.path.join(self.path, name)
        if os.path.lexists(path):
            _guarded(path, lambda: os.remove(path))


@contextlib.contextmanager
def open_folder(path: FilePath, resume: bool) -> Iterator[BatchFolder]:
    """Open the folder at path, made if it is not there, and read its results.

    resume : whether it may hold a batch

    Raises
    ------
    BatchError
        If it cannot be made, or another process uses it; if it holds a batch and should not, or
        lines that are no rows.
    """
    folder = os.fspath(path)
    if problem := name_problem(folder):
        raise BatchError(problem)
    _guarded(folder, lambda: os.makedirs(folder, exist_ok=True), "; expected a folder")
    results = os.path.join(folder, RESULTS)
    name = shown_path(results)

    def opened() -> BinaryIO:
        # Unbuffered: what could not be written must not be tried again when the file is closed.
        return open(os.open(results, os.O_RDWR | os.O_CREAT, 0o666), "r+b", buffering=0)

    with _guarded(results, opened, "") as file:
        try:
            hold(file, results, "batch")
        except FileInUse as error:
            raise BatchError(str(error)) from None
        content = file.read()
        if content and not resume:
            raise BatchError(
                f"{name}: holds results already; resume with --resume (resume=True), or give a new "
                "folder"
            )
        end = content.rfind(b"\n") + 1
        rows = []
        for number, line in enumerate(content[:end].splitlines(), start=1):
            try:
                rows.append(Row.from_dict(json.loads(line)))
            except (KeyError, TypeError, ValueError, RecursionError):
                raise BatchError(
                    f"{name}:{number}: is not a result of this version of sdpbb; expected an "
                    "unchanged file"
                ) from None
        file.truncate(end)
        yield BatchFolder(folder, rows, file, end)


def _guarded(path: str, action: Callable[[], Value], then: str = _SAFE) -> Value:
    try:
        return action()
    except OSError as error:
        reason = error.strerror or error
        raise BatchError(f"{shown_path(path)}: could not be written ({reason}){then}") from None
