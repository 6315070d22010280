"""Columns of points that may be no features."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem.table import PointTable
from sdpbb.problem.textfile import shown

LEAST_ROWS = 5
"""With fewer rows, nothing is odd about numbers that differ."""

# Names of columns that number rows: customer_id, Nr., rowId, Unnamed: 0.
_NAME = re.compile(
    r"(.*[ _.\-])?(ids?|idx|index|rows?|row ?names?|nr\.?|no\.?|number|key|#)|unnamed: ?0",
    re.IGNORECASE,
)
_CAMEL_CASE = re.compile(r".*[a-z](ID|Id)")


def notes_on(table: PointTable, weight_column: str | None) -> Iterator[str]:
    """Yield a line on each feature that looks as if it named the rows.

    It does if it is called so, and holds whole numbers that all differ.
    """
    n = len(table.points)
    for j, name in enumerate(table.feature_names):
        is_called_so = _NAME.fullmatch(name) or _CAMEL_CASE.fullmatch(name)
        if n < LEAST_ROWS or name == weight_column or not is_called_so:
            continue
        if _tells_rows_apart(table.points[:, j]):
            yield (
                f"column {shown(name)} has a different whole number in every row, and is used as "
                f"a feature; to name the rows by it, use --index-column {shown(name)}; to ignore "
                f"it, --drop {shown(name)}"
            )


def _tells_rows_apart(column: NDArray[np.float64]) -> bool:
    known = column[np.isfinite(column)]
    return bool((known == np.trunc(known)).all()) and len(np.unique(known)) == len(column)
