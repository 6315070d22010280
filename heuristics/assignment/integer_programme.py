"""Assignment step as a binary linear programme.

    minimise    sum_{i, a} costs_ia x_ia + sum_{w_p > 0} w_p y_p + sum_{w_p < 0, a} |w_p| z_pa
    subject to  sum_a x_ia = 1               for every block i,
                sum_{i in Q} x_ia <= 1       for cliques Q of hard pairs,
                x_ia + x_ja - y_p <= 1       for every soft cannot-link p = ij,
                x_ia - x_ja - z_pa <= 0      for every soft must-link p = ij,

for all labels a that are allowed; what is not allowed is absent. This is the programme (MBLP) of
PCCC, section 4.2, but that hard pairs have rows of cliques (`sdpbb.problem.programme`), and a
soft must-link has a variable for each label where (MBLP) has one for all: the relaxation is at
least as tight, and a solution pays for one of them at most.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.potts import AssignmentSolution, Potts
from sdpbb.problem.programme import assignment_rows, with_soft_pairs
from sdpbb.problem.soft_blocks import SoftBlocks
from sdpbb.runtime.backends.milp import solve_binary_programme
from sdpbb.runtime.backends.programme import MilpStatus
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
    k, weights, (i, j) = potts.k, potts.weights, potts.pairs.T
    is_apart, is_together = (weights > 0) & (weights < np.inf), weights < 0
    apart, together = np.flatnonzero(is_apart), np.flatnonzero(is_together)
    is_soft = is_apart | is_together
    # What every label of a block costs at least is left out: the others have more digits so.
    above = np.where(potts.allowed, potts.costs - potts.costs.min(axis=1, keepdims=True), 0.0)
    hard = potts.pairs[np.isinf(weights)]
    programme = replace(assignment_rows(potts.n, k, hard), objective=above.reshape(-1))
    soft = SoftBlocks(potts.pairs[is_soft], weights[is_soft])
    programme = with_soft_pairs(programme, k, soft)
    is_there = np.ones(programme.n_variables, np.bool_)
    is_there[: above.size] = potts.allowed.reshape(-1)
    programme = replace(
        programme,
        objective=programme.objective[is_there],
        matrix=programme.matrix[:, np.flatnonzero(is_there)],
    )
    warm = None
    if start is not None:
        is_own = start[:, None] == np.arange(k)
        same = start[i] == start[j]
        is_paid = is_own[i[together]] & ~same[together, None]
        warm = np.concatenate([is_own.reshape(-1), same[apart], is_paid.reshape(-1)])
        warm = warm[is_there].astype(np.float64)
    limit = None if seconds == np.inf else max(seconds, 1e-3)
    solution = solve_binary_programme(programme, "auto", lambda: time_left() <= 0.0, limit, warm)
    if solution.x is None:
        return AssignmentSolution(None, is_infeasible=solution.status is MilpStatus.INFEASIBLE)
    chosen = np.zeros(above.shape)
    chosen[potts.allowed] = solution.x[: potts.allowed.sum()]
    return AssignmentSolution(np.argmax(chosen, axis=1), solution.status is MilpStatus.OPTIMAL)
