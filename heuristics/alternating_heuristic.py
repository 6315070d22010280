"""Base class of the methods that alternate exact assignment steps and means."""

from __future__ import annotations

from dataclasses import dataclass

from heuristics.alternating import AlternatingLoop, Start
from heuristics.assignment import AssignmentParameters
from heuristics.assignment.parameters import SOLVER_HELP
from heuristics.block_distances import Distance, PenaltyRule
from heuristics.method import Heuristic
from sdpbb.runtime.backends import IntegerSolver
from sdpbb.runtime.declaration import parameter


@dataclass(frozen=True, eq=False, kw_only=True)
class AlternatingHeuristic(Heuristic):
    """Method of exact assignment steps and means in turn."""

    distance: Distance = parameter(
        "squared",
        'Distance d, "squared" Euclidean, so that the sum of squares is minimised, or "euclidean" '
        "as in the paper.",
    )
    start: Start = parameter(
        "k-means++", 'Initial centres; "random": different blocks, all equally likely.'
    )
    n_starts: int = parameter(
        1, "Sets of initial centres; the best clustering is the result.", ge=1
    )
    max_iterations: int = parameter(1000, "Assignment steps of one start.", ge=1)
    assignment_time_limit: float = parameter(
        200.0,
        "Time limit of one assignment step by an integer programme or a search.",
        gt=0,
        infinite=True,
        unit="seconds",
    )
    solver: IntegerSolver = parameter("auto", SOLVER_HELP)

    def loop_with(self, penalty: PenaltyRule, n_candidates: int | None = None) -> AlternatingLoop:
        """Return the loop of the method with a rule for P; see `AlternatingLoop`."""
        assignment = AssignmentParameters(solver=self.solver, time_limit=self.assignment_time_limit)
        return AlternatingLoop(
            self.distance,
            self.start,
            self.n_starts,
            n_candidates,
            penalty,
            self.max_iterations,
            assignment,
        )
