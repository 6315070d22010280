"""Partitioning master over columns of an explicit list, with subset rows; it only steers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, eye_array, hstack, vstack

from sdpbb.bounds.lagrangian.partitioning.exact_cover import reduced_costs
from sdpbb.errors import BackendFailure
from sdpbb.runtime.backends.simplex import Basis, optimal_vertex

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
        start, block = sets.indptr.astype(np.int64), sets.indices.astype(np.int64)
        priced = self.penalties > 0
        return np.asarray(
            reduced_costs(
                start, block, costs, self.prices, self.triples[priced], self.penalties[priced]
            )
        )


@dataclass(frozen=True, eq=False)
class PartitioningVertex:
    """Optimal vertex of the programme in `ExplicitMaster`, in the units of its costs.

    x : (p,) of the columns
    prices, sigma, penalties : (m,), multipliers of the rows: c(X) - prices(X) + sigma + penalties
        is >= 0 for all columns of the programme
    is_partition : whether x is binary, and nothing is missing of a row or too much
    """

    x: NDArray[np.float64]
    prices: NDArray[np.float64]
    sigma: float
    penalties: NDArray[np.float64]
    is_partition: bool


class ExplicitMaster:
    """Linear relaxation of the partitioning master over an explicit list of columns.

        minimise    sum c_X x_X + ARTIFICIAL (what is missing of the rows, or too much)
        subject to  sum_{X holds i} x_X = 1 for all blocks,  sum x_X = k,
                    sum_{|X & S| >= 2} x_X <= 1 for triples S of blocks,  x >= 0

    over columns that are added and dropped. `columns` are their numbers, given by the caller.
    """

    def __init__(self, m: int, k: int, triples: NDArray[np.int64]) -> None:
        self._m, self._triples = m, triples
        equal = np.concatenate([np.ones(m), [float(k)]])
        limits = np.ones(len(triples))
        self._lower = np.concatenate([equal, np.full(len(triples), -np.inf)])
        self._upper = np.concatenate([equal, limits])
        identity = eye_array(m + 1 + len(triples), m + 1, format="csc")
        self._matrix = csc_array(hstack([identity, -identity]))
        self._n_artificial = 2 * (m + 1)
        self._costs = np.full(self._n_artificial, ARTIFICIAL)
        self.columns = np.empty(0, np.intp)
        self._basis: Basis | None = None

    def add(self, numbers: NDArray[np.intp], sets: csr_array, costs: NDArray[np.float64]) -> None:
        """Append columns with these numbers (p,), blocks (p, m) and costs (p,)."""
        touched = csr_array(
            (
                np.ones(3 * len(self._triples)),
                self._triples.ravel(),
                np.arange(0, 3 * len(self._triples) + 1, 3),
            ),
            shape=(len(self._triples), self._m),
        )
        sets = sets.astype(np.float64)
        held = csr_array(touched @ sets.T)
        held.data = (held.data >= 2.0).astype(np.float64)
        held.eliminate_zeros()
        ones = csr_array(np.ones((1, len(numbers))))
        matrix = csc_array(vstack([csr_array(sets.T), ones, held]))
        self._matrix = csc_array(hstack([self._matrix, matrix]))
        self._costs = np.concatenate([self._costs, costs])
        self.columns = np.concatenate([self.columns, numbers])
        if self._basis is not None:
            self._basis = self._basis.added(len(numbers))

    def keep(self, keep: NDArray[np.bool_]) -> None:
        """Drop the columns that are not marked (p,)."""
        if keep.all():
            return
        kept = np.concatenate([np.ones(self._n_artificial, bool), keep])
        self._matrix, self._costs = self._matrix[:, kept], self._costs[kept]
        self.columns = self.columns[keep]
        if self._basis is not None:
            self._basis = self._basis.kept(kept)

    def solve(self) -> PartitioningVertex:
        """Return an optimal vertex, from the last one.

        Raises
        ------
        BackendFailure
            If HiGHS ends without a verdict.
        """
        free = np.full(len(self._costs), np.inf)
        rows = self._matrix, self._lower, self._upper
        vertex = optimal_vertex(self._costs, *rows, free, "dual", TOLERANCE, self._basis)
        if vertex is None:
            raise BackendFailure("HiGHS: no solution although every row may be missed")
        self._basis = vertex.basis
        m, x = self._m, vertex.x[self._n_artificial :]
        missed = float(np.abs(vertex.x[: self._n_artificial]).max())
        near = max(missed, float(np.minimum(np.abs(x), np.abs(x - 1.0)).max(initial=0.0)))
        return PartitioningVertex(
            x=x,
            prices=vertex.row_duals[:m],
            sigma=-float(vertex.row_duals[m]),
            penalties=-vertex.row_duals[m + 1 :],
            is_partition=near <= 1e-6,
        )
