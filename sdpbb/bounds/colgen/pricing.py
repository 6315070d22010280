"""Pricing over the blocks of a contraction: clusters of least reduced cost, found and proven.

minimise    c(X) - prices(X)  over the clusters X, with
            c(X) = sum_{i in X} w_i + e_i ||c_i - mean_X||^2,

by branch and bound over two things at once: which blocks are in X (Babaki, Guns and Nijssen 2014,
section 4), and, in a box of few coordinates, where the mean of X is. As the mean is the best
centre, with y the mean of the blocks S that are chosen and r its distance from that of X,

    f(X) >= f(S) + E(S) r^2 + sum_j min(0, e_j max(0, ||c_j - y|| - r, dist(c_j, box))^2 - a_j)

over the candidates j, one of each clique of cannot-links, for a_j = price less own scatter. In the
place of the published bound, whose sum over pairs of candidates is zero, r stands for all pairs at
once. The bound without a candidate, and with it, excludes or includes it (see
`pricing_kernels`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.colgen import pricing_kernels as kernels
from sdpbb.bounds.colgen.climbing_kernels import climb
from sdpbb.bounds.colgen.columns import Members
from sdpbb.problem import Contraction
from sdpbb.problem.colouring import greedy_clique

_EPS = float(np.finfo(np.float64).eps)
# Sets that a search hands over at once.
ROOM = 1000
# Effective dimensions from which, and up to which, boxes and sizes are not worth their time.
BOX_DIMENSION, SIZE_DIMENSION = 4.5, 4.2


@dataclass(frozen=True, eq=False)
class PricingProblem:
    """What pricing needs of a contraction, whatever the prices.

    order : (m,) the block at each position; positions of a clique of cannot-links are neighbours
    data : over positions
    scatter : (m,) own scatter of blocks
    rounding : what costs may have lost to rounding already
    reach : the largest distance of a mean from the origin
    """

    order: NDArray[np.intp]
    data: kernels.Data
    scatter: NDArray[np.float64]
    rounding: float
    reach: float

    @classmethod
    def of(
        cls,
        contraction: Contraction,
        without_costs: bool = False,
        forbidden: Members | None = None,
    ) -> PricingProblem:
        """
        Parameters
        ----------
        without_costs : c(X) = 0 for all clusters, as in the phase that looks for a feasible master
            programme
        forbidden : (q, m) sets of blocks that no cluster may hold all of, or None
        """
        m = contraction.n_blocks
        clique = clique_partition(contraction.adjacency)
        order = np.argsort(clique, kind="stable")
        adjacency = contraction.adjacency[np.ix_(order, order)]
        row, neighbours = np.nonzero(adjacency)
        sizes, means = contraction.sizes[order], contraction.means[order]
        means = means[:, :0] if without_costs else principal_coordinates(means, sizes)
        budgets = contraction.budgets
        linear, limits = budgets.linear[:, order], budgets.limits
        pairs = budgets.pairs[:, order][:, :, order]
        if forbidden is not None and len(forbidden):
            linear = np.vstack([linear, forbidden[:, order]])
            limits = np.append(limits, forbidden.sum(axis=1) - 1.0)
            if len(pairs):
                pairs = np.concatenate([pairs, np.zeros((len(forbidden), m, m))])
        squares = squared_distances(means)
        dimension = effective_dimension(means, sizes)
        data = kernels.Data(
            points=np.ascontiguousarray(means),
            sizes=np.ascontiguousarray(sizes),
            clique=np.ascontiguousarray(clique[order].astype(np.int64)),
            start=np.searchsorted(row, np.arange(m + 1)).astype(np.int64),
            neighbours=neighbours.astype(np.int64),
            linear=np.ascontiguousarray(linear),
            pairs=np.ascontiguousarray(pairs),
            limits=np.ascontiguousarray(limits),
            unbudgeted=(linear == 0).all(axis=0) & (pairs == 0).all(axis=(0, 1)),
            squares=squares,
            nearest=np.argsort(squares, axis=1, kind="stable"),
            boxes=dimension < BOX_DIMENSION,
            by_size=dimension > SIZE_DIMENSION,
        )
        scatter = np.zeros(m) if without_costs else contraction.scatter
        return cls(
            order=order,
            data=data,
            scatter=scatter,
            rounding=0.0 if without_costs else _rounding(contraction),
            reach=float(np.sqrt((means**2).sum(axis=1)).max(initial=0.0)),
        )

    @property
    def m(self) -> int:
        return len(self.order)

    def profits(self, prices: NDArray[np.float64]) -> NDArray[np.float64]:
        """(m,) by position: prices less own scatter."""
        return np.ascontiguousarray((prices - self.scatter)[self.order])

    def margin(self, prices: NDArray[np.float64]) -> float:
        """What values and bounds may have gained by rounding.

        All terms of a bound below 0 are at most the sum of |a| in absolute value: e_j dist^2 counts
        only while it is below a_j. Sums have m terms, squares p; coordinates are off by a multiple
        of p eps times the reach, which moves e_j dist^2 by at most 2 sqrt(e_j a_j) times that.
        """
        m, p = self.data.points.shape
        if p == 0 and not self.scatter.any():
            return 0.0  # weights that are whole numbers are summed exactly
        total = float(np.abs(prices).sum() + self.scatter.sum())
        points = float(self.data.sizes.sum())
        sums = (16 * m + 64 * p + 64) * total
        coordinates = 16 * p * self.reach * float(np.sqrt(points * total))
        return _EPS * (sums + coordinates) + self.rounding

    def members(self, found: NDArray[np.bool_]) -> Members:
        """(t, m) by block, from marks (t, m) by position."""
        members = np.empty_like(found)
        members[:, self.order] = found
        return members


def _rounding(contraction: Contraction) -> float:
    """Of the means of blocks and of their own scatter."""
    terms = 2 * contraction.means.shape[1] + 16
    inside = float(contraction.sizes.max()) * float(contraction.scatter.sum())
    return _EPS * (terms * contraction.total + inside)


def principal_coordinates(
    means: NDArray[np.float64], sizes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(m, p) the means in their principal axes: an isometric copy whose boxes are small."""
    if means.shape[1] < 2:
        return means
    axes = np.linalg.eigh((means * sizes[:, None]).T @ means)[1]
    return np.asarray(means @ axes[:, ::-1])


