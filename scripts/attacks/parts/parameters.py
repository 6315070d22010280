"""Parameters inside and outside of their domains, on small instances."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from attacks.outcome import Found, Kind, Outcome
from attacks.parts import enumeration
from attacks.random_parameters import ODD_NUMBERS, code_of, number_paths, random_valid, replaced
from attacks.shapes import Case, random_case
from attacks.worker import where

PATIENCE = 90.0
TIME_LIMIT = 5.0
# For finding out which numbers matter.
SECONDS = 30.0
N_MAX = 9

prepare = enumeration.prepare


def case(rng: np.random.Generator, _folder: Path) -> Outcome:
    """Some numbers odd, the others valid: a right answer, or a ParameterError."""
    from sdpbb import ParameterError

    given = random_case(rng, N_MAX, d_max=5)
    parameters = default_parameters()
    if rng.random() < 0.5:
        parameters = random_valid(rng, parameters)
    paths = [path for path in number_paths(parameters) if path[-1] not in ("workers", "dask")]
    for position in rng.permutation(len(paths))[: rng.integers(1, 4)]:
        path, new = paths[position], ODD_NUMBERS[rng.integers(len(ODD_NUMBERS))]
        try:
            parameters = replaced(parameters, path, new)
        except ParameterError as error:
            if len(str(error).splitlines()) != 1:
                raise Found("a ParameterError of several lines", str(error)) from None
            return Outcome(Kind.REFUSED)
        except Exception as error:
            raise Found(f"{path[-1]}: {where(error)}", f"{'.'.join(path)} = {new!r}") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of overflows in steps that nothing rests on
        return _tried(given, parameters)


def _tried(given: Case, parameters: Any) -> Outcome:
    try:
        return enumeration.confirmed(given, parameters)
    except Found as found:
        signature, text = found.signature, found.text
    plain = smallest_parameters(parameters, lambda p: enumeration.signature(given, p) == signature)
    changed = [
        path
        for path in number_paths(default_parameters())
        if repr(_at(plain, path)) != repr(_at(default_parameters(), path))
    ]
    names = ", ".join(sorted(".".join(path) for path in changed))
    raise Found(
        f"{names or 'defaults'}: {signature}", f"{given.code(code_of(plain))}\n{_notes(text)}"
    )


def smallest_parameters(parameters: Any, shows: Callable[[Any], bool]) -> Any:
    """The same with as many numbers as possible at their defaults."""
    until = time.monotonic() + SECONDS
    default = default_parameters()
    for name in ("sdp", "colgen", "hybrid", "search"):
        simpler = replaced(parameters, (name,), getattr(default, name))
        if shows(simpler):
            parameters = simpler
    for path in number_paths(default):
        if time.monotonic() > until or path == ("time_limit",):
            continue
        if repr(_at(parameters, path)) != repr(_at(default, path)):
            simpler = replaced(parameters, path, _at(default, path))
            if shows(simpler):
                parameters = simpler
    return parameters


def default_parameters() -> Any:
    from sdpbb import SolverParameters

    return SolverParameters(time_limit=TIME_LIMIT)


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = getattr(value, name)
    return value


def _notes(text: str) -> str:
    """Of a reproduction: the comments."""
    return "\n".join(line for line in text.splitlines() if line.startswith("#"))
