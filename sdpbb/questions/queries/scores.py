"""Scores of blocks: what an answer about each is expected to tell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from sdpbb.questions.queries.memberships import Memberships
from sdpbb.questions.queries.standing import Standing

# Neighbours by which density is measured, and how much of it counts at most, in medians.
NEIGHBOURS, DENSEST = 10, 2.0


def information(memberships: Memberships) -> NDArray[np.float64]:
    """Return the entropy of each row, (m,), in bits per question that finding its cluster takes.

    Clusters are asked about in the order of their probability, until one is right.

    Source: the normalised uncertainty of S. Xiong, J. Azimi, X. Z. Fern, *Active learning of
    constraints for semi-supervised clustering* (2014).
    """
    logarithms = np.log2(np.where(memberships > 0.0, memberships, 1.0))
    entropy = (memberships * -logarithms).sum(axis=1)
    falling = -np.sort(-memberships, axis=1)
    bits: NDArray[np.float64] = entropy / (falling @ np.arange(1.0, memberships.shape[1] + 1.0))
    return bits


def density(standing: Standing) -> NDArray[np.float64]:
    """Return how near each block's neighbours are, (m,): 1 for the median block, more where denser.

    An answer about a block in a crowd tells of its neighbours; one about an outlier of itself.
    """
    means = standing.contraction.means
    n_neighbours = min(NEIGHBOURS, len(means) - 1)
    distances = KDTree(means).query(means, n_neighbours + 1)[0][:, 1:].mean(axis=1)
    median = float(np.median(distances))
    if median == 0.0:
        return np.ones(len(means))
    # The densest count DENSEST; a block whose neighbours coincide with it is among them.
    found: NDArray[np.float64] = median / np.maximum(distances, median / DENSEST)
    return found


def block_scores(standing: Standing, memberships: Memberships) -> NDArray[np.float64]:
    """Return the score of each block, (m,): its information times its density."""
    return information(memberships) * density(standing)
