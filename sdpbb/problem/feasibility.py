"""Feasibility: k-colourability of the cannot-link graph over blocks, within limits on clusters.

These are limits on their sizes and weights.

Source: PC-SOS-SDP, section 3.3, for colourability.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem.colouring import decide, sparse_graph
from sdpbb.problem.contraction import Contraction
from sdpbb.problem.infeasibility import Infeasibility, InfeasibilityKind
from sdpbb.problem.packing import packed_exactly, packed_greedily
from sdpbb.runtime.time_left import TimeLeft, no_limit

# Blocks times clusters up to which integer programmes pack blocks where sizes have no minimum: one
# of 30,000, of 300 points with a maximum diameter, did not end in two minutes.
FEW_VARIABLES = 2_000


def find_feasible(
    contraction: Contraction, time_left: TimeLeft = no_limit
) -> NDArray[np.intp] | Infeasibility | None:
    """Find a clustering of the blocks into exactly k clusters that satisfies cannot-links.

    Clusterings are the proper colourings of the cannot-link graph that use all k colours (problem
    (11) of PC-SOS-SDP). As m >= k, any proper colouring with fewer colours becomes one by giving
    unused colours to blocks that share theirs; so the answer is that of k-colourability
    (`colouring.decide`). If quantities are limited (`Contraction.packed_quantities`), a colouring
    within the limits is searched for greedily, then by an integer programme (`packing`). If that
    programme would be large, and no least above 1 follows from the limits (`SizeLimits`), the
    colouring returned may exceed their maxima: callers ask `keeps_sizes`. Other constraints on
    clusters are ignored.

    Parameters
    ----------
    time_left : for integer programmes. With a limit, none is solved that is too large for HiGHS to
        presolve in that time; when it is over, they are given up

    Returns
    -------
    labels (m,), or the Infeasibility: CLIQUE or NOT_COLOURABLE, with the first points of the
    blocks that cannot be coloured, or SIZES; None if integer programmes took too long or were
    stopped, so that nothing is known.

    Raises
    ------
    BackendFailure
        If the integer programming solver fails.
    """
    graph = sparse_graph(contraction.n_blocks, contraction.cannot_link)
    found = decide(graph, contraction.k, time_left=time_left)
    if found.vertices is not None:
        clique, other = InfeasibilityKind.CLIQUE, InfeasibilityKind.NOT_COLOURABLE
        points = contraction.representatives[found.vertices]
        return Infeasibility(clique if found.is_clique else other, tuple(points.tolist()))
    if not contraction.packed_quantities:
        return None if found.labels is None else use_every_colour(found.labels, contraction.k)
    if found.labels is not None:
        packed = packed_greedily(contraction, found.labels)
        if packed is not None:
            return packed
    limits = [quantity.limits for quantity in contraction.packed_quantities]
    is_only_maximum = all(each.listed is None and each.least <= 1 for each in limits)
    if is_only_maximum and contraction.n_blocks * contraction.k > FEW_VARIABLES:
        # A search can begin with a clustering of other sizes, and bounds know of the maximum.
        return found.labels
    if time_left() <= 0.0:
        return None
    packing = packed_exactly(contraction, None, time_left)
    if not packing.is_impossible:
        return packing.labels
    return Infeasibility(InfeasibilityKind.SIZES, tuple(contraction.representatives.tolist()))


def use_every_colour(labels: NDArray[np.intp], k: int) -> NDArray[np.intp]:
    """Return the labels with unused colours given to vertices that share theirs."""
    labels = labels.copy()
    counts = np.bincount(labels, minlength=k)
    for colour in np.flatnonzero(counts == 0):
        crowded = int(np.argmax(counts))
        labels[np.argmax(labels == crowded)] = colour
        counts[crowded] -= 1
        counts[colour] = 1
    return labels
