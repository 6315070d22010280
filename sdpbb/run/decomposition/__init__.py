"""Decomposition bound: the sum of the bounds of subsets, for data beyond one matrix.

For any partition of the blocks into subsets S_1, ..., S_T,

    OPT >= OPT(S_1) + ... + OPT(S_T),

where OPT(S) is the least sum of squares of a clustering of S into at most k clusters that satisfies
the constraints among its points. Proof: restrict an optimal clustering to S. The restriction
satisfies these constraints, and its cost, around its own means, is at most the contribution of the
points of S to the cost of the whole. Constraints across subsets are dropped. If S has at least k
blocks, splitting a cluster never adds cost, so that "at most k" and "exactly k" have the same
optimum.

- `dealing` makes the tree of subsets, each the union of its two halves
- `subsets`: the tree and the proven bounds; the instance of a subset, and its bounding in slices
- `levels`: raises the root's bound, by prices and places, then by the subsets of level after level
"""
