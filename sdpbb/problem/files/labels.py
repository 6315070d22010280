"""Files of labels; `sdpbb.problem.formats` states the formats."""

from __future__ import annotations

import codecs
import csv
import io
import sys
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.files.label_columns import label_column
from sdpbb.problem.files.long_reading import reading_file
from sdpbb.problem.files.points_numpy import read_array, read_one_array
from sdpbb.problem.files.records import Records, read_records
from sdpbb.problem.origin import Origin
from sdpbb.problem.row_values import note_noise
from sdpbb.problem.table import TABLES
from sdpbb.problem.textfile import encoding_beside, file_suffix, is_number, number_or_text, shown
from sdpbb.runtime.files import FilePath, shown_path, write_atomically


def read_labels(
    path: FilePath,
    n_points: int | None = None,
    column: str | None = None,
    *,
    origin: Origin | None = None,
    encoding: str | None = None,
) -> NDArray[np.intp]:
    """Read the labels (n,) of n points: numbers 0, 1, ... by the first point of each.

    Labels are words, or whole numbers, which are the same label however they are written: 1, 01 and
    1.0. A file of one label per line may begin with a heading. A table (CSV, Excel, Parquet,
    Feather) of two columns may hold what the rows are called, or their numbers in order, in one of
    them; of other tables the column has to be named. Labels beside names of rows are taken by
    name, others in the order of the file.

    Parameters
    ----------
    n_points : how many there have to be; None for any number
    column : the one that holds the labels, by its name or, without a heading, its number from 1; of
        an `.npz` file the name of the array
    origin : what the rows of the points are called. Where some are left out, the file may have
        labels of all rows of the data
    encoding : of text that has no byte order mark and is not UTF-8; None for UTF-8

    Raises
    ------
    InstanceError
        One line: the file, the line number where there is one, what is wrong and what would be
        right.
    BackendUnavailable
        If a package that reads the file is not installed.
    """
    with reading_file(path):
        suffix, name = file_suffix(path), shown_path(path)
        origin = origin or Origin()
        labels: Sequence[Hashable]
        if suffix in (".npy", ".npz"):
            labels = _of_array(path, column)
        else:
            records = read_records(path, encoding_beside(path, encoding), "labels")
            found = label_column(records, column, n_points, origin)
            labels = _of_fields(found.fields, found.where)
        if n_points is not None:
            labels = origin.of_points(labels, n_points)
            if len(labels) != n_points:
                raise InstanceError(
                    f"{name}: {len(labels)} labels for {origin.n_data_rows(n_points)} points; "
                    "expected one per line and point"
                )
        note_noise(labels.count(-1), len(labels), name)
        number_of = {label: number for number, label in enumerate(dict.fromkeys(labels))}
        return np.array([number_of[label] for label in labels], np.intp)


def read_classes(
    path: FilePath,
    n_points: int | None = None,
    column: str | None = None,
    *,
    origin: Origin | None = None,
    encoding: str | None = None,
) -> Sequence[Any]:
    """Read the known classes (n,) of some of n points, as `KnownClasses.of` takes them.

    Files and parameters are as for `read_labels`; an empty line, -1 or a word for a missing value
    stands for an unknown class. A table with the names of the rows may lack rows.

    Raises
    ------
    InstanceError, BackendUnavailable
        As `read_labels`.
    """
    origin = origin or Origin()
    with reading_file(path):
        if file_suffix(path) in (".npy", ".npz"):
            classes: Sequence[Any] = list(_label_array(path, column).tolist())
        else:
            beside = encoding_beside(path, encoding)
            records = read_records(path, beside, "classes", keeps_blank_lines=True)
            if n_points is not None:
                records = _without_last_blank_lines(records, origin.n_data_rows(n_points))
            classes = label_column(records, column, n_points, origin, partial=True).fields
    if n_points is None:
        return classes
    classes = origin.of_points(classes, n_points)
    if len(classes) != n_points:
        raise InstanceError(
            f"{shown_path(path)}: {len(classes)} classes for {origin.n_data_rows(n_points)} "
            "points; expected one per line and point, -1 where it is unknown, or a table with the "
            "names of rows"
        )
    return classes


def _without_last_blank_lines(records: Records, n_data: int) -> Records:
    """Return records of unknown classes without blank lines beyond the rows of the data."""
    n = len(records.rows)
    while n > n_data and not any(records.rows[n - 1]):
        n -= 1
    return Records(records.path, records.lines[:n], records.rows[:n])


