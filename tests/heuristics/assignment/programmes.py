"""Random assignment programmes and the truth about small ones."""

from itertools import product

import numpy as np

from sdpbb.problem import Contraction
from sdpbb.problem.soft_blocks import SoftBlocks


def pairs_of(m, k, pairs, weights):
    """A contraction of m blocks with these pairs: hard ones of weight inf, and soft ones."""
    pairs, weights = np.reshape(pairs, (-1, 2)).astype(np.intp), np.asarray(weights, float)
    hard = np.isinf(weights)
    soft = SoftBlocks(pairs[~hard], weights[~hard])
    free = np.ones(m), np.zeros((m, 1)), np.zeros(m)
    return Contraction(k, np.arange(m), *free, pairs[hard], soft=soft)


def random_pairs(rng, m, k, density, kinds=("hard", "apart", "together")):
    """Pairs of random kinds, weights with ties."""
    i, j = np.nonzero(np.triu(rng.random((m, m)) < density, 1))
    kind = rng.choice(kinds, len(i))
    weight = rng.choice([0.25, 0.5, 1.0, rng.uniform(0.01, 2)], len(i))
    signed = np.select([kind == "hard", kind == "apart"], [np.inf, weight], -weight)
    return pairs_of(m, k, np.column_stack([i, j]), signed)


def random_lists(rng, m, k, q):
    """Marks (m, k) of q allowed clusters of each block."""
    return rng.permuted(np.tile(np.arange(k) < q, (m, 1)), axis=1)


def objective(contraction, costs, penalty, labels):
    """Of clusters (m,), by the definition; inf if a cannot-link is not kept."""
    total = costs[np.arange(len(labels)), labels].sum()
    i, j = contraction.cannot_link.T
    if (labels[i] == labels[j]).any():
        return np.inf
    for (i, j), weight in zip(contraction.soft.pairs, contraction.soft.weights, strict=True):
        if (labels[i] == labels[j]) == (weight > 0):
            total += penalty * abs(weight)
    return total


def minimum(contraction, costs, allowed=None, penalty=1.0, onto=False):
    """The least objective, inf if nothing is feasible; `onto`: of labels that use all clusters."""
    listed = costs if allowed is None else np.where(allowed, costs, np.inf)
    m, k = costs.shape
    return min(
        (
            objective(contraction, listed, penalty, labels)
            for labels in map(np.array, product(range(k), repeat=m))
            if not onto or len(np.unique(labels)) == k
        ),
        default=np.inf,
    )
