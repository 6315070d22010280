"""Assignment step as a binary linear programme.

    minimise    sum_{i, a} costs_ia x_ia + sum_{w_p > 0} w_p y_p + sum_{w_p < 0, a} |w_p| z_pa
    subject to  sum_a x_ia = 1                                    for every block i,
                x_ia + x_jb <= 1         for every hard pair ij and a, b that stand for one cluster,
                x_ia + x_jb - y_p <= 1   the same for every soft cannot-link p = ij,
                x_ia - x_jb - z_pa <= 0  for every soft must-link p = ij and label a of i, b that of
                                         j for the same cluster; without x_jb if there is none,

with x_ia at position i q + a. This is the programme (MBLP) of PCCC, section 4.2, except that a soft
must-link has a variable for each label where (MBLP) has one for all: the relaxation is at least as
tight, and a solution pays for one of them at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from heuristics.assignment.parameters import MAX_ROWS, ROWS_PER_SECOND
from heuristics.assignment.potts import Potts
from sdpbb.runtime.backends import IntegerSolver
from sdpbb.runtime.backends.milp import BinaryModel, load
from sdpbb.runtime.backends.programme import BinaryProgramme, MilpStatus
from sdpbb.runtime.time_left import RUN_CLOCK, TimeLeft, no_limit


class ProgrammeSolution(NamedTuple):
    """Solution of a programme by a solver.

    labels : (n,) or None
    is_optimal, is_infeasible : what is proven, up to the tolerances of the solver
    bound : on the objective of `Potts`, as the solver reports it
    """

    labels: NDArray[np.int64] | None
    is_optimal: bool
    is_infeasible: bool
    bound: float


class AssignmentProgramme:
    """Programme held by a solver, to be minimised for many costs and weights.

    Parameters
    ----------
    potts : gives blocks, candidates and pairs with the signs of their weights; labels of infinite
        cost are left in, and forbidden by `minimise`
    solver : as `sdpbb.runtime.backends.milp.load` has it
    """

    def __init__(self, potts: Potts, solver: IntegerSolver = "auto") -> None:
        n, q = potts.n, potts.q
        i, j = potts.pairs.T
        match = potts.matches()
        hard = np.isinf(potts.weights)
        apart = np.flatnonzero(~hard & (potts.weights > 0))
        together = np.flatnonzero(potts.weights < 0)
        y = np.full(len(potts.pairs), -1)
        y[apart] = n * q + np.arange(len(apart))

        # One row for every shared cluster of a cannot-link, hard or soft; entries at -1 are absent.
        pair, a = np.nonzero((match >= 0) & (potts.weights > 0)[:, None])
        entries = [np.column_stack([i[pair] * q + a, j[pair] * q + match[pair, a], y[pair]])]
        values = [np.tile([1.0, 1.0, -1.0], (len(pair), 1))]
        upper = [np.ones(len(pair))]
        paid_for = np.repeat(together, q)
        a = np.tile(np.arange(q), len(together))
        b = match[paid_for, a]
        z = n * q + len(apart) + np.arange(len(paid_for))
        x_j = np.where(b >= 0, j[paid_for] * q + b, -1)
        entries.append(np.column_stack([i[paid_for] * q + a, x_j, z]))
        values.append(np.tile([1.0, -1.0, -1.0], (len(paid_for), 1)))
        upper.append(np.zeros(len(paid_for)))

        columns, coefficients = np.concatenate(entries), np.concatenate(values)
        present = columns >= 0
        lengths = np.concatenate([np.full(n, q), present.sum(axis=1)])
        starts = np.concatenate([[0], np.cumsum(lengths)])
        indices = np.concatenate([np.arange(n * q), columns[present]])
        data = np.concatenate([np.ones(n * q), coefficients[present]])
        self._paid_for = np.concatenate([apart, paid_for])
        self._signs = np.sign(potts.weights)
        self._n_apart = len(apart)
        self._shape = (n, q)
        self._pairs, self._match = potts.pairs, match
        p = n * q + len(self._paid_for)
        matrix = csr_array((data, indices, starts), shape=(len(lengths), p))
        lower = np.concatenate([np.ones(n), np.full(len(columns), -np.inf)])
        sides = np.concatenate([np.ones(n), *upper])
        self._model: BinaryModel = load(BinaryProgramme(np.zeros(p), matrix, lower, sides), solver)

    def serves(self, weights: NDArray[np.float64]) -> bool:
        """Return whether the programme is that of these weights too.

        They have the signs it was made for. A weight of zero has neither (the penalty may be zero).
        """
        return np.array_equal(np.sign(weights), self._signs)

    def minimise(
        self,
        costs: NDArray[np.float64],
        weights: NDArray[np.float64],
        start: NDArray[np.int64] | None,
        seconds: float,
        time_left: TimeLeft = no_limit,
    ) -> ProgrammeSolution:
        """Solve for other costs (n, q) and weights (p,), from the labels start (n,) if given.

        It takes so many seconds at most, and is given up where no time is left.

        Raises
        ------
        BackendFailure
            If the solver fails.
        """
        prices = np.abs(weights[self._paid_for])
        finite = np.isfinite(costs)
        if not finite.all():
            costs = _price_out(costs, finite, weights)
        # What every label of a block costs at least is left out: the others have more digits so.
        least = costs.min(axis=1)
        objective = np.concatenate([(costs - least[:, None]).reshape(-1), prices])
        warm = None if start is None else self._vector(start)
        limit = None if seconds == np.inf else max(seconds, 1e-3)
        solution = self._model.minimise(objective, warm, limit, lambda: time_left() <= 0.0)
        if solution.status is MilpStatus.INFEASIBLE:
            return ProgrammeSolution(None, False, True, np.inf)
        bound = solution.bound + float(least.sum() + weights[weights < 0].sum())
        is_optimal = solution.status is MilpStatus.OPTIMAL
        if solution.x is None:
            return ProgrammeSolution(None, False, False, bound)
        n, q = self._shape
        labels = np.argmax(solution.x[: n * q].reshape(n, q), axis=1)
        if not finite[np.arange(n), labels].all():
            # If even the cheapest labels need a forbidden one, there are none without.
            return ProgrammeSolution(None, False, is_optimal, np.inf if is_optimal else bound)
        return ProgrammeSolution(labels, is_optimal, False, bound)

    def _vector(self, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the solution that stands for labels (n,)."""
        n, q = self._shape
        i, j = self._pairs.T
        x = np.zeros((n, q))
        x[np.arange(n), labels] = 1.0
        same = self._match[np.arange(len(self._pairs)), labels[i]] == labels[j]
        y, p = np.split(self._paid_for, [self._n_apart])
        a = np.tile(np.arange(q), len(p) // q)
        z = (labels[i[p]] == a) & ~same[p]
        return np.concatenate([x.reshape(-1), same[y], z]).astype(np.float64)


@dataclass
class ProgrammeTime:
    """Seconds left to all integer programmes together, and the share that each may take."""

    seconds: float = math.inf
    share: float = 1.0

    def of_next(self, time_left: TimeLeft) -> float:
        """Return the seconds that the next programme may take."""
        return self.share * min(self.seconds, time_left())


class KeptProgramme:
    """Programme of one component: built when there is first time to solve it, and kept.

    Parameters
    ----------
    time : of all programmes together
    solver : as for `AssignmentProgramme`
    max_rows : a programme of more rows is never built
    """

    def __init__(
        self,
        time: ProgrammeTime,
        solver: IntegerSolver = "auto",
        max_rows: int = MAX_ROWS,
    ) -> None:
        self._time = time
        self._solver = solver
        self._max_rows = max_rows
        self._programme: AssignmentProgramme | None = None

    def minimise(
        self, potts: Potts, start: NDArray[np.int64] | None, time_left: TimeLeft
    ) -> ProgrammeSolution | None:
        """Solve it as `AssignmentProgramme.minimise` does; None if it is too large for the time.

        Parameters
        ----------
        potts : of the same candidates and pairs each time
        """
        seconds = self._time.of_next(time_left)
        n_rows = potts.n + len(potts.pairs) * potts.q  # at most
        if n_rows > min(self._max_rows, ROWS_PER_SECOND * seconds):
            return None
        began = RUN_CLOCK()
        if self._programme is None or not self._programme.serves(potts.weights):
            self._programme = AssignmentProgramme(potts, self._solver)
        left = min(seconds, time_left())
        found = None
        if left > 0:
            found = self._programme.minimise(potts.costs, potts.weights, start, left, time_left)
        self._time.seconds -= RUN_CLOCK() - began
        return found


def _price_out(
    costs: NDArray[np.float64], finite: NDArray[np.bool_], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the costs, each label of infinite cost priced above all that it could save."""
    low = np.min(costs, axis=1, initial=np.inf, where=finite)
    low[~np.isfinite(low)] = 0.0
    spread = np.max(costs - low[:, None], axis=1, initial=0.0, where=finite)
    total = float(spread.sum() + np.abs(weights[np.isfinite(weights)]).sum())
    return np.where(finite, costs, low[:, None] + 2.0 * total + 1.0)
