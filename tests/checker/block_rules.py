"""Random rules on clusters of blocks, and whether a set keeps them, by their definition."""

from __future__ import annotations

import numpy as np

from sdpbb.checker.kernel.rules import BlockEither, BlockLimit, BlockRules


def random_limit(rng: np.random.Generator, m: int) -> BlockLimit:
    """Tight enough to matter, mostly; now and then so that nothing is allowed."""
    linear = rng.integers(0, 4, m).astype(np.float64) * (rng.random(m) < 0.8)
    pairs = None
    if rng.random() < 0.4:
        upper = np.triu(rng.integers(0, 3, (m, m)) * (rng.random((m, m)) < 0.5), 1)
        pairs = (upper + upper.T).astype(np.float64)
        linear *= rng.random() < 0.5
    return BlockLimit(linear, pairs, float(rng.integers(0, 7)))


def random_rules(rng: np.random.Generator, m: int) -> BlockRules:
    """Up to three, of which some are alternatives."""
    rules: list[BlockLimit | BlockEither] = []
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.7:
            rules.append(random_limit(rng, m))
        else:
            parts = [
                tuple(random_limit(rng, m) for _ in range(int(rng.integers(1, 3))))
                for _ in range(int(rng.integers(1, 3)))
            ]
            rules.append(BlockEither(tuple(parts)))
    return tuple(rules)


def keeps(rules: BlockRules, blocks: list[int]) -> bool:
    """Whether a set of blocks keeps the rules."""
    for rule in rules:
        if isinstance(rule, BlockEither):
            if not any(keeps(part, blocks) for part in rule.alternatives):
                return False
        elif _spent(rule, blocks) > rule.most:
            return False
    return True


def _spent(limit: BlockLimit, blocks: list[int]) -> float:
    spent = sum(limit.linear[i] for i in blocks)
    if limit.pairs is not None:
        spent += sum(limit.pairs[i, j] for i in blocks for j in blocks if i < j)
    return float(spent)
