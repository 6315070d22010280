"""Points with the names of their rows and columns, which every reader returns."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError, InstanceNote, warn_caller
from sdpbb.problem.origin import Origin, standardization
from sdpbb.problem.textfile import first_of, shown
from sdpbb.runtime.reading import Reading
from sdpbb.runtime.values import is_missing

ADVICE = (
    " (an empty cell where it is missing, see --missing; --decimal ',' for decimal commas), or "
    "another use of the column: --drop, --index-column or --one-hot"
)
"""End of messages on text in a column of numbers."""

TABLES = "a CSV, Excel, Parquet or Feather file"
"""Files whose columns have names, for messages."""

REMEDY = (
    "numbers, or a treatment of missing values (--missing drop-rows, mean or median; missing= in "
    "Python; or scikit-learn's imputers)"
)
"""End of messages on missing values, after "expected"."""


@dataclass(frozen=True)
class Roles:
    """Positions of the columns of a table, by their contents.

    features : ascending positions of the features
    index : column with the names of the rows; None: no such column
    classes : column with known classes of the rows; None: no such column
    categories : columns with categories of the rows
    """

    features: Sequence[int]
    index: int | None = None
    classes: int | None = None
    categories: tuple[int, ...] = ()

    @property
    def texts(self) -> tuple[int, ...]:
        """Positions of the columns that are read as text."""
        named = (self.index, self.classes, *self.categories)
        return tuple(column for column in named if column is not None)

    @classmethod
    def of(cls, names: Sequence[Hashable], reading: Reading, place: str, n_index: int = 0) -> Roles:
        """Return the roles of columns with these names.

        place : beginning of messages
        n_index : number of first columns that are not features; a single one names the rows if no
            other column does

        Raises
        ------
        InstanceError
            If a column does not exist, or no feature remains.
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


class Rows:
    """Rows of the data by the user's names.

    number_of : the number among the points, from 0, of each row of the data; -1: dropped
    """

    def __init__(
        self, names: Sequence[Hashable], kept: NDArray[np.intp] | None = None, named: bool = True
    ) -> None:
        self.number_of: dict[Hashable, int] = dict.fromkeys(names, -1)
        positions = range(len(names)) if kept is None else kept.tolist()
        self.number_of |= {names[position]: row for row, position in enumerate(positions)}
        self.are_named = named

    @classmethod
    def of(cls, origin: Origin, n_points: int) -> Rows:
        """Return the rows by their names in files of constraints."""
        named = origin.row_names is not None
        return cls(origin.data_rows(n_points), origin.kept_rows, named)

    @property
    def n(self) -> int:
        """Number of rows of the data."""
        return len(self.number_of)

    def number(self, name: Any) -> int:
        """Return the number of a row among the points, or raise an InstanceError."""
        try:
            row = self.number_of.get(name)
        except TypeError:  # a list, say, is not hashable
            row = None
        if row is not None and row >= 0:
            return row
        if row is not None:
            raise InstanceError(
                f"names row {quoted(name)}, which is dropped, as a value is missing; expected "
                "constraints on the other rows only, or --missing mean or median"
            )
        first, *_, last = [*self.number_of, *self.number_of]
        says = f"{first} to {last}{'; --one-based: they count from 1' if first == '0' else ''}"
        if self.are_named:
            says = f"called {quoted(first)}, ...{hint_at_similar(name, self.number_of)}"
        raise InstanceError(f"names row {quoted(name)}, but the rows of the data are {says}")


