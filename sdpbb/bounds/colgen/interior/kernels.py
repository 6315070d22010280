"""Compiled loops over sparse columns: rows of column c are rows[start[c] : start[c + 1]]."""

from __future__ import annotations

from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit


@njit(cache=True)
def add_covers(start: Integers, rows: Integers, x: Reals, covers: Reals) -> None:
    """Add to each row (m,) the sum of x over the columns that hold it."""
    for column in range(len(start) - 1):
        for at in range(start[column], start[column + 1]):
            covers[rows[at]] += x[column]


@njit(cache=True)
def fill_collected(start: Integers, rows: Integers, prices: Reals, collected: Reals) -> None:
    """Fill for each column (t,) the sum of the prices of its rows."""
    for column in range(len(start) - 1):
        total = 0.0
        for at in range(start[column], start[column + 1]):
            total += prices[rows[at]]
        collected[column] = total


@njit(cache=True)
def add_products(start: Integers, rows: Integers, weights: Reals, band: Reals) -> None:
    """Add A diag(weights) A', as a band: band[i, j - i] is entry (i, j), j >= i.

    The rows of each column are ascending.
    """
    for column in range(len(start) - 1):
        weight = weights[column]
        for at in range(start[column], start[column + 1]):
            i = rows[at]
            for other in range(at, start[column + 1]):
                band[i, rows[other] - i] += weight
