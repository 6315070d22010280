"""Restricted master programme solved by the simplex method, in two phases."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, eye_array, hstack, vstack

from sdpbb.bounds.lagrangian.columns import Columns
from sdpbb.bounds.lagrangian.duals import DualValues
from sdpbb.bounds.lagrangian.masters import MasterProgramme, MasterSolution, Phase
from sdpbb.errors import BackendFailure
from sdpbb.problem import Contraction
from sdpbb.runtime.archive import stored
from sdpbb.runtime.backends.highs import Basis, Vertex, optimal_vertex

# Tolerance of rows and reduced costs, in units of the programme. HiGHS accepts 1e-10 or more.
_TOLERANCE = 1e-9

# Units of the programme in a typical price; tolerances are absolute.
_PRICE_IN_UNITS = 1024.0

# The unit stays while it is wrong by less than this factor, so that most bases remain optimal. The
# first unit may be far off if costs differ by orders of magnitude.
_SLACK, _RESCALINGS = 64.0, 4

# HiGHS treats costs of 1e20 as infinite. Clusters with larger costs are used only if no other
# covers a block, and then they determine the unit.
_LARGEST_COST = 1e15

# The box around the centre: the first penalty per unit of price outside of it, in cover of a block;
# half its width, as a share of the mean price; the factor on both when their programme is solved;
# and the penalty below which it is removed. Without any width 2.5 times as many master programmes
# are needed. From dual values of a semidefinite bound or of a parent, factors of 0.2 and 0.05 need
# 1.8 and 2.4 times as many.
BOX_PENALTY, BOX_WIDTH, BOX_DECREASE, LEAST_PENALTY = 0.5, 0.05, 0.4, 1e-4

# Phase one ends below it. Its vertices are fractions of determinants of 0-1 matrices; smaller
# sums than this one are rounding.
_FEASIBLE = 1e-7


@stored
@dataclass(eq=False)
class Master(MasterProgramme):
    """Restricted master programme in the covering form, over a pool of columns.

        minimise    sum_X c_X x_X
        subject to  sum_{X contains i} x_X >= 1 for every block i,  sum_X x_X <= k,  x >= 0

    In monotone problems parts of clusters are allowed and cost no more. So it has the optimum of
    the partitioning form (equations 7 to 10 of Babaki, Guns and Nijssen, 2014), and prices >= 0 as
    in their Table 3. Other problems (least sizes, soft pairs) have the partitioning form, with "=
    1" and "= k" instead of ">= 1" and "<= k", and dual values of any sign. While no k columns of
    the pool cover the blocks, the phase FEASIBILITY minimises sum_i y_i, where y_i >= 0 is the
    missing cover of block i, or with equations the error of each row. Its prices are the prices of
    Farkas pricing (equation 21).

    Prices jump from one vertex to the next. So prices outside of a box around a centre have a
    penalty (O. du Merle, D. Villeneuve, J. Desrosiers, P. Hansen: Stabilized column generation.
    Discrete Mathematics 194, 1999): the dual objective is less by

        slope * sum_i max(0, |prices_i - centre_i| - width),

    That is, perturbations 0 <= y+, y- <= slope of the cover of a block cost centre_i + width and
    width - centre_i. The prices of each programme that is solved become the centre, while slope and
    width fall by a factor. So finitely many programmes have a penalty.

    HiGHS receives costs in units of a power of two, chosen by the value of the programme, as its
    tolerances are absolute.

    centre : (m,) good prices; None: there is no box until a programme is solved
    slope : penalty, 0 once the box is removed
    n_solved : programmes solved
    unit : unit of costs and prices in HiGHS
    basis : the last optimal basis, None before
    """

    centre: NDArray[np.float64] | None
    slope: float = BOX_PENALTY
    n_solved: int = 0
    unit: float = 1.0
    basis: Basis | None = None

    @classmethod
    def begin(cls, contraction: Contraction, columns: Columns, centre: DualValues | None) -> Master:
        """Begin with a pool of columns, and the prices of dual values as the centre."""
        prices = None if centre is None else centre.prices
        return cls(columns, Phase.FEASIBILITY, prices).attach(contraction)

    def attach(self, contraction: Contraction) -> Master:
        k, covers = contraction.k, contraction.is_monotone
        self._covers, self._m = covers, self.columns.n_blocks
        m = self._m
        self._lower = np.concatenate([np.ones(m), [-math.inf if covers else float(k)]])
        self._upper = np.concatenate([np.full(m, math.inf if covers else 1.0), [float(k)]])
        unit, none = eye_array(m), csc_array((1, m))
        cover = vstack([hstack([unit, -unit]), hstack([none, none])], format="csc")
        # The first 2m columns are y+ and y-; with equations two more for the number of columns.
        if not covers:
            last = csc_array((np.array([1.0, -1.0]), ([m, m], [0, 1])), (m + 1, 2))
            cover = hstack([cover, last], format="csc")
        self._n_artificial = cover.shape[1]
        self._matrix = cover
        self._append(self.columns)
        return self

    def solve(self) -> MasterSolution:
        """Minimise over the pool, as in the interface.

        The phase FEASIBILITY, which ends once the pool covers all blocks, has no penalty.
        """
        if self.phase is Phase.FEASIBILITY:
            free = np.full(self._n_artificial, math.inf)
            if self._covers:
                free[self._m :] = 0.0
            ones = np.ones(self._n_artificial)
            vertex = self._optimal_vertex(np.zeros(len(self.columns)), free, ones)
            if vertex.objective > _FEASIBLE:
                return self._solution(vertex, 1.0)
            self.phase = Phase.COST
            self.unit = self._unit_of(self.columns.costs.mean() * self._m)
        centre = self.centre if self.slope > 0.0 else None
        # Perturbations may cover blocks that the columns of x do not.
        about = 0.0 if centre is None else float(np.abs(centre).sum())
        for attempt in range(_RESCALINGS):
            solution = self._solve_near(centre)
            unit = self._unit_of(max(float(self.columns.costs @ solution.x), about))
            if unit / _SLACK <= self.unit <= unit * _SLACK or attempt == _RESCALINGS - 1:
                break
            self.unit = unit
        return solution

    def settle(self, solution: MasterSolution) -> bool:
        """Shrink the box around the prices of a solution, as heuristic pricing finds nothing there.

        Return whether the solution is optimal without the penalty, too.
        """
        is_solved = solution.perturbation == 0.0
        slope = self.slope * BOX_DECREASE
        self.n_solved += 1
        self.slope = slope if slope >= LEAST_PENALTY else 0.0
        self.centre = solution.prices
        return is_solved

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

    def _solve_near(self, centre: NDArray[np.float64] | None) -> MasterSolution:
        """Return the cheapest cover, with a penalty outside of the box around a centre, if any."""
        unit = self.unit
        count = 2 * self._m
        y_costs, y_upper = np.zeros(self._n_artificial), np.zeros(self._n_artificial)
        if centre is not None:
            width = BOX_WIDTH * float(np.abs(centre).mean()) * BOX_DECREASE**self.n_solved
            y_costs[:count] = np.concatenate([width + centre, width - centre]) / unit
            np.clip(y_costs, -_LARGEST_COST, _LARGEST_COST, out=y_costs)
            y_upper[:count] = self.slope
        costs = np.minimum(self.columns.costs / unit, _LARGEST_COST)
        return self._solution(self._optimal_vertex(costs, y_upper, y_costs), unit)

    def _optimal_vertex(
        self,
        costs: NDArray[np.float64],
        y_upper: NDArray[np.float64],
        y_costs: NDArray[np.float64],
    ) -> Vertex:
        if self.basis is not None:
            self.basis = self.basis.added(self._matrix.shape[1] - len(self.basis.columns))
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
        if vertex is None:
            raise BackendFailure("HiGHS: a programme with a solution is called infeasible")
        self.basis = vertex.basis
        return vertex

    def _solution(self, vertex: Vertex, unit: float) -> MasterSolution:
        m, first = self._m, self._n_artificial
        prices, sigma = vertex.row_duals[:m], -float(vertex.row_duals[m])
        if self._covers:
            prices, sigma = np.maximum(prices, 0.0), max(sigma, 0.0)
        return MasterSolution(
            value=vertex.objective * unit,
            x=np.maximum(vertex.x[first:], 0.0),
            prices=prices * unit,
            sigma=sigma * unit,
            perturbation=float(np.maximum(vertex.x[: 2 * m], 0.0).sum()),
        )
