"""Pricing and the whole master programme by all subsets of a few blocks."""

import math

import numpy as np
from scipy.optimize import linprog

from sdpbb.bounds.colgen.columns import Columns, allowed
from sdpbb.bounds.colgen.pricing.protocol import FarkasOutcome, PricingOutcome
from sdpbb.problem import Contraction, Instance, contract
from tests.enumeration import clusterings


def all_columns(contraction: Contraction) -> Columns:
    """Every allowed cluster."""
    m = contraction.n_blocks
    members = (np.arange(1, 2**m)[:, None] >> np.arange(m)) & 1 > 0
    return Columns.of(contraction, members[allowed(contraction, members)])


class BruteForcePricer:
    """A pricer that looks at all clusters; exact pricing takes as many calls as `slices` says, and
    its heuristics see every `blind`-th cluster only: none for 0."""

    def __init__(self, contraction: Contraction, slices: int = 1, blind: int = 2) -> None:
        self.columns = all_columns(contraction)
        self.slices, self.blind = slices, blind
        self.done = 0
        self.n_exact = 0

    def heuristic(self, prices, sigma):
        return self._visible(self._values(prices) + sigma < 0.0)

    def farkas_heuristic(self, prices, sigma):
        return self._visible(self.columns.members @ prices > sigma + 1e-9)

    def exact(self, prices, target):
        if self._unfinished():
            return PricingOutcome(self.columns.members[:0], None)
        values = self._values(prices)
        found = np.flatnonzero(values < target)
        best = found[np.argsort(values[found], kind="stable")][:3]
        margin = 1e-13 * (np.abs(prices).sum() + self.columns.costs.max())
        return PricingOutcome(self.columns.members[best], float(values.min()) - margin)

    def farkas_exact(self, prices, target):
        assert prices.dtype == np.int64
        if self._unfinished():
            return FarkasOutcome(self.columns.members[:0], None)
        weights = self.columns.members.astype(np.int64) @ prices
        found = np.flatnonzero(weights > target)[:3]
        return FarkasOutcome(self.columns.members[found], int(weights.max()))

    def _values(self, prices):
        return self.columns.costs - self.columns.members @ prices

    def _visible(self, good):
        if not self.blind:
            return self.columns.members[:0]
        return self.columns.members[:: self.blind][good[:: self.blind]][:4]

    def _unfinished(self):
        self.done = (self.done + 1) % self.slices
        self.n_exact += self.done == 0
        return self.done != 0


def master_value(contraction: Contraction) -> float | None:
    """The value of the partitioning programme over all clusters, by SciPy; None if infeasible."""
    columns = all_columns(contraction)
    scale = columns.costs.max() or 1.0
    matrix = np.vstack([columns.members.T, np.ones(len(columns))])
    sides = np.append(np.ones(contraction.n_blocks), contraction.k)
    result = linprog(columns.costs / scale, A_eq=matrix, b_eq=sides, method="highs-ds")
    assert result.status in (0, 2)
    return result.fun * scale if result.status == 0 else None


def optimum(contraction: Contraction) -> float:
    """The least cost of k allowed clusters, inf if there are none."""
    known = dict(zip(*_keyed(contraction), strict=True))
    powers = 1 << np.arange(contraction.n_blocks)
    best = math.inf
    for labels in clusterings(contraction.n_blocks, contraction.k):
        keys = [int(powers[labels == c].sum()) for c in range(contraction.k)]
        best = min(best, sum(known.get(key, math.inf) for key in keys))
    return best


def _keyed(contraction: Contraction) -> tuple[list[int], list[float]]:
    columns = all_columns(contraction)
    powers = 1 << np.arange(contraction.n_blocks)
    return (columns.members @ powers).tolist(), columns.costs.tolist()


def random_contraction(seed: int, m_max: int = 7, factor: float = 1.0) -> Contraction:
    """The first contraction from this seed on: blocks of one point and more, a few cannot-links,
    duplicates and ties now and then, any k."""
    rng = np.random.default_rng(seed)
    while True:
        n = int(rng.integers(2, m_max + 3))
        points = rng.normal(size=(n, int(rng.integers(1, 4))))
        if rng.random() < 0.3:
            points = np.round(points)
        pairs = np.array([(i, j) for i in range(n) for j in range(i)])
        drawn = rng.permutation(len(pairs))
        split = int(rng.integers(0, 3))
        many = int(rng.integers(0, n))
        contraction = contract(
            Instance(
                points * factor,
                int(rng.integers(1, n + 1)),
                pairs[drawn[:split]],
                pairs[drawn[split : split + many]],
            )
        )
        if isinstance(contraction, Contraction) and contraction.n_blocks <= m_max:
            return contraction
