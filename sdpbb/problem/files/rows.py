"""Rows of the data, as files of constraints name or number them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError, InstanceWarning, warn_caller
from sdpbb.problem.table import hint_at_similar
from sdpbb.problem.textfile import first_of, is_integer, shown
from sdpbb.runtime.files import FilePath, shown_path

# A file that leaves row 0 out is warned of when that is less likely than this.
UNLIKELY = 0.01


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of the data, by their names or numbers in a file.

    Parameters
    ----------
    n : how many there are
    first : the number of the first one in the file, 0 or 1
    names : the number, from 0, of each name; None where rows are numbered
    """

    n: int
    first: int = 0
    names: Mapping[str, int] | None = None

    @classmethod
    def of(cls, n: int, one_based: bool, names: Sequence[str] | None) -> Rows:
        """Return n rows that are numbered, or called names (n,).

        Raises
        ------
        InstanceError
            If they should be numbered from 1 and have names.
        """
        if names is None:
            return cls(n, int(one_based))
        if one_based and any(name != str(row) for row, name in enumerate(names, start=1)):
            raise InstanceError(
                "one_based: the rows have names (index_column), and constraints use them; "
                "expected only one of the two"
            )
        return cls(n, 0, {name: row for row, name in enumerate(names)})

    @property
    def expected(self) -> str:
        """Words of messages for rows: "row numbers" or "names of rows"."""
        return "row numbers" if self.names is None else "names of rows"

    @property
    def expected_on_lines(self) -> str:
        """Words of messages for rows on lines whose fields blanks separate."""
        quotes = "" if self.names is None else " (those with blanks in quotes)"
        return f"{self.expected}{quotes}"

    def number_of(self, field: str) -> int | None:
        """Return the row, from 0, that a field stands for; None if it cannot stand for any.

        It is n or more or negative where there is no such row.
        """
        if self.names is not None:
            return self.names.get(field, self.n)
        return int(field) - self.first if is_integer(field) else None

    def are_names(self, fields: Sequence[str]) -> bool:
        """Return whether all fields can stand for rows, be they there or not."""
        return all(self.number_of(field) is not None for field in fields)

    def pair(self, first: str, second: str) -> tuple[int, int] | None:
        """Return the rows that two fields stand for.

        None if one of them is not there, or they are the same.
        """
        i, j = self.number_of(first), self.number_of(second)
        if i is None or j is None or i == j or not (0 <= i < self.n and 0 <= j < self.n):
            return None
        return i, j

    def pairs(self, first: Sequence[str], second: Sequence[str]) -> NDArray[np.intp] | None:
        """Return what `pair` returns for each two fields, as (p, 2).

        It is fast, for many fields. None if there are no fields, if one is no plain number or not
        there, or if one row is paired with itself.
        """
        fields = [*first, *second]
        if not fields:
            return None
        if self.names is not None:
            found = np.fromiter((self.names.get(field, -1) for field in fields), np.intp)
        else:
            digits = "".join(fields)
            if not (digits.isascii() and digits.isdecimal() and max(map(len, fields)) <= 15):
                return None
            found = np.array(list(map(int, fields)), np.intp) - self.first
        pairs = found.reshape(2, -1).T
        if found.min() < 0 or found.max() >= self.n or (pairs[:, 0] == pairs[:, 1]).any():
            return None
        return pairs

    def pair_error(self, first: str, second: str, says: str) -> InstanceError:
        """Return the error for a pair for which `pair` returns None.

        says : the file, the line and what is there
        """
        missing = self.row_error(first, says) or self.row_error(second, says)
        if missing is not None:
            return missing
        return InstanceError(f"{says} pairs a point with itself; expected i != j")

    def row_error(self, field: str, says: str) -> InstanceError | None:
        """Return the error for a field that stands for a row; None if the row is there."""
        row = self.number_of(field)
        if row is None or 0 <= row < self.n:
            return None
        if self.names is not None:
            similar = hint_at_similar(field, self.names)
            some = first_of(map(shown, self.names), 2)
            others = "" if similar else f"; rows are called {some}"
            return InstanceError(
                f"{says} names row {shown(field)}, but no row of the data has this "
                f"name{similar}{others}"
            )
        meant = "is the file for other data?"
        if self.first == 0 and row == self.n:
            meant = "is the file for other data, or does it number rows from 1 (--one-based)?"
        elif self.first == 1 and row == -1:
            meant = "does the file number rows from 0 (without --one-based)?"
        return InstanceError(
            f"{says} names row {row + self.first}, but the data has rows {self.first} to "
            f"{self.n - 1 + self.first}; {meant}"
        )


def warn_of_one_based(path: FilePath, pairs: Sequence[NDArray[np.intp]], n: int) -> None:
    """Warn of a file that counts rows from 0, as it was read, but looks as if it did from 1.

    It does if the pairs (p, 2) never name row 0, though they name so many rows, m of n, that a draw
    which treats rows alike would leave out row 0 with a probability, 1 - m / n, below UNLIKELY.
    (If such a file names row n, that is an error already.)
    """
    named = np.zeros(n, dtype=bool)
    for some in pairs:
        named[some.ravel()] = True
    m = int(named.sum())
    if not named[0] and (n - m) / n < UNLIKELY:
        warn_caller(
            f"{shown_path(path)}: names {m} of the {n} rows, but never row 0 (probability "
            f"{(n - m) / n:.2g} where rows are drawn at random); does it number rows from 1 "
            "(--one-based)?",
            InstanceWarning,
        )
