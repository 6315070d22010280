"""Local search over exchanges that keep the cannot-links and the limits of clusters.

A Kempe chain of two clusters a and b is a connected component of the cannot-link graph induced on
their blocks. Exchanging the two labels on a chain breaks no cannot-link: a chain of one block moves
it, a chain of two swaps them. Two blocks that are chains by themselves, one of each cluster, can
also be swapped. What an exchange saves is of the whole cost: of squares (`cluster_state`), and of
the weights of soft pairs.

Chains are looked at through the coordinates, so that nothing is held besides the data. Swaps need
the inner products of all pairs of blocks, and are made if there are at most SWAP_BLOCKS blocks; in
large clusters without limits they come to little more than the two moves by themselves.

With more blocks, those without pairs are moved one by one (J. A. Hartigan, M. A. Wong,
A k-means clustering algorithm, Applied Statistics 28 (1979)): out of a and into b, block i of size
w changes the sum of squares by

    N_b w / (N_b + w) || c_i - m_b ||^2 - N_a w / (N_a - w) || c_i - m_a ||^2,

for all b as fast as a row of an assignment step. Most sweeps are over those few blocks that a move
improves, or nearly so; the last one is over all.
"""

from heuristics.local_search.search import MINIMUM_IMPROVEMENT, SWAP_BLOCKS, LocalSearch

__all__ = ["MINIMUM_IMPROVEMENT", "SWAP_BLOCKS", "LocalSearch"]
