"""Text files: opening with one-line errors, and the words and numbers in them."""

from __future__ import annotations

import codecs
import gzip
import re
import warnings
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from typing import Any, TextIO
from unicodedata import category

from sdpbb.errors import InstanceError
from sdpbb.runtime.files import FilePath, name_problem, shown_path
from sdpbb.runtime.reading import check_encoding

_INTEGER = re.compile(r"-?\d{1,15}", re.ASCII)

# Categories of characters that are shown unescaped: letters, accents, signs (€, °, ²).
_SHOWN = frozenset(("Ll", "Lm", "Lo", "Lt", "Lu", "Mc", "Me", "Mn", "No", "Sc", "Sk", "So"))

# Words for missing values, in lower case, in spreadsheets, R, pandas, SQL, SAS and files of UCI.
_MISSING_WORDS = frozenset(
    (
        *("", "na", "n/a", "n.a.", "#n/a", "#na", "<na>", "nan", "-nan", "null", "none", "nil"),
        *("?", "-", "--", ".", "*", "missing", "(null)", "\\n", "#null!", "#value!", "#div/0!"),
    )
)


@contextmanager
def open_text(path: FilePath, encoding: str | None = None) -> Iterator[TextIO]:
    """Open a regular file of text for reading; gzip files are decompressed.

    encoding : encoding of text without a byte order mark; None: UTF-8

    Raises
    ------
    InstanceError
        On opening, or on reading within the block: a missing file, a folder, a device, a file
        without permission, text in another encoding, a damaged archive.
    ParameterError
        If the encoding is unknown.
    """
    check_file(path, "a text file")
    check_encoding(encoding)
    file, name = Path(path), shown_path(path)
    try:
        with _text(file, encoding) as stream:
            yield stream
    except UnicodeError as error:
        raise InstanceError(f"{name}: {_encoding_problem(error, encoding)}") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InstanceError(f"{name}: is a damaged gzip file ({error})") from None
    except OSError as error:
        raise InstanceError(f"{name}: cannot be read ({error.strerror or error})") from None


def encoding_beside(path: FilePath, encoding: str | None) -> str | None:
    """Return the encoding of a file of labels or constraints; the option is about the data, too.

    Such a file may have another encoding than the data, for example if this program wrote it. Text
    that can be read as UTF-8 is UTF-8: other encodings hardly ever form valid UTF-8.

    Raises
    ------
    ParameterError
        If the encoding is unknown.
    """
    check_encoding(encoding)
    if encoding is not None:
        with suppress(InstanceError), open_text(path) as file:
            if not any("\0" in line for line in file):  # UTF-16 contains such characters
                return None
    return encoding


def file_suffix(path: FilePath) -> str:
    """Return the suffix of a file's name in lower case, without `.gz`."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def stated_lines(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the number, from 1, and the text without comment of each line that is not blank."""
    for number, line in enumerate(lines, 1):
        if (content := without_comment(line)).strip():
            yield number, content


