"""Files that are no certificates, made of one to accept."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

FILES: dict[str, Callable[[bytes], tuple[bytes, str]]] = {}
"""Functions of a file: another one, and what the reason of its rejection says."""


def of_file(function: Callable[[bytes], tuple[bytes, str]]) -> Any:
    FILES[function.__name__] = function
    return function


@of_file
def an_empty_file(data: bytes) -> tuple[bytes, str]:
    return b"", "the file is empty"


@of_file
def a_text(data: bytes) -> tuple[bytes, str]:
    return b"0 1\n2 3\n", "is not a certificate of sdpbb"


@of_file
def an_old_format(data: bytes) -> tuple[bytes, str]:
    return b"sdpbb-certificate 2\n" + data, "is in format 2"


@of_file
def half_of_the_file(data: bytes) -> tuple[bytes, str]:
    return data[: len(data) // 2], "is damaged, or not all of it"


def _with_member(data: bytes, name: str, content: bytes, old: str | None = None) -> bytes:
    """The archive with a member more, in place of an old one."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as read, zipfile.ZipFile(file, "w") as written:
        for entry in read.infolist():
            if entry.filename != old:
                written.writestr(zipfile.ZipInfo(entry.filename), read.read(entry))
        written.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


def _saved(array: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


@of_file
def objects_that_are_pickled(data: bytes) -> tuple[bytes, str]:
    content = _saved(np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return _with_member(data, "log.npy", content, "log.npy"), "does not begin as an array"


@of_file
def arrays_in_columns(data: bytes) -> tuple[bytes, str]:
    content = _saved(np.asfortranarray(np.ones((2, 3))))
    return _with_member(data, "log.npy", content, "log.npy"), "does not begin as an array"


@of_file
def an_array_twice(data: bytes) -> tuple[bytes, str]:
    return _with_member(data, "log.npy", _saved(np.zeros(1))), "has an array twice"


@of_file
def no_log(data: bytes) -> tuple[bytes, str]:
    return _with_member(data, "diary.npy", _saved(np.zeros(1)), "log.npy"), "log: there is no such"


def _with_log(data: bytes, of: Callable[[str], str]) -> bytes:
    with np.load(io.BytesIO(data)) as found:
        text = of(found["log"].tobytes().decode())
    content = _saved(np.frombuffer(text.encode(), np.uint8))
    return _with_member(data, "log.npy", content, "log.npy")


@of_file
def a_line_that_is_not_json(data: bytes) -> tuple[bytes, str]:
    return _with_log(data, lambda text: text.replace("{", "{{", 1)), "a line is not JSON"


@of_file
def a_claim_that_is_a_list(data: bytes) -> tuple[bytes, str]:
    return _with_log(data, lambda text: "[]" + text[text.index("\n") :]), "the claim is []"


@of_file
def a_key_twice(data: bytes) -> tuple[bytes, str]:
    return _with_log(data, lambda text: text.replace("{", '{"n":1,', 1)), "names a key twice"


@of_file
def a_number_that_is_not_finite(data: bytes) -> tuple[bytes, str]:
    return _with_log(data, lambda text: text.replace("}", ',"x":NaN}', 1)), "expected finite"


@of_file
def a_line_cut_off(data: bytes) -> tuple[bytes, str]:
    return _with_log(data, lambda text: text[:-1]), "the log ends within a line"
