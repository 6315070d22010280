"""Opening of files, with one-line errors: also of files too large for the memory, or for a user."""

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

# Categories of characters that cannot be mistaken for others: letters, accents, signs (€, °, ²).
_SHOWN = frozenset(("Ll", "Lm", "Lo", "Lt", "Lu", "Mc", "Me", "Mn", "No", "Sc", "Sk", "So"))

# Values that are missing, in lower case, as spreadsheets, R, pandas, SQL, SAS and the files of UCI
# have them.
_MISSING_WORDS = frozenset(
    (
        *("", "na", "n/a", "n.a.", "#n/a", "#na", "<na>", "nan", "-nan", "null", "none", "nil"),
        *("?", "-", "--", ".", "*", "missing", "(null)", "\\n", "#null!", "#value!", "#div/0!"),
    )
)


@contextmanager
def open_text(path: FilePath, encoding: str | None = None) -> Iterator[TextIO]:
    """Open a regular file of text for reading; one that gzip has compressed is read through it.

    encoding : of the text, unless it begins with a byte order mark, which tells; None for UTF-8

    Raises
    ------
    InstanceError
        On opening, or for what is read within the block: a missing file, a folder, a device, a
        file without permission, text in another encoding, a damaged archive.
    ParameterError
        If there is no such encoding.
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
    """Return the encoding of labels or constraints; one option states it for them and the data.

    They may be from elsewhere, such as this program's own output: text that can be read as UTF-8
    is that, and no other encoding by chance.

    Raises
    ------
    ParameterError
        If there is no such encoding.
    """
    check_encoding(encoding)
    if encoding is not None:
        with suppress(InstanceError), open_text(path) as file:
            if not any("\0" in line for line in file):  # which UTF-16 has
                return None
    return encoding


def file_suffix(path: FilePath) -> str:
    """Return the ending of a file's name in lower case, that before `.gz` if it has this, too."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def stated_lines(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the number, from 1, and the text, without comment, of each line that says something."""
    for number, line in enumerate(lines, 1):
        if (content := without_comment(line)).strip():
            yield number, content


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
def errors_as_one_line(path: FilePath, expected: str) -> Iterator[None]:
    """Turn what other packages raise on a file within the block into an InstanceError.

    Of a damaged file, or one of something else, they raise whatever comes.

    expected : what messages say of what the file should be
    """
    check_file(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of old formats
            yield
    except MemoryError:  # of pyarrow, one of its other errors, too
        raise
    except OSError as error:
        # Of pyarrow too, for what is wrong inside the file.
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
        In place of a MemoryError within the block.
    """
    try:
        yield
    except MemoryError:
        if not path:
            raise
        raise InstanceError(
            f"{shown_path(path)}: does not fit into the memory, or is damaged; expected less data"
        ) from None


# The longest first, as one of them begins like another.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_GZIP = b"\x1f\x8b"


def _text(file: Path, encoding: str | None) -> TextIO:
    """Open a file with the encoding that its byte order mark tells, or else the one that is given.

    utf-8-sig takes off the mark that spreadsheets write, but is slow.
    """
    with open(file, "rb") as stream:
        opened: Any = gzip.open if stream.read(2) == _GZIP else open
    with opened(file, "rb") as stream:
        start = stream.read(4)
    marked = next((name for mark, name in _MARKS if start.startswith(mark)), None)
    text: TextIO = opened(file, "rt", encoding=marked or encoding or "utf-8")
    return text


def _encoding_problem(error: UnicodeError, encoding: str | None) -> str:
    """Return what is wrong with text that cannot be decoded, and what would be right."""
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
    """Return the name of a row as files of constraints have it: with blanks it is in quotes."""
    is_plain = name and not any(char.isspace() or char in "#\"'" for char in name)
    return name if is_plain else '"' + name.replace('"', '""') + '"'


def first_of(names: Iterable[str], most: int) -> str:
    """Return the first names, with commas between them, and dots if there are more than most."""
    listed = list(islice(names, most + 1))
    return ", ".join(listed[:most]) + (", ..." if len(listed) > most else "")


def is_number(field: str) -> bool:
    """Return whether a field is a number as NumPy reads them; nan and inf are."""
    try:
        float(field)
    except ValueError:
        return False
    return field.isascii() and "_" not in field  # which Python takes as well


def number_or_text(field: str) -> Decimal | str:
    """Return a field as a number, equal for all its spellings (1, 01, 1.0), or else as it is."""
    try:
        return Decimal(field) if is_number(field) else field
    except InvalidOperation:  # of an exponent of twenty digits
        return field


def is_missing_word(field: str) -> bool:
    """Return whether a field of a file stands for a value that is missing."""
    return field.strip().lower() in _MISSING_WORDS


def is_integer(field: str) -> bool:
    """Return whether a field is an integer of a size that can be a row number or a count."""
    return _INTEGER.fullmatch(field) is not None


def without_comment(line: str) -> str:
    """Return a line up to the `#` that begins a comment."""
    return line.split("#", 1)[0]


def shown(text: str) -> str:
    """Return text from a file quoted, on one line and of bounded length.

    Letters of all languages and signs such as those of currencies are shown as they are. Other
    characters beyond ASCII are escaped: a minus sign, a blank or a digit that is not the keyboard's
    would look like what is expected.
    """
    text = "".join(
        char if char.isascii() or category(char) in _SHOWN else ascii(char)[1:-1]
        for char in repr(text)
    )
    return text if len(text) <= 60 else f"{text[:56]}...{text[-1]}"
