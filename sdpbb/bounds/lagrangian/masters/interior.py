"""Restricted master programme over many blocks, solved by an interior point method.

It finds the cheapest cover by few columns:

    minimise    c'x
    subject to  A x >= 1,  sum x <= k,  x >= 0

for a sparse 0-1 matrix A whose columns are short in the order of the rows, as clusters are in an
order along the longest axis of the data. Then A diag(w) A' is a band.

Source: the predictor and corrector of S. Mehrotra (On the implementation of a primal-dual interior
point method, SIAM Journal on Optimization 2, 1992). It stops early: dual values near the central
path lead to few rounds of column generation (J. Gondzio, P. Gonzalez-Brevis, P. Munari, New
developments in the primal-dual column generation technique, EJOR 224, 2013).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cho_solve_banded, cholesky_banded
from scipy.sparse import csc_array, csr_array, hstack

from sdpbb.bounds.lagrangian.columns import Columns
from sdpbb.bounds.lagrangian.duals import DualValues
from sdpbb.bounds.lagrangian.masters import MasterProgramme, MasterSolution, Phase
from sdpbb.bounds.lagrangian.sets.problem import principal_coordinates
from sdpbb.errors import BackendFailure
from sdpbb.problem import Contraction
from sdpbb.runtime.archive import stored
from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit


@njit(cache=True)
def add_products(start: Integers, rows: Integers, weights: Reals, band: Reals) -> None:
    """Add A diag(weights) A', as a band: band[i, j - i] is entry (i, j), j >= i.

    The rows of each column are ascending.
    """
    for column in range(len(start) - 1):
        weight = weights[column]
        for at in range(start[column], start[column + 1]):
            i = rows[at]
            for other in range(at, start[column + 1]):
                band[i, rows[other] - i] += weight


Vector = NDArray[np.float64]

_ITERATIONS = 60
# Share of the way to the boundary.
_STEP = 0.99
# First reduced costs are at least this share of the mean cost plus this part of a price.
_FIRST_SLACK, _LEAST_SLACK = 0.02, 1e-3
# Added to the diagonal.
_REGULARISATION = 1e-11
# A band wider than this share of the rows is stored as a full matrix.
_FULL = 0.4
# Largest error of covers in a solution of loose tolerance.
_COVER = 1e-3


@dataclass(frozen=True, eq=False)
class CoverProgramme:
    """Columns of a covering programme.

    matrix : (m, t) of ones, rows ascending in each column
    costs : (t,)
    k : maximum number of columns
    """

    matrix: csc_array
    costs: Vector
    k: int

    @property
    def sides(self) -> Vector:
        """Least values (m + 1,) of `times`: 1 for each row, and -k."""
        return np.append(np.ones(self.matrix.shape[0]), -float(self.k))

    def times(self, x: Vector) -> Vector:
        """Return A x, and -sum x, (m + 1,)."""
        return np.append(self.matrix @ x, -x.sum())

    def collected(self, duals: Vector) -> Vector:
        """Return A' prices - sigma, (t,), for prices and sigma (m + 1,)."""
        return np.asarray(self.matrix.T @ duals[:-1] - duals[-1])

    def reduced(self, duals: Vector) -> Vector:
        """Return costs less prices plus sigma, (t,), for prices and sigma (m + 1,)."""
        return self.costs - self.collected(duals)

    @property
    def width(self) -> int:
        """Largest distance of two rows of a column."""
        start, rows = self.matrix.indptr, self.matrix.indices
        return int((rows[start[1:] - 1] - rows[start[:-1]]).max(initial=0))


def solve_cover(
    programme: CoverProgramme, prices: Vector, sigma: float, tolerance: float
) -> tuple[MasterSolution, bool]:
    """Solve a covering programme to a relative gap; return the solution, and whether it is precise.

    It is near the central path: x > 0, prices and sigma >= 0, and reduced costs are > 0 up to the
    tolerance.

    prices, sigma : first values; the mean price is the unit
    """
    unit = max(float(np.abs(prices).mean()), np.finfo(np.float64).tiny)
    scaled = replace(programme, costs=programme.costs / unit)
    duals = np.maximum(np.append(prices, sigma) / unit, _LEAST_SLACK)
    iterate = _Iterate.begin(scaled, duals, max(_LEAST_SLACK, tolerance))
    is_precise = False
    for _ in range(_ITERATIONS):
        is_precise = iterate.is_within(tolerance)
        if is_precise or not iterate.advance(tolerance):
            break
    duals, value = iterate.duals * unit, float(scaled.costs @ iterate.x) * unit
    found = MasterSolution(value, iterate.x, duals[:-1], float(duals[-1]), 0.0)
    return found, is_precise


