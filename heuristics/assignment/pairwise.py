"""Assignment step with hard cannot-links and soft pairs, exactly where that is affordable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.filling import fill_by_objective
from heuristics.assignment.integer_programme import ProgrammeTime
from heuristics.assignment.parameters import AssignmentParameters
from heuristics.assignment.potts import PairGraph, Potts
from heuristics.assignment.potts_solver import StepLimits, Structure, minimise
from sdpbb.errors import ParameterError
from sdpbb.runtime.time_left import TimeLeft, no_limit


@dataclass(frozen=True, eq=False)
class AssignmentSolution:
    """Solution of an assignment step.

    Attributes
    ----------
    labels : (m,) that keep the hard pairs, or None if none were found
    objective : costs + penalty * violated weights of the labels, `PairGraph.constant` not included;
        inf without labels
    is_optimal : whether the labels, before empty clusters were filled, are proven to minimise the
        programme, "no cluster empty" aside; up to the tolerances of the solver where an integer
        programme was needed
    is_infeasible : whether it is proven that no labels within the candidates keep the hard pairs
    bound : a lower bound on the objective of all such labels, up to the same tolerances; inf if
        there are none, -inf if nothing is known
    """

    labels: NDArray[np.intp] | None
    objective: float
    is_optimal: bool
    is_infeasible: bool
    bound: float


class PairwiseAssignment:
    """Assignment step of one graph of pairs, prepared for many costs.

    minimise    sum_i costs[i, l(i)]
                + penalty sum_{w_ij > 0} w_ij [l(i) = l(j)]
                + penalty sum_{w_ij < 0} |w_ij| [l(i) != l(j)]
    subject to  l(i) != l(j) for every hard cannot-link ij,
                l(i) among the candidates of block i,
                no cluster empty (by filling, afterwards).

    Blocks without pairs that matter take their cheapest candidate. The others fall apart into
    components, which `potts_solver` minimises.

    Parameters
    ----------
    graph : of the m blocks
    k : number of clusters
    parameters : limits and the integer programming solver
    """

    def __init__(
        self,
        graph: PairGraph,
        k: int,
        parameters: AssignmentParameters | None = None,
    ) -> None:
        if k < 1:
            raise ParameterError(f"k = {k!r}: expected an integer of at least 1")
        self._graph = graph
        self._k = k
        self._limits = StepLimits(parameters or AssignmentParameters(), ProgrammeTime())
        self._structure: Structure | None = None

    def __call__(
        self,
        costs: NDArray[np.float64],
        *,
        candidates: NDArray[np.integer] | None = None,
        penalty: float = 1.0,
        start: NDArray[np.integer] | None = None,
        time_left: TimeLeft = no_limit,
        fill: bool = True,
    ) -> AssignmentSolution:
        """Solve one assignment step.

        Parameters
        ----------
        costs : (m, q), aligned with the candidates; inf forbids a candidate
        candidates : (m, q) clusters 0..k-1, those of finite cost different in each row; None for
            all, with costs (m, k)
        penalty : >= 0, of a soft pair of weight 1 that is violated
        start : (m,) clusters to begin from where something is searched for, or None
        time_left : time left to the caller; `AssignmentParameters.time_limit` is that of searches
        fill : whether empty clusters get blocks afterwards, by the cheapest moves that keep the
            hard pairs; with all clusters as candidates none is empty then

        Raises
        ------
        OutOfTime
            If no time is left before the narrow components are solved.
        ParameterError
            If an argument is not of this form.
        BackendFailure
            If the integer programming solver fails.
        """
        potts = self._programme(costs, candidates, penalty)
        begin = None if start is None else self._positions(potts, start)
        if self._structure is None or not self._structure.serves(potts):  # k-means often settles
            self._structure = Structure(potts, self._limits, time_left)
        solution = minimise(potts, self._structure, begin, self._limits, time_left)
        bound = solution.bound + potts.must_link_weight
        labels = solution.labels
        if labels is None:
            return AssignmentSolution(None, np.inf, False, solution.is_infeasible, bound)
        if fill and potts.n >= self._k:
            labels = fill_by_objective(potts, labels, self._k)
        objective = potts.value(labels) + potts.must_link_weight
        clusters = potts.clusters(labels).astype(np.intp)
        return AssignmentSolution(clusters, objective, solution.is_optimal, False, bound)

    def _programme(
        self,
        costs: NDArray[np.float64],
        candidates: NDArray[np.integer] | None,
        penalty: float,
    ) -> Potts:
        m, graph = self._graph.n_blocks, self._graph
        costs = np.ascontiguousarray(costs, dtype=np.float64)
        shape = (m, self._k) if candidates is None else np.shape(candidates)
        if costs.ndim != 2 or costs.shape != shape or shape[0] != m or not shape[1]:
            raise ParameterError(
                f"costs: shape {costs.shape}; expected {shape} for {m} blocks, aligned with the "
                "candidates"
            )
        is_allowed = np.isfinite(costs)
        if not (is_allowed | (costs == np.inf)).all():
            raise ParameterError("costs: every cost must be finite, or inf to forbid a candidate")
        if not 0 <= penalty < np.inf:
            raise ParameterError(f"penalty = {penalty!r}: expected a finite number >= 0")
        weights = np.where(
            graph.is_hard, np.inf, penalty * np.where(graph.is_hard, 0, graph.weights)
        )
        if candidates is None:
            if is_allowed.all():
                return Potts(costs, None, graph.pairs, weights)
            candidates = np.tile(np.arange(self._k), (m, 1))
        allowed = np.where(is_allowed, candidates, -1)
        _check_candidates(allowed, is_allowed, self._k)
        return Potts(costs, allowed, graph.pairs, weights)

    def _positions(self, potts: Potts, start: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the labels of clusters (n,), the cheapest for a cluster that is no candidate."""
        start = np.asarray(start)
        if start.shape != (potts.n,) or not ((start >= 0) & (start < self._k)).all():
            raise ParameterError(f"start: expected ({potts.n},) clusters 0 to {self._k - 1}")
        if potts.candidates is None:
            return start.astype(np.int64)
        same: NDArray[np.bool_] = potts.candidates == start[:, None]
        cheapest: NDArray[np.intp] = potts.costs.argmin(axis=1)
        return np.where(same.any(axis=1), same.argmax(axis=1), cheapest)


def _check_candidates(allowed: NDArray[np.int64], is_allowed: NDArray[np.bool_], k: int) -> None:
    if not ((allowed >= 0) & (allowed < k) | ~is_allowed).all():
        raise ParameterError(f"candidates: expected clusters 0 to {k - 1}")
    in_order = np.sort(allowed, axis=1)
    if ((np.diff(in_order, axis=1) == 0) & (in_order[:, 1:] >= 0)).any():
        raise ParameterError("candidates: a block has the same cluster twice")
