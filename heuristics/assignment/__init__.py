"""Assignment step of k-means with pairs of blocks, hard and soft: labels for fixed centres.

`PairwiseAssignment` is the step of PCCC and its relatives: given costs, allowed clusters, and a
penalty. `Assignment` is the same step for the squared distances of a contraction, as the engine
takes it.
There is one way to labels: connected components, dynamic programming over narrow ones, and local
search and integer programmes over wide ones. In reading order:

    steps               `PairwiseAssignment`, `Assignment`, and `SizedAssignment` within limits
    potts               the Potts model of a step: what is minimised
    potts_solver        the Potts model, component by component; HiGHS or Gurobi at the end

    tables              narrow components: dynamic programming along an elimination

    search              wide components: labels that keep the hard pairs, descent, tabu search

    flow                single points to clusters of limited sizes, at least cost
"""

from heuristics.assignment.potts import AssignmentSolution
from heuristics.assignment.potts_solver import AssignmentParameters
from heuristics.assignment.steps import Assignment, PairwiseAssignment

__all__ = [
    "Assignment",
    "AssignmentParameters",
    "AssignmentSolution",
    "PairwiseAssignment",
]
