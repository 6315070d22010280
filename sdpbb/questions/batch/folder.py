"""Folder of the results of a batch."""

from __future__ import annotations

import contextlib
import csv
import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sdpbb.questions.batch.events import BatchError
from sdpbb.questions.batch.outcome import BatchResult
from sdpbb.questions.batch.results_file import ResultsFile, open_results
from sdpbb.questions.batch.row import COLUMNS
from sdpbb.questions.batch.summary import summary
from sdpbb.runtime.files import name_problem, shown_path, write_atomically

RESULTS = "results.jsonl"
TABLE = "results.csv"
SUMMARY = "summary.txt"
LABELS = "labels"
CERTIFICATES = "certificates"
FILES = (RESULTS, TABLE, SUMMARY)

_SAFE = f"; the rows in {RESULTS} are safe: resume with --resume"


@dataclass(frozen=True)
class BatchFolder:
    """Folder with an open file of results."""

    path: str
    results: ResultsFile

    def write_labels(self, name: str, content: bytes | None) -> str | None:
        """Write the file of labels of a job, or remove an earlier one.

        Return the path relative to the folder.

        Raises
        ------
        BatchError
            If they cannot be written.
        """
        inside = os.path.join(LABELS, f"{name}.csv")
        path = os.path.join(self.path, inside)
        if content is None:
            _guarded(path, lambda: _remove(path))
            return None
        folder = os.path.join(self.path, LABELS)
        _guarded(folder, lambda: os.makedirs(folder, exist_ok=True))
        _write(path, content)
        return inside

    def certificate_path(self, name: str) -> str:
        """Return the path for the certificate of a job; make its folder.

        Raises
        ------
        BatchError
            If the folder cannot be made.
        """
        folder = os.path.join(self.path, CERTIFICATES)
        _guarded(folder, lambda: os.makedirs(folder, exist_ok=True))
        return os.path.join(folder, f"{name}.cert")

    def keep_certificate(self, name: str, is_written: bool) -> str | None:
        """Return the path of a certificate relative to the folder.

        If none was written, remove an earlier one.
        """
        inside = os.path.join(CERTIFICATES, f"{name}.cert")
        if is_written:
            return inside
        path = os.path.join(self.path, inside)
        _guarded(path, lambda: _remove(path))
        return None

    def write_tables(self, result: BatchResult) -> None:
        """Write the rows as CSV, and the summary.

        Raises
        ------
        BatchError
            If they cannot be written.
        """
        _write(os.path.join(self.path, TABLE), table(result))
        _write(os.path.join(self.path, SUMMARY), summary(result))


@contextlib.contextmanager
def open_folder(path: str, resume: bool) -> Iterator[BatchFolder]:
    """Open the folder at path, made if it is not there.

    Raises
    ------
    BatchError
        If it cannot be made, or it holds results and should not (`open_results`).
    """
    if problem := name_problem(path):
        raise BatchError(problem)
    if os.path.lexists(path) and not os.path.isdir(path):
        raise BatchError(f"{shown_path(path)}: is not a folder; expected a folder, or a new name")
    _guarded(path, lambda: os.makedirs(path, exist_ok=True), "")
    if not os.access(path, os.W_OK | os.X_OK):
        raise BatchError(f"{shown_path(path)}: the folder is not writable")
    with open_results(os.path.join(path, RESULTS), resume) as results:
        yield BatchFolder(path, results)


def table(result: BatchResult) -> str:
    """Return the rows of a batch as CSV; empty fields stand for None."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in result.rows:
        values = row.to_dict()
        writer.writerow([values[name] for name in COLUMNS])
    return text.getvalue()


def _write(path: str, content: str | bytes) -> None:
    _guarded(path, lambda: write_atomically(path, content))


def _guarded(path: str, action: Callable[[], object], then: str = _SAFE) -> None:
    try:
        action()
    except OSError as error:
        reason = error.strerror or error
        raise BatchError(f"{shown_path(path)}: could not be written ({reason}){then}") from None


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)