@dataclass(eq=False)
class _Iterate:
    """Iterate: x with reduced costs s, and dual values y with surplus p; all > 0."""

    programme: CoverProgramme
    x: Vector
    slacks: Vector
    duals: Vector
    surplus: Vector

    @classmethod
    def begin(cls, programme: CoverProgramme, duals: Vector, product: float) -> _Iterate:
        least = _FIRST_SLACK * float(np.abs(programme.costs).mean()) + _LEAST_SLACK
        slacks = np.maximum(programme.reduced(duals), least)
        x = product / slacks
        surplus = np.maximum(programme.times(x) - programme.sides, 1e-2)
        return cls(programme, x, slacks, duals, surplus)

    @property
    def dual_value(self) -> float:
        return float(self.duals[:-1].sum() - self.programme.k * self.duals[-1])

    @property
    def complementarity(self) -> float:
        return float(self.x @ self.slacks + self.duals @ self.surplus)

    @property
    def residuals(self) -> tuple[Vector, Vector]:
        """Residuals of the rows, and of the columns."""
        programme = self.programme
        rows = self.surplus - (programme.times(self.x) - programme.sides)
        return rows, programme.reduced(self.duals) - self.slacks

    def is_within(self, tolerance: float) -> bool:
        """Return whether the relative gap is at most the tolerance, and residuals are small."""
        rows, columns = self.residuals
        value = abs(self.dual_value)
        scale = max(1.0, float(np.abs(self.programme.costs).max(initial=0.0)))
        return (
            self.complementarity <= tolerance * value
            and float(np.abs(columns).max(initial=0.0)) <= tolerance * scale
            and float(np.abs(rows).max()) <= max(tolerance, _COVER)
        )

    def advance(self, tolerance: float) -> bool:
        """Take a step; return False if no further step is possible."""
        solve = self._factorised()
        if solve is None:
            return False
        rows, columns = self.residuals
        x, slacks, duals, surplus = self.x, self.slacks, self.duals, self.surplus
        programme = self.programme
        count = len(x) + len(duals)
        mean = self.complementarity / count

        def direction(
            x_product: Vector, dual_product: Vector
        ) -> tuple[Vector, Vector, Vector, Vector]:
            right = rows - programme.times((x_product - x * columns) / slacks)
            right += dual_product / duals
            d_duals = solve(right)
            d_slacks = columns - programme.collected(d_duals)
            return (
                (x_product - x * d_slacks) / slacks,
                d_slacks,
                d_duals,
                (dual_product - surplus * d_duals) / duals,
            )

        dx, ds, dy, dp = direction(-x * slacks, -duals * surplus)
        primal = min(_longest(x, dx), _longest(surplus, dp))
        dual = min(_longest(slacks, ds), _longest(duals, dy))
        after = (x + primal * dx) @ (slacks + dual * ds) + (surplus + primal * dp) @ (
            duals + dual * dy
        )
        centre = (float(after) / count / mean) ** 3 * mean
        centre = max(centre, 0.1 * tolerance * abs(self.dual_value) / count)
        dx, ds, dy, dp = direction(
            centre - x * slacks - dx * ds, centre - duals * surplus - dy * dp
        )
        primal = _STEP * min(_longest(x, dx), _longest(surplus, dp))
        dual = _STEP * min(_longest(slacks, ds), _longest(duals, dy))
        moved = (x + primal * dx, slacks + dual * ds, duals + dual * dy, surplus + primal * dp)
        if not all(np.isfinite(part).all() and (part > 0.0).all() for part in moved):
            return False
        self.x, self.slacks, self.duals, self.surplus = moved
        return max(primal, dual) > 1e-6

    def _factorised(self) -> Callable[[Vector], Vector] | None:
        """Return the inverse of A diag(x / s) A' + diag(p / y), the row of sum x included."""
        weights, own = self.x / self.slacks, self.surplus / self.duals
        inverse = _inverse_of(self.programme, weights, own[:-1])
        if inverse is None:
            return None
        border = -(self.programme.matrix @ weights)
        solved = inverse(border)
        corner = float(weights.sum() + own[-1] - border @ solved)
        if not corner > 0.0:
            return None

        def solve(right: Vector) -> Vector:
            first = inverse(right[:-1])
            last = (right[-1] - border @ first) / corner
            return np.append(first - solved * last, last)

        return solve


def _inverse_of(
    programme: CoverProgramme, weights: Vector, diagonal: Vector
) -> Callable[[Vector], Vector] | None:
    """Return the inverse of A diag(weights) A' + a diagonal; None if nearly singular."""
    matrix, m, width = programme.matrix, len(diagonal), programme.width
    band = np.zeros((m, width + 1))
    add_products(matrix.indptr, matrix.indices, weights, band)
    band[:, 0] += diagonal + _REGULARISATION
    try:
        if width < _FULL * m:
            factor = cholesky_banded(band.T, overwrite_ab=True, lower=True, check_finite=False)
            return lambda right: cho_solve_banded((factor, True), right, check_finite=False)
        full = np.zeros((m, m))
        for offset in range(width + 1):
            full.ravel()[offset * m :: m + 1][: m - offset] = band[: m - offset, offset]
        whole = cho_factor(full, lower=True, overwrite_a=True, check_finite=False)
        return lambda right: cho_solve(whole, right, check_finite=False)
    except LinAlgError:
        return None


