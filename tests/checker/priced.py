"""Blocks with prices, and the sets of them that may be clusters, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.evidence import Steps
from sdpbb.checker.kernel.geometry import Contracted
from sdpbb.checker.kernel.rules import Either, Measure, Rules
from sdpbb.checker.pricing import places, proven_least
from sdpbb.checker.pricing import sets as pricing_sets
from tests.checker.nodes import CheckedNode

SEARCHES = ("clusters", "places")
"""How prices are proven: of all clusters, or, where dimensions are few, by the places of means."""


@contextmanager
def searching(by: str, in_batches: bool = False) -> Iterator[None]:
    """Context manager: prices are proven in this way, of `SEARCHES`, in small batches or not."""
    with pytest.MonkeyPatch.context() as patch:
        if by == "clusters":
            patch.setattr(places, "MOST_DIMENSIONS", 0)
        if in_batches:
            patch.setattr(places, "_BATCH", 20)
            patch.setattr(pricing_sets, "_GROUP", 3)
            patch.setattr(pricing_sets, "_BATCH", 2)
        yield


@dataclass(frozen=True, eq=False)
class Priced:
    """Blocks, pairs (m, m) that are cannot-linked, prices (m,), and rules on clusters."""

    contracted: Contracted
    adjacency: NDArray[np.bool_]
    prices: NDArray[np.float64]
    rules: Rules = ()
    sets: NDArray[np.bool_] = field(default_factory=lambda: np.empty((0, 0), bool))

    @classmethod
    def of(cls, node: CheckedNode, prices: NDArray[np.float64]) -> Priced:
        """The blocks of a node, and the sets (t, m) of them that keep its rules."""
        blocks, rules = node.blocks, node.blocks.block_rules
        sets = all_sets(blocks.adjacency)
        allowed = [keeps(rules, np.flatnonzero(row).tolist()) for row in sets]
        return cls(node.contracted, blocks.adjacency, prices, rules, sets[np.array(allowed, bool)])

    @property
    def blocks(self) -> Blocks:
        return Blocks(1, np.arange(self.contracted.m), self.adjacency, self.rules)

    @property
    def scale(self) -> float:
        return float(np.abs(self.prices).sum() + self.contracted.scatter.sum())

    @property
    def has_profits(self) -> bool:
        """Whether prices differ from what blocks cost alone by more than rounding."""
        profits = self.prices - self.contracted.scatter
        return bool(np.abs(profits).max() > max(1e-200, 1e-12 * self.scale))

    def values(self) -> list[Fraction]:
        """c(X) - prices(X) of all sets X."""
        of = self.contracted
        e, scatter, prices = (
            list(map(Fraction, x.tolist())) for x in (of.weights, of.scatter, self.prices)
        )
        means = [[Fraction(x) for x in row] for row in of.means.tolist()]
        found = []
        for row in self.sets:
            inside = np.flatnonzero(row).tolist()
            weight = sum(e[i] for i in inside)
            value = sum(scatter[i] - prices[i] for i in inside)
            for j in range(of.means.shape[1]):
                squares = sum(e[i] * means[i][j] ** 2 for i in inside)
                value += squares - sum(e[i] * means[i][j] for i in inside) ** 2 / weight
            found.append(Fraction(value))
        return found

    def proven(self, least: float, max_nodes: int = 1_000_000) -> float:
        """The proven least value of all sets; `Rejected` if a value is below `least`."""
        return proven_least(self.contracted, self.blocks, self.prices, least, Steps(max_nodes))


def all_sets(adjacency: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The non-empty sets (t, m) of blocks without a cannot-linked pair."""
    sets = np.arange(1, 2 ** len(adjacency))[:, None] >> np.arange(len(adjacency)) & 1 > 0
    return sets[~((sets @ adjacency) & sets).any(axis=1)]


def keeps(rules: Rules, blocks: list[int]) -> bool:
    """Whether a set of blocks keeps the rules, by their definition."""
    for rule in rules:
        if isinstance(rule, Either):
            kept = any(keeps(part, blocks) for part in rule.alternatives)
        elif isinstance(rule, Measure) and not rule.limits.follow_from_most:
            total = int(rule.values[blocks].sum())
            kept = any(low <= total <= high for low, high in rule.limits.bounds())
        else:
            inside = sum(set(pair) <= set(blocks) for pair in rule.pairs.tolist())
            kept = int(rule.values[blocks].sum()) + inside <= rule.most
        if not kept:
            return False
    return True


def of_points(means: NDArray[np.float64], prices: NDArray[np.float64], rules: Rules = ()) -> Priced:
    """Points (m, d) that are blocks of their own, without cannot-links."""
    m = len(means)
    contracted = Contracted(m, np.ones(m), np.asarray(means, float), np.zeros(m), 0.0)
    return Priced(contracted, np.zeros((m, m), bool), np.array(prices, float), rules)


def random_problem(rng: np.random.Generator, m: int, d: int, n_links: int) -> Priced:
    """More blocks, with values that are apart; their sets are not listed."""
    sizes, means = rng.integers(1, 4, m).astype(np.float64), rng.normal(size=(m, d))
    scatter = np.where(sizes > 1, rng.exponential(0.1, m), 0.0)
    adjacency = np.zeros((m, m), bool)
    for i, j in rng.permutation(np.argwhere(np.triu(np.ones((m, m), bool), 1)))[:n_links]:
        adjacency[i, j] = adjacency[j, i] = True
    prices = scatter + sizes * rng.gamma(3.0, 0.3 * d, m)
    return Priced(Contracted(int(sizes.sum()), sizes, means, scatter, 0.0), adjacency, prices)
