"""Partitioning master over columns of an explicit list, with subset rows; it only steers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, eye_array, hstack, vstack

from sdpbb.errors import BackendFailure
from sdpbb.runtime.backends.highs import Basis, optimal_vertex

# Of the linear programme, whose costs are at most LARGEST: its tolerances are absolute. What is
# missing of a row, or too much, costs more than any partition; prices are at most as high.
TOLERANCE = 1e-9
LARGEST = 1000.0
ARTIFICIAL = 2.0 * LARGEST


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Integer dual values (int64) of the rows of the partitioning master.

    prices : (m,) of the blocks, any sign
    triples, penalties : (c, 3) sets of blocks, of which a partition has at most one cluster with
        two or more, and (c,) >= 0
    """

    prices: NDArray[np.int64]
    triples: NDArray[np.int64]
    penalties: NDArray[np.int64]

    @classmethod
    def rounded(
        cls,
        prices: NDArray[np.float64],
        triples: NDArray[np.int64],
        penalties: NDArray[np.float64],
        limit: float,
    ) -> Multipliers:
        """Return the nearest integers.

        They are made smaller by a common factor where their sum exceeds the limit.
        """
        penalties = np.maximum(penalties, 0.0)
        total = float(np.abs(prices).sum() + penalties.sum())
        factor = min(1.0, limit / total) if total > 0.0 else 1.0
        return cls(
            np.rint(prices * factor).astype(np.int64),
            triples,
            np.rint(penalties * factor).astype(np.int64),
        )

    @property
    def constant(self) -> int:
        """Sum of the prices less the sum of the penalties."""
        return int(self.prices.sum()) - int(self.penalties.sum())

    def reduced_costs(self, sets: csr_array, costs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the reduced costs (t,) of the columns.

        They are c(X) - prices(X) + the penalties of the triples of which X has two or more.
        """
        priced = self.penalties > 0
        held = _held(sets, self.triples[priced]).astype(np.int64)
        return np.asarray(costs - sets @ self.prices + held @ self.penalties[priced])


def _held(sets: csr_array, triples: NDArray[np.int64]) -> csr_array:
    """Return which triples (c, 3) each of the sets (t, m) holds two or more of, (t, c)."""
    c, ends = len(triples), np.arange(0, 3 * len(triples) + 1, 3)
    ones = np.ones(3 * c, np.int8)
    held = sets @ csr_array((ones, triples.ravel(), ends), shape=(c, sets.shape[1])).T
    held.data = held.data >= 2
    held.eliminate_zeros()
    return held


@dataclass(frozen=True, eq=False)
class PartitioningVertex:
    """Optimal vertex of the programme of `partitioning_vertex`, in the units of its costs.

    x : (t,) of the columns
    prices, sigma, penalties : (m,), multipliers of the rows: c(X) - prices(X) + sigma + penalties
        is >= 0 for all columns of the programme
    is_partition : whether x is binary, and nothing is missing of a row or too much
    basis : of the artificial columns, and the t that follow
    """

    x: NDArray[np.float64]
    prices: NDArray[np.float64]
    sigma: float
    penalties: NDArray[np.float64]
    is_partition: bool
    basis: Basis

    def basis_of(self, keep: NDArray[np.bool_], n_new: int) -> Basis:
        """Return the basis of the marked columns (t,) and of new ones that follow them."""
        artificial = np.ones(2 * len(self.prices) + 2, bool)
        return self.basis.kept(np.concatenate([artificial, keep])).added(n_new)


def partitioning_vertex(
    sets: csr_array,
    costs: NDArray[np.float64],
    k: int,
    triples: NDArray[np.int64],
    basis: Basis | None,
) -> PartitioningVertex:
    """Solve the linear relaxation of the partitioning master over explicit columns.

        minimise    sum c_X x_X + ARTIFICIAL (what is missing of the rows, or too much)
        subject to  sum_{X holds i} x_X = 1 for all blocks,  sum x_X = k,
                    sum_{|X & S| >= 2} x_X <= 1 for triples S of blocks,  x >= 0

    Parameters
    ----------
    sets, costs : (t, m), (t,) the columns
    triples : (c, 3)
    basis : to begin from

    Raises
    ------
    BackendFailure
        If HiGHS ends without a verdict.
    """
    (t, m), c = sets.shape, len(triples)
    rows = [sets.T, csr_array(np.ones((1, t))), _held(sets, triples).T]
    columns = vstack([part.astype(np.float64) for part in rows])
    artificial = eye_array(m + 1 + c, m + 1)
    matrix = csc_array(hstack([artificial, -artificial, columns]))
    equal = np.append(np.ones(m), float(k))
    costs = np.concatenate([np.full(2 * (m + 1), ARTIFICIAL), costs])
    vertex = optimal_vertex(
        costs,
        matrix,
        np.concatenate([equal, np.full(c, -np.inf)]),
        np.concatenate([equal, np.ones(c)]),
        np.full(len(costs), np.inf),
        "dual",
        TOLERANCE,
        basis,
    )
    if vertex is None:
        raise BackendFailure("HiGHS: no solution although every row may be missed")
    missed, x = np.split(vertex.x, [2 * (m + 1)])
    near = np.append(np.abs(missed), np.minimum(np.abs(x), np.abs(x - 1.0))).max()
    return PartitioningVertex(
        x=x,
        prices=vertex.row_duals[:m],
        sigma=-float(vertex.row_duals[m]),
        penalties=-vertex.row_duals[m + 1 :],
        is_partition=bool(near <= 1e-6),
        basis=vertex.basis,
    )
