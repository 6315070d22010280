"""Restricted master programme solved by the simplex method, in two phases."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, eye_array, hstack, vstack

from sdpbb.bounds.lagrangian.columns import Columns
from sdpbb.bounds.lagrangian.masters.programme import (
    KEPT,
    MAX_COLUMNS_PER_BLOCK,
    MasterProgramme,
    MasterSolution,
    Penalty,
    Phase,
)
from sdpbb.errors import BackendFailure
from sdpbb.problem import Contraction
from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.backends.simplex import Basis, Vertex, optimal_vertex

# Of rows and reduced costs, in units of the programme. 1e-10 is the smallest that HiGHS accepts.
_TOLERANCE = 1e-9

# A typical price is about so many units of the programme, whose tolerances are absolute.
_PRICE_IN_UNITS = 1024.0

# The unit stays while it is wrong by less than the factor, so that most bases remain optimal. Where
# costs differ by orders of magnitude the first may be wrong by many.
_SLACK, _RESCALINGS = 64.0, 4

# HiGHS takes costs of 1e20 for infinite. Clusters that are so much dearer than all others together
# are used only where nothing else covers a block, and then they are the unit.
_LARGEST_COST = 1e15

# Phase one ends below it. Its vertices are fractions of determinants of 0-1 matrices; smaller
# sums than this one are rounding.
_FEASIBLE = 1e-7


@stored
@dataclass(eq=False)
class Master(MasterProgramme):
    """Restricted master programme in the covering form, over a pool of columns.

        minimise    sum_X c_X x_X
        subject to  sum_{X contains i} x_X >= 1 for every block i,  sum_X x_X <= k,  x >= 0

    Clusters remain allowed and get no dearer when blocks are taken out of them, so that it has the
    optimum of the partitioning form (equations 7 to 10 of Babaki, Guns and Nijssen, 2014), and
    prices >= 0 as in their Table 3. Where that is not so (least sizes, soft pairs), the form is the
    partitioning one, with "= 1" and "= k" instead of ">= 1" and "<= k", and dual values have
    any sign. While the pool covers the blocks with no k columns, the phase
    FEASIBILITY minimises sum_i y_i, where y_i >= 0 is what block i lacks, and with equations what
    each row lacks or has too much; its prices are those of Farkas pricing (equation 21).

    Costs are handed to HiGHS in powers of two units, chosen by the value of the programme, as its
    tolerances are absolute.

    unit : costs and prices are handed to HiGHS in it
    basis : the last optimal one, None before
    """

    unit: float = 1.0
    basis: Basis | None = None

    @classmethod
    def begin(cls, columns: Columns, k: int, covers: bool = True) -> Master:
        """Begin with a pool.

        covers : whether the form is the covering one
        """
        limit = float(MAX_COLUMNS_PER_BLOCK * columns.n_blocks)
        return cls(columns, limit, Phase.FEASIBILITY)._set_up(k, covers)

    def attach(self, contraction: Contraction) -> Master:
        return self._set_up(contraction.k, contraction.is_monotone)

    def _set_up(self, k: int, covers: bool) -> Master:
        """Set the programme up over the pool."""
        self._covers, self._m = covers, self.columns.n_blocks
        m = self._m
        self._lower = np.concatenate([np.ones(m), [-math.inf if covers else float(k)]])
        self._upper = np.concatenate([np.full(m, math.inf if covers else 1.0), [float(k)]])
        unit, none = eye_array(m), csc_array((1, m))
        cover = vstack([hstack([unit, -unit]), hstack([none, none])], format="csc")
        # The first 2m columns are y+ and y-; with equations two more are of the number of columns.
        if not covers:
            last = csc_array((np.array([1.0, -1.0]), ([m, m], [0, 1])), (m + 1, 2))
            cover = hstack([cover, last], format="csc")
        self._n_artificial = cover.shape[1]
        self._matrix = cover
        self._append(self.columns)
        return self

    def add(self, columns: Columns) -> int:
        new = self._grow(columns)
        self._append(new)
        if self.basis is not None:
            self.basis = self.basis.added(len(new))
        return len(new)

    def solve(self, penalty: Penalty | None = None) -> MasterSolution:
        """Minimise over the pool, as in the interface.

        A penalty is left out in the phase FEASIBILITY, which ends once the pool covers all blocks.
        """
        if self.phase is Phase.COST and (solution := self._of_least_cost(penalty)) is not None:
            return solution
        # The columns that cover all blocks are to be found, or were purged while perturbations did.
        self.phase = Phase.FEASIBILITY
        free = np.full(self._n_artificial, math.inf)
        if self._covers:
            free[self._m :] = 0.0
        ones = np.ones(self._n_artificial)
        vertex = self._optimal_vertex(np.zeros(len(self.columns)), free, ones)
        if vertex is None:
            raise BackendFailure("HiGHS: a programme with a solution is called infeasible")
        if vertex.objective > _FEASIBLE:
            return self._solution(vertex, 1.0)
        self.phase = Phase.COST
        self.unit = self._unit_of(self.columns.costs.mean() * self._m)
        solution = self._of_least_cost(penalty)
        if solution is None:
            raise BackendFailure("HiGHS: a programme with a solution is called infeasible")
        return solution

    def _of_least_cost(self, penalty: Penalty | None) -> MasterSolution | None:
        """Return the cheapest cover; None if the pool has none."""
        solution = None
        for _ in range(_RESCALINGS):
            solution = self._solve_with_penalty(penalty)
            if solution is None:
                return None
            # Perturbations may cover what the columns of x, of whatever cost, do not.
            about = 0.0 if penalty is None else float(np.abs(penalty.centre).sum())
            unit = self._unit_of(max(float(self.columns.costs @ solution.x), about))
            if unit / _SLACK <= self.unit <= unit * _SLACK:
                break
            self.unit = unit
        return solution

    def purge(self, solution: MasterSolution) -> None:
        if len(self.columns) <= self.limit or self.basis is None:
            return
        reduced = self.columns.costs - self.columns.members @ solution.prices
        order = np.argsort(reduced, kind="stable")
        first = self._n_artificial
        keep = self.basis.basic()[first:].copy()
        keep[order[: int(KEPT * len(order))]] = True
        kept = np.concatenate([np.ones(first, bool), keep])
        self._matrix = self._matrix[:, kept]
        self.basis = self.basis.kept(kept)
        self._shrink(keep)

    def _append(self, columns: Columns) -> None:
        count = len(columns)
        if not count:
            return
        rows = np.ones((self._m + 1, count))
        rows[: self._m] = columns.members.T
        self._matrix = hstack([self._matrix, csc_array(rows)], format="csc")

    def _unit_of(self, value: float) -> float:
        price = value / self._m
        return 2.0 ** math.frexp(price / _PRICE_IN_UNITS)[1] if price > 0.0 else self.unit

    def _solve_with_penalty(self, penalty: Penalty | None) -> MasterSolution | None:
        unit = self.unit
        count = 2 * self._m
        y_costs, y_upper = np.zeros(self._n_artificial), np.zeros(self._n_artificial)
        if penalty is not None:
            centre, width = penalty.centre, penalty.width
            y_costs[:count] = np.concatenate([width + centre, width - centre]) / unit
            np.clip(y_costs, -_LARGEST_COST, _LARGEST_COST, out=y_costs)
            y_upper[:count] = penalty.slope
        costs = np.minimum(self.columns.costs / unit, _LARGEST_COST)
        vertex = self._optimal_vertex(costs, y_upper, y_costs)
        return None if vertex is None else self._solution(vertex, unit)

    def _optimal_vertex(
        self,
        costs: NDArray[np.float64],
        y_upper: NDArray[np.float64],
        y_costs: NDArray[np.float64],
    ) -> Vertex | None:
        vertex = optimal_vertex(
            np.concatenate([y_costs, costs]),
            self._matrix,
            self._lower,
            self._upper,
            np.concatenate([y_upper, np.full(len(costs), math.inf)]),
            "primal",  # "dual" takes twice as long
            _TOLERANCE,
            self.basis,
        )
        self.basis = None if vertex is None else vertex.basis
        return vertex

    def _solution(self, vertex: Vertex, unit: float) -> MasterSolution:
        m, first = self._m, self._n_artificial
        prices, sigma = vertex.row_duals[:m], -float(vertex.row_duals[m])
        if self._covers:
            prices, sigma = np.maximum(prices, 0.0), max(sigma, 0.0)
        return MasterSolution(
            phase=self.phase,
            value=vertex.objective * unit,
            x=np.maximum(vertex.x[first:], 0.0),
            prices=prices * unit,
            sigma=sigma * unit,
            perturbation=float(np.maximum(vertex.x[: 2 * m], 0.0).sum()),
        )
