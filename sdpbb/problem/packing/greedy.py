"""Greedy packings, and the least and the most points of each cluster."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.checker.kernel.sizes import SizeLimits
from sdpbb.problem.contraction import Contraction
from sdpbb.problem.quantities import Quantity


def size_bounds(limits: SizeLimits) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the least and the most points (k,) of each cluster.

    Where sizes are listed, cluster c has the c-th of them.
    """
    least, most = np.array(limits.bounds(), np.intp).T
    return least, most


def packed_greedily(
    contraction: Contraction, labels: NDArray[np.intp] | None
) -> NDArray[np.intp] | None:
    """Return labels (m,) within the limits, or None where greedy choices find none.

    By each limited quantity, points or weight, in turn.

    labels : a colouring (m,) of the blocks; None where there are no cannot-links
    """
    for quantity in contraction.packed_quantities:
        found = _packed_by(quantity, contraction, labels)
        if found is not None:
            return found
    return None


def _packed_by(
    quantity: Quantity, contraction: Contraction, labels: NDArray[np.intp] | None
) -> NDArray[np.intp] | None:
    """Return labels (m,) within the limits, or None where a greedy choice finds none.

    Blocks that are cannot-linked keep together as labels (m,), a colouring, have them; the others
    go where most room remains, the largest first.
    """
    limits, counts, k = quantity.limits, quantity.linear, contraction.k
    least, most = size_bounds(limits)
    sizes = np.zeros(k, np.intp)
    found = np.full(contraction.n_blocks, -1, np.intp)
    linked = np.unique(contraction.cannot_link)
    if len(linked):
        assert labels is not None
        of_colours = np.bincount(labels[linked], counts[linked], k).astype(np.intp)
        # The largest colour goes where most room is.
        cluster_of = np.empty(k, np.intp)
        cluster_of[np.argsort(-of_colours, kind="stable")] = np.argsort(-most, kind="stable")
        found[linked] = cluster_of[labels[linked]]
        sizes[cluster_of] = of_colours
    free = np.flatnonzero(found < 0)
    free = free[np.argsort(-counts[free], kind="stable")]
    for position, block in enumerate(free.tolist()):
        if counts[block] == 1:  # the rest is of single points
            _fill(free[position:], found, sizes, least, most)
            break
        cluster = int(np.argmax(most - sizes))
        found[block] = cluster
        sizes[cluster] += counts[block]
    return found if (found >= 0).all() and contraction.keeps_sizes(found) else None


def _fill(
    points: NDArray[np.intp],
    found: NDArray[np.intp],
    sizes: NDArray[np.intp],
    least: NDArray[np.intp],
    most: NDArray[np.intp],
) -> None:
    """Put single points where sizes (k,) lack some to the least, then evenly up to the most."""
    lacking = np.maximum(least - sizes, 0)
    room = np.maximum(most - sizes - lacking, 0)
    clusters, filled = np.arange(len(sizes)), _dealt(len(points), lacking)
    places = np.concatenate(
        [
            np.repeat(clusters, filled),
            np.repeat(clusters, _dealt(len(points) - int(filled.sum()), room)),
        ]
    )
    found[points[: len(places)]] = places


def _dealt(n: int, room: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return how many of n points each cluster takes, (k,): the first take all they have room for.

    room : (k,) units of weight, maybe far more than points
    """
    ends = np.minimum(np.cumsum(np.minimum(room, n)), n)
    return np.asarray(np.diff(ends, prepend=0))
