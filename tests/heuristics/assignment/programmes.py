"""Random assignment programmes and the truth about small ones."""

from itertools import product

import numpy as np

from heuristics.assignment import PairGraph


def random_pairs(rng, m, density, kinds=("hard", "apart", "together")):
    """A graph of pairs of random kinds, weights with ties."""
    i, j = np.nonzero(np.triu(rng.random((m, m)) < density, 1))
    kind = rng.choice(kinds, len(i))
    weight = rng.choice([0.25, 0.5, 1.0, rng.uniform(0.01, 2)], len(i))
    signed = np.select([kind == "hard", kind == "apart"], [np.inf, weight], -weight)
    return PairGraph(m, np.column_stack([i, j]), signed)


def random_candidates(rng, m, k, q):
    return np.array([rng.permutation(k)[:q] for _ in range(m)])


def objective(graph, costs, candidates, penalty, labels):
    """Of clusters (m,), by the definition; inf if a hard pair or the candidates are not kept."""
    total = 0.0
    for i, cluster in enumerate(labels):
        row = range(costs.shape[1]) if candidates is None else candidates[i]
        total += min(c for c, x in zip(costs[i], row, strict=True) if x == cluster)
    for (i, j), weight in zip(graph.pairs, graph.weights, strict=True):
        if weight == np.inf:
            total += np.inf if labels[i] == labels[j] else 0.0
        elif weight > 0:
            total += penalty * weight * (labels[i] == labels[j])
        else:
            total -= penalty * weight * (labels[i] != labels[j])
    return total


def every_labelling(m, k, candidates):
    rows = [range(k)] * m if candidates is None else candidates.tolist()
    return map(np.array, product(*rows))


def minimum(graph, k, costs, candidates=None, penalty=1.0, onto=False):
    """The least objective, inf if nothing is feasible; `onto`: of labels that use all clusters."""
    return min(
        (
            objective(graph, costs, candidates, penalty, labels)
            for labels in every_labelling(graph.n_blocks, k, candidates)
            if not onto or len(np.unique(labels)) == k
        ),
        default=np.inf,
    )
