"""What the user calls the rows and the constraints of an instance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sdpbb.files import shown_path


@dataclass(frozen=True, eq=False)
class PairLines:
    """Where pairs are stated.

    pairs : (p, 2) row numbers i < j from 0; where several places state a pair, the first one is
        meant
    lines : (p,) of their file, from 1; with a key, positions in its list, from 0
    key : of a file that is no list of lines, what holds the pairs, such as "ml"; "" for lines
    """

    pairs: NDArray[np.integer] = field(default_factory=lambda: np.empty((0, 2), np.intp))
    lines: NDArray[np.integer] = field(default_factory=lambda: np.empty(0, np.intp))
    key: str = ""

    def line_of(self, i: int, j: int) -> int | None:
        """The first line that states the pair; None if none does, or the file has a key."""
        position = self._position_of(i, j)
        return None if position is None or self.key else int(self.lines[position])

    def place_of(self, i: int, j: int) -> str:
        """What follows the name of the file in the place that states the pair, ":17" or
        ": ml[3]"; "" if none does."""
        position = self._position_of(i, j)
        if position is None:
            return ""
        line = int(self.lines[position])
        return f": {self.key}[{line}]" if self.key else f":{line}"

    def _position_of(self, i: int, j: int) -> int | None:
        base, keys, order = self._sorted
        key = min(i, j) * base + max(i, j)
        at = int(np.searchsorted(keys, key))
        found = at < len(keys) and max(i, j) < base and int(keys[at]) == key
        return int(order[at]) if found else None

    @cached_property
    def _sorted(self) -> tuple[int, NDArray[np.int64], NDArray[np.intp]]:
        """A base above all rows, the pairs as sorted numbers i * base + j, and their positions.

        A distance may stand for millions of pairs, and labels may violate most of them."""
        pairs = self.pairs.astype(np.int64)
        base = int(pairs.max(initial=0)) + 1
        keys = pairs[:, 0] * base + pairs[:, 1]
        order = np.argsort(keys, kind="stable")  # of equal pairs, the first one comes first
        return base, keys[order], order


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
    must_link, cannot_link : the places in it that state them, those that distances (GAMMA, DELTA)
        amount to included
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

    def place(self, kind: str, i: int, j: int) -> str:
        """Where a file states the pair, as in "constraints.txt:17" or "constraints.json: ml[3]";
        "" if none does.

        kind : "must_link" or "cannot_link"
        """
        pairs: PairLines = {"must_link": self.must_link, "cannot_link": self.cannot_link}[kind]
        place = pairs.place_of(i, j)
        return f"{shown_path(self.constraints_path)}{place}" if place else ""
