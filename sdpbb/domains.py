"""What parameters can be: numbers of the type that they are declared with, or one line that says
so. Light: nothing is imported that compiles."""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from sdpbb.errors import ParameterError

LARGEST_INTEGER = 2**31 - 1
"""Of a parameter that counts something: times the blocks it is still one to compiled code."""


def check_fields(
    parameters: Any,
    *,
    most: Mapping[str, float] | None = None,
    infinite: Collection[str] = (),
) -> None:
    """Refuse values that are not of the types that a frozen dataclass declares for its fields; to
    be called first in `__post_init__`. NumPy's scalars are stored as plain numbers.

    int is an integer of at most `LARGEST_INTEGER` in absolute value, and tuple[int, ...] several;
    float a finite number; bool, a Literal, str and dataclasses themselves. True is no number.

    Parameters
    ----------
    most : the largest values of the fields that have others
    infinite : the fields that may be infinite

    Raises
    ------
    ParameterError
        One line that begins with the field's name and " = ".
    """
    limits = most or {}
    types = _types(parameters.__class__)
    for field in fields(parameters):
        name = field.name
        given, declared = getattr(parameters, name), types[name]
        value = _plain(name, given, declared, name in infinite)
        if name in limits and not value <= limits[name]:
            kind = "an integer" if declared is int else "a number"
            raise wrong(name, given, f"{kind} of at most {limits[name]:.10g}")
        object.__setattr__(parameters, name, value)


def as_number(value: object) -> float | None:
    """A real number, NumPy's included, as a float; None for all else."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer beyond all floats
        return None


def as_integer(value: object) -> int | None:
    """An integer, NumPy's included, as an int; None for all else."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        return None
    return int(value)


def wrong(parameter: str, value: object, expected: str) -> ParameterError:
    """The error that says in one line what a parameter is and what was expected of it."""
    shown = value_text(value)
    shown = " ".join((shown if len(shown) <= 60 else f"{shown[:57]}...").split())
    return ParameterError(f"{parameter} = {shown}: expected {expected}")


def value_text(value: object, text: Callable[[object], str] = repr) -> str:
    """A value as text, whatever it is. Python does not write integers of thousands of digits: such
    a one is told in hexadecimal digits, what holds one by its type."""
    try:
        return text(value)
    except ValueError:
        if isinstance(value, int):
            return hex(value)
        return f"{type(value).__name__} with thousands of digits"


@functools.cache
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _plain(name: str, given: Any, declared: Any, may_be_infinite: bool) -> Any:
    """The value as the declared type has it."""
    if declared is int:
        return _integer(name, given)
    if declared is float:
        number = as_number(given)
        if number is None or math.isnan(number) or not (may_be_infinite or math.isfinite(number)):
            raise wrong(name, given, "a number" if may_be_infinite else "a finite number")
        return number
    if declared is bool:
        if not isinstance(given, (bool, np.bool_)):
            raise wrong(name, given, "True or False")
        return bool(given)
    if get_origin(declared) is Literal:
        choices = get_args(declared)
        if not isinstance(given, str) or given not in choices:
            raise wrong(name, given, f"one of {', '.join(choices)}")
    elif get_origin(declared) is tuple:
        if not isinstance(given, (tuple, list)):
            raise wrong(name, given, "a tuple of integers")
        return tuple(_integer(name, item) for item in given)
    elif not isinstance(given, declared):
        raise wrong(name, given, "a text" if declared is str else f"a {declared.__name__}")
    return given


def _integer(name: str, given: Any) -> int:
    integer = as_integer(given)
    if integer is None:
        raise wrong(name, given, "an integer")
    if abs(integer) > LARGEST_INTEGER:
        raise wrong(name, given, f"an integer of at most {LARGEST_INTEGER} in absolute value")
    return integer
