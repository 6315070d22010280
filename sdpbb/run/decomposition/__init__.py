"""Decomposition bound: the sum of the bounds of subsets, for data beyond one matrix.

For any partition of the blocks into subsets S_1, ..., S_T,

    OPT >= OPT(S_1) + ... + OPT(S_T),

where OPT(S) is the least sum of squares of a clustering of S into k clusters or fewer that keeps
the constraints among its points: the restriction of an optimal clustering to S keeps them, and its
sum of squares, each cluster around its own mean in S, is no more than what the points of S add to
that of the whole. Constraints across subsets are dropped. Where S has k blocks or more, a cluster
can always be split, at no cost, so that "k or fewer" and "exactly k" have the same optimum.

- `subsets`: tree of subsets, each the union of its halves, and what is proven; the instance of a
  subset, and its bounding as a search of one node, in slices; `dealing` makes the tree
- `run`: prices and places, then level by level, whose subsets are tasks; the subsets to bound next
"""
