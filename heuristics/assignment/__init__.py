"""Assignment step of k-means with pairs of blocks, hard and soft.

For fixed centres it is a Potts model over the blocks: `PairwiseAssignment` solves it by components,
exactly where that is affordable. `Assignment` is the step of the engine, with hard cannot-links
alone.
"""

from heuristics.assignment.assign import AssignmentSolution, PairwiseAssignment
from heuristics.assignment.filling import fill_empty_clusters
from heuristics.assignment.hard import Assignment
from heuristics.assignment.parameters import AssignmentParameters
from heuristics.assignment.potts import PairGraph, pair_graph

__all__ = [
    "Assignment",
    "AssignmentParameters",
    "AssignmentSolution",
    "PairGraph",
    "PairwiseAssignment",
    "fill_empty_clusters",
    "pair_graph",
]
