"""Files of labels; `sdpbb.problem.formats` describes the formats."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.files.tables import ARRAYS, opened_table, read_array
from sdpbb.problem.frames import note_noise, positions
from sdpbb.problem.origin import Origin
from sdpbb.problem.table import TABLES
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


def read_labels(
    path: FilePath,
    n_points: int | None = None,
    column: str | None = None,
    *,
    origin: Origin | None = None,
    encoding: str | None = None,
) -> NDArray[np.intp]:
    """Read the labels (n,) of n points: numbers 0, 1, ... by the first point of each.

    Labels are words or integers. Spellings of the same integer, such as 1, 01 and 1.0, are the same
    label. A file of one label per line may begin with a heading. In a table of two columns (CSV,
    Excel, Parquet, Feather), one may have the names of the rows, or their numbers in order; for
    other tables the column must be given. Labels in a table with names of rows are matched by name,
    others by the order of the file.

    Parameters
    ----------
    n_points : expected number of labels; None: any number
    column : the column of labels, by its name or, without a heading, its number from 1; for an
        `.npz` file the name of the array
    origin : names of the rows of the points. If rows were dropped, the file may have labels for all
        rows of the data
    encoding : encoding of text without a byte order mark that is not UTF-8; None: UTF-8

    Raises
    ------
    InstanceError
        One line: the file, the line number if it is known, what is wrong and what is expected.
    BackendUnavailable
        If a package that reads the file is not installed.
    """
    name = shown_path(path)
    with reading_file(path):
        found = _labels(path, n_points, column, origin or Origin(), encoding)
        label_of: dict[str, Hashable] = {}
        for place, field in found:
            if field not in label_of:
                label_of[field] = label = number_or_text(field)
                is_whole = isinstance(label, str) or (
                    label.is_finite() and label == label.to_integral_value()
                )
                if not field or not is_whole:
                    raise InstanceError(
                        f"{name}{place}: {shown(field)}; expected a whole number or a word as label"
                    )
        labels = [label_of[field] for _, field in found]
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
    """Read the known classes (n,) of some of n points, as texts for `KnownClasses.of`.

    Files and parameters are as for `read_labels`. An empty line, -1 or a word for a missing value
    means an unknown class. A table with the names of the rows may lack rows.

    Raises
    ------
    InstanceError, BackendUnavailable
        As `read_labels`.
    """
    with reading_file(path):
        found = _labels(path, n_points, column, origin or Origin(), encoding, partial=True)
    return [field for _, field in found]


def write_labels(path: FilePath, labels: NDArray[np.intp]) -> None:
    """Write labels (n,), one per line, in the order of the points."""
    write_atomically(path, labels_text(labels))


def labels_text(labels: NDArray[np.intp]) -> str:
    """Return the content of a file of labels (n,)."""
    return "".join(f"{label}\n" for label in labels.tolist())


def labels_file(labels: NDArray[np.intp], origin: Origin) -> bytes:
    """Return labels (n,) as CSV, with the separator and the encoding of the file of points.

    A row has the name of a point, or its position in the data, from 0, and its label. UTF-8 text
    has a byte order mark if the data have one. It also does if the data are CSV or a workbook, and
    the text is not ASCII: without the mark Excel assumes another encoding.
    """
    content = io.StringIO()
    writer = csv.writer(content, delimiter=origin.separator or ",", lineterminator="\n")
    writer.writerow([origin.index_name or "id", "cluster"])
    names = origin.row_names or origin.counted(len(labels), 0)
    writer.writerows(zip(names, labels.tolist(), strict=True))
    text, encoding = content.getvalue(), codecs.lookup(origin.encoding).name
    if encoding == "utf-8" and origin.separator and not text.isascii():
        encoding = "utf-8-sig"
    return text.encode(encoding)


def _labels(
    path: FilePath,
    n_points: int | None,
    column: str | None,
    origin: Origin,
    encoding: str | None,
    partial: bool = False,
) -> Sequence[tuple[str, str]]:
    """Return the place of each label in the file and its text, in the order of the points.

    partial : whether rows may lack a label, which is "" then

    Raises
    ------
    InstanceError
        If the column does not exist or is ambiguous, or the numbers of labels and points differ.
    """
    if file_suffix(path) in ARRAYS:
        fields = enumerate(_label_array(path, column))
        found: Sequence[Any] = [(f": label {at}", field) for at, field in fields]
    else:
        found = _label_column(path, n_points, column, origin, encoding, partial)
    if n_points is None:
        return found
    found = origin.of_points(found, n_points)
    if len(found) != n_points:
        kind, hint = "labels", ""
        if partial:
            kind, hint = "classes", ", -1 where it is unknown, or a table with the names of rows"
        raise InstanceError(
            f"{shown_path(path)}: {len(found)} {kind} for {origin.n_data_rows(n_points)} points; "
            f"expected one per line and point{hint}"
        )
    return found


def _label_column(
    path: FilePath,
    n_points: int | None,
    column: str | None,
    origin: Origin,
    encoding: str | None,
    partial: bool,
) -> list[tuple[str, str]]:
    """Return the place and the text of each label of a table, matched by names of rows if possible.

    Parameters and errors: see `_labels`.
    """
    path_name = shown_path(path)
    with opened_table(path, encoding=encoding_beside(path, encoding)) as table:
        rows = [(line, list(map(_unquoted, fields))) for line, fields in table.rows]
    width = max((len(fields) for _, fields in rows), default=0)
    counts = () if n_points is None else (n_points, origin.n_data_rows(n_points))
    if partial and width == 1:
        while counts and len(rows) > counts[1] and not rows[-1][1][0]:
            rows.pop()  # blank lines after the last row of the data are ignored
    else:
        rows = [(line, fields) for line, fields in rows if any(fields)]
    if not rows:
        raise InstanceError(f"{path_name}: the file is empty; expected labels")
    names = list(map(str, range(1, width + 1)))
    if _has_heading([fields for _, fields in rows], width, counts, origin):
        names = [name or number for name, number in zip_longest(rows.pop(0)[1], names)]
    lines = [line for line, _ in rows]
    columns = [
        [fields[at] if at < len(fields) else "" for _, fields in rows] for at in range(width)
    ]
    shown_names = first_of(map(shown, names), 10)
    if column is not None and names.count(column) != 1:
        raise InstanceError(
            f"{path_name}: column {shown(column)}: expected one of {shown_names}, each a name of "
            "one column"
        )
    others = {at: columns[at] for at in range(width) if names[at] != column}
    order: Sequence[int] = range(len(rows))
    if width > 1:
        n = len(rows) if n_points is None else n_points
        if (found := _by_name(others, origin, n, path_name, partial)) is not None:
            del others[found[0]]
            order = found[1]
    if column is None and len(others) > 1:
        raise InstanceError(
            f"{path_name}: a table of the columns {shown_names}; expected --column with the name "
            "of the labels"
        )
    chosen = next(iter(others.values())) if column is None else columns[names.index(column)]
    return [(f":{lines[at]}", "" if at < 0 else chosen[at]) for at in order]


def _unquoted(field: str) -> str:
    """Return a field without surrounding blanks and quotes."""
    field = field.strip()
    is_quoted = len(field) > 1 and field[0] == field[-1] == '"'
    return field[1:-1] if is_quoted else field


def _has_heading(
    rows: Sequence[Sequence[str]], width: int, counts: Sequence[int | None], origin: Origin
) -> bool:
    """Return whether the first row is a heading.

    The heading of a table has neither a number nor the name of a row, or its first field is empty.
    In a file of lines it is a word, and the file has one line more than the data have rows. If the
    number of rows is unknown, it must be the only word that occurs once.

    counts : the numbers of points and of rows of the data; (): unknown
    """
    first, *others = rows
    if width > 1:
        known = {*(origin.row_names or ()), *origin.dropped_rows}
        return first[0] == "" or not any(is_number(field) or field in known for field in first)
    if is_number(first[0]):
        return False
    if counts:
        return len(others) in counts and len(rows) not in counts
    times = Counter(row[0] for row in others)
    return bool(times) and all(
        label != first[0] and (number > 1 or is_number(label) or is_missing_word(label))
        for label, number in times.items()
    )


def _by_name(
    columns: Mapping[int, Sequence[str]], origin: Origin, n: int, path: str, partial: bool
) -> tuple[int, list[int]] | None:
    """Return the column that names the rows, and the position in it of each point; or None.

    Most of its fields are names of rows, or its fields are the numbers of all rows, from 0 or from
    1. In a partial table of two columns they may be some of the numbers.

    Raises
    ------
    InstanceError
        If a name repeats, is not known, or, unless partial, is lacking.
    """
    names, known = origin.rows(range(n)), set(origin.data_rows(n))
    numbers = [] if partial else [origin.counted(n, first) for first in (0, 1)]
    for at, fields in columns.items():
        found = set(fields)
        fits = found == known or (partial and len(columns) == 2 and found <= known)
        if origin.row_names is not None:
            fits = 2 * len(known & found) >= min(len(fields), n)
        if fits:
            return at, positions(fields, names, known, path, partial)
        for counted in numbers:
            if found == set(counted):
                return at, positions(fields, counted, counted, path)
    return None


def _label_array(path: FilePath, column: str | None) -> list[str]:
    """Return an array (n,) of numbers or words as text, or raise the InstanceError."""
    if column is not None and file_suffix(path) == ".npy":
        raise InstanceError(f"column: {shown_path(path)} has no columns; expected {TABLES} with it")
    array = read_array(path, column, 1, "labels (n,)")
    if array.ndim != 1 or array.dtype.kind not in "iufUb":
        raise InstanceError(
            f"{shown_path(path)}: an array of shape {array.shape} and type {array.dtype}; expected "
            "labels (n,), integers or words"
        )
    with errors_as_one_line(path, "an array of words"):
        return list(map(str, array.tolist()))
