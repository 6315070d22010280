"""Exact pricing: branch and bound over the clusters of the blocks of a contraction.

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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.colgen.columns import Membership
from sdpbb.bounds.colgen.pricing import search_kernels as kernels
from sdpbb.bounds.colgen.pricing.problem import PricingProblem
from sdpbb.bounds.colgen.pricing.search_values import NOTHING, Scratch, Stack
from sdpbb.bounds.colgen.pricing.sought import SoughtClusters
from sdpbb.runtime.archive.stored import stored

# Sets that a search hands over at once.
ROOM = 1000


@stored
@dataclass(eq=False)
class ClusterSearchState:
    """State of a `ClusterSearch`. It is stored without the unused levels of its stack.

    stack : the arrays of a `search_values.Stack`
    counters : (4,) depth, whether the current node is new, nodes looked at, sets found
    upper : (1,) only smaller values are of interest
    """

    stack: tuple[NDArray[Any], ...]
    counters: NDArray[np.int64]
    upper: NDArray[np.float64]
    is_finished: bool = False

    def __getstate__(self) -> dict[str, Any]:
        depth = int(self.counters[kernels.DEPTH]) + 1
        return {**self.__dict__, "stack": tuple(array[:depth] for array in self.stack)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        levels = Stack(*self.stack)
        m, p = levels.chosen.shape[1], levels.moment.shape[1]
        full = _empty_stack(m, p, levels.used.shape[1])
        for array, kept in zip(full, levels, strict=True):
            array[: len(kept)] = kept
        self.stack = tuple(full)


class ClusterSearch:
    """Branch and bound over the clusters of value c(X) - prices(X) below a target.

    state : of a search with the same arguments, to go on from; None to begin
    box : (p,), (p,) that the mean is in; None for anywhere
    """

    def __init__(
        self,
        problem: PricingProblem,
        sought: SoughtClusters,
        state: ClusterSearchState | None = None,
        box: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    ) -> None:
        self._problem = problem = sought.narrowed(problem)
        self._profits = problem.profits(sought.prices)
        self._optimal_only = sought.optimal_only
        self.state = _root(problem, sought.target, box) if state is None else state
        self._scratch = _scratch(problem.m, len(problem.data.measures))

    @property
    def is_finished(self) -> bool:
        return self.state.is_finished

    @property
    def upper(self) -> float:
        """Target, or the least value met if that is smaller and only the least is wanted."""
        return float(self.state.upper[0])

    @property
    def n_nodes(self) -> int:
        """Number of nodes looked at so far."""
        return int(self.state.counters[kernels.NODES])

    def run(self, n_nodes: int) -> Membership:
        """Look at so many more nodes; return the clusters (t, m) met.

        These are those that lowered `upper`, or all below the target. Sets `is_finished`.
        """
        state, stack = self.state, Stack(*self.state.stack)
        found = np.zeros((ROOM, self._problem.m), bool)
        met = []
        last = self.n_nodes + n_nodes
        while not state.is_finished:
            state.counters[kernels.FOUND] = 0
            status = kernels.search(
                self._problem.data,
                self._profits,
                stack,
                self._scratch,
                state.counters,
                state.upper,
                last - self.n_nodes,
                self._optimal_only,
                found,
            )
            met.append(found[: state.counters[kernels.FOUND]].copy())
            state.is_finished = status == kernels.FINISHED
            if status == kernels.UNFINISHED:
                break
        empty = np.zeros((0, self._problem.m), bool)
        return self._problem.members(np.concatenate([empty, *met]))


def _root(
    problem: PricingProblem,
    target: float,
    box: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
) -> ClusterSearchState:
    """Return the state of a search that is at its root."""
    data = problem.data
    m, p = data.points.shape
    stack = _empty_stack(m, p, len(data.limits))
    if box is None:
        box = data.points.min(axis=0), data.points.max(axis=0)
    stack.low[0], stack.high[0] = box
    stack.radius[0] = np.inf
    first = np.flatnonzero((data.linear <= data.limits[:, None]).all(axis=0))
    stack.candidates[0, : len(first)] = first
    stack.n_candidates[0] = len(first)
    counters, upper = np.array([0, 1, 0, 0], np.int64), np.array([target], np.float64)
    return ClusterSearchState(tuple(stack), counters, upper)


def _empty_stack(m: int, p: int, b: int) -> Stack:
    """Return a stack of empty levels for m blocks in p coordinates with b budgets."""
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


def _scratch(m: int, g: int) -> Scratch:
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
        worth=np.zeros(m),
        lifted=np.zeros(m),
        keen=np.zeros(m),
        dull=np.zeros(m),
        shift=np.zeros(1),
        held=np.zeros(g),
        fewest=np.zeros(g),
        most=np.zeros(g),
    )
