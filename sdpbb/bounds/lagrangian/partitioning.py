"""Cheapest partition of the blocks into clusters of an explicit list, and the proof of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, eye_array, hstack, vstack

from sdpbb.bounds.bound import EPS, ProvenBound
from sdpbb.bounds.lagrangian.columns import Columns, Membership
from sdpbb.bounds.lagrangian.exact_cover import cheapest_exact_cover, violated_triples
from sdpbb.errors import BackendFailure
from sdpbb.problem import Contraction
from sdpbb.runtime.backends.highs import Basis, Vertex, optimal_vertex


def certain_costs(contraction: Contraction, columns: Columns) -> NDArray[np.float64]:
    """Return the costs of the columns (t,), less a bound on their rounding errors.

    Sums over dimensions and blocks lose one unit in the last place per term; scatter and means of
    blocks lose one per point. With d_i = c_i - mean_X, errors of coordinates of a few units in the
    last place change a cost by that many eps sum e_i |d_i| |c_i|, which is at most
    eps sqrt(c(X) sum (w_i + e_i |c_i|^2)), and by the squares of such errors. So do errors of
    centres.
    """
    soft = contraction.soft
    sets = csr_array(columns.members.astype(np.float64))
    e, c, w = contraction.weights, contraction.means, contraction.scatter
    squares = (c**2).sum(axis=1)
    lengths = sets @ (w + e * squares)
    inside = float(e[w > 0.0].max(initial=0.0))
    terms = 2.0 * (c.shape[1] + np.diff(sets.indptr) + inside + len(soft)) + 32.0
    crossed = 32.0 * np.sqrt(columns.costs) * np.sqrt(lengths)  # their product may be too large
    second = 1024.0 * EPS * (lengths + (sets @ e) * squares.max(initial=0.0))
    margin = EPS * (terms * columns.costs + crossed + second)
    # Sums of weights of soft pairs are rounded, too.
    margin += 2.0 * soft.uncertainty
    return np.asarray(np.maximum(columns.costs - margin, 0.0))


# Costs are integers below 2^COST_BITS, and sums of all prices are below PRICE_LIMIT: int64 holds a
# reduced cost, and a unit is less than the rounding of the costs. Prices can be that large if all
# clusters have one size, as prices and sigma may then rise together.
COST_BITS = 50
PRICE_LIMIT = 2.0**60
# The search adds up gains below 2^GAIN_BITS twice.
GAIN_BITS = 60

# Tolerance of the linear programme, whose costs are at most LARGEST. Errors of a row cost more than
# any partition; prices are at most that high.
TOLERANCE = 1e-9
LARGEST = 1000.0
ARTIFICIAL = 2.0 * LARGEST

# The numbers from here on do not affect proofs. Columns added to the linear programme between two
# solves, per block.
BATCH = 3
# Maximum rounds of subset-row cuts; maximum new rows in a round, and through one block; least
# violation of a row, whose right-hand side is 1.
CUT_ROUNDS, MAX_CUTS, MAX_CUTS_PER_BLOCK, VIOLATION = 10, 60, 5, 1e-3
# Variables further from 0 and 1 are fractional.
FRACTIONAL = 1e-8
# Effort of the search after each linear programme, and of the final one: columns examined in all
# its nodes. The first succeeds if few columns remain. About 10 million take a second; the final
# search is one step, so a time limit waits for its end.
TRIAL_EFFORT, EFFORT = 1_000_000, 10_000_000


def cheapest_partition(
    contraction: Contraction,
    columns: Columns,
    cutoff: float,
    prices: NDArray[np.float64] | None = None,
) -> Partitioning:
    """Choose the cheapest k clusters that hold each block exactly once.

        minimise    sum_X c_X x_X
        subject to  sum_{X holds i} x_X = 1 for all blocks i,  sum x_X = k,  x binary

    with as many of each size, or in each range, as are listed. If the columns include every cluster
    of each clustering below the cutoff, the bound holds for all clusterings of the node.

    For any prices, and penalties nu_S >= 0 of sets S of three blocks (a partition has at most one
    cluster with two of them: subset row inequalities), every partition costs at least

        L + sum of g(X) over its clusters,  where
        r(X) = c(X) - prices(X) + the nu_S of all S of which X has two blocks or more,
        L = sum of prices - sum of nu + k min r  and  g(X) = r(X) - min r >= 0
        (with listed sizes, min r of each size times the number of clusters of that size).

    So clusters with g(X) >= cutoff - L are dropped for good. The linear relaxation gives good
    prices and penalties. Dropping, adding violated rows and solving repeat until few clusters
    remain for a depth-first search (`exact_cover.cheapest_exact_cover`).

    Costs less a margin for rounding, prices and penalties become integers: L, g and the search are
    exact. Results of HiGHS are only used as prices.

    Parameters
    ----------
    columns : t different clusters of the contraction's blocks, all allowed
    cutoff : only partitions that cost less are of interest, with the cost of soft pairs in all
        clusterings; inf: all
    prices : (m,) first prices, finite, of any sign; prices of the master programme save time

    Raises
    ------
    BackendFailure
        If HiGHS ends without a result.

    Source: exact enumeration with subset rows as in Baldacci, Christofides and Mingozzi (2008)
    for vehicle routing; subset rows: Jepsen, Petersen, Spoorendonk and Pisinger (2008).
    """
    prices = np.zeros(contraction.n_blocks) if prices is None else prices
    found = Partitioning(contraction, columns, cutoff)
    found.run(prices)
    return found


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
    ) -> Multipliers:
        """Return the nearest integers, scaled down if their sum exceeds PRICE_LIMIT."""
        penalties = np.maximum(penalties, 0.0)
        total = float(np.abs(prices).sum() + penalties.sum())
        factor = min(1.0, PRICE_LIMIT / total) if total > 0.0 else 1.0
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

        They are c(X) - prices(X) + the penalties of the triples of which X has at least two blocks.
        """
        priced = self.penalties > 0
        held = _held(sets, self.triples[priced]).astype(np.int64)
        return np.asarray(costs - sets @ self.prices + held @ self.penalties[priced])


