"""`--option NAME=VALUE` of a method, read by the annotations of its constructor."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from numpy.typing import ArrayLike

from heuristics.method import Heuristic
from heuristics.registry import METHODS, check_parameters, method_parameters
from sdpbb.errors import ParameterError
from sdpbb.problem.textfile import is_number

_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)


def read_parameters(method: str, options: Iterable[str]) -> dict[str, Any]:
    """The parameters of a method that are given as NAME=VALUE.

    The name of a method stands for the method with its default parameters.

    Raises
    ------
    ParameterError
        One line on the option: it is not NAME=VALUE, names no parameter of the method, names one
        twice, or its value is not of the parameter's type.
    """
    known = method_parameters(method)
    values: dict[str, Any] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not (name and equals):
            raise ParameterError(f"--option {option!r}: expected NAME=VALUE")
        check_parameters(method, name)
        if name == "time_limit":
            raise ParameterError(f"--option {option}: expected --time-limit instead")
        if name in values:
            raise ParameterError(f"--option {option}: a second {name}; expected at most one")
        values[name] = _value(option, text, _members(known[name].annotation))
    return values


def _members(annotation: Any) -> tuple[Any, ...]:
    """The types of a union, or the one type that is none, arrays left out."""
    if get_origin(annotation) not in (Union, UnionType):
        return (annotation,)
    kinds, arrays = get_args(annotation), get_args(ArrayLike)  # that holds int and str, too
    return tuple(kind for kind in kinds if not (complex in kinds and kind in arrays))


def _value(option: str, text: str, kinds: tuple[Any, ...]) -> Any:
    words = {str(word).lower(): word for kind in kinds for word in _words(kind)}
    numbers = text.split(",")
    if text.lower() in words:
        return words[text.lower()]
    if int in kinds and _INTEGER.fullmatch(text):
        return int(text)
    if float in kinds and is_number(text):
        return float(text)
    if any(map(_is_sequence, kinds)) and all(map(_INTEGER.fullmatch, numbers)):
        return [int(number) for number in numbers]
    if str in kinds:
        return text
    expected = [shown for kind in kinds for shown in _shown(kind)]
    if not set(expected) - {"none"}:
        raise ParameterError(f"--option {option}: can be given in Python only")
    alternatives = " or ".join(filter(None, [", ".join(expected[:-1]), expected[-1]]))
    raise ParameterError(f"--option {option}: expected {alternatives}")


def _is_sequence(kind: Any) -> bool:
    return get_origin(kind) is Sequence


def _words(kind: Any) -> tuple[Any, ...]:
    """The values of a type that are given by name."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    if kind is bool:
        return (True, False)
    if kind is Heuristic:
        return tuple(METHODS)
    return (None,) if kind is NoneType else ()


def _shown(kind: Any) -> list[str]:
    """What values of a type look like; empty if they cannot be written."""
    if kind is int:
        return ["an integer"]
    if kind is float:
        return ["a number"]
    if _is_sequence(kind):
        return ["integers between commas"]
    return [str(word).lower() for word in _words(kind)]
