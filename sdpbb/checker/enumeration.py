"""The lower bound of a node from all clusters that a cheaper clustering can have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .arithmetic import sum_up
from .evidence import Enumerated
from .geometry import Contracted
from .lagrangian import checked_prices
from .partitions import require_no_partition
from .pricing import clusters_below, proven_least
from .rejection import Rejected
from .rules import BlockRules

MAX_NODES, MAX_CLUSTERS, MAX_PARTITION_NODES = 200_000, 20_000, 40_000
"""Of each of the two searches for clusters; clusters; nodes of the search for a partition."""

# Below this costs may underflow.
_LEAST = 1e-200


def enumeration_bound(
    contracted: Contracted,
    k: int,
    adjacency: NDArray[np.bool_],
    evidence: Enumerated,
    share: float = 1.0,
    rules: BlockRules = (),
) -> float:
    """A number proven to be at most the sum of squares of every clustering of the points into
    exactly k clusters that keeps the blocks together and adjacent ones apart, and whose clusters
    keep the rules.

    With no cluster X worth less than v = `least`, which is proven first, a clustering that costs
    less than `below` has only clusters with

        c(X) - prices(X) < below - sum of prices - (k - 1) v.

    All of these are found, for the points x^ of `Contracted`, and that no k of them are a partition
    of the blocks that costs less than `below` is found out by another search (`partitions`).

    Parameters
    ----------
    adjacency : (m, m) symmetric, the cannot-linked pairs of blocks
    share : of the limits on the searches
    rules : on clusters of blocks, besides

    Raises
    ------
    Rejected
        If the evidence is of the wrong shape or holds no numbers, if there is such a partition, or
        if a search does not end in time.
    """
    prices, least = checked_prices(contracted, k, adjacency, evidence.prices, evidence.least)
    shares, below = checked_prices(contracted, k, adjacency, evidence.share_prices, evidence.below)
    _check_triples(evidence, contracted.m)
    if not below >= _LEAST:
        raise Rejected(f"clusters are enumerated below a cost of {_LEAST:g} or more, not {below!r}")
    nodes = int(share * MAX_NODES)
    proven = proven_least(contracted, adjacency, prices, min(least, 0.0), nodes, rules)
    value = sum_up([below, *(-prices).tolist(), *[-proven] * (k - 1)])
    members = clusters_below(
        contracted, adjacency, prices, proven, value, nodes, int(share * MAX_CLUSTERS), rules
    )
    require_no_partition(
        contracted,
        k,
        members,
        below,
        shares,
        evidence.triples,
        evidence.penalties,
        int(share * MAX_PARTITION_NODES),
    )
    return contracted.for_points(below)


def _check_triples(evidence: Enumerated, m: int) -> None:
    triples, penalties = evidence.triples, evidence.penalties
    if triples.ndim != 2 or triples.shape[1] != 3 or triples.dtype.kind != "i":
        raise Rejected(f"triples of shape {triples.shape}, not rows of 3")
    if (triples < 0).any() or (triples >= m).any() or (np.diff(np.sort(triples)) == 0).any():
        raise Rejected(f"a triple is not of three of the blocks 0..{m - 1}")
    if penalties.shape != (len(triples),) or penalties.dtype != np.float64:
        raise Rejected(f"{len(triples)} triples, but penalties of shape {penalties.shape}")
    if not ((penalties >= 0.0) & np.isfinite(penalties)).all():
        raise Rejected("a penalty is negative or no number")
