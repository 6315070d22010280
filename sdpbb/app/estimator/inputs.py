"""Points and constraints that the estimator is given: arrays, or data frames with names of rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError, InstanceWarning, ParameterError, SdpbbError, warn_caller
from sdpbb.problem import Instance
from sdpbb.problem.checks import checked_pairs
from sdpbb.problem.files.constraints import PAIRS
from sdpbb.problem.frames import (
    check_numbers,
    columns_of,
    is_frame,
    numbered,
    table_of_frame,
    with_present_rows,
)
from sdpbb.problem.instance import stated_instance
from sdpbb.problem.known_classes import KnownClasses, is_unknown
from sdpbb.runtime.reading import Reading
from sdpbb.search.result import Result, stopped_by


class NoClusteringFound(SdpbbError, RuntimeError):
    """A fit was stopped before there was any clustering, or a proof that there is none."""


def without_clustering(result: Result) -> InstanceError | NoClusteringFound:
    """Return the error of a fit whose result has no clustering."""
    if result.infeasibility is not None:
        proof = result.conflict.line if result.conflict else result.infeasibility
        return InstanceError(f"no clustering satisfies the constraints: {proof}")
    return NoClusteringFound(
        f"stopped by {stopped_by(result.termination)}; found neither a clustering nor a proof "
        "that none exists; allow more time or fewer constraints"
    )


NAMING = ", or to give it as index_column if it names the rows"


def features_of(X: Any, index_column: str | None) -> Any:
    """Return X without the column that names the rows.

    Raises
    ------
    InstanceError
        If a column of a data frame holds anything but numbers, or has the name of another one.
    """
    if not is_frame(X):
        if index_column is not None:
            kind = type(X).__name__
            raise InstanceError(
                f"index_column = {index_column!r}: X is of type {kind}; expected a data frame"
            )
        return X
    remedy = "to leave the column out" + (NAMING if index_column is None else "")
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
    index_column: str | None,
    absent_rows: str,
) -> Instance:
    """Return the instance of a fit.

    Parameters
    ----------
    points : (n, d), those of X
    given : the arguments of an `Instance`, besides its points
    index_column, absent_rows : as `ExactConstrainedKMeans` has them

    Raises
    ------
    InstanceError, ParameterError
        On the constraints, and on absent_rows.
    """
    if absent_rows not in ("refuse", "drop"):
        raise ParameterError(f"absent_rows = {absent_rows!r}: expected 'refuse' or 'drop'")
    k, others = given["k"], {name: value for name, value in given.items() if name != "k"}
    if not is_frame(X):
        return stated_instance(points, k, others)
    if absent_rows == "drop":
        others |= {
            name: with_present_rows(others[name], X, index_column) for name in PAIRS.values()
        }
    return stated_instance(X, k, {**others, "index_column": index_column})


def partial_classes(X: Any, n: int, y: Any, known_classes: Any) -> Any:
    """Return the known classes of a fit: the argument, or a y that lacks the classes of some rows.

    A y that has a class for every row is ignored, as pipelines and searches hand on the classes
    that they score by. The caller is warned of it, unless known_classes is given.

    Raises
    ------
    InstanceError
        If a y with unknown classes is given beside known_classes, has another number of rows than
        X, or has the index of X in another order.
    """
    if y is None:
        return known_classes
    given = np.asarray(y, dtype=object)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if len(given.shape) == 1 and len(given) != n:
        raise InstanceError(f"y: {len(given)} classes; expected {n}, one for each row of X")
    if given.ndim == 1 and not any(map(is_unknown, given.tolist())):
        if known_classes is None:
            warn_caller(
                "y has a class for every row and is ignored; known_classes=y would make rows of "
                "the same class share a cluster",
                InstanceWarning,
            )
        return known_classes
    if known_classes is not None:
        raise InstanceError("y: has unknown classes beside known_classes; expected one of the two")
    index: Any = getattr(y, "index", None)
    rows: Any = getattr(X, "index", None)
    are_indices = hasattr(index, "equals") and hasattr(rows, "equals")
    if are_indices and not index.equals(rows) and set(index) == set(rows):
        raise InstanceError(
            "y: has the index of X in another order; expected y.loc[X.index], or y.to_numpy() to "
            "go by position"
        )
    return KnownClasses.of(given, n, "y")


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
        table = table_of_frame(X, Reading(index_column=index_column))
        pairs = {name: numbered(given, table, name) for name, given in pairs.items()}
    must, cannot = (checked_pairs(given, n, name) for name, given in pairs.items())
    return must, cannot
