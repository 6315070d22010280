"""Assignment step of k-means with pairs of blocks, hard and soft: labels for fixed centres.

`PairwiseAssignment` is the step of PCCC and its relatives: given costs, allowed clusters, and a
penalty. `Assignment` is the same step for the squared distances of a contraction, as the engine
takes it.
There is one way to labels: connected components, dynamic programming over narrow ones, and local
search and integer programmes over wide ones. In reading order:

    parameters          limits, and the integer programming solver
    steps               `PairwiseAssignment` and `Assignment`
    potts               the Potts model of a step: what is minimised
    potts_solver        the Potts model, component by component

    components          connected components, and an elimination of the narrow ones
    tables              dynamic programming along an elimination

    reduction           wide components: dominated labels left out, settled blocks charged
    feasible_labels     labels that keep the hard pairs, to start from
    descent             descent by blocks and Kempe chains, tabu search
    tally               costs of relabelling, for these two
    integer_programme   what the local search leaves, by HiGHS or Gurobi

    filling             blocks for empty clusters
"""

from heuristics.assignment.filling import fill_empty_clusters
from heuristics.assignment.parameters import AssignmentParameters
from heuristics.assignment.potts import AssignmentSolution
from heuristics.assignment.steps import Assignment, PairwiseAssignment

__all__ = [
    "Assignment",
    "AssignmentParameters",
    "AssignmentSolution",
    "PairwiseAssignment",
    "fill_empty_clusters",
]
