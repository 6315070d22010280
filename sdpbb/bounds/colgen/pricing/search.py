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
`place_kernels`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.colgen.columns import Members
from sdpbb.bounds.colgen.pricing import search_kernels as kernels
from sdpbb.bounds.colgen.pricing.problem import PricingProblem
from sdpbb.bounds.colgen.pricing.search_values import NOTHING, Scratch, Stack

# Sets that a search hands over at once.
ROOM = 1000


@dataclass(frozen=True, eq=False)
class SearchState:
    """Where a search was left (see `search_values.Stack`); the stack down to the present node."""

    stack: tuple[NDArray[np.generic], ...]
    counters: NDArray[np.int64]
    upper: float
    is_finished: bool


class Search:
    """Branch and bound over the clusters of value c(X) - prices(X) below a target.

    optimal_only : look for the least value only, which must not be above 0; otherwise for all
        clusters below the target
    least : where all are wanted: proven to be at most all values, None if nothing is
    """

    def __init__(
        self,
        problem: PricingProblem,
        prices: NDArray[np.float64],
        target: float,
        optimal_only: bool = True,
        least: float | None = None,
    ) -> None:
        if optimal_only:
            problem = problem.for_least_value(prices)
        elif least is not None:
            # c is superadditive: the rest of a cluster is worth min(0, least) at most.
            value = target - min(0.0, least) + 2.0 * problem.margin(prices)
            problem = problem.for_values_below(prices, value)
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


def _empty_stack(problem: PricingProblem) -> Stack:
    m, p = problem.data.points.shape
    b = len(problem.data.limits)
    depth = 4 * m + 400 if p else m + 2
    return Stack(
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
        pending=np.full(depth, NOTHING, np.int64),
        cut=np.zeros(depth),
        likely=np.ones(depth),
    )


def _scratch(m: int) -> Scratch:
    return Scratch(
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
