"""The first line of a file of points, and the fields of its lines where it is CSV."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import NamedTuple, TextIO

from sdpbb.errors import InstanceError
from sdpbb.files import shown_path
from sdpbb.problem.textfile import FilePath, is_number, without_comment


class FirstLine(NamedTuple):
    """The first line that is not blank, its number from 1, and whether it is one of CSV."""

    number: int
    line: str
    is_csv: bool


def first_line(path: FilePath, file: TextIO) -> FirstLine:
    """Read up to the first line that is not blank.

    Raises
    ------
    InstanceError
        If there is none, or its fields are separated by something else than a comma.
    """
    has_csv_name = str(path).lower().endswith(".csv")
    number, content = _first_content(path, file, has_csv_name)
    separator = _other_separator(content, has_csv_name)
    if separator:
        raise InstanceError(
            f"{shown_path(path)}:{number}: the separator is {separator!r}; expected ','"
        )
    return FirstLine(number, content, has_csv_name or "," in content)


def _first_content(path: FilePath, file: TextIO, has_csv_name: bool) -> tuple[int, str]:
    # readline, not iteration: that would take back the right to seek.
    for number, line in enumerate(iter(file.readline, ""), start=1):
        content = line if has_csv_name else without_comment(line)
        if content.strip():
            return number, content
    raise InstanceError(f"{shown_path(path)}: the file is empty; expected points")


def csv_fields(line: str) -> list[str]:
    """The fields of a line of CSV."""
    try:
        return next(csv.reader([line]))
    except csv.Error:  # an unreasonably long field, or a zero byte: not a number in any case
        return line.rstrip("\n").split(",")


def check_heading(where: str, names: Sequence[str]) -> None:
    """Raise the InstanceError if a column has no name.

    where : the file and line
    """
    nameless = [column for column, name in enumerate(names, start=1) if not name.strip()]
    if nameless:
        raise InstanceError(
            f"{where}: column {nameless[0]} has no name; expected one, or a file without that "
            "column if it holds row numbers (pandas: to_csv(..., index=False))"
        )


def _other_separator(line: str, has_csv_name: bool) -> str | None:
    """What spreadsheets separate the fields of this line by, if it is not a comma."""
    if ";" in line and ("," not in line or _is_decimal_comma_row(line)):
        return ";"
    # In text, tabs are blanks.
    return "\t" if has_csv_name and "\t" in line.strip() and "," not in line else None


def _is_decimal_comma_row(line: str) -> bool:
    return all(is_number(field.replace(",", ".")) for field in line.split(";"))
