"""Files of labels; `sdpbb.problem.formats` states the formats."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.files import FilePath, shown_path, write_atomically
from sdpbb.problem.files import points_parquet, points_text
from sdpbb.problem.files.points_npy import read_array
from sdpbb.problem.textfile import is_number, open_text, shown


def read_labels(
    path: FilePath, n_points: int | None = None, column: str | None = None
) -> NDArray[np.intp]:
    """Read the labels (n,) of n points: numbers 0, 1, ... by the first point of each.

    Labels are words, or whole numbers, which are the same label however they are written: 1, 01 and
    1.0.

    Parameters
    ----------
    n_points : how many there have to be; None for any number
    column : of a CSV or Parquet file, the one that holds the labels; None for a file of labels

    Raises
    ------
    InstanceError
        One line: the file, the line number where there is one, what is wrong and what would be
        right.
    BackendUnavailable
        If pyarrow, which reads Parquet, is not installed.
    """
    suffix = Path(path).suffix.lower()
    labels: Sequence[Hashable]
    if column is not None:
        format_of_column = points_parquet if suffix == ".parquet" else points_text
        fields = format_of_column.read_column(path, column)
        labels = _labels(fields, f"{shown_path(path)}: column {shown(column)}: label")
    elif suffix == ".parquet":
        raise InstanceError(
            f"{shown_path(path)}: is a Parquet file; expected the name of its column of labels"
        )
    elif suffix == ".npy":
        labels = _of_array(path)
    else:
        labels = _of_lines(path, may_have_heading=n_points is None)
    if n_points is not None and len(labels) != n_points:
        raise InstanceError(
            f"{shown_path(path)}: {len(labels)} labels for {n_points} points; expected one per "
            "line and point, without a heading"
        )
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], np.intp)


def write_labels(path: FilePath, labels: NDArray[np.intp]) -> None:
    """Write labels (n,), one per line, in the order of the points."""
    write_atomically(path, labels_text(labels))


def labels_text(labels: NDArray[np.intp]) -> str:
    """Return the content of a file of labels (n,)."""
    return "".join(f"{label}\n" for label in labels.tolist())


def labels_csv(labels: NDArray[np.intp], names: Sequence[object], heading: str = "id") -> str:
    """Return the content of a CSV file of labels (n,): a heading, and a name and a label a row.

    names : (n,) of the points
    heading : of the column of names; the other one is called cluster
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([heading, "cluster"])
    writer.writerows(zip(names, labels.tolist(), strict=True))
    return text.getvalue()


def _label(field: str, where: str) -> Hashable:
    """Return the label of a field, equal for fields that are the same label."""
    if not is_number(field):
        return field
    try:
        number = Decimal(field)
    except InvalidOperation:  # of an exponent of twenty digits
        number = Decimal("nan")
    if not number.is_finite() or number != number.to_integral_value():
        raise InstanceError(f"{where}: {shown(field)}; expected a whole number or a word as label")
    return number


def _labels(fields: Iterable[str], where: str) -> list[Hashable]:
    labels: list[Hashable] = []
    known: dict[str, Hashable] = {}
    for position, field in enumerate(fields):
        if field not in known:
            known[field] = _label(field, f"{where} {position}")
        labels.append(known[field])
    return labels


def _of_array(path: FilePath) -> list[Hashable]:
    array = read_array(path)
    if array.ndim != 1 or array.dtype.kind not in "iufUb" or not _is_text(array):
        raise InstanceError(
            f"{shown_path(path)}: an array of shape {array.shape} and type {array.dtype}; expected "
            "labels (n,), integers or words"
        )
    where = f"{shown_path(path)}: label"
    if array.dtype.kind == "U":
        return _labels(array.tolist(), where)
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


def _of_lines(path: FilePath, may_have_heading: bool) -> list[Hashable]:
    labels: list[Hashable] = []
    known: dict[str, Hashable] = {}
    hint = ", or the name of the column of a CSV file" if may_have_heading else ""
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            fields = line.split()
            if not fields:
                continue
            if len(fields) > 1 or "," in line:
                raise InstanceError(
                    f"{shown_path(path)}:{number}: {shown(line.strip())}; expected one label, "
                    f"without blanks and commas{hint}"
                )
            if fields[0] not in known:
                known[fields[0]] = _label(fields[0], f"{shown_path(path)}:{number}")
            labels.append(known[fields[0]])
    # Where the number of points is not known, one label too many would not be noticed.
    others_are_numbers = len(labels) > 1 and not any(isinstance(one, str) for one in labels[1:])
    if may_have_heading and others_are_numbers and isinstance(labels[0], str):
        raise InstanceError(
            f"{shown_path(path)}: the first label is {shown(labels[0])}, and the others are "
            "numbers; expected labels without a heading"
        )
    return labels
