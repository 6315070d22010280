"""Assignment step of k-means with pairs of blocks, hard and soft: labels for fixed centres.

There are two entries. `Assignment` is the step of the engine: hard cannot-links alone, the cheapest
labels wherever that ends soon (`SoftAssignment` where there are soft pairs: the other one at the
prices of the cost). `PairwiseAssignment` is that of PCCC and its relatives: soft pairs
and candidates besides, with a bound where the labels are not proven to be cheapest. Both solve the
components of the graph of pairs one by one: narrow ones by the same dynamic programming, the others
by branch and bound (`Assignment`) or after a reduction (`PairwiseAssignment`), and what is left by
the same local search and the same integer programme. In reading order:

    parameters          limits, and the integer programming solver
    potts               pairs with weights, and the Potts model over them: what is minimised

    cannot_links        `Assignment`
    soft_pairs          `SoftAssignment`
    pairwise            `PairwiseAssignment`: checks its arguments and fills empty clusters
    potts_solver        `PairwiseAssignment`: its Potts model, component by component

    components          both: connected components, and an elimination of the narrow ones
    tables              both: dynamic programming along an elimination

    branch_and_bound    `Assignment`: a component of hard cannot-links, by bounds over cliques

    reduction           `PairwiseAssignment`: dominated labels left out, settled blocks removed
    roof_duality        `PairwiseAssignment`: components of two labels for each block
    flow                maximum flow, for `roof_duality`

    feasible_labels     both: labels that keep the hard pairs, to begin from
    descent             both: descent by blocks and Kempe chains, tabu search
    tally               costs of relabelling, for these two
    integer_programme   both: what the local search leaves, by HiGHS or Gurobi

    filling             both: blocks for empty clusters
"""

from heuristics.assignment.cannot_links import Assignment
from heuristics.assignment.filling import fill_empty_clusters
from heuristics.assignment.pairwise import AssignmentSolution, PairwiseAssignment
from heuristics.assignment.parameters import AssignmentParameters
from heuristics.assignment.potts import PairGraph, pair_graph
from heuristics.assignment.soft_pairs import SoftAssignment

__all__ = [
    "Assignment",
    "AssignmentParameters",
    "AssignmentSolution",
    "PairGraph",
    "PairwiseAssignment",
    "SoftAssignment",
    "fill_empty_clusters",
    "pair_graph",
]
