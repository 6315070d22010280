"""Files of labels; `sdpbb.problem.formats` states the formats."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError, InstanceNote, warn_caller
from sdpbb.problem.files.points_numpy import read_array, read_one_array
from sdpbb.problem.files.records import Records, read_records
from sdpbb.problem.origin import Origin
from sdpbb.problem.row_values import note_noise
from sdpbb.problem.table import TABLES, hint_at_similar
from sdpbb.problem.textfile import (
    encoding_beside,
    errors_as_one_line,
    file_suffix,
    first_of,
    is_missing_word,
    is_number,
    number_or_text,
    reading_file,
    shown,
)
from sdpbb.runtime.files import FilePath, shown_path, write_atomically
from sdpbb.runtime.values import counted

ARRAYS = (".npy", ".npz")


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
    origin = origin or Origin()
    with reading_file(path):
        name = shown_path(path)
        found = _fields(path, column, n_points, origin, encoding, "labels")
        labels: Sequence[int] = _numbers(found)
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
) -> Sequence[str]:
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
        found = _fields(path, column, n_points, origin, encoding, "classes", partial=True)
    classes: Sequence[str] = found.fields
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


class _LabelColumn(NamedTuple):
    """Labels (n,) as text, and the place of each in its file, for messages."""

    fields: list[str]
    where: Callable[[int], str]


def _fields(
    path: FilePath,
    column: str | None,
    n_points: int | None,
    origin: Origin,
    encoding: str | None,
    expected: str,
    partial: bool = False,
) -> _LabelColumn:
    """Return the labels of a file as text; see `read_labels`.

    expected : what messages call them
    partial : whether rows may lack a label, which is "" then
    """
    if file_suffix(path) in ARRAYS:
        name, fields = shown_path(path), _label_array(path, column)
        return _LabelColumn(fields, lambda position: f"{name}: label {position}")
    beside = encoding_beside(path, encoding)
    records = read_records(path, beside, expected, keeps_blank_lines=partial)
    if partial and n_points is not None:  # blank lines beyond the rows of the data are no classes
        n = len(records.rows)
        while n > origin.n_data_rows(n_points) and not any(records.rows[n - 1]):
            n -= 1
        records = replace(records, lines=records.lines[:n], rows=records.rows[:n])
    return _label_column(records, column, n_points, origin, partial)


def _label_column(
    records: Records,
    column: str | None,
    n_points: int | None,
    origin: Origin,
    partial: bool = False,
) -> _LabelColumn:
    """Return the labels of a table, as `read_labels` states.

    partial : whether a table with names of rows may lack rows, whose labels are "" then

    Raises
    ------
    InstanceError
        If it is not certain which column holds them, or there is no such column.
    """
    width = max(map(len, records.rows), default=0)
    if width == 0:
        return _LabelColumn([], records.where)
    if width == 1:
        _check_single(records)
    n = len(records.rows) if n_points is None else n_points
    keys = _keys(origin, n, partial and n_points is not None and width == 2) if width > 1 else []
    start = int(_has_heading(records, width, column, n_points, origin, keys if partial else []))
    names = [name or str(j) for j, name in enumerate(records.rows[0], start=1)] if start else None
    columns = [records.column(j, start) for j in range(width)]
    at = None if column is None else _named(records, names, width, column)
    key = _key_column(records, columns, at, start, origin, keys, partial) if width > 1 else None
    if at is None:
        others = [j for j in range(width) if key is None or j != key[0]]
        if width > 2 or len(others) > 1:
            raise InstanceError(
                f"{records.where(0)}: a table of the columns {_listed(names, width)}; expected "
                "--column with the name of the labels"
            )
        at = others[0]
    order = list(range(len(columns[at])))
    if key is not None:
        found = {name: record for record, name in enumerate(columns[key[0]])}
        order = [found.get(name, -1) for name in key[1]]
    return _LabelColumn(
        ["" if record < 0 else columns[at][record] for record in order],
        lambda position: records.where(start + order[position]),
    )


def _has_heading(
    records: Records,
    width: int,
    column: str | None,
    n_points: int | None,
    origin: Origin,
    keys: Sequence[Sequence[str]],
) -> bool:
    """Return whether the first record is a heading.

    keys : what rows may be called in one of two columns, if it may lack rows; () otherwise
    """
    first, *others = records.rows
    n, is_text = len(records.rows), not any(map(is_number, first))
    if column is not None:
        return is_text if column.isdecimal() else column in first or is_text
    for names in keys if width == 2 and others else ():
        called = {*names, *origin.dropped_rows}
        if first[0] not in called and {row[0] for row in others} <= called:
            return first[-1] not in {row[-1] for row in others}
    counts = () if n_points is None else (n_points, origin.n_data_rows(n_points))
    if n in counts and not (width > 1 and n - 1 in counts and is_text):
        return False
    if n - 1 in counts:
        return not is_number(first[-1]) or first[0] == ""
    if n_points is not None or width > 1:
        return width > 1 and is_text
    # One label too many would not be noticed.
    times = Counter(row[0] for row in others if not is_missing_word(row[0]))
    if is_text and times and all(map(is_number, times)):
        return True
    is_alone = bool(first[0]) and first[0] not in times and min(times.values(), default=0) > 1
    if is_alone:
        warn_caller(
            f"{records.where(0)}: {shown(first[0])} is taken as a heading, as it is the only label "
            "that occurs once",
            InstanceNote,
        )
    return is_alone


def _keys(origin: Origin, n: int, partial: bool) -> list[list[str]]:
    """Return what a column may call n points: their names, or their numbers, from 0 or from 1.

    partial : whether the column may lack points, so that it is not certain where numbers begin
    """
    names = [] if origin.row_names is None else [list(origin.row_names)]
    if partial:
        return names or [origin.rows(range(n))]
    rows = range(n) if origin.kept_rows is None else origin.kept_rows.tolist()
    return [*names, *([str(row + base) for row in rows] for base in (0, 1))]


def _key_column(
    records: Records,
    columns: Sequence[Sequence[str]],
    at: int | None,
    start: int,
    origin: Origin,
    keys: Sequence[Sequence[str]],
    partial: bool,
) -> tuple[int, Sequence[str]] | None:
    """Return the first column that calls the rows by one of the keys, and this key.

    at : of the labels; None: any column

    Raises
    ------
    InstanceError
        If none does, and the first one names rows, but not each of them once: labels in the order
        of the file would belong to other rows.
    """
    dropped = set(origin.dropped_rows)
    others = [j for j in range(len(columns)) if j != at]
    for key in keys:
        has_names = key is keys[0] and origin.row_names is not None
        for j in others:
            # Where rows have names, their numbers are what pandas and R write without a heading.
            is_unnamed = start and not any(records.rows[0][j : j + 1])
            if origin.row_names is not None and not has_names and not is_unnamed:
                continue
            named = set(columns[j])
            is_whole = named <= {*key, *dropped} if partial else named.issuperset(key)
            fits = has_names or partial or len(named) <= len(key) + len(dropped)
            if len(named) == len(columns[j]) and is_whole and fits:
                return j, key
    if origin.row_names is not None and 0 in others:
        _check_names(records, columns[0], start, origin.row_names, partial)
    return None


def _check_names(
    records: Records, fields: Sequence[str], start: int, names: Sequence[str], partial: bool
) -> None:
    """Raise the InstanceError if most fields are names of rows, or all are, each once."""
    known = set(names)
    found = known & set(fields)
    are_names = 1 < len(found) == len(fields)  # of some rows, each once
    if not are_names and 2 * len(found) < (len(fields) if partial else len(names)):
        return
    seen = set[str]()
    for record, field in enumerate(fields, start=start):
        if field in seen if field in known else partial:
            raise InstanceError(
                f"{records.where(record)}: {shown(field)} is not a row, or named before; expected "
                f"the name of each row once{hint_at_similar(field, known - seen)}"
            )
        seen.add(field)
    if lacking := [name for name in names if name not in found]:
        raise InstanceError(
            f"{shown_path(records.path)}: no label for {len(lacking)} of "
            f"{counted(len(names), 'row')}, {first_of(map(shown, lacking), 3)}; expected one for "
            "each, as they go by the names of rows"
        )


def _named(records: Records, names: Sequence[str] | None, width: int, column: str) -> int:
    """Return the position of the column with this name, or number where columns have none."""
    known = names or [str(j) for j in range(1, width + 1)]
    if known.count(column) == 1:
        return known.index(column)
    problem = "two columns have this name" if column in known else "there is no such column"
    raise InstanceError(
        f"{records.where(0)}: column = {shown(column)}: {problem}; expected one of "
        f"{_listed(names, width)}"
    )


def _listed(names: Sequence[str] | None, width: int) -> str:
    return first_of(map(shown, names or [str(j) for j in range(1, width + 1)]), 10)


def _check_single(records: Records) -> None:
    """Raise the InstanceError for several numbers on a line: they are no label."""
    wrong = [
        field
        for field in {row[0] for row in records.rows}
        if " " in field and all(map(is_number, field.split()))
    ]
    for record, row in enumerate(records.rows if wrong else ()):
        if row[0] in wrong:
            raise InstanceError(
                f"{records.where(record)}: {shown(row[0])}; expected one label per line"
            )


def _numbers(found: _LabelColumn) -> list[int]:
    """Return a number for each field, the same for the same label; -1 for -1."""
    numbers: dict[Hashable, int] = {}
    number_of: dict[str, int] = {}
    for field in dict.fromkeys(found.fields):
        label = number_or_text(field)
        is_whole = (
            isinstance(label, Decimal) and label.is_finite() and label == label.to_integral_value()
        )
        if not field or (is_number(field) and not is_whole):
            says = f"{shown(field)}; expected a whole number or a word as label"
            where = found.where(found.fields.index(field))
            raise InstanceError(
                f"{where}: {says if field else 'has no label; expected one for every row'}"
            )
        number_of[field] = numbers.setdefault(label, -1 if label == -1 else len(numbers))
    return [number_of[field] for field in found.fields]


def _label_array(path: FilePath, column: str | None) -> list[str]:
    """Return an array (n,) of numbers or words as text, or raise the InstanceError."""
    if file_suffix(path) == ".npz":
        array = read_one_array(path, column, 1, "labels (n,)")
    elif column is None:
        array = read_array(path)
    else:
        raise InstanceError(f"column: {shown_path(path)} has no columns; expected {TABLES} with it")
    if array.ndim != 1 or array.dtype.kind not in "iufUb":
        raise InstanceError(
            f"{shown_path(path)}: an array of shape {array.shape} and type {array.dtype}; expected "
            "labels (n,), integers or words"
        )
    with errors_as_one_line(path, "an array of words", (SystemError, ValueError)):
        return list(map(str, array.tolist()))