@dataclass(frozen=True, eq=False)
class PointTable:
    """Points with the names of their rows and columns.

    Attributes
    ----------
    points : (n, d) floats, one column per feature
    origin : the user's names of rows and columns
    k : number of clusters that a file states; None: not stated
    names : different hashable values, names of all rows of the data; None: rows are numbered from 0
    name_problem : message on an index of a data frame whose labels repeat or are missing; "": the
        index names the rows, or is not needed
    weights : (n,) weights of the points; None: 1 each
    known_classes : (n,) classes of the rows as given; None: no known classes
    categories : texts (n,) of the rows by column; each of these becomes columns of 0 and 1
    lines : (n,) lines of the rows in their file, from 1; None: not from a file of lines
    """

    points: NDArray[np.float64]
    origin: Origin = field(default_factory=Origin)
    k: int | None = None
    names: Sequence[Hashable] | None = None
    name_problem: str = ""
    weights: NDArray[np.float64] | None = None
    known_classes: Any = None
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    lines: NDArray[np.int64] | None = None

    @classmethod
    def of_columns(
        cls,
        points: NDArray[np.float64],
        columns: Sequence[Hashable],
        roles: Roles,
        texts: Mapping[int, Sequence[Any]],
        reading: Reading,
        where: str = "",
    ) -> PointTable:
        """Return the table of points with names, classes and categories from columns of text.

        columns : names of all columns; (): columns of the file do not have names
        texts : the columns of `Roles.texts`, by position
        where : beginning of notes

        Raises
        ------
        InstanceError
            If names in the index column repeat or are missing.
        """
        names, at = None, roles.index
        if at is not None and reading.index_column is not None:
            names = checked_names(texts[at], f"index_column = {reading.index_column!r}")
        elif at is not None:
            names = names_by_index(texts[at], f"{where}{column_text(columns, at)} is an index")
        origin = Origin(
            row_names=None if names is None else tuple(map(str, names)),
            feature_names=tuple(str(columns[at]) for at in roles.features) if columns else (),
            index_name="" if at is None else str(columns[at]),
        )
        return cls(
            points,
            origin,
            names=names,
            known_classes=None if roles.classes is None else texts[roles.classes],
            categories={
                str(columns[at]): ["" if is_missing(each) else str(each) for each in texts[at]]
                for at in roles.categories
            },
        )

    @property
    def rows(self) -> Rows:
        """Rows of the data by their names, or by their numbers from 0."""
        kept, are_named = self.origin.kept_rows, self.names is not None
        numbers = range(self.origin.n_data_rows(len(self.points)))
        return Rows(numbers if self.names is None else self.names, kept, are_named)

    def row_name(self, row: int) -> str:
        """Return the name of a row for messages, or its number if rows do not have names."""
        name = self.origin.row(row)
        return name if self.names is None else shown(name)

    def place(self, row: int) -> str:
        """Return the name of a row, and its line if it is from a file of lines."""
        line = "" if self.lines is None else f" (line {self.lines[row]})"
        return f"row {self.row_name(row)}{line}"

    def column_name(self, column: int) -> str:
        """Return the name of a feature for messages, or its number from 1."""
        names = self.origin.feature_names
        return quoted(names[column]) if names else str(column + 1)

    def with_origin(self, **values: Any) -> PointTable:
        """Return the table with other values of its `Origin`."""
        return replace(self, origin=replace(self.origin, **values))

    def with_step(self, *steps: str) -> PointTable:
        """Return the table with further steps of its preparation."""
        return self.with_origin(preparation=(*self.origin.preparation, *steps))

    def standardized(self) -> PointTable:
        """Return the table with columns of mean zero and variance one."""
        scaling = standardization(self.points, self.weights)
        return replace(self.with_origin(scaling=scaling), points=scaling.applied(self.points))

    def with_weights(self, column: str | None, where: str = "") -> PointTable:
        """Return the table with weights from a column, which is removed from the features.

        column : the name of a feature; None: no weights
        where : beginning of messages

        Raises
        ------
        InstanceError
            If it is the only feature, or a number in it is not positive.
        """
        if column is None:
            return self
        argument = f"{where}weight_column = {shown(str(column))}"
        names = list(self.origin.feature_names)
        at = names.index(column)
        if len(names) == 1:
            raise InstanceError(f"{argument}: no feature columns remain; expected at least one")
        weights = self.points[:, at].copy()
        for row in np.flatnonzero(~(weights > 0.0))[:1].tolist():
            raise InstanceError(
                f"{argument}: {self.place(row)} has {weights[row]:g}; expected more than 0"
            )
        del names[at]
        points = np.delete(self.points, at, axis=1)
        return replace(self.with_origin(feature_names=tuple(names)), points=points, weights=weights)


def column_text(columns: Sequence[Hashable], column: int) -> str:
    """Return the number of a column, and its name in parentheses if it has one."""
    name = str(columns[column]) if columns else ""
    has_name = name not in ("", str(column + 1))
    return f"column {column + 1}" + (f" ({shown(name)})" if has_name else "")


def check_columns(
    columns: Sequence[Hashable], chosen: Iterable[tuple[str, str | None]], place: str = ""
) -> None:
    """Raise the InstanceError for the first chosen column that is unknown or ambiguous.

    Features may share a name; the name of a chosen column must be unique.

    chosen : pairs of the argument, for messages, and the column that it names; None: no column
    place : beginning of messages
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


def check_no_columns(reading: Reading, says: str, expected: str) -> None:
    """Raise the InstanceError if columns are chosen, but columns of the data have no names.

    says, expected : parts of the message: the data, and data that would support the option
    """
    for argument, column in reading.chosen:
        a_file = "a file of that name, or " if argument == "known_classes" else ""
        raise InstanceError(
            f"{argument} = {shown(column)}: {says}; expected {a_file}{expected} with it"
        )


def checked_names(names: Sequence[Hashable], where: str) -> tuple[Hashable, ...]:
    """Return the names of rows; raise an InstanceError if some are missing or repeat.

    where : source of the names for messages, such as "index_column = 'id'"
    """
    first: dict[Hashable, int] = {}
    for row, name in enumerate(names):
        if is_missing(name) or name == "":
            raise InstanceError(f"{where}: row {row} has no name; expected one for every row")
        try:
            known = first.setdefault(name, row)
        except TypeError:  # a list, say, is not hashable
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
    """Return the names of the rows from an index in a file that no option mentions.

    None if it merely counts the rows from 0, or its values repeat or are missing. An index of a
    spreadsheet may be empty.

    says : description of the index, the beginning of the note

    Warns
    -----
    InstanceNote
        Whether the index names or numbers the rows.
    """
    if not any(value != "" for value in values):
        return None
    names = None
    if list(map(str, values)) != list(map(str, range(len(values)))):
        with suppress(InstanceError):
            names = checked_names(values, "")
    says_names = "numbers the rows" if names is None else "names the rows"
    warn_caller(f"{says} that {says_names}; it is not a feature", InstanceNote)
    return names


def hint_at_similar(name: object, names: Iterable[Hashable]) -> str:
    """Return the end of a message on an unknown name: the most similar known name, or ""."""
    by_text = {str(other): other for other in names}
    close = difflib.get_close_matches(str(name), by_text, 1)
    return f"; did you mean {quoted(by_text[close[0]])}?" if close else ""


def quoted(value: object) -> str:
    """Return a value for messages, on one line and of bounded length."""
    return shown(value) if isinstance(value, str) else " ".join(repr(value).split())[:60]
