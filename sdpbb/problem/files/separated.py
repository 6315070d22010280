"""Fields of lines of text: what separates them, and how decimals are written.

Both are detected if the first lines leave no doubt; otherwise an error asks the user.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TextIO

from sdpbb.errors import InstanceError
from sdpbb.problem.textfile import file_suffix, is_integer, is_number, stated_lines
from sdpbb.runtime.files import FilePath, shown_path

CSV_SUFFIXES = (".csv", ".tsv", ".tab")
CANDIDATES = ",;\t|"
"""Characters that separate fields, if the file has to tell which."""

SAMPLE = 20
"""Number of lines that are looked at for the separator."""

# Excel writes such a line for itself.
_SAYS = re.compile(r'\s*"?sep=(.)"?\s*', re.IGNORECASE)
_COMMA_NUMBER = re.compile(r"\s*[+-]?\d*,\d+(e[+-]?\d+)?\s*", re.ASCII | re.IGNORECASE)
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*", re.ASCII)
_OTHER_THOUSANDS = re.compile(
    r"\s*[+-]?[1-9]\d{0,2}([.,'\u2019 \u00a0\u202f]\d{3})+([.,]\d*)?\s*", re.ASCII
)


class FirstLine(NamedTuple):
    """First line of a file that says something, and what separates its fields.

    number : of the line, from 1
    line : its text, without a comment where these are
    separator : of CSV; None for text, whose fields have blanks between them
    """

    number: int
    line: str
    separator: str | None


def first_line(path: FilePath, file: TextIO, separator: str | None, expected: str) -> FirstLine:
    """Return the first line of a file that is neither blank nor a comment.

    Parameters
    ----------
    separator : that the user states; None to detect it, from this line and some more
    expected : what messages say of what should be there

    Raises
    ------
    InstanceError
        If there is no such line, or several characters may be the separator.
    """
    is_csv = file_suffix(path) in CSV_SUFFIXES
    lines = stated_lines(file, has_comments=not (is_csv or separator is not None))
    number, line = next(lines, (0, ""))
    if says := _SAYS.fullmatch(line):
        separator = separator or says[1]
        number, line = next(lines, (0, ""))
    if not line:
        raise InstanceError(f"{shown_path(path)}: the file is empty; expected {expected}")
    if separator is not None:
        return FirstLine(number, line, None if separator == " " else separator)
    if not is_csv and is_counts(line):
        return FirstLine(number, line, None)
    possible = _separators([line, *(other for _, other in islice(lines, SAMPLE))])
    if len(possible) > 1:
        names = " or ".join(map(repr, possible))
        raise InstanceError(
            f"{shown_path(path)}:{number}: the separator may be {names}; select one with "
            "--separator"
        )
    return FirstLine(number, line, possible[0] if possible else "," if is_csv else None)


def is_counts(line: str) -> bool:
    """Return whether a line may be the first one, `n d k` or `n d`, of text."""
    fields = line.split()
    return len(fields) in (2, 3) and all(map(is_integer, fields))


def _separators(lines: Sequence[str]) -> list[str]:
    """Return the characters that may separate the fields of these lines, as far as they tell."""
    tables = {one: [fields_of(line, one) for line in lines] for one in CANDIDATES}
    possible = [one for one, rows in tables.items() if len(rows[0]) > 1]
    as_wide = [one for one in possible if len(set(map(len, tables[one]))) == 1]
    possible = as_wide or possible
    return [one for one in possible if _explains(one, tables[one])] or possible


def _explains(separator: str, rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the other candidates are only commas of decimals, but for the first line."""
    others = set(CANDIDATES) - {separator}
    fields = (field for row in rows[1:] or rows for field in row)
    return all(others.isdisjoint(field) or is_comma_number(field) for field in fields)


def rows_of(
    path: FilePath, file: TextIO, separator: str | None, skip: int
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the line and the fields of each row of a file but the empty ones.

    separator : of the fields of CSV; None for text, in which comments are left out
    skip : the number of lines before the first row

    Raises
    ------
    InstanceError
        For a quote that is not closed, or is closed within a field.
    """
    file.seek(0)
    lines = islice(file, skip, None)
    if separator is None:
        yield from ((number, line.split()) for number, line in stated_lines(lines, skip + 1))
        return
    reader = csv.reader(lines, delimiter=separator, strict=True)
    number = skip + 1
    try:
        for fields in reader:
            if fields:
                yield number, fields
            number = skip + 1 + reader.line_num
    except csv.Error:
        raise InstanceError(
            f"{shown_path(path)}:{number}: a field begins with a quote, and does not end with one; "
            "expected both"
        ) from None


def fields_of(line: str, separator: str) -> list[str]:
    """Return the fields of a line of CSV."""
    try:
        return next(csv.reader([line], delimiter=separator))
    except csv.Error:  # an unreasonably long field: not a number in any case
        return line.split(separator)


def number_in(field: str, decimal: str) -> float | None:
    """Return the number in a field, with or without blanks around it; None if it holds none."""
    if decimal == ",":
        if "." in field:
            return None
        field = field.replace(",", ".")
    # Of a field with other letters than ASCII, float() takes off the blanks of all alphabets.
    field = field if field.isascii() else field.strip()
    return float(field) if is_number(field) else None


def is_comma_number(field: str) -> bool:
    """Return whether a field is a number with one comma among its digits."""
    return _COMMA_NUMBER.fullmatch(field) is not None


def decimal_of(fields: Iterable[str]) -> str:
    """Return what decimals begin with in all these fields: a point, unless a comma is certain.

    A comma is certain where some number with a comma has not three digits after it, which may be
    thousands, and no number has a point.
    """
    is_certain = False
    for field in fields:
        if is_comma_number(field):
            is_certain |= _THOUSANDS.fullmatch(field) is None
        elif ("." in field and is_number(field.strip())) or _THOUSANDS.fullmatch(field):
            return "."
    return "," if is_certain else "."


def number_hint(field: str, decimal: str) -> str:
    """Return the end of a message on a field that is nearly a number; "" for another field."""
    if decimal == "." and is_comma_number(field):
        return (
            " with decimal points, or --decimal ',' for decimal commas (without thousands "
            "separators)"
        )
    return " without thousands separators" if _OTHER_THOUSANDS.fullmatch(field) else ""
