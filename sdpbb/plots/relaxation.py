"""Affinity of the root relaxation, for `plot_matrix`."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem import Contraction, Infeasibility, Instance, contract
from sdpbb.problem.origin import Origin


@dataclass(frozen=True, eq=False)
class SolvedRelaxation:
    """Solution of the relaxation: affinity (m, m) of the blocks, labels (m,) of a clustering."""

    affinity: NDArray[np.float64]
    labels: NDArray[np.intp]


def solved_relaxation(
    instance: Instance, labels: NDArray[np.intp] | None = None, time_limit: float = math.inf
) -> SolvedRelaxation | Infeasibility | None:
    """Return the semidefinite relaxation at the root, and labels to sort it by.

    Parameters
    ----------
    labels : (n,) to sort by; None for those of the best clustering that a heuristic finds
    time_limit : seconds, for the relaxation

    Returns
    -------
    SolvedRelaxation; the proof if there is no clustering; None if whether there is one was not
    found out in time

    Raises
    ------
    ParameterError
        If labels part points that must link, or time_limit is too short for a solution.
    InstanceError
        If there are constraints on clusters, beyond pairs, or too many blocks.
    """
    # The engine is imported here: what draws other pictures does without.
    from sdpbb.problem.feasibility import find_feasible
    from sdpbb.run.methods import RootRelaxation, size_problem

    if instance.has_constraints_beyond_pairs:
        raise InstanceError(
            "a matrix is drawn of the relaxation without constraints on clusters; expected "
            "must-links and cannot-links only, and no limits on sizes or weights"
        )
    contraction = contract(instance.in_pairs())
    if isinstance(contraction, Infeasibility):
        return contraction
    if problem := size_problem(contraction):
        raise InstanceError(f"{problem}; expected a sample of the points")
    found = find_feasible(contraction, time_limit if math.isfinite(time_limit) else None)
    if found is None or isinstance(found, Infeasibility):
        return found
    if labels is None:
        chosen = _heuristic_labels(contraction)
    else:
        chosen = _of_blocks(contraction, labels, instance.origin)
    last = deque(RootRelaxation(time_limit)(contraction), maxlen=1)
    if not last:
        raise ParameterError(
            f"time_limit = {time_limit:g}: too short for {contraction.n_blocks} blocks; expected "
            "more seconds"
        )
    return SolvedRelaxation(last[0], chosen)


def _of_blocks(
    contraction: Contraction, labels: NDArray[np.intp], origin: Origin
) -> NDArray[np.intp]:
    of_blocks = labels[contraction.representatives]
    parted = np.flatnonzero(contraction.lift(of_blocks) != labels)
    if len(parted):
        other = int(parted[0])
        first = int(contraction.representatives[contraction.block_of[other]])
        raise ParameterError(
            f"labels: rows {origin.row(first)} and {origin.row(other)} have different labels, but "
            "must-links connect them; expected labels that satisfy the must-links"
        )
    return of_blocks


def _heuristic_labels(contraction: Contraction) -> NDArray[np.intp]:
    from heuristics.multi_start import MultiStart
    from heuristics.parameters import HeuristicSchedule

    solution = MultiStart(HeuristicSchedule().before).run(contraction, np.random.default_rng(0))
    return solution.labels