def _longest(values: Vector, steps: Vector) -> float:
    """Return the longest step, at most 1, that leaves values (>= 0) at 0 or above."""
    falling = steps < 0.0
    return min(1.0, float((values[falling] / -steps[falling]).min(initial=1.0)))


# Entries of x below this count as 0.
_NOTHING = 1e-3
# The first tolerance, and the tolerance as a share of the gap that pricing has shown.
_FIRST, _SHARE = 0.1, 0.1
# The last tolerance.
_LAST = 1e-8
# Tolerances from which solutions are rounded to clusterings, and exact pricing begins.
_CLEAR, _PRECISE = 0.01, 1e-4
# The tolerance falls by this factor if pricing finds nothing.
_TIGHTER = 0.1


@stored
@dataclass(eq=False)
class InteriorMaster(MasterProgramme):
    """Restricted master programme in the covering form, whose pool has a cover by k columns.

    It is the programme of `masters.simplex.Master`. Solutions are near the central path, and their
    tolerance is a part of the gap that column generation has to close. Each solve starts from the
    last prices.

    prices, sigma : first values of the next solve
    tolerance, solved : relative gaps of the next solve, and of the last one
    is_exact : whether the last solve reached the last tolerance, or the limit of rounding
    """

    prices: NDArray[np.float64]
    sigma: float
    tolerance: float = _FIRST
    solved: float = _FIRST
    is_exact: bool = False

    @classmethod
    def begin(
        cls, contraction: Contraction, columns: Columns, centre: DualValues | None
    ) -> InteriorMaster:
        """Begin with columns that hold a cover, and dual values."""
        assert centre is not None
        return cls(columns, Phase.COST, centre.prices, centre.sigma).attach(contraction)

    def attach(self, contraction: Contraction) -> InteriorMaster:
        self._k = contraction.k
        self._m = contraction.n_blocks
        along = principal_coordinates(contraction.means, contraction.weights)[:, 0]
        self._order = np.argsort(along, kind="stable")
        self._matrix = csc_array((self._m, 0))
        self._append(self.columns)
        return self

    @property
    def is_worth_rounding(self) -> bool:
        return self.solved <= _CLEAR

    @property
    def is_final(self) -> bool:
        return self.is_exact

    def solve(self) -> MasterSolution:
        """Minimise over the pool to the present tolerance."""
        programme = CoverProgramme(self._matrix, self.columns.costs, self._k)
        begin = self.prices[self._order], self.sigma
        found, is_precise = solve_cover(programme, *begin, self.tolerance)
        if not is_precise:  # the last prices may be too far away
            level = np.full(self._m, found.value / self._m)
            again, is_precise = solve_cover(programme, level, 0.0, self.tolerance)
            found = again if is_precise else min(found, again, key=self._gap)
        if not (math.isfinite(found.sigma) and np.isfinite(found.prices).all()):
            raise BackendFailure("interior point method: numbers that differ too much in size")
        self.solved = self.tolerance
        self.is_exact = self.tolerance <= _LAST or not is_precise
        self.prices, self.sigma = np.empty(self._m), found.sigma
        self.prices[self._order] = found.prices
        x = np.where(found.x > _NOTHING, found.x, 0.0)
        return replace(found, x=x, prices=self.prices)

    def observe(self, solution: MasterSolution, shown: float) -> None:
        """Set the next tolerance by the gap between value and bound that pricing has shown."""
        gap = abs(solution.value - shown) / max(abs(solution.value), np.finfo(np.float64).tiny)
        self.tolerance = min(_FIRST, max(_SHARE * gap, _LAST))

    def settle(self, solution: MasterSolution) -> bool:
        self.tolerance = max(min(self.tolerance, _TIGHTER * self.solved), _LAST)
        return self.is_exact or self.tolerance <= _PRECISE

    def _gap(self, solution: MasterSolution) -> float:
        """Return the difference of a solution's value and the value of its prices."""
        gap = abs(solution.value - DualValues(solution.prices, solution.sigma).value(self._k))
        return gap if math.isfinite(gap) else math.inf

    def _append(self, columns: Columns) -> None:
        sets = csr_array(columns.members[:, self._order]).astype(np.float64)
        self._matrix = hstack([self._matrix, sets.T], format="csc")


def exercise() -> None:
    """Call the compiled loops once, with the types that runs call them with."""
    programme = CoverProgramme(csc_array(np.eye(3)), np.ones(3), 3)
    solve_cover(programme, np.ones(3), 0.0, 0.1)
