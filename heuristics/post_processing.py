"""Post-processing: the constrained clustering that agrees most with given memberships."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heuristics.assignment import Assignment
from heuristics.kmeans import best_kmeans, unconstrained
from heuristics.method import Heuristic, RunClock, contract_and_colour
from heuristics.parameters import SOLVER_HELP
from heuristics.result import SearchResult, Stop
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Infeasibility, Instance
from sdpbb.runtime.backends import IntegerSolver
from sdpbb.runtime.declaration import parameter
from sdpbb.runtime.time_left import OutOfTime

# Maximum assignment steps of one start of k-means.
KMEANS_STEPS = 300


@dataclass(frozen=True, eq=False, kw_only=True)
class PostProcessing(Heuristic):
    """Assignment under hard constraints that agrees most with another.

    One assignment step over memberships M of the points in k clusters, fuzzy or 0-1:

        maximise    sum_ij M_ij x_ij
        subject to  (2b)-(2f) of PC-SOS-SDP: one cluster for every point, must-links and
                    cannot-links satisfied, no cluster empty.

    It is solved over the blocks, with the sums of the memberships of their points. An empty cluster
    is filled afterwards, by the block that loses least. The sum of squares is ignored.

    Source: C. Vrain, I. Davidson et al., Constrained clustering via post-processing (2020). As in
    section 4.4 of PC-SOS-SDP, memberships come from k-means by default.
    """

    name = "post-processing"

    membership: Any = parameter(
        None,
        "Memberships M, an array (n, k) of finite numbers >= 0. None: from plain k-means (1 in "
        "the cluster of a point, 0 elsewhere). Python only.",
        unit="an array (n, k) of numbers >= 0, or None",
    )
    n_starts: int = parameter(
        1, "Starts of k-means from k-means++ centres; the lowest sum of squares counts.", ge=1
    )
    solver: IntegerSolver = parameter("auto", SOLVER_HELP)

    def check_combination(self) -> None:
        if self.membership is not None:
            object.__setattr__(self, "membership", _checked(self.membership))

    def search(
        self, instance: Instance, rng: np.random.Generator, clock: RunClock
    ) -> SearchResult | Infeasibility:
        n, k = instance.n_points, instance.k
        if self.membership is not None and self.membership.shape != (n, k):
            raise ParameterError(
                f"membership: shape {self.membership.shape}; expected ({n}, {k}): a row for each "
                "point, a column for each cluster"
            )
        contracted = contract_and_colour(instance, clock)
        if isinstance(contracted, Infeasibility):
            return contracted
        contraction, feasible = contracted
        try:
            agreement = self._agreement(instance, contraction, rng, clock)
            assign = Assignment(contraction, is_thorough=True)
            np.negative(agreement, out=agreement)
            found = assign.of_costs(agreement, start=feasible, time_left=clock.time_left)
        except OutOfTime:  # the known labels satisfy the constraints
            return SearchResult(contraction.lift(feasible), Stop.TIME_LIMIT, 0)
        labels = feasible if found.labels is None else found.labels
        stop = Stop.CONVERGED if found.is_optimal else Stop.TIME_LIMIT
        return SearchResult(contraction.lift(labels), stop, 1)

    def _agreement(
        self,
        instance: Instance,
        contraction: Contraction,
        rng: np.random.Generator,
        clock: RunClock,
    ) -> NDArray[np.float64]:
        """Return the sums (m, k) of the memberships of the points of each block.

        They are scaled to a largest membership of 1, for the tolerances of integer programming.
        """
        agreement = np.zeros((contraction.n_blocks, instance.k))
        if self.membership is not None:
            largest = self.membership.max()
            scaled = self.membership / largest if largest > 0 else self.membership
            np.add.at(agreement, contraction.block_of, scaled)
        else:
            points = unconstrained(instance)
            found = best_kmeans(points, rng, clock, self.n_starts, KMEANS_STEPS)
            np.add.at(agreement, (contraction.block_of, found.found), 1.0)
        return agreement


def _checked(membership: ArrayLike) -> NDArray[np.float64]:
    try:
        given = np.array(membership, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("membership: expected a table (n, k) of numbers") from None
    if given.ndim != 2:
        raise ParameterError(f"membership: {given.ndim} dimensions; expected a table (n, k)")
    wrong = np.argwhere(~((given >= 0) & (given < np.inf)))
    if len(wrong):
        i, j = wrong[0]
        raise ParameterError(f"membership[{i}, {j}] = {given[i, j]}: expected a finite number >= 0")
    given.flags.writeable = False
    return given
