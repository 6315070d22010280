"""Opening of text files, with one-line errors."""

from __future__ import annotations

import codecs
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TextIO

from sdpbb.errors import InstanceError
from sdpbb.files import FilePath, name_problem, shown_path

# What NumPy's reader takes for a number, so that both readings of a file agree. No part of it can
# match the same digits in two ways: thousands of them would take seconds.
_NUMBER = re.compile(
    r"\s*[+-]?((\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|nan|inf(inity)?)\s*", re.ASCII | re.IGNORECASE
)
_INTEGER = re.compile(r"-?\d{1,15}", re.ASCII)

# Lines of a file that are looked at together.
CHUNK = 50_000


@contextmanager
def open_text(path: FilePath) -> Iterator[TextIO]:
    """Open a regular file of UTF-8 text for reading.

    Raises
    ------
    InstanceError
        On opening, or for what is read within the block: a missing file, a folder, a device, a
        file without permission, text that is not UTF-8.
    """
    check_file(path, "a text file")
    file, name = Path(path), shown_path(path)
    try:
        with open(file, encoding=_encoding(file)) as stream:
            yield stream
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise InstanceError(
            f"{name}: is not UTF-8 text (byte 0x{byte:02x}); expected a text file"
        ) from None
    except OSError as error:
        raise InstanceError(f"{name}: cannot be read ({error.strerror or error})") from None


def chunks(file: TextIO) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of a file, many at a time, with the number of the first of them, from 1."""
    number = 1
    while lines := list(islice(file, CHUNK)):
        yield number, lines
        number += len(lines)


def columns(lines: list[str], width: int) -> list[list[str]]:
    """Return the columns of lines that have so many fields each, and no comments.

    They are empty if these are other lines.
    """
    text = "".join(lines)
    # No list for each line: Python would look for cycles among them, again and again.
    fields = [] if "#" in text else f"{text.rstrip()}\n".replace("\n", " # ").split()
    if fields[width :: width + 1] != ["#"] * len(lines) or len(fields) != (width + 1) * len(lines):
        return [[]] * width
    return [fields[column :: width + 1] for column in range(width)]


def check_file(path: FilePath, expected: str = "a file") -> None:
    """Raise the InstanceError if there is no regular file to read at path.

    expected : what messages say of what should be there
    """
    if problem := name_problem(path):
        raise InstanceError(problem)
    file, name = Path(path), shown_path(path)
    try:
        file.stat()
        if file.is_dir():
            raise InstanceError(f"{name}: is a folder; expected {expected}")
        if not file.is_file():
            raise InstanceError(f"{name}: is not a regular file; expected {expected}")
    except FileNotFoundError:
        raise InstanceError(f"{name}: there is no such file") from None
    except OSError as error:
        raise InstanceError(f"{name}: cannot be read ({error.strerror or error})") from None


@contextmanager
def errors_as_one_line(
    path: FilePath, expected: str, errors: tuple[type[Exception], ...]
) -> Iterator[None]:
    """Turn what other packages raise on a file within the block into an InstanceError.

    expected : what messages say of what the file should be
    errors : raised for a file that is something else
    """
    check_file(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of old formats
            yield
    except OSError as error:
        # Of pyarrow too, for what is wrong inside the file.
        reason = error.strerror or shown(" ".join(str(error).split()))
        raise InstanceError(f"{shown_path(path)}: cannot be read ({reason})") from None
    except errors as error:
        detail = shown(" ".join(str(error).split()))
        raise InstanceError(f"{shown_path(path)}: is not {expected} ({detail})") from None


@contextmanager
def naming_file(path: FilePath) -> Iterator[None]:
    """Begin each InstanceError within the block with the name of the file."""
    try:
        yield
    except InstanceError as error:
        raise InstanceError(f"{shown_path(path)}: {error}") from None


def _encoding(file: Path) -> str:
    """Return the encoding to open the file with.

    utf-8-sig takes off the byte order mark that spreadsheets write, but is slow.
    """
    with open(file, "rb") as stream:
        return "utf-8-sig" if stream.read(3) == codecs.BOM_UTF8 else "utf-8"


def is_number(field: str) -> bool:
    """Return whether a field is a number as NumPy reads them; nan and inf are."""
    return _NUMBER.fullmatch(field) is not None


def is_integer(field: str) -> bool:
    """Return whether a field is an integer of a size that can be a row number or a count."""
    return _INTEGER.fullmatch(field) is not None


def without_comment(line: str) -> str:
    """Return a line up to the `#` that begins a comment."""
    return line.split("#", 1)[0]


def shown(text: str) -> str:
    """Return text from a file quoted, on one line and of bounded length."""
    text = ascii(text)
    return text if len(text) <= 60 else f"{text[:56]}...{text[-1]}"
