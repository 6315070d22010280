"""Points with the names of their rows and columns, as every reader returns them."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError, InstanceNote, warn_caller
from sdpbb.problem.origin import DataNames, Origin, standardization
from sdpbb.problem.textfile import first_of, shown
from sdpbb.runtime.reading import Reading
from sdpbb.runtime.values import is_missing

ADVICE = (
    " (an empty cell where it is missing, see --missing; --decimal ',' for decimal commas), or "
    "another use of the column: --drop, --index-column or --one-hot"
)
"""End of messages on a text in a column of numbers."""

DROPPED = (
    "names row {}, which is dropped, as a value is missing; expected constraints on the other rows "
    "only, or --missing mean or median"
)
"""Message on a constraint."""

TABLES = "a CSV, Excel, Parquet or Feather file"
"""Files whose columns have names, for messages."""

REMEDY = (
    "numbers, or a treatment of missing values (--missing drop-rows, mean or median; missing= in "
    "Python; or scikit-learn's imputers)"
)
"""End of messages on missing values, after "expected"."""


@dataclass(frozen=True)
class Roles:
    """Positions of the columns of a table, by what they hold.

    features : ascending
    index : of the column that names the rows, if one does
    classes : of the column of known classes of the rows, if there is one
    categories : of the columns of categories of the rows
    """

    features: Sequence[int]
    index: int | None = None
    classes: int | None = None
    categories: tuple[int, ...] = ()

    @property
    def texts(self) -> tuple[int, ...]:
        """Positions of the columns whose fields are texts."""
        named = (self.index, self.classes, *self.categories)
        return tuple(column for column in named if column is not None)

    @classmethod
    def of(cls, names: Sequence[Hashable], reading: Reading, place: str, n_index: int = 0) -> Roles:
        """Return the positions of columns with these names.

        place : what messages begin with
        n_index : number of first columns that are no features; one names the rows if no other does

        Raises
        ------
        InstanceError
            If there is no such column, or no feature.
        """
        check_columns(names, reading.left_out, place)
        left_out = {names.index(column) for _, column in reading.left_out}
        index = None if reading.index_column is None else names.index(reading.index_column)
        if n_index == 1 and 0 not in left_out and index is None:
            index = 0
        left_out.update(range(n_index))
        features = [column for column in range(len(names)) if column not in left_out]
        if not features and not reading.one_hot:
            raise InstanceError(f"{place}no feature columns remain; expected at least one")
        weighted = [("weight_column", reading.weight_column)]
        check_columns([str(names[column]) for column in features], weighted, place)
        return cls(
            features,
            index,
            None if reading.class_column is None else names.index(reading.class_column),
            tuple(names.index(column) for column in reading.category_weights),
        )


@dataclass(frozen=True, eq=False)
class PointTable(DataNames):
    """Points with the names of their rows and columns.

    Attributes
    ----------
    points : (n, d) floats, one column per feature
    k : number of clusters, where a file states one
    row_names : (n,) different hashable values; None where the rows are merely numbered from 0
    name_problem : why the index of a data frame, whose labels repeat or are missing, names no rows;
        "" if it does, or has not to
    weights : (n,) of the points; None where none are asked for
    dropped_names : the names of rows of the data that are left out, or their numbers
    known_classes : (n,) classes of the rows as they are given; None where no classes are known
    categories : texts (n,) of the rows by columns that are to become columns of 0 and 1
    index : of all rows of the data, where they are a pandas data frame in memory; else None
    lines : (n,) of the rows in their file, from 1; None: not from a file of lines
    others : as in an `Origin`
    """

    points: NDArray[np.float64]
    k: int | None = None
    row_names: tuple[Hashable, ...] | None = None
    name_problem: str = ""
    weights: NDArray[np.float64] | None = None
    dropped_names: tuple[Hashable, ...] = ()
    known_classes: Any = None
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    index: Any = None
    lines: NDArray[np.int64] | None = None

    @property
    def names(self) -> Sequence[Hashable] | None:
        """Names of the rows, or their numbers in the data if some are dropped; None if neither."""
        if self.row_names is None and self.kept_rows is not None:
            numbers: list[int] = self.kept_rows.tolist()
            return numbers
        return self.row_names

    @property
    def n_data_rows(self) -> int:
        """The number of rows of the data, also of dropped ones."""
        return len(self.points) + len(self.dropped_names)

    def row_name(self, row: int) -> str:
        """Return the name of a row as messages show it, or its number without names."""
        return str(row) if self.row_names is None else quoted(self.row_names[row])

    def place(self, row: int) -> str:
        """Return the name of a row, and its line if it is from a file of lines."""
        line = "" if self.lines is None else f" (line {self.lines[row]})"
        return f"row {self.row_name(row)}{line}"

    def column_name(self, column: int) -> str:
        """Return the name of a feature as messages show it, or its number from 1."""
        return quoted(self.feature_names[column]) if self.feature_names else str(column + 1)

    def origin(self, **others: Any) -> Origin:
        """Return what the user calls rows and columns.

        others : fields of an `Origin` that a table does not know
        """
        shared = {each.name: getattr(self, each.name) for each in fields(DataNames)}
        dropped = tuple(map(str, self.dropped_names))
        if self.row_names is None and (first := others.get("first_row", 0)):
            dropped = tuple(str(int(number) + first) for number in dropped)
        others = {**shared, **others, "frame_index": self.index}
        return Origin(row_names=self.shown_names, dropped_rows=dropped, **others)

    def with_step(self, *steps: str) -> PointTable:
        """Return the table with further steps of its preparation."""
        return replace(self, preparation=(*self.preparation, *steps))

    def standardized(self) -> PointTable:
        """Return the table with columns of mean zero and variance one."""
        scaling = standardization(self.points, self.weights)
        return replace(self, points=scaling.applied(self.points), scaling=scaling)

    def with_weights(self, column: str | None, where: str = "") -> PointTable:
        """Return the table with the weights from a column, which is not a feature then.

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
            raise InstanceError(
                f"{argument}: {self.place(row)} has {weights[row]:g}; expected more than 0"
            )
        names = (*self.feature_names[:at], *self.feature_names[at + 1 :])
        points = np.delete(self.points, at, axis=1)
        return replace(self, points=points, feature_names=names, weights=weights.copy())

    @property
    def shown_names(self) -> tuple[str, ...] | None:
        """The names of the rows as text: for messages, and for files that name rows."""
        return None if self.row_names is None else tuple(map(str, self.row_names))


