"""Errors of the command line as one line."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable

from cyclopts import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)


def in_one_line(error: CycloptsError) -> str:
    """Return the message of an error of the command line."""
    if isinstance(error, RepeatArgumentError):
        return f"{error.token.keyword}: given more than once; expected once"
    if isinstance(error, MissingArgumentError) and error.keyword is not None:
        return f"option '{error.keyword}' requires an argument"
    if isinstance(error, CoercionError) and error.token is not None:  # of a flag
        return f"{error.token.keyword} {error.token.value!r}: expected true or false"
    text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in _message(error))
    if text.endswith("?"):
        return text
    return f"{text}; see '{' '.join(['sdpbb', *(error.command_chain or ())])} --help'"


def _message(error: CycloptsError) -> str:
    *_, last = error.command_chain or ("",)
    if last.startswith("-"):  # such as --list
        return f"{last}: stands alone; expected no other arguments"
    commands = list(error.app or ())
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        return f"{error.argument.name}: is missing"
    if isinstance(error, UnknownOptionError):
        options = [name for argument in error.argument_collection for name in argument.names]
        return _unknown(error.token.keyword or error.token.value, [*options, *commands])
    if isinstance(error, UnknownCommandError) and error.unused_tokens:
        return _unknown(error.unused_tokens[0], commands)
    if isinstance(error, UnusedCliTokensError):
        return _unexpected(error.unused_tokens or ())
    return str(error)


def _unknown(word: str, known: list[str]) -> str:
    if word in known:  # behind "--", where there are no options
        return _unexpected([word])
    text = f"unknown option: {word}" if word.startswith("-") else f"unknown command '{word}'"
    if word.startswith("-") and os.path.exists(word):
        return f"{text}; the file of this name is ./{word}"
    close = difflib.get_close_matches(word, known, n=1)
    return f"{text}; did you mean {close[0]}?" if close else text


def _unexpected(words: Iterable[str]) -> str:
    return f"got unexpected extra argument(s) ({' '.join(words)})"