def squared_distances(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """(m, m), from differences."""
    squares = np.zeros((len(means), len(means)))
    for coordinate in means.T:
        squares += (coordinate[:, None] - coordinate) ** 2
    return squares


def effective_dimension(coordinates: NDArray[np.float64], sizes: NDArray[np.float64]) -> float:
    """(sum of s)^2 / sum of s^2 for the standard deviations s of principal coordinates: as many as
    there are if they are all the same, and fewer if some hardly count."""
    deviations = np.sqrt(sizes @ coordinates**2)
    squares = float(deviations @ deviations)
    return float(deviations.sum() ** 2 / squares) if squares > 0.0 else 0.0


def clique_partition(adjacency: NDArray[np.bool_]) -> NDArray[np.intp]:
    """(m,) the number of a clique for each vertex: greedily the largest first, single vertices
    last."""
    number = np.full(len(adjacency), -1, dtype=np.intp)
    left = np.arange(len(adjacency))
    count = 0
    while len(left):
        rest = adjacency[np.ix_(left, left)]
        if not rest.any():
            number[left] = count + np.arange(len(left))
            break
        clique = np.asarray(greedy_clique(rest), np.intp)
        number[left[clique]] = count
        count += 1
        left = np.delete(left, clique)
    return number


@dataclass(frozen=True, eq=False)
class SearchState:
    """Where a search was left (see `pricing_kernels.Stack`); the stack down to the present node."""

    stack: tuple[NDArray[np.generic], ...]
    counters: NDArray[np.int64]
    upper: float
    is_finished: bool


class Search:
    """Branch and bound over the clusters of value c(X) - prices(X) below a target.

    optimal_only : look for the least value only, which must not be above 0; otherwise for all
        clusters below the target
    """

    def __init__(
        self,
        problem: PricingProblem,
        prices: NDArray[np.float64],
        target: float,
        optimal_only: bool = True,
    ) -> None:
        self._problem = problem
        self._profits = problem.profits(prices)
        self._optimal_only = optimal_only
        self._upper = np.array([target], np.float64)
        self._counters = np.array([0, 1, 0, 0], np.int64)
        self.is_finished = False
        self._stack = _empty_stack(problem)
        stack, data = self._stack, problem.data
        stack.low[0], stack.high[0] = data.points.min(axis=0), data.points.max(axis=0)
        stack.radius[0] = np.inf
        within = (data.linear <= data.limits[:, None]).all(axis=0)
        first = np.flatnonzero(within)
        stack.candidates[0, : len(first)] = first
        stack.n_candidates[0] = len(first)
        self._scratch = _scratch(problem.m)

    @property
    def upper(self) -> float:
        """The target, or the least value met if that is smaller and only the least is wanted."""
        return float(self._upper[0])

    @property
    def n_nodes(self) -> int:
        """Looked at so far."""
        return int(self._counters[kernels.NODES])

    def run(self, n_nodes: int) -> Members:
        """Look at so many more nodes; (t, m) clusters met: those that lowered `upper`, or all
        below the target. Sets `is_finished`."""
        found = np.zeros((ROOM, self._problem.m), bool)
        values = np.zeros(ROOM)
        met = []
        last = self.n_nodes + n_nodes
        while not self.is_finished:
            self._counters[kernels.FOUND] = 0
            status = kernels.search(
                self._problem.data,
                self._profits,
                self._stack,
                self._scratch,
                self._counters,
                self._upper,
                last - self.n_nodes,
                self._optimal_only,
                found,
                values,
            )
            met.append(found[: self._counters[kernels.FOUND]].copy())
            self.is_finished = status == kernels.FINISHED
            if status == kernels.UNFINISHED:
                break
        empty = np.zeros((0, self._problem.m), bool)
        return self._problem.members(np.concatenate([empty, *met]))

    def state(self) -> SearchState:
        """Where it is, not changed by going on."""
        depth = int(self._counters[kernels.DEPTH]) + 1
        return SearchState(
            tuple(array[:depth].copy() for array in self._stack),
            self._counters.copy(),
            self.upper,
            self.is_finished,
        )

    def restore(self, state: SearchState) -> None:
        """Go on from the state of a search with the same problem, prices and target."""
        for array, saved in zip(self._stack, state.stack, strict=True):
            array[: len(saved)] = saved
        self._counters = state.counters.copy()
        self._upper[0] = state.upper
        self.is_finished = state.is_finished


def _empty_stack(problem: PricingProblem) -> kernels.Stack:
    m, p = problem.data.points.shape
    b = len(problem.data.limits)
    depth = 4 * m + 400 if p else m + 2
    return kernels.Stack(
        chosen=np.zeros((depth, m), bool),
        size=np.zeros(depth),
        moment=np.zeros((depth, p)),
        scatter=np.zeros(depth),
        profit=np.zeros(depth),
        used=np.zeros((depth, b)),
        low=np.zeros((depth, p)),
        high=np.zeros((depth, p)),
        radius=np.zeros(depth),
        candidates=np.zeros((depth, m), np.int64),
        n_candidates=np.zeros(depth, np.int64),
        pending=np.full(depth, kernels.NOTHING, np.int64),
        cut=np.zeros(depth),
        likely=np.ones(depth),
    )


def _scratch(m: int) -> kernels.Scratch:
    return kernels.Scratch(
        distance=np.zeros(m),
        near=np.zeros(m),
        gain=np.zeros(m),
        inside=np.zeros(m),
        outside=np.zeros(m),
        rivals=np.zeros(m),
        place=np.full(m, -1, np.int64),
        met=np.zeros(m, bool),
        weight_sums=np.zeros((m, m + 2)),
        pair_sums=np.zeros((m, m + 2)),
        at=np.zeros(m, np.int64),
        key=np.zeros(m),
    )


def local_minima(
    problem: PricingProblem, prices: NDArray[np.float64], below: float, n_seeds: int | None = None
) -> Members:
    """(t, m) clusters with c(X) - prices(X) < below that no exchange of single blocks improves,
    maybe none; the lowest first. From every block, or about n_seeds of them."""
    m = problem.m
    within = (problem.data.linear <= problem.data.limits[:, None]).all(axis=0)
    seeds = np.flatnonzero(within).astype(np.int64)
    if n_seeds is not None and n_seeds < len(seeds):
        seeds = np.ascontiguousarray(seeds[:: -(-len(seeds) // n_seeds)])
    found, values = np.zeros((len(seeds), m), bool), np.zeros(len(seeds))
    climb(problem.data, problem.profits(prices), seeds, found, values)
    best = np.argsort(values, kind="stable")
    best = best[values[best] < below]
    return problem.members(found[best])
