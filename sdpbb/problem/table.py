"""Points with the names of their rows and columns, as every reader returns them."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.files import FilePath, shown_path
from sdpbb.problem.origin import Origin
from sdpbb.problem.scaling import Scaling, standardization
from sdpbb.problem.textfile import shown

TABLES = "a CSV, Excel, Parquet or Feather file"
"""Files whose columns have names, for messages."""


@dataclass(frozen=True, eq=False)
class PointTable:
    """Points with the names of their rows and columns.

    Attributes
    ----------
    points : (n, d) floats, one column per feature
    k : number of clusters, where a file states one
    feature_names : (d,) of a data frame, or a file whose columns have names; () if they have none
    row_names : (n,) different hashable values; None where the rows are merely numbered from 0
    name_problem : why the index of a data frame, whose labels repeat or are missing, names no rows;
        "" if it does, or has not to
    weights : (n,) of the points; None where none are asked for
    index_name : the name of the column that names the rows; "" if there is none
    kept_rows, dropped_names : the positions of the rows in the data, and the names of the others,
        of which values are missing, or their numbers; None and () if there are none
    scaling : of the points, from the user's units; None where these are the user's
    index : of all rows of the data, where they are a pandas data frame in memory; else None
    """

    points: NDArray[np.float64]
    k: int | None = None
    feature_names: tuple[str, ...] = ()
    row_names: tuple[Hashable, ...] | None = None
    name_problem: str = ""
    weights: NDArray[np.float64] | None = None
    index_name: str = ""
    kept_rows: NDArray[np.intp] | None = None
    dropped_names: tuple[Hashable, ...] = ()
    scaling: Scaling | None = None
    index: Any = None

    @property
    def n_data_rows(self) -> int:
        """The number of rows of the data, those that are left out included."""
        return len(self.points) + len(self.dropped_names)

    @property
    def all_names(self) -> tuple[Hashable, ...] | None:
        """The names of all rows of the data; None where they are numbered."""
        if self.row_names is None or self.kept_rows is None:
            return self.row_names
        names = dict(zip(self.kept_rows.tolist(), self.row_names, strict=True))
        dropped = iter(self.dropped_names)
        return tuple(names[i] if i in names else next(dropped) for i in range(self.n_data_rows))

    def origin(self, **others: Any) -> Origin:
        """Return what the user calls rows and columns.

        others : fields of an `Origin` that a table does not know
        """
        named = Origin(
            row_names=self.shown_names,
            feature_names=self.feature_names,
            index_name=self.index_name,
            scaling=self.scaling,
            kept_rows=self.kept_rows,
            dropped_rows=tuple(map(str, self.dropped_names)),
            **others,
        )
        return named.with_index(self.index)

    def standardized(self) -> PointTable:
        """Return the table with columns of mean zero and variance one."""
        scaling = standardization(self.points, self.weights)
        return replace(self, points=scaling.applied(self.points), scaling=scaling)

    def with_weights(self, column: str | None, where: str = "") -> PointTable:
        """Return the table with the weights in a column, which is no feature then.

        column : the name of one of the features; None for no weights
        where : what messages begin with

        Raises
        ------
        InstanceError
            If it is the only column, or a number in it is not positive.
        """
        if column is None:
            return self
        argument = f"{where}weight_column = {shown(str(column))}"
        at = self.feature_names.index(column)
        if len(self.feature_names) == 1:
            raise InstanceError(f"{argument}: no feature columns remain; expected at least one")
        weights = self.points[:, at]
        wrong = np.flatnonzero(~(weights > 0.0))
        if len(wrong):
            row = int(wrong[0])
            name = row if self.row_names is None else quoted(self.row_names[row])
            raise InstanceError(
                f"{argument}: row {name} has {weights[row]:g}; expected more than 0"
            )
        names = (*self.feature_names[:at], *self.feature_names[at + 1 :])
        points = np.delete(self.points, at, axis=1)
        return replace(self, points=points, feature_names=names, weights=weights.copy())

    @property
    def shown_names(self) -> tuple[str, ...] | None:
        """The names of the rows as text: for messages, and for files that name rows."""
        return None if self.row_names is None else tuple(map(str, self.row_names))


def left_out_columns(
    columns: Sequence[Hashable],
    index_column: str | None,
    drop: Sequence[str],
    argument: str = "index_column",
) -> set[Hashable]:
    """Return the columns that are no features.

    Features may share a name; a column that is chosen has one of its own.

    argument : what messages call index_column

    Raises
    ------
    InstanceError
        If one of them is not there, or two columns have its name.
    """
    if isinstance(drop, str):
        raise InstanceError(f"drop = {drop!r}: expected a list of columns")
    dropped = argument if argument.endswith("weight_column") else "drop"
    for name, column in [(argument, index_column), *((dropped, column) for column in drop)]:
        if column is not None and column not in columns:
            names = ", ".join(shown(str(other)) for other in columns[:10])
            raise InstanceError(
                f"{name} = {shown(str(column))}: there is no such column; expected one of {names}"
                f"{', ...' if len(columns) > 10 else ''}"
            )
        if column is not None and list(columns).count(column) > 1:
            raise InstanceError(
                f"{name} = {shown(str(column))}: two columns have this name; expected different "
                "names"
            )
    return {*drop, *(() if index_column is None else (index_column,))}


def check_weight_column(features: Sequence[str], column: str | None, where: str = "") -> None:
    """Raise the InstanceError if the column of weights is none of the features.

    where : what messages begin with
    """
    if column is not None:
        left_out_columns(features, None, (column,), argument=f"{where}weight_column")


def checked_names(names: Sequence[Hashable], where: str) -> tuple[Hashable, ...]:
    """Return names of rows, none of them missing, all of them different, or raise an InstanceError.

    where : what messages call them, such as "index_column = 'id'"
    """
    first: dict[Hashable, int] = {}
    for row, name in enumerate(names):
        if is_missing(name):
            raise InstanceError(f"{where}: row {row} has no name; expected one for every row")
        if name in first:
            raise InstanceError(
                f"{where}: rows {first[name]} and {row} are both called {quoted(name)}; expected "
                "names that differ"
            )
        first[name] = row
    return tuple(names)


def is_missing(value: Any) -> bool:
    """Return whether a value of a data frame stands for none: None, nan, NA, NaT."""
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and value != value)
    )


def hint_at_similar(name: object, names: Iterable[Hashable]) -> str:
    """Return the end of a message on an unknown name: the most similar known one; "" if none is."""
    by_text = {str(other): other for other in names}
    close = difflib.get_close_matches(str(name), by_text, 1)
    return f"; did you mean {quoted(by_text[close[0]])}?" if close else ""


def quoted(value: object) -> str:
    """Return a value as messages show it."""
    return shown(value) if isinstance(value, str) else repr(value)


def without_columns(path: FilePath, index_column: str | None) -> InstanceError:
    """Return the error for columns that are chosen of a file that has none."""
    argument = "drop" if index_column is None else "index_column"
    return InstanceError(
        f"{argument}: the columns of {shown_path(path)} have no names; expected {TABLES} with it"
    )
