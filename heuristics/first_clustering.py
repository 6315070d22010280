"""First clustering of the blocks that satisfies the cannot-links, or the proof that none exists."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heuristics.alternating import cluster_means, costs_of_labels, kmeans
from heuristics.assignment.potts import Potts
from heuristics.assignment.search import mend
from heuristics.starts import kmeans_plus_plus
from sdpbb.problem import Contraction, Infeasibility
from sdpbb.problem.feasibility import find_feasible, packed_greedily, use_every_colour
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, at_most

# Rows of an integer programme whose presolve lasts some seconds.
LARGE_PROGRAMME = 100_000
# Steps of k-means before its labels are mended.
KMEANS_STEPS = 100


def first_clustering(
    contraction: Contraction, time_left: TimeLeft
) -> NDArray[np.intp] | Infeasibility | None:
    """Find a clustering of the blocks into exactly k clusters that satisfies the cannot-links.

    `find_feasible` finds it. But if greedy colouring fails and the integer programme is large, a
    clustering by k-means is mended first: if constraints agree with the data, it violates few
    cannot-links.

    Returns
    -------
    labels (m,), which may exceed a maximum size: callers ask `keeps_sizes`; or the Infeasibility;
    None if the time was too short.

    Raises
    ------
    BackendFailure
        If the integer programming solver fails.
    """
    if contraction.n_blocks + contraction.k * len(contraction.cannot_link) > LARGE_PROGRAMME:
        found = find_feasible(contraction, lambda: 0.0)  # without an integer programme
        if found is None:
            found = mended_clustering(contraction, time_left)
            if found is not None and not contraction.keeps_sizes(found):
                found = packed_greedily(contraction, found)
        if found is not None:
            return found
    return find_feasible(contraction, time_left)


def mended_clustering(contraction: Contraction, time_left: TimeLeft) -> NDArray[np.intp] | None:
    """Return a clustering by k-means, mended so that it satisfies the cannot-links.

    None if half of the time left does not suffice.
    """
    half = at_most(time_left, time_left() / 2)
    try:
        centres = kmeans_plus_plus(contraction, np.random.default_rng(0), half)
        found = kmeans(contraction, centres, KMEANS_STEPS, half)
    except OutOfTime:
        return None
    centres, labels = cluster_means(contraction, found.found), found.found.copy()
    linked, pairs = np.unique(contraction.cannot_link, return_inverse=True)
    costs = costs_of_labels(contraction, centres, blocks=linked)
    hard = np.full(len(contraction.cannot_link), np.inf)
    mended = mend(Potts(costs, pairs.reshape(-1, 2), hard), labels[linked], half)
    if mended is None:
        return None
    labels[linked] = mended
    return use_every_colour(labels, contraction.k)
