"""Fields of lines of text: what separates them, and how decimals are written.

Both are detected if the file leaves no doubt; otherwise an error asks the user.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TextIO

from sdpbb.errors import InstanceError
from sdpbb.problem.textfile import (
    file_suffix,
    is_integer,
    is_missing_word,
    is_number,
    stated_lines,
    without_comment,
)
from sdpbb.runtime.files import FilePath, shown_path

CSV_SUFFIXES = (".csv", ".tsv", ".tab")
CANDIDATES = ",;\t|"
"""Characters that separate fields, if the file has to tell which."""

SAMPLE = 20
"""Number of lines that are looked at for the separator."""

MOST_LINES = 100
"""Number of lines that a field in quotes may go over, as headings of spreadsheets do."""

# Excel writes such a line for itself.
_SAYS = re.compile(r'\s*"?sep=(.)"?\s*', re.IGNORECASE)
_COMMA_NUMBER = re.compile(r"\s*[+-]?\d*,\d+(e[+-]?\d+)?\s*", re.ASCII | re.IGNORECASE)
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*", re.ASCII)
_OTHER_THOUSANDS = re.compile(
    r"\s*[+-]?[1-9]\d{0,2}([.,'\u2019 \u00a0\u202f]\d{3})+([.,]\d*)?\s*", re.ASCII
)


class FirstLine(NamedTuple):
    """First line of a file that says something, and what separates its fields.

    number, last : of the line, from 1, and of the one that it ends on: fields in quotes may go on
    line : its text, without a comment where these are
    separator : of CSV; None for text, whose fields have blanks between them
    """

    number: int
    last: int
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
    if not is_csv and separator is None and is_counts(line):
        return FirstLine(number, number, line, None)
    last, line = _record(number, line, lines) or (number, line)
    if separator is not None:
        return FirstLine(number, last, line, None if separator == " " else separator)
    following = [other for _, other in islice(lines, SAMPLE)]
    possible = _separators(line, following)
    if len(possible) > 1:
        names = " or ".join(map(repr, possible))
        raise InstanceError(
            f"{shown_path(path)}:{number}: the separator may be {names}; select one with "
            "--separator"
        )
    chosen = possible[0] if possible else _of_one_column(following) if is_csv else None
    return FirstLine(number, last, line, chosen)


def _of_one_column(following: Sequence[str]) -> str:
    """Return what would separate fields in a file whose first line has one.

    Where all others hold a number with a comma, these begin decimals: fields they do not separate.
    """
    fields = [line.strip() for line in following]
    has_commas = any("," in field for field in fields)
    return ";" if has_commas and all(map(_may_be_number, fields)) else ","


def _may_be_number(field: str) -> bool:
    return is_comma_number(field) or is_number(field) or is_missing_word(field)


def _record(number: int, line: str, following: Iterator[tuple[int, str]]) -> tuple[int, str] | None:
    """Return the last line number of a record that may have line ends in quotes, and its text.

    following : the lines after its first one, from which the rest is taken; line ends become
        blanks. None if a quote is not closed within `MOST_LINES`
    """
    parts, last = [line], number
    while sum(part.count('"') for part in parts) % 2:
        if len(parts) > MOST_LINES or (other := next(following, None)) is None:
            return None
        last = other[0]
        parts.append(other[1])
    return last, " ".join(part.rstrip("\n") for part in parts)


def is_counts(line: str) -> bool:
    """Return whether a line may be the first one, `n d k` or `n d`, of text."""
    fields = line.split()
    return len(fields) in (2, 3) and all(map(is_integer, fields))


def _separators(first: str, following: Sequence[str]) -> list[str]:
    """Return the characters that may separate the fields of these lines, as far as they tell."""
    possible = [one for one in CANDIDATES if len(fields_of(first.strip(" "), one)) > 1]
    lines = [first, *following]
    for holds in (_are_as_wide, _explains_the_others):
        if len(possible) > 1:
            possible = [one for one in possible if holds(one, lines)] or possible
    return possible


def _are_as_wide(separator: str, lines: Sequence[str]) -> bool:
    return len({len(fields_of(line, separator)) for line in lines}) == 1


def _explains_the_others(separator: str, lines: Sequence[str]) -> bool:
    """Return whether the other candidates are only commas of decimals, but for the first line."""
    for line in lines[1:] or lines:
        for field in fields_of(line, separator):
            has_others = any(one in field for one in CANDIDATES if one != separator)
            if has_others and f'"{field}"' not in line and not is_comma_number(field):
                return False
    return True


def rows_of(
    path: FilePath, file: TextIO, separator: str | None, skip: int
) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the rows of a file: the number of the line, the line without a comment, and its fields.

    separator : of the fields of CSV; None for text, in which comments are left out
    skip : the number of lines before the first row

    Raises
    ------
    InstanceError
        For a quote that is not closed.
    """
    file.seek(0)
    lines = enumerate(file, start=1)
    if separator is None:
        for number, line in lines:
            content = without_comment(line)
            if number > skip and content.strip():
                yield number, content, content.split()
        return
    for number, line in lines:
        if number <= skip or not line.strip():
            continue
        if '"' not in line:
            yield number, line, line.rstrip("\n").split(separator)
            continue
        record = line
        if line.count('"') % 2 and _is_open(line, separator):
            found = _record(number, line, lines)
            if found is None:
                raise InstanceError(
                    f"{shown_path(path)}:{number}: a quote is not closed; expected another one"
                )
            record = found[1]
        yield number, record, fields_of(record, separator)


def fields_of(line: str, separator: str) -> list[str]:
    """Return the fields of a line of CSV."""
    if '"' in line:
        try:
            return next(csv.reader([line], delimiter=separator))
        except csv.Error:  # an unreasonably long field: not a number in any case
            pass
    return line.rstrip("\n").split(separator)


def _is_open(line: str, separator: str) -> bool:
    """Return whether a line ends within a field in quotes; others have quotes as 5\" has."""
    try:
        next(csv.reader([line.rstrip("\n")], delimiter=separator, strict=True))
    except csv.Error:
        return True
    return False


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


def decimal_of(fields: Iterable[str]) -> str | None:
    """Return what decimals begin with in all these fields, "." or ","; None if it is not certain.

    A comma is certain where some number with a comma has not three digits after it, which may be
    thousands, and no number has a point.
    """
    is_certain = False
    for field in fields:
        if is_comma_number(field):
            is_certain |= _THOUSANDS.fullmatch(field) is None
        elif ("." in field and is_number(field.strip())) or _THOUSANDS.fullmatch(field):
            return None
    return "," if is_certain else None


def number_hint(field: str, decimal: str) -> str:
    """Return the end of a message on a field that is nearly a number."""
    if decimal == "." and is_comma_number(field):
        return (
            " with decimal points, or --decimal ',' for decimal commas (without thousands "
            "separators)"
        )
    if _OTHER_THOUSANDS.fullmatch(field):
        return " without thousands separators"
    if is_missing_word(field):
        return ""
    stripped = field.strip()
    if stripped.lower() in ("true", "false", "yes", "no"):
        return " (0 and 1, say)"
    if stripped[-1:] == "%" and number_in(stripped[:-1], decimal) is not None:
        return " without a per cent sign"
    if re.fullmatch(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([ T].*)?", stripped):
        return " instead of a date"
    return ""