def check_file(path: FilePath, expected: str = "a file") -> None:
    """Raise the InstanceError unless there is a regular file at path.

    expected : description of the file, for messages
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
def errors_as_one_line(path: FilePath, expected: str) -> Iterator[None]:
    """Convert errors that other packages raise within the block into an InstanceError.

    For a damaged file they may raise any exception.

    expected : description of the file, for messages
    """
    check_file(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on old formats
            yield
    except MemoryError:  # pyarrow's is an ArrowException, too
        raise
    except OSError as error:
        # Pyarrow also raises it for errors inside the file.
        reason = error.strerror or shown(" ".join(str(error).split()))
        raise InstanceError(f"{shown_path(path)}: cannot be read ({reason})") from None
    except Exception as error:
        detail = shown(" ".join(str(error).split()))
        raise InstanceError(f"{shown_path(path)}: is not {expected} ({detail})") from None


@contextmanager
def naming_file(path: FilePath) -> Iterator[None]:
    """Begin each InstanceError within the block with the name of the file; "": no file."""
    try:
        yield
    except InstanceError as error:
        raise InstanceError(f"{shown_path(path)}: {error}" if path else str(error)) from None


@contextmanager
def reading_file(path: FilePath) -> Iterator[None]:
    """Context manager: name the file if the memory runs out; "": no file.

    Raises
    ------
    InstanceError
        Instead of a MemoryError within the block.
    """
    try:
        yield
    except MemoryError:
        if not path:
            raise
        raise InstanceError(
            f"{shown_path(path)}: does not fit into the memory, or is damaged; expected less data"
        ) from None


# The longest first, as some marks are the beginning of others.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_GZIP = b"\x1f\x8b"


def _text(file: Path, encoding: str | None) -> TextIO:
    """Open a file with the encoding of its byte order mark, or else the given encoding.

    utf-8-sig removes the mark, but is slow, so that only marked files use it.
    """
    with open(file, "rb") as stream:
        opened: Any = gzip.open if stream.read(2) == _GZIP else open
    with opened(file, "rb") as stream:
        start = stream.read(4)
    marked = next((name for mark, name in _MARKS if start.startswith(mark)), None)
    text: TextIO = opened(file, "rt", encoding=marked or encoding or "utf-8")
    return text


def _encoding_problem(error: UnicodeError, encoding: str | None) -> str:
    """Return the message on text that cannot be decoded."""
    if not isinstance(error, UnicodeDecodeError):
        return f"is not {encoding or 'UTF-8'} text ({error}); expected a text file"
    byte, codec = error.object[error.start], error.encoding.upper()
    if encoding is not None or not codec.startswith("UTF-8"):
        return f"is not {codec} text (byte 0x{byte:02x}); expected another encoding"
    return (
        f"is not UTF-8 text (byte 0x{byte:02x}); expected UTF-8 text, or --encoding (cp1252 for "
        "files of Excel, latin-1, utf-16)"
    )


def name_in_file(name: str) -> str:
    """Return the name of a row for a file of constraints, in quotes if it has blanks."""
    is_plain = name and not any(char.isspace() or char in "#\"'" for char in name)
    return name if is_plain else '"' + name.replace('"', '""') + '"'


def first_of(names: Iterable[str], most: int) -> str:
    """Return the first `most` names, separated by commas, and dots if there are more."""
    listed = list(islice(names, most + 1))
    return ", ".join(listed[:most]) + (", ..." if len(listed) > most else "")


def is_number(field: str) -> bool:
    """Return whether a field is a number for NumPy, which includes nan and inf."""
    try:
        float(field)
    except ValueError:
        return False
    return field.isascii() and "_" not in field  # Python itself accepts both


def number_or_text(field: str) -> Decimal | str:
    """Return a field as a number, equal for all spellings (1, 01, 1.0), or else unchanged."""
    try:
        return Decimal(field) if is_number(field) else field
    except InvalidOperation:  # an exponent of twenty digits
        return field


def is_missing_word(field: str) -> bool:
    """Return whether a field of a file means a missing value."""
    return field.strip().lower() in _MISSING_WORDS


def is_integer(field: str) -> bool:
    """Return whether a field is an integer, of at most 15 digits as row numbers and counts are."""
    return _INTEGER.fullmatch(field) is not None


def without_comment(line: str) -> str:
    """Return a line up to the `#` that begins a comment."""
    return line.split("#", 1)[0]


def shown(text: str) -> str:
    """Return text from a file quoted, on one line and of bounded length.

    Letters of all languages, and signs such as €, are shown unescaped. Other characters beyond
    ASCII are escaped: a typographic minus sign, blank or digit would look like the expected one.
    """
    text = "".join(
        char if char.isascii() or category(char) in _SHOWN else ascii(char)[1:-1]
        for char in repr(text)
    )
    return text if len(text) <= 60 else f"{text[:56]}...{text[-1]}"
