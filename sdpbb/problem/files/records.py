"""Tables of text: records of fields, from CSV, workbooks, Parquet and Feather alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from sdpbb.problem.files import points_excel, points_parquet
from sdpbb.problem.files.columns import FileLayout
from sdpbb.problem.files.separated import FirstLine, first_line
from sdpbb.problem.textfile import chunks, file_suffix, open_text
from sdpbb.runtime.files import FilePath, shown_path


@dataclass(frozen=True)
class Records:
    """Records of a table, a heading among them if it has one.

    lines : the line of each, from 1; rows : their fields, without blanks around them
    """

    path: FilePath
    lines: Sequence[int]
    rows: list[Sequence[str]]

    def where(self, record: int) -> str:
        """Return the place of a record, for messages."""
        return f"{shown_path(self.path)}:{self.lines[record]}"

    def column(self, position: int, start: int = 0) -> list[str]:
        """Return the fields at a position, "" where a record has none, from a record on."""
        return [row[position] if position < len(row) else "" for row in self.rows[start:]]


def is_table(path: FilePath) -> bool:
    """Return whether a file's name says that it is a workbook, Parquet or Feather."""
    return file_suffix(path) in (*points_excel.SUFFIXES, *points_parquet.SUFFIXES)


def read_records(
    path: FilePath,
    encoding: str | None = None,
    expected: str = "a table",
    keeps_blank_lines: bool = False,
) -> Records:
    """Return the records of a table but the empty ones.

    Fields at the end of a record that hold nothing are left out where all records have them.

    keeps_blank_lines : of text without separators, whose records are a field each

    Raises
    ------
    InstanceError
        One line: the file, the line number, what is wrong and what would be right.
    BackendUnavailable
        If a package that reads the file is not installed.
    """
    suffix = file_suffix(path)
    if suffix in points_parquet.SUFFIXES:
        table = points_parquet.read_rows(path)
        return Records(path, list(range(1, len(table) + 1)), list(table))
    is_sheet = suffix in points_excel.SUFFIXES
    opened = points_excel.opened(path, None) if is_sheet else open_text(path, encoding)
    lines: list[int] = []
    rows: list[Sequence[str]] = []
    with opened as file:
        first = first_line(path, file, "," if is_sheet else None, expected)
        if first.separator is None:
            return _of_lines(path, file, keeps_blank_lines)
        for number, row in _rows(path, file, first):
            if any(row):
                lines.append(number)
                rows.append(row)
    width = max(map(_filled, rows), default=0)
    is_wide = any(len(row) > width for row in rows)
    return Records(path, lines, [row[:width] for row in rows] if is_wide else rows)


def _rows(path: FilePath, file: TextIO, first: FirstLine) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the number of each line, and its fields."""
    layout = FileLayout(path, first.number, first.number - 1, 0, first.separator)
    for number, _, fields in layout.rows(file):
        yield number, [field.strip() for field in fields]


def _of_lines(path: FilePath, file: TextIO, keeps_blank_lines: bool) -> Records:
    """Return the records of text without separators, a field each."""
    file.seek(0)
    # Of a million lines, few are different.
    known: dict[str, tuple[str]] = {}
    rows = list[Sequence[str]]()
    for _, chunk in chunks(file):
        for line in set(chunk) - known.keys():
            field = line.strip()
            is_quoted = len(field) > 1 and field[0] == field[-1] == '"'
            known[line] = (field[1:-1] if is_quoted else field,)
        rows += [known[line] for line in chunk]
    numbers = range(1, len(rows) + 1)
    if keeps_blank_lines or all(row[0] for row in known.values()):
        return Records(path, numbers, rows)
    lines = [number for number, row in zip(numbers, rows, strict=True) if row[0]]
    return Records(path, lines, [row for row in rows if row[0]])


def _filled(row: Sequence[str]) -> int:
    return max(column for column, field in enumerate(row, start=1) if field)
