"""Random rules on clusters of blocks, and whether a set keeps them, by their definition."""

from __future__ import annotations

import numpy as np

from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.rules import Either, Limit, Rules


def of_blocks(k: int, adjacency: np.ndarray, rules: Rules = ()) -> Blocks:
    """The state of a node of so many blocks, with rules on clusters of these."""
    return Blocks(k, np.arange(len(adjacency)), adjacency, rules)


def random_limit(rng: np.random.Generator, m: int) -> Limit:
    """Tight enough to matter, mostly; now and then so that nothing is allowed."""
    weights = rng.integers(0, 4, m) * (rng.random(m) < 0.8)
    upper = np.zeros((m, m), np.int64)
    if rng.random() < 0.4:
        upper = np.triu(rng.integers(0, 3, (m, m)) * (rng.random((m, m)) < 0.5), 1)
        weights *= rng.random() < 0.5
    pairs = np.argwhere(upper)
    return Limit(weights, pairs, int(rng.integers(0, 7)), upper[tuple(pairs.T)])


def random_rules(rng: np.random.Generator, m: int) -> Rules:
    """Up to three, of which some are alternatives."""
    rules: list[Limit | Either] = []
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.7:
            rules.append(random_limit(rng, m))
        else:
            parts = [
                tuple(random_limit(rng, m) for _ in range(int(rng.integers(1, 3))))
                for _ in range(int(rng.integers(1, 3)))
            ]
            rules.append(Either(tuple(parts)))
    return tuple(rules)


def keeps(rules: Rules, blocks: list[int]) -> bool:
    """Whether a set of blocks keeps the rules."""
    for rule in rules:
        if isinstance(rule, Either):
            if not any(keeps(part, blocks) for part in rule.alternatives):
                return False
        elif _spent(rule, blocks) > rule.most:
            return False
    return True


def _spent(limit: Limit, blocks: list[int]) -> float:
    counts = [1] * len(limit.pairs) if limit.counts is None else limit.counts.tolist()
    inside = sum(
        count
        for (i, j), count in zip(limit.pairs.tolist(), counts, strict=True)
        if i in blocks and j in blocks
    )
    return float(sum(limit.weights[i] for i in blocks) + inside)
