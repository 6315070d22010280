"""Assignment step of k-means with pairs of blocks, hard and soft: labels for fixed centres.

`Assignment` finds labels for centres, as the engine needs them, or for costs, allowed clusters and
a penalty, as PCCC and its relatives do. It solves connected components of the pairs one by one:
narrow ones by dynamic programming, wide ones by local search and integer programmes. In reading
order:

    steps               `Assignment`, and `SizedAssignment` within limits
    potts               the Potts model of a step: what is minimised
    potts_solver        the Potts model, component by component; HiGHS or Gurobi at the end

    tables              narrow components: dynamic programming along an elimination

    search              wide components: labels that keep the hard pairs, descent, tabu search

    flow                single points to clusters of limited sizes, at least cost
"""

from heuristics.assignment.steps import Assignment

__all__ = ["Assignment"]
