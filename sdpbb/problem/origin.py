"""What the user calls the rows and the constraints of an instance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class PairLines:
    """Where pairs are stated.

    pairs : (p, 2) row numbers i < j from 0
    lines : (p,) of their file, from 1
    """

    pairs: NDArray[np.intp] = field(default_factory=lambda: np.empty((0, 2), np.intp))
    lines: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))

    def line_of(self, i: int, j: int) -> int | None:
        """The first line that states the pair; None if none does."""
        low, high = min(i, j), max(i, j)
        found = np.flatnonzero((self.pairs[:, 0] == low) & (self.pairs[:, 1] == high))
        return int(self.lines[found[0]]) if len(found) else None


@dataclass(frozen=True, eq=False)
class Origin:
    """Where an instance is from, so that messages speak of it as its user does.

    The instance itself counts rows from 0, whatever its files do.

    Parameters
    ----------
    first_row : the number that the user gives to row 0
    row_names : (n,) what the user calls the rows, such as the index of a data frame; None where
        they are numbered
    constraints_path : the file of constraints; "" for none
    must_link, cannot_link : its lines
    """

    first_row: int = 0
    row_names: tuple[str, ...] | None = None
    constraints_path: str = ""
    must_link: PairLines = field(default_factory=PairLines)
    cannot_link: PairLines = field(default_factory=PairLines)

    def row(self, i: int) -> str:
        """What the user calls row i."""
        return str(i + self.first_row) if self.row_names is None else self.row_names[i]

    def rows(self, numbers: Iterable[int]) -> list[str]:
        """What the user calls these rows."""
        return [self.row(i) for i in numbers]