def write_labels(path: FilePath, labels: NDArray[np.intp]) -> None:
    """Write labels (n,), one per line, in the order of the points."""
    write_atomically(path, labels_text(labels))


def labels_text(labels: NDArray[np.intp]) -> str:
    """Return the content of a file of labels (n,)."""
    return "".join(f"{label}\n" for label in labels.tolist())


def labels_csv(
    labels: NDArray[np.intp],
    names: Sequence[object],
    heading: str = "id",
    separator: str = ",",
) -> str:
    """Return the content of a CSV file of labels (n,): a heading, and a name and a label a row.

    names : (n,) of the points
    heading : of the column of names; the other one is called cluster
    """
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow([heading, "cluster"])
    writer.writerows(zip(names, labels.tolist(), strict=True))
    return text.getvalue()


def labels_file(labels: NDArray[np.intp], names: Sequence[object], origin: Origin) -> bytes:
    """Return a CSV file of labels (n,) with the separator and encoding of the file of points.

    names : (n,) of the points
    """
    separator = origin.separator or ","
    return encoded(labels_csv(labels, names, origin.index_name or "id", separator), origin)


def encoded(text: str, origin: Origin) -> bytes:
    """Return CSV in the encoding of the file of points.

    UTF-8 has a byte order mark if the data have one, or come from CSV or a workbook and some letter
    is beyond ASCII: Excel takes UTF-8 without the mark for another encoding.
    """
    encoding = codecs.lookup(origin.encoding).name
    if encoding == "utf-8" and origin.separator and not text.isascii():
        encoding = "utf-8-sig"
    return text.encode(encoding)


def _label(field: str) -> Hashable:
    """Return the label of a field, equal for fields that are the same label.

    Raises
    ------
    ValueError
        If it is none: what is wrong with it.
    """
    if not field:
        raise ValueError("has no label; expected one for every row")
    label = number_or_text(field)
    is_whole = (
        isinstance(label, Decimal) and label.is_finite() and label == label.to_integral_value()
    )
    if is_number(field) and not is_whole:
        raise ValueError(f"{shown(field)}; expected a whole number or a word as label")
    return label


def _of_fields(fields: list[str], where: Callable[[int], str]) -> list[int]:
    """Return a number for each field, the same for the same label; -1 for -1.

    where : the place of a field, by its position
    """
    numbers: dict[Hashable, int] = {}
    number_of: dict[str, int] = {}
    for field in dict.fromkeys(fields):
        try:
            label = _label(field)
        except ValueError as error:
            raise InstanceError(f"{where(fields.index(field))}: {error}") from None
        number_of[field] = numbers.setdefault(label, -1 if label == -1 else len(numbers))
    return [number_of[field] for field in fields]


def _label_array(path: FilePath, column: str | None) -> NDArray[Any]:
    """Return an array (n,) of numbers or words, or raise the InstanceError."""
    if file_suffix(path) == ".npz":
        array = read_one_array(path, column, 1, "labels (n,)")
    elif column is None:
        array = read_array(path)
    else:
        raise InstanceError(f"column: {shown_path(path)} has no columns; expected {TABLES} with it")
    if array.ndim != 1 or array.dtype.kind not in "iufUb" or not _is_text(array):
        raise InstanceError(
            f"{shown_path(path)}: an array of shape {array.shape} and type {array.dtype}; expected "
            "labels (n,), integers or words"
        )
    return array


def _of_array(path: FilePath, column: str | None) -> Sequence[Hashable]:
    array = _label_array(path, column)
    where = f"{shown_path(path)}: label"
    if array.dtype.kind == "U":
        return _of_fields(array.tolist(), lambda position: f"{where} {position}")
    if array.dtype.kind == "f":
        whole = np.isfinite(array) & (np.trunc(array) == array)
        for position in np.flatnonzero(~whole).tolist():
            raise InstanceError(
                f"{where} {position} is {array[position]}; expected labels (n,), integers or words"
            )
    return list(array.tolist())


def _is_text(array: NDArray[Any]) -> bool:
    """Return whether an array, if it is one of words, holds characters that exist."""
    if array.dtype.kind != "U" or not array.size or not array.dtype.itemsize:
        return True
    codes = array.astype(array.dtype.newbyteorder("=")).view(np.uint32)
    return int(codes.max()) <= sys.maxunicode