def check_columns(
    columns: Sequence[Hashable], chosen: Iterable[tuple[str, str | None]], place: str = ""
) -> None:
    """Raise the InstanceError for the first chosen column that is not exactly one of these.

    Features may share a name; a column that is chosen has one of its own.

    chosen : the argument that names the column, for messages, and its name; None: no column
    place : what messages begin with
    """
    for argument, column in chosen:
        if column is None:
            continue
        where = f"{place}{argument} = {shown(column)}"
        if column not in columns:
            names = first_of((shown(str(other)) for other in columns), 10)
            a_file = "a file, or " if argument == "known_classes" else ""
            raise InstanceError(
                f"{where}: there is no such column; expected {a_file}one of {names}"
                f"{hint_at_similar(column, columns)}"
            )
        if list(columns).count(column) > 1:
            raise InstanceError(f"{where}: two columns have this name; expected different names")


def checked_names(names: Sequence[Hashable], where: str) -> tuple[Hashable, ...]:
    """Return names of rows, none of them missing, all of them different, or raise an InstanceError.

    where : what messages call them, such as "index_column = 'id'"
    """
    first: dict[Hashable, int] = {}
    for row, name in enumerate(names):
        if is_missing(name):
            raise InstanceError(f"{where}: row {row} has no name; expected one for every row")
        try:
            known = first.setdefault(name, row)
        except TypeError:  # of a list
            kind = type(name).__name__
            raise InstanceError(
                f"{where}: row {row} is of type {kind}; expected a text or a number"
            ) from None
        if known != row:
            raise InstanceError(
                f"{where}: rows {known} and {row} are both called {quoted(name)}; expected names "
                "that differ"
            )
    return tuple(names)


def names_by_index(values: Sequence[Hashable], says: str) -> tuple[Hashable, ...] | None:
    """Return the names that an index in a file, without being asked to, gives the rows.

    None if it merely counts them from 0, or its values repeat or are missing.

    says : what the index is, for the note

    Warns
    -----
    InstanceNote
        Whether the rows have these names.
    """
    names = None
    if list(map(str, values)) != list(map(str, range(len(values)))):
        with suppress(InstanceError):
            names = checked_names(values, "")
    says_names = "numbers the rows" if names is None else "names the rows"
    warn_caller(f"{says} that {says_names}; it is not a feature", InstanceNote)
    return names


def hint_at_similar(name: object, names: Iterable[Hashable]) -> str:
    """Return the end of a message on an unknown name: the most similar known one; "" if none is."""
    by_text = {str(other): other for other in names}
    close = difflib.get_close_matches(str(name), by_text, 1)
    return f"; did you mean {quoted(by_text[close[0]])}?" if close else ""


def quoted(value: object) -> str:
    """Return a value as messages show it, on one line and of bounded length."""
    return shown(value) if isinstance(value, str) else " ".join(repr(value).split())[:60]