def _held(sets: csr_array, triples: NDArray[np.int64]) -> csr_array:
    """Return a mask (t, c): whether set t holds at least two blocks of triple c."""
    c, ends = len(triples), np.arange(0, 3 * len(triples) + 1, 3)
    ones = np.ones(3 * c, np.int8)
    held = sets @ csr_array((ones, triples.ravel(), ends), shape=(c, sets.shape[1])).T
    held.data = held.data >= 2
    held.eliminate_zeros()
    return held


class Partitioning:
    """Search for the cheapest partition into k of some clusters, and its result.

    All costs are integers, in units of `_unit`. The checker has a separate search on purpose
    (`sdpbb.checker.partitions`).

    labels : (m,) of the cheapest partition met that, up to rounding, is below the cutoff, or None
    is_finished : whether this is the cheapest partition; with None, none is below the cutoff
    target : only partitions that cost less are of interest
    lower : every partition costs at least this or the target
    """

    def __init__(self, contraction: Contraction, columns: Columns, cutoff: float) -> None:
        self._cutoff, self._paid = cutoff, contraction.soft.constant_below
        cutoff -= self._paid
        self.m, self.k = contraction.n_blocks, contraction.k
        self._batch = BATCH * (self.m + 1)
        # No clustering costs more than all points around one mean.
        most = 2.0 * (contraction.total + float(np.abs(contraction.soft.weights).sum()))
        largest = min(cutoff, most) or min(cutoff, 1.0)
        self._unit = math.ldexp(1.0, math.frexp(largest)[1] - COST_BITS)
        self.target = math.ceil(largest / self._unit)
        self.lower = 0
        self.labels: NDArray[np.intp] | None = None
        self.is_finished = False
        lower_costs = certain_costs(contraction, columns)
        keep = lower_costs < largest
        self.sets = csr_array(columns.members[keep].astype(np.int8))
        self.costs = np.floor(lower_costs[keep] / self._unit).astype(np.int64)
        self.position = np.flatnonzero(keep)
        self._counts, self._limits = contraction.counts, contraction.size_limits
        self.kind, self._n_of_kind = _kinds(contraction, columns.members[keep])
        nothing = np.zeros(self.m, np.int64)
        self._best = Multipliers(nothing, np.empty((0, 3), np.int64), nothing[:0])

    def run(self, prices: NDArray[np.float64]) -> None:
        """Drop, solve, cut and search until no columns remain or limits are reached."""
        triples, none = self._best.triples, np.zeros(0)
        self.tighten(self._best)
        sane = np.clip(prices, -PRICE_LIMIT * self._unit, PRICE_LIMIT * self._unit)
        by = Multipliers.rounded(sane / self._unit, triples, none)
        reduced = self.tighten(by)
        if self.is_finished:
            return
        taken = self.position[_lowest(reduced, self._batch)]
        for rounds_left in range(CUT_ROUNDS, -1, -1):
            taken, x = self._optimum(triples, taken)
            self.search(TRIAL_EFFORT)
            if self.is_finished:
                return
            more = self._violated(taken, x)
            if not rounds_left or not len(more):
                break
            triples = np.concatenate([triples, more])
        self.search(EFFORT)

    def tighten(self, by: Multipliers) -> NDArray[np.int64]:
        """Drop the columns that these multipliers exclude.

        Return the reduced costs of the remaining columns.
        """
        reduced = by.reduced_costs(self.sets, self.costs)
        if not len(reduced):
            self.is_finished = True
            return reduced
        gains, value = self._gains(by, reduced)
        if value >= self.lower:
            self.lower, self._best = value, by
        keep = gains < min(self.target - value, 2**62)
        self._keep(keep)
        self.is_finished |= not keep.any()
        return reduced[keep]

    def _gains(self, by: Multipliers, reduced: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
        """Return reduced costs less the minimum of their kind, (t,), and the value of L.

        If no column of a kind remains, there is no partition, and L is the target.
        """
        least = np.zeros(len(self._n_of_kind), np.int64)
        value = by.constant
        for kind, count in enumerate(self._n_of_kind.tolist()):
            of_kind = reduced[self.kind == kind]
            if not len(of_kind):
                return reduced, self.target
            least[kind] = of_kind.min()
            value += count * int(least[kind])
        return reduced - least[self.kind], value

    def _optimum(
        self, triples: NDArray[np.int64], taken: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the columns of the last programme, and an optimal x over all remaining columns.

        taken : numbers of the first columns
        """
        unit, basis = 2.0**COST_BITS / LARGEST, None  # of the linear programme
        taken = np.intersect1d(taken, self.position)
        while True:
            at = np.searchsorted(self.position, taken)
            sets, costs = self.sets[at], self.costs[at]
            vertex = partitioning_vertex(sets, costs / unit, self.k, triples, basis)
            artificial, x = np.split(vertex.x, [2 * (self.m + 1)])
            chosen = np.flatnonzero(x > 0.5)
            self._offer(sets[chosen], costs[chosen])
            prices, own, rows = np.split(vertex.row_duals * unit, [self.m, self.m + 1])
            reduced = self.tighten(Multipliers.rounded(prices, triples, -rows))
            new = ~np.isin(self.position, taken)
            new &= (reduced - own) / unit < -10.0 * TOLERANCE
            if self.is_finished or not new.any():
                return taken, x
            still, among = np.isin(taken, self.position), np.flatnonzero(new)
            more = self.position[np.sort(among[_lowest(reduced[among], self._batch)])]
            kept = vertex.basis.kept(np.concatenate([np.ones(len(artificial), bool), still]))
            basis, taken = kept.added(len(more)), np.concatenate([taken[still], more])

    def search(self, effort: int) -> None:
        """Search all partitions into the remaining columns."""
        reduced = self.tighten(self._best)
        if self.is_finished:
            return
        gains, value = self._gains(self._best, reduced)
        order = np.argsort(gains, kind="stable")
        budget = self.target - value
        shift = max(0, budget.bit_length() - GAIN_BITS)
        sets, limits = self.sets[order], self._limits
        chosen, target, finished = cheapest_exact_cover(
            sets.indptr.astype(np.int64),
            sets.indices.astype(np.int64),
            gains[order] >> shift,
            self.costs[order],
            self.m,
            self.k,
            (budget >> shift) + 1,
            self.target,
            shift,
            effort,
            self.kind[order],
            self._n_of_kind,
            sets @ self._counts.astype(np.int64),
            np.array(() if limits is None else limits.wide, np.int64).reshape(-1, 2),
        )
        if chosen[0] >= 0:
            self._take(sets[chosen], target)
        if finished:
            self.is_finished = True
            self._keep(np.zeros(len(self.costs), bool))

    def _offer(self, sets: csr_array, costs: NDArray[np.int64]) -> None:
        """Store columns as a partition if they are one below the target."""
        once = np.bincount(sets.indices, minlength=self.m) == 1
        if sets.shape[0] == self.k and once.all() and int(costs.sum()) < self.target:
            if self._limits is not None and not self._limits.keeps(sets @ self._counts):
                return
            self._take(sets, int(costs.sum()))

    @property
    def bound(self) -> ProvenBound:
        """Proven bound: every partition costs at least this or the cutoff."""
        bound = self._cutoff
        if self.labels is not None or not self.is_finished:
            # Below 2^53, so that the product is exact.
            value = self.target if self.is_finished else min(self.lower, self.target)
            # Without a cost of soft pairs in all clusterings, the sum is the product.
            bound = min(value * self._unit + self._paid * (1.0 - 2.0**-50), self._cutoff)
            if self._paid > 0.0:
                bound *= 1.0 - 2.0**-50
        return ProvenBound(bound)

    @property
    def multipliers(self) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]:
        """Prices (m,), triples (c, 3) and penalties (c,) that prove the most, in squared units."""
        best, priced = self._best, self._best.penalties > 0
        prices, penalties = (
            np.asarray(each * self._unit, np.float64)
            for each in (best.prices, best.penalties[priced])
        )
        return prices, best.triples[priced].astype(np.int32), penalties

    def _violated(self, columns: NDArray[np.intp], x: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the triples of blocks (c, 3) whose rows the vertex violates.

        Columns that have been dropped since are left out.
        """
        taken = (x > FRACTIONAL) & (x < 1.0 - FRACTIONAL) & np.isin(columns, self.position)
        sets = self.sets[np.searchsorted(self.position, columns[taken])]
        return violated_triples(sets, x[taken], VIOLATION, MAX_CUTS, MAX_CUTS_PER_BLOCK)

    def _take(self, sets: csr_array, target: int) -> None:
        labels = np.empty(self.m, np.intp)
        labels[sets.indices] = np.repeat(np.arange(self.k), np.diff(sets.indptr))
        self.labels, self.target = labels, target

    def _keep(self, keep: NDArray[np.bool_]) -> None:
        if not keep.all():
            self.sets, self.costs = self.sets[np.flatnonzero(keep)], self.costs[keep]
            self.position, self.kind = self.position[keep], self.kind[keep]


def _kinds(
    contraction: Contraction, members: Membership
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the kind of each cluster (t, m), and the number of each kind in a partition.

    Kinds are the listed sizes. Without listed sizes there is one kind.
    """
    limits = contraction.size_limits
    if limits is None or limits.exact is None:
        return np.zeros(len(members), np.int64), np.array([contraction.k], np.int64)
    listed, count = np.unique(limits.exact, return_counts=True)
    return np.searchsorted(listed, members @ contraction.counts), count.astype(np.int64)


def _lowest(reduced: NDArray[np.int64], count: int) -> NDArray[np.intp]:
    """Return positions of the `count` lowest values, in ascending order."""
    return np.argsort(reduced, kind="stable")[:count]


def partitioning_vertex(
    sets: csr_array,
    costs: NDArray[np.float64],
    k: int,
    triples: NDArray[np.int64],
    basis: Basis | None,
) -> Vertex:
    """Solve the linear relaxation of the partitioning master over explicit columns.

        minimise    sum c_X x_X + ARTIFICIAL (errors of the rows)
        subject to  sum_{X holds i} x_X = 1 for all blocks,  sum x_X = k,
                    sum_{|X & S| >= 2} x_X <= 1 for triples S of blocks,  x >= 0

    Row duals are of the blocks, of the number of clusters, and of the triples, in this order. The
    2 (m + 1) artificial columns precede the columns of x.

    Parameters
    ----------
    sets, costs : (t, m), (t,) the columns
    triples : (c, 3)
    basis : first basis, or None

    Raises
    ------
    BackendFailure
        If HiGHS ends without a result.
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
    return vertex
