"""Assignment step as a binary linear programme.

    minimise    sum_{i, a} costs_ia x_ia + sum_{w_p > 0} w_p y_p + sum_{w_p < 0, a} |w_p| z_pa
    subject to  sum_a x_ia = 1               for every block i,
                x_ia + x_ja <= 1             for every hard pair ij,
                x_ia + x_ja - y_p <= 1       for every soft cannot-link p = ij,
                x_ia - x_ja - z_pa <= 0      for every soft must-link p = ij,

for all labels a that are allowed; what is not allowed is absent. This is the programme (MBLP) of
PCCC, section 4.2, except that a soft must-link has a variable for each label where (MBLP) has one
for all: the relaxation is at least as tight, and a solution pays for one of them at most.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from heuristics.assignment.potts import AssignmentSolution, Potts
from sdpbb.runtime.backends.milp import solve_binary_programme
from sdpbb.runtime.backends.programme import BinaryProgramme, MilpStatus
from sdpbb.runtime.time_left import TimeLeft, no_limit


def n_rows_of(potts: Potts, most: int) -> int:
    """Return the rows of the programme; a number beyond `most` if they are more."""
    if len(potts.pairs) > most:  # each of them has one, or more
        return len(potts.pairs)
    i, j = potts.pairs.T
    first, both = potts.allowed[i], potts.allowed[i] & potts.allowed[j]
    return potts.n + int(np.where((potts.weights < 0)[:, None], first, both).sum())


def minimise_by_programme(
    potts: Potts,
    start: NDArray[np.int64] | None,
    seconds: float,
    time_left: TimeLeft = no_limit,
) -> AssignmentSolution:
    """Minimise a Potts model by an integer programming solver.

    It takes so many seconds at most, and is given up where no time is left.

    Parameters
    ----------
    potts : each block has an allowed label
    start : labels (n,) to start from, allowed, or None

    Raises
    ------
    BackendFailure
        If the solver fails.
    """
    allowed, weights = potts.allowed, potts.weights
    i, j = potts.pairs.T
    n_x = int(allowed.sum())
    x = np.full(allowed.shape, -1)
    x[allowed] = np.arange(n_x)
    apart = np.flatnonzero(np.isfinite(weights) & (weights > 0))
    y = np.full(len(weights), -1)
    y[apart] = n_x + np.arange(len(apart))
    # One row for every shared label of a cannot-link, hard or soft; entries at -1 are absent.
    pair, a = np.nonzero(allowed[i] & allowed[j] & (weights > 0)[:, None])
    of_pairs = np.column_stack([x[i[pair], a], x[j[pair], a], y[pair]])
    paid_for, b = np.nonzero(allowed[i] & (weights < 0)[:, None])
    z = n_x + len(apart) + np.arange(len(paid_for))
    columns = np.concatenate([of_pairs, np.column_stack([x[i[paid_for], b], x[j[paid_for], b], z])])
    values = np.repeat([[1.0, 1.0, -1.0], [1.0, -1.0, -1.0]], [len(pair), len(paid_for)], axis=0)
    present = columns >= 0
    starts = np.cumsum(np.concatenate([[0], allowed.sum(axis=1), present.sum(axis=1)]))
    indices = np.concatenate([np.arange(n_x), columns[present]])
    data = np.concatenate([np.ones(n_x), values[present]])
    n_variables = n_x + len(apart) + len(paid_for)
    matrix = csr_array((data, indices, starts), shape=(len(starts) - 1, n_variables))
    lower = np.concatenate([np.ones(potts.n), np.full(len(columns), -np.inf)])
    upper = np.concatenate([np.ones(potts.n + len(pair)), np.zeros(len(paid_for))])
    # What every label of a block costs at least is left out: the others have more digits so.
    above = (potts.costs - potts.costs.min(axis=1, keepdims=True))[allowed]
    objective = np.concatenate([above, np.abs(weights[np.concatenate([apart, paid_for])])])
    warm = None
    if start is not None:
        is_own = start[:, None] == np.arange(potts.k)
        same = start[i] == start[j]
        is_paid = (start[i[paid_for]] == b) & ~same[paid_for]
        warm = np.concatenate([is_own[allowed], same[apart], is_paid]).astype(np.float64)
    limit = None if seconds == np.inf else max(seconds, 1e-3)
    programme = BinaryProgramme(objective, matrix, lower, upper)
    solution = solve_binary_programme(programme, "auto", lambda: time_left() <= 0.0, limit, warm)
    if solution.x is None:
        return AssignmentSolution(None, is_infeasible=solution.status is MilpStatus.INFEASIBLE)
    chosen = np.zeros(allowed.shape)
    chosen[allowed] = solution.x[:n_x]
    return AssignmentSolution(np.argmax(chosen, axis=1), solution.status is MilpStatus.OPTIMAL)
