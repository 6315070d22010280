"""Restricted master programme over many blocks, solved by the interior point method."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from sdpbb.bounds.lagrangian.columns import Columns, Membership
from sdpbb.bounds.lagrangian.masters.interior_method import CoverProgramme, solve_cover
from sdpbb.bounds.lagrangian.masters.programme import (
    KEPT,
    MAX_COLUMNS_PER_BLOCK,
    MasterProgramme,
    MasterSolution,
    Phase,
)
from sdpbb.bounds.lagrangian.sets.problem import principal_coordinates
from sdpbb.errors import BackendFailure
from sdpbb.problem import Contraction
from sdpbb.runtime.archive.stored import stored

# Of x, less counts as nothing.
_NOTHING = 1e-3
# The first tolerance, and the tolerance as a share of the gap that pricing has shown.
_FIRST, _SHARE = 0.1, 0.1
# The last tolerance.
_LAST = 1e-8
# Solutions to this tolerance tell clusters apart, and are worth exact pricing.
_CLEAR, _PRECISE = 0.01, 1e-4
# Where pricing finds nothing the tolerance falls by this factor.
_TIGHTER = 0.1


@stored
@dataclass(eq=False)
class InteriorMaster(MasterProgramme):
    """Restricted master programme in the covering form, whose pool has a cover by k columns.

    It is the programme of `masters.simplex.Master`. Its solutions are near the central path, and as
    precise as the gap that column generation has still to close makes worth while. There is no
    basis to keep: each solve begins from the last prices.

    n_fixed : columns at the beginning that stay: they cover all blocks
    prices, sigma : to begin from
    tolerance, solved : relative gaps of the next solve, and of the last
    is_exact : whether the last solve was to the last tolerance, or as near as rounding allows
    """

    n_fixed: int
    prices: NDArray[np.float64]
    sigma: float
    tolerance: float = _FIRST
    solved: float = _FIRST
    is_exact: bool = False

    @classmethod
    def begin(
        cls,
        contraction: Contraction,
        columns: Columns,
        n_fixed: int,
        prices: NDArray[np.float64],
        sigma: float,
    ) -> InteriorMaster:
        """Begin with columns of which the first n_fixed hold a cover, and dual values."""
        limit = float(MAX_COLUMNS_PER_BLOCK * contraction.n_blocks)
        self = cls(columns, limit, Phase.COST, n_fixed, prices, sigma)
        return self.attach(contraction)

    def attach(self, contraction: Contraction) -> InteriorMaster:
        self._k = contraction.k
        self._m = contraction.n_blocks
        along = principal_coordinates(contraction.means, contraction.weights)[:, 0]
        self._place = np.empty(self._m, np.intp)
        self._place[np.argsort(along, kind="stable")] = np.arange(self._m)
        self._lengths, self._rows = self._sparse(self.columns.members)
        return self

    @property
    def columns_at_once(self) -> int:
        return self._m

    @property
    def is_worth_rounding(self) -> bool:
        return self.solved <= _CLEAR

    @property
    def is_final(self) -> bool:
        return self.is_exact

    def add(self, columns: Columns) -> int:
        new = self._grow(columns)
        lengths, rows = self._sparse(new.members)
        self._lengths = np.concatenate([self._lengths, lengths])
        self._rows = np.concatenate([self._rows, rows])
        return len(new)

    def solve(self) -> MasterSolution:
        """Minimise over the pool to the present tolerance."""
        place = self._place
        programme = self._programme()
        prices = np.empty(self._m)
        prices[place] = self.prices
        found = solve_cover(programme, prices, self.sigma, self.tolerance)
        if not found.is_precise:  # the last prices may be far from those of a small value
            level = np.full(self._m, found.value / self._m)
            found = solve_cover(programme, level, 0.0, self.tolerance)
        if not (math.isfinite(found.sigma) and np.isfinite(found.prices).all()):
            raise BackendFailure("interior point method: numbers that differ too much in size")
        self.solved = self.tolerance
        self.is_exact = self.tolerance <= _LAST or not found.is_precise
        self.prices, self.sigma = found.prices[place], found.sigma
        x = np.where(found.x > _NOTHING, found.x, 0.0)
        return MasterSolution(Phase.COST, found.value, x, self.prices, found.sigma, 0.0)

    def observe(self, solution: MasterSolution, shown: float) -> None:
        """Set the next tolerance by the gap that pricing has shown between value and bound."""
        gap = abs(solution.value - shown) / max(abs(solution.value), np.finfo(np.float64).tiny)
        self.tolerance = min(_FIRST, max(_SHARE * gap, _LAST))

    def settle(self, solution: MasterSolution) -> bool:
        self.tolerance = max(min(self.tolerance, _TIGHTER * self.solved), _LAST)
        return self.is_exact or self.tolerance <= _PRECISE

    def purge(self, solution: MasterSolution) -> None:
        if len(self.columns) <= self.limit:
            return
        at = np.repeat(np.arange(len(self._lengths)), self._lengths)
        order = np.argsort(self._reduced(solution.prices, solution.sigma), kind="stable")
        keep = solution.x > 0.0
        keep[: self.n_fixed] = True
        keep[order[: int(KEPT * len(order))]] = True
        self._rows, self._lengths = self._rows[keep[at]], self._lengths[keep]
        self._shrink(keep)

    def _programme(self) -> CoverProgramme:
        start, ones = np.append(0, np.cumsum(self._lengths)), np.ones(len(self._rows))
        matrix = csc_array((ones, self._rows, start), (self._m, len(self._lengths)))
        return CoverProgramme(matrix, self.columns.costs, self._k)

    def _reduced(self, prices: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
        """Return the reduced costs (t,) of the pool."""
        duals = np.empty(self._m + 1)
        duals[self._place], duals[self._m] = prices, sigma
        return self._programme().reduced(duals)

    def _sparse(self, members: Membership) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of blocks of each cluster, and their places in the order, ascending."""
        lengths = members.sum(axis=1).astype(np.int64)
        ordered = np.argsort(self._place)
        return lengths, np.nonzero(members[:, ordered])[1].astype(np.int64)
