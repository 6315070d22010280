"""Small instances of every shape against the enumeration of all clusterings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from attacks.exhaustive import best_clustering
from attacks.judging import judge
from attacks.outcome import Found, Kind, Outcome
from attacks.random_parameters import code_of, random_valid
from attacks.reduction import smallest_case
from attacks.shapes import Case, random_case
from attacks.worker import where

PATIENCE = 120.0
N_MAX = 10
TIME_LIMIT = 30.0
# What this process has found a small instance for.
REDUCED: set[str] = set()


def prepare(_folder: Path) -> None:
    """Load the engine and compile."""
    rng = np.random.default_rng(0)
    for bounding in ("sdp", "colgen", "hybrid"):
        _solve(random_case(rng, N_MAX), bounding=bounding)
    case = random_case(rng, N_MAX)
    best_clustering(case.points, case.k, case.must_link, case.cannot_link)


def case(rng: np.random.Generator, _folder: Path) -> Outcome:
    """One instance; half of the time with random parameters."""
    from sdpbb import SolverParameters

    given = random_case(rng, N_MAX)
    parameters = SolverParameters(time_limit=TIME_LIMIT)
    if rng.random() < 0.5:
        parameters = random_valid(rng, parameters)
    elif rng.random() < 0.5:
        parameters = replace(parameters, gap=0.0)
    return confirmed(given, parameters)


def confirmed(given: Case, parameters: Any) -> Outcome:
    """What the engine says, if enumeration says so, too.

    Raises
    ------
    Found
        With the smallest instance that shows the same.
    """
    try:
        return Outcome(_judged(given, parameters))
    except Found as found:
        wrong = found.signature
    except Exception as error:
        wrong = where(error)
    small = given
    if wrong not in REDUCED:
        small = smallest_case(given, lambda other: signature(other, parameters) == wrong)
        REDUCED.add(wrong)
    note = ""
    try:
        _judged(small, parameters)
    except Found as found:
        note = found.text
    except Exception as error:
        note = f"# {type(error).__name__}: {error}"
    raise Found(wrong, f"{small.code(code_of(parameters))}\n{note}")


def signature(given: Case, parameters: Any) -> str | None:
    """What is wrong with what the engine says, or None."""
    try:
        _judged(given, parameters)
    except Found as found:
        return found.signature
    except Exception as error:
        return where(error)
    return None


def _judged(given: Case, parameters: Any) -> Kind:
    import sdpbb

    best = best_clustering(given.points, given.k, given.must_link, given.cannot_link)
    result = sdpbb.solve(given.instance(), parameters)
    return judge(given, result, None if best is None else best[0])


def _solve(given: Case, **parameters: Any) -> None:
    import sdpbb

    sdpbb.solve(given.instance(), sdpbb.SolverParameters(**parameters))
