"""Coresets: a few weighted blocks in place of many."""

from __future__ import annotations

import numpy as np

from sdpbb.problem import Contraction

# From here on, descents from k-means++ centres of all blocks take seconds.
LARGE_BLOCKS = 10_000
# Draws of a coreset: so many, and so many for each cluster.
DRAWS, DRAWS_PER_CLUSTER = 2_000, 100


def is_large(contraction: Contraction) -> bool:
    """Return whether there are many blocks, far more than in a coreset, and no limits.

    A coreset has blocks of other sizes, so that limits say nothing of its clusters.
    """
    if contraction.has_limits:
        return False
    return contraction.n_blocks >= max(LARGE_BLOCKS, 2 * _n_draws(contraction.k))


def _n_draws(k: int) -> int:
    return DRAWS + DRAWS_PER_CLUSTER * k


def coreset(contraction: Contraction, rng: np.random.Generator) -> Contraction:
    """Return a few blocks, without their cannot-links, on which centres cost about the same.

    D times a block is drawn, with probabilities q_i: half by its points and half by its part of the
    total sum of squares, so that small groups far out are not missed. Each time it counts as
    e_i / (D q_i) points, so that the expected cost of any centres is that on all blocks, less their
    scatter.

    Source: O. Bachem, M. Lucic, A. Krause, Scalable k-means clustering via lightweight coresets,
    KDD (2018).
    """
    weights, n_draws = contraction.weights, _n_draws(contraction.k)
    spread = weights * (contraction.means**2).sum(axis=1)
    likely = weights / weights.sum()
    if spread.any():
        likely = (likely + spread / spread.sum()) / 2.0
    drawn = rng.choice(len(weights), n_draws, p=likely / likely.sum())
    blocks, times = np.unique(drawn, return_counts=True)
    scaled = times * weights[blocks] / (n_draws * likely[blocks])
    return Contraction(
        contraction.k,
        np.arange(len(blocks)),
        scaled,
        contraction.means[blocks],
        np.zeros(len(blocks)),
        np.empty((0, 2), np.intp),
    )
