"""The assignment step with hard cannot-links alone: many sets of centres, one graph.

The programme (PC-SOS-SDP, section 3.4, with the centres of (2) fixed)

    minimise    sum_i e_i || c_i - m_{l(i)} ||^2
    subject to  l(i) != l(j) for every cannot-link ij

falls apart into the connected components of the cannot-link graph. Each is solved exactly by
dynamic programming, or by an integer programming solver where its tables would be too large.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from heuristics.assignment.elimination import (
    Bucket,
    eliminate,
    lay_out,
    propagate,
)
from heuristics.assignment.filling import fill_empty_clusters
from heuristics.assignment.parameters import TABLE_BUDGET
from heuristics.assignment.potts import Potts
from heuristics.assignment.programme import AssignmentProgramme
from heuristics.assignment.renaming import renamed
from sdpbb.errors import ParameterError
from sdpbb.feasibility import find_feasible
from sdpbb.problem import Contraction, Infeasibility

# So that the first of many programmes does not take all the time.
PROGRAMME_SHARE = 0.1


class Assignment:
    """The assignment step of one contraction, prepared for many sets of centres.

    Parameters
    ----------
    contraction : must have a clustering (see `sdpbb.feasibility.find_feasible`)
    table_budget : entries of dynamic programming allowed to one component; the components over it
        are integer programmes, solved by HiGHS
    time_limit : seconds allowed to integer programmes over all calls together, > 0; each may take
        PROGRAMME_SHARE of what is left. Once time runs out, the labels of these components keep
        the cannot-links but need not be the cheapest, and depend on the machine.
    seconds_left : asked before every integer programme: how long the caller has, which counts like
        the time limit where it is less; none is begun where that is 0
    known : labels (m,) that keep the cannot-links, for the integer programmes to begin from; looked
        for if None

    Raises
    ------
    ParameterError
        If a component is an integer programme and has no labels that keep the cannot-links.
    """

    def __init__(
        self,
        contraction: Contraction,
        table_budget: float = TABLE_BUDGET,
        time_limit: float = np.inf,
        known: NDArray[np.intp] | None = None,
        seconds_left: Callable[[], float] = lambda: np.inf,
    ) -> None:
        self._sizes = contraction.sizes
        self._means = contraction.means
        self._k = contraction.k
        adjacency = contraction.adjacency
        neighbours = [set(np.flatnonzero(row).tolist()) for row in adjacency]
        component = connected_components(csr_array(adjacency), directed=False)[1]
        by_component = np.argsort(component, kind="stable")
        buckets: list[Bucket] = []
        self._parts: list[_Part] = []
        for blocks in np.split(by_component, np.cumsum(np.bincount(component))[:-1]):
            inside = {v: set(neighbours[v]) for v in blocks.tolist()}
            eliminated = eliminate(inside, self._k, table_budget)
            if eliminated is not None:
                buckets += eliminated
                continue
            self._parts.append(_part(blocks, adjacency[np.ix_(blocks, blocks)], self._k))
        self._time_left = time_limit
        self._seconds_left = seconds_left
        if self._parts:
            feasible = find_feasible(contraction) if known is None else known
            if isinstance(feasible, Infeasibility):
                raise ParameterError(f"no clustering keeps the cannot-links: {feasible}")
            assert feasible is not None  # no time limit was given
            self._last = feasible  # the programmes begin from the labels of the last call
        number = {(i, j): p for p, (i, j) in enumerate(contraction.cannot_link.tolist())}
        self._tables = lay_out(buckets, number, self._k)
        self._weights = self._tables.weights(np.full(len(number), np.inf))

    def __call__(self, centres: NDArray[np.float64]) -> NDArray[np.intp]:
        """Labels (m,) for centres (k, r), with exactly k clusters.

        If the cheapest labels leave a cluster empty, the block whose move there reduces the sum of
        squares most is moved, out of a cluster of at least two blocks. This keeps the
        cannot-links, as an empty cluster holds no neighbour of the block; the labels are the
        minimum over all labels that keep the cannot-links only where nothing had to be moved.

        Raises
        ------
        ParameterError, BackendFailure
            As `minimise` does.
        """
        # || c_i ||^2 is the same for all labels of i, and left out.
        distances = (centres**2).sum(axis=1) - 2.0 * (self._means @ centres.T)
        labels = self.minimise(self._sizes[:, None] * distances)
        return fill_empty_clusters(labels, self._sizes, self._means, self._k)

    def minimise(self, costs: NDArray[np.float64]) -> NDArray[np.intp]:
        """Labels (m,) that minimise sum_i costs[i, l(i)] and keep the cannot-links; clusters may be
        empty.

        Parameters
        ----------
        costs : (m, k), finite

        Raises
        ------
        ParameterError
            If no labels keep the cannot-links, or a cost is not finite.
        BackendFailure
            If the integer programming solver fails.
        """
        if not np.isfinite(costs).all():
            raise ParameterError("costs: every cost must be finite")
        labels = np.full(len(costs), -1, dtype=np.int64)
        tables = self._tables
        if not propagate(
            np.ascontiguousarray(costs),
            tables.block,
            tables.separator_at,
            tables.separator,
            self._weights,
            None,
            tables.source_at,
            tables.source,
            tables.stride_at,
            tables.stride,
            tables.table_at,
            labels,
        ):
            raise ParameterError("no clustering keeps the cannot-links of the contraction")
        for part in self._parts:
            blocks = part.blocks
            labels[blocks] = self._solve(part, costs[blocks], self._last[blocks])
            self._last[blocks] = labels[blocks]
        return labels

    def _solve(
        self, part: _Part, costs: NDArray[np.float64], last: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Labels of one component by integer programming, at most as costly as the last ones under
        any renaming of the clusters."""
        start = renamed(last, costs)
        left = min(self._time_left, self._seconds_left())
        if left <= 0:
            return start
        began = perf_counter()
        limit = PROGRAMME_SHARE * left
        labels = part.programme.minimise(costs, part.weights, start, limit).labels
        self._time_left -= perf_counter() - began
        rows = np.arange(len(costs))
        if labels is None or costs[rows, labels].sum() > costs[rows, start].sum():
            return start
        return labels


class _Part(NamedTuple):
    """A component too wide for dynamic programming."""

    blocks: NDArray[np.intp]
    weights: NDArray[np.float64]
    programme: AssignmentProgramme


def _part(blocks: NDArray[np.intp], adjacency: NDArray[np.bool_], k: int) -> _Part:
    pairs = np.argwhere(np.triu(adjacency))
    potts = Potts(np.zeros((len(blocks), k)), None, pairs, np.full(len(pairs), np.inf))
    return _Part(blocks, potts.weights, AssignmentProgramme(potts))
