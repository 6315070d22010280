"""Exact pricing: branch and bound over the clusters of the blocks of a contraction.

minimise    c(X) - prices(X)  over the clusters X, with
            c(X) = sum_{i in X} w_i + e_i ||c_i - mean_X||^2.

It branches on the blocks in X (Babaki, Guns and Nijssen 2014, section 4) and, in few dimensions, on
the place of the mean of X in a box. As the mean is the best centre, with y the mean of the chosen
blocks S and r its distance from the mean of X,

    f(X) >= f(S) + E(S) r^2 + sum_j min(0, e_j max(0, ||c_j - y|| - r, dist(c_j, box))^2 - a_j)

over the candidates j, one of each clique of cannot-links, for a_j = price less own scatter. The
published bound has a sum over pairs of candidates instead, which is zero; r stands for all pairs at
once. Bounds with a candidate, and without it, exclude or include it (see `place_kernels`).

In few dimensions problems of many blocks have `Regions` of the mean. Leaving out block i does not
lower the value of a cluster of least value, so that

    e_i || c_i - mean_X ||^2 < a_i.

In a search for all clusters between `least` and a target, a_i plus the difference of the two
replaces a_i. So each region is searched over the blocks that are this near to it. Other
problems have one region, with all blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.lagrangian.columns import Membership
from sdpbb.bounds.lagrangian.sets import search_kernels as kernels
from sdpbb.bounds.lagrangian.sets.nodes import NOTHING, Scratch, Stack
from sdpbb.bounds.lagrangian.sets.problem import PricingProblem
from sdpbb.runtime.archive import Attached, stored

# Maximum sets that a search returns at once.
ROOM = 1000


@stored
@dataclass(frozen=True, eq=False)
class SoughtClusters:
    """Clusters of interest of a search: of value c(X) - prices(X) below a target.

    prices : (m,) of the blocks
    target : must not be above 0 in a search for the least value, unless sets have a least size or
        there are soft pairs
    least : None: the search is for the least value. Otherwise it is for all clusters below the
        target, and all values are proven to be at least this number
    """

    prices: NDArray[np.float64]
    target: float
    least: float | None = None

    def narrowed(self, problem: PricingProblem) -> PricingProblem:
        """Return the problem without pairs and candidates that no cluster of interest has."""
        if self.least is not None:
            return problem.for_values_below(self.prices, self._slack(problem))
        # With a target above 0 a single block may be of interest, which cannot be left out.
        return problem if self.target > 0.0 else problem.for_least_value(self.prices)

    def reaches(self, problem: PricingProblem) -> NDArray[np.float64]:
        """Return how far blocks may be from the mean of such a cluster, (m,) by position.

        It is -1 for blocks in no such cluster.
        """
        return problem.reaches(self.prices, self._slack(problem))

    def _slack(self, problem: PricingProblem) -> float:
        """Return how much leaving out blocks may lower the value of such a cluster.

        As c is superadditive, the value of the rest of a cluster is at least min(0, least).
        """
        if self.least is None:
            return 0.0
        return self.target - min(0.0, self.least) + 2.0 * problem.margin(self.prices)


@stored
@dataclass(eq=False)
class TreeState:
    """State of the search over one region, stored without the unused levels of its stack.

    stack : the arrays of a `nodes.Stack`
    counters : (4,) depth, whether the current node is new, number of nodes, sets found
    upper : (1,) only smaller values are of interest
    """

    stack: tuple[NDArray[Any], ...]
    counters: NDArray[np.int64]
    upper: NDArray[np.float64]

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


@stored
@dataclass(eq=False)
class ClusterSearch(Attached):
    """Branch and bound over the clusters of value c(X) - prices(X) below a target.

    A search for the least value returns the clusters that lower the value met in their region.

    upper : the target; in a search for the least value, the least value met if that is smaller
    region : number of the present region
    tree : search of the present region, None before it has begun
    n_done : nodes searched in earlier regions
    """

    sought: SoughtClusters
    upper: float
    region: int = 0
    tree: TreeState | None = None
    n_done: int = 0
    is_finished: bool = False

    @classmethod
    def begin(cls, problem: PricingProblem, sought: SoughtClusters) -> ClusterSearch:
        return cls(sought, sought.target).attach(problem)

    def attach(self, problem: PricingProblem) -> ClusterSearch:
        """Resume on the problem that the search started with."""
        self._problem = problem
        self._reach = None if problem.regions is None else self.sought.reaches(problem)
        if self.tree is not None:
            self._begin()
        return self

    @property
    def n_nodes(self) -> int:
        """Number of nodes searched so far."""
        tree = self.tree
        return self.n_done + (0 if tree is None else int(tree.counters[kernels.NODES]))

    def run(self, n_nodes: int) -> Membership:
        """Search n more nodes; return the clusters (t, m) met.

        They lowered `upper`, or are all clusters below the target. Sets `is_finished`.
        """
        last, met = self.n_nodes + n_nodes, [np.zeros((0, self._problem.m), bool)]
        while not self.is_finished and self.n_nodes < last:
            if (self.tree is None and not self._begin()) or self._search(last, met):
                self._leave()
        return np.concatenate(met)

    def _begin(self) -> bool:
        """Begin or resume the search of the present region; return False if no block is near it."""
        problem, regions, box = self._problem, self._problem.regions, None
        if regions is not None:
            assert self._reach is not None
            region = self.region
            near = regions.near(region, problem.data.points, self._reach)
            if not len(near):
                return False
            problem, box = problem.restricted(near), (regions.low[region], regions.high[region])
        self._part = part = self.sought.narrowed(problem)
        self._profits = part.profits(self.sought.prices)
        self._scratch = _scratch(part.m, len(part.data.ranges))
        if self.tree is None:
            self.tree = _root(part, self.sought.target, box)
        return True

    def _search(self, last: int, met: list[Membership]) -> bool:
        """Search the present region up to a number of nodes; return whether it has ended."""
        tree = self.tree
        assert tree is not None
        found, status = np.zeros((ROOM, self._part.m), bool), kernels.FULL
        while status == kernels.FULL:
            tree.counters[kernels.FOUND] = 0
            status = kernels.search(
                self._part.data,
                self._profits,
                Stack(*tree.stack),
                self._scratch,
                tree.counters,
                tree.upper,
                last - self.n_nodes,
                self.sought.least is None,
                found,
            )
            met.append(self._part.members(found[: tree.counters[kernels.FOUND]]))
        return bool(status == kernels.FINISHED)

    def _leave(self) -> None:
        """Move to the next region."""
        regions = self._problem.regions
        if self.tree is not None:
            self.upper = min(self.upper, float(self.tree.upper[0]))
        self.n_done, self.tree = self.n_nodes, None
        self.region += 1
        self.is_finished = regions is None or self.region == len(regions)


def _root(
    problem: PricingProblem,
    target: float,
    box: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
) -> TreeState:
    """Return the state of a search over one region at its root."""
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
    return TreeState(tuple(stack), counters, upper)


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
    arrays: dict[str, Any] = {name: np.zeros(m) for name in Scratch._fields}
    arrays |= {name: np.zeros(g) for name in ("fewest", "most")}
    arrays |= {
        "place": np.full(m, -1, np.int64),
        "met": np.zeros(m, bool),
        "weight_sums": np.zeros((m, m + 2)),
        "pair_sums": np.zeros((m, m + 2)),
        "at": np.zeros(m, np.int64),
        "shift": np.zeros(1),
    }
    return Scratch(**arrays)
