"""Points and constraints that the estimator is given: arrays, or data frames with names of rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.estimator.errors import InvalidInstance, as_value_errors
from sdpbb.problem import Instance
from sdpbb.problem.checks import check_exact, checked_pairs
from sdpbb.problem.frames import (
    check_numbers,
    columns_of,
    is_frame,
    numbered,
    table_of_frame,
    with_present_rows,
)
from sdpbb.problem.known_classes import pairs_of_classes
from sdpbb.problem.sources import PAIRS

NAMING = ", or to give it as index_column if it names the rows"


def features_of(X: Any, index_column: str | None) -> Any:
    """Return X without the column that names the rows.

    Raises
    ------
    InvalidInstance
        If a column of a data frame holds anything but numbers, or has the name of another one.
    """
    if not is_frame(X):
        if index_column is not None:
            kind = type(X).__name__
            raise InvalidInstance(
                f"index_column = {index_column!r}: X is of type {kind}; expected a data frame"
            )
        with as_value_errors():
            check_exact(X, "X")
        return X
    remedy = "to leave the column out" + (NAMING if index_column is None else "")
    with as_value_errors():
        columns = columns_of(X)
        for column in columns:  # which scikit-learn tells apart by name
            if columns.count(column) > 1:
                raise InstanceError(f"X: two columns are called {column!r}; expected different")
        features = [at for at, column in enumerate(columns) if column != index_column]
        check_numbers(X, features, remedy)
    return X if index_column is None else X[[columns[at] for at in features]]


def instance_of_fit(
    X: Any,
    points: NDArray[np.float64],
    given: dict[str, Any],
    known_classes: Any,
    index_column: str | None,
    absent_rows: str,
) -> Instance:
    """Return the instance of a fit, with the pairs of known classes.

    Parameters
    ----------
    points : (n, d), those of X
    given : the arguments of an `Instance`, besides its points
    known_classes, index_column, absent_rows : as `ExactConstrainedKMeans` has them

    Raises
    ------
    InstanceError, ParameterError
        On the constraints, and on absent_rows.
    """
    if absent_rows not in ("refuse", "drop"):
        raise ParameterError(f"absent_rows = {absent_rows!r}: expected 'refuse' or 'drop'")
    if not is_frame(X):
        instance = Instance(points, **given)
    else:
        if absent_rows == "drop":
            kept = {name: with_present_rows(given[name], X, index_column) for name in PAIRS}
            given = given | kept
        instance = Instance.from_frame(X, index_column=index_column, **given)
    if known_classes is None:
        return instance
    together, apart = pairs_of_classes(known_classes, len(points), "known_classes")
    return replace(
        instance,
        must_link=np.concatenate([instance.must_link, together]),
        cannot_link=np.concatenate([instance.cannot_link, apart]),
    )


def pairs_of_rows(
    X: Any,
    n: int,
    index_column: str | None,
    must_link: Iterable[Any] | None,
    cannot_link: Iterable[Any] | None,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return must-links and cannot-links among the n rows of X, each (p, 2), by row numbers.

    Raises
    ------
    InstanceError
        Naming the argument, the position and what is wrong.
    """
    pairs: dict[str, Any] = {"must_link": must_link, "cannot_link": cannot_link}
    if is_frame(X):
        table = table_of_frame(X, index_column)
        pairs = {name: numbered(given, table, name) for name, given in pairs.items()}
    must, cannot = (checked_pairs(given, n, name) for name, given in pairs.items())
    return must, cannot
