"""Nodes of a few blocks under any rules; pricing and the master programme by all their subsets."""

import math

import numpy as np
from scipy.optimize import linprog

from sdpbb.bounds.lagrangian.columns import Columns, allowed
from sdpbb.bounds.lagrangian.sets.pricer import PricingOutcome
from sdpbb.problem import Contraction, Instance, MaximumSize, contract
from tests.constrained import (
    all_of,
    any_of,
    constrained_instance,
    custom,
    first_contraction,
    maximum_diameter,
    maximum_overlap,
    maximum_size,
    minimum_difference,
    soft_cannot_links,
)
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

    def heuristic(self, prices, sigma, for_cover=False):
        return self._visible(self._values(prices, for_cover) + sigma < -1e-9 * for_cover)

    def exact(self, prices, target, for_cover=False):
        if self._unfinished():
            return PricingOutcome(self.columns.members[:0], None)
        values = self._values(prices, for_cover)
        found = np.flatnonzero(values < target)
        best = found[np.argsort(values[found], kind="stable")][:3]
        margin = 1e-13 * (np.abs(prices).sum() + self.columns.costs.max())
        least = float(values.min()) - (0.0 if for_cover else margin)
        return PricingOutcome(self.columns.members[best], least)

    def _values(self, prices, for_cover):
        collected = self.columns.members @ prices
        return -collected if for_cover else self.columns.costs - collected

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
    """The least cost of a clustering of the blocks that keeps all rules, inf if there is none."""
    rows = clusterings(contraction.n_blocks, contraction.k)
    return min((contraction.cost(row) for row in rows if contraction.keeps(row)), default=math.inf)


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


# Rules that columns can be asked about one by one; clusters that are judged as a whole are others.
RULES = (
    (),
    (),
    (maximum_size,),
    (maximum_diameter,),
    (maximum_overlap,),
    (minimum_difference,),
    (soft_cannot_links,),
    (all_of,),
    (any_of,),
    (custom,),
    (custom, maximum_size),
    (maximum_size, soft_cannot_links),
)


def drawn_node(seed: int, kinds=None, m_max: int = 8) -> tuple[Instance, Contraction]:
    """An instance under any mixture of rules, in up to six dimensions, and its contraction.

    kinds : of constraints; None for any, limits on sizes and weights and soft pairs among them
    """
    rng = np.random.default_rng(seed)
    if kinds is None:
        if rng.random() < 0.4:
            return whole_instance(seed, m_max)
        kinds = RULES[rng.integers(len(RULES))]
    instances = (
        constrained_instance(rng, kinds, n_min=2, n_max=m_max + 2, d_max=6) for _ in range(1000)
    )
    # With one cluster all points are one block.
    return first_contraction((x for x in instances if x.k > 1), m_max)


def random_prices(contraction: Contraction, seed: int) -> np.ndarray:
    """From hardly any cluster worth its cost to all, some prices negative."""
    rng = np.random.default_rng([seed, 1])
    m = contraction.n_blocks
    unit = contraction.total / m * rng.choice([0.05, 0.3, 1.0, 3.0])
    prices = unit * rng.uniform(-0.2, 1.5, m)
    return np.full(m, unit) if rng.random() < 0.3 else prices  # ties


def whole_contraction(seed: int, n_max: int = 9) -> Contraction:
    """The first one from this seed on, with limits on sizes or weights, soft pairs, or both."""
    return whole_instance(seed, n_max)[1]


def whole_instance(seed: int, n_max: int = 9) -> tuple[Instance, Contraction]:
    """The same, and the instance that it is of."""
    rng = np.random.default_rng(seed)
    while True:
        instance = drawn_instance(rng, n_max)
        contraction = contract(instance)
        if isinstance(contraction, Contraction) and not contraction.is_monotone:
            return instance, contraction


def drawn_instance(rng: np.random.Generator, n_max: int) -> Instance:
    n = int(rng.integers(3, n_max + 1))
    k = int(rng.integers(1, min(n, 4) + 1))
    points = rng.normal(size=(n, int(rng.integers(1, 5))))
    if rng.random() < 0.3:
        points = np.round(points)
    limits, kind = {}, rng.integers(0, 6)
    if kind == 1:
        limits["min_size"] = int(rng.integers(2, max(3, n // k + 1)))
    if kind == 2:
        limits["sizes"] = (rng.multinomial(n - k, np.ones(k) / k) + 1).tolist()
    if kind == 3:
        limits = {"min_size": 2, "cluster_constraints": [MaximumSize(int(rng.integers(2, n + 1)))]}

    def pairs(most: int) -> list[tuple[int, int]]:
        count = int(rng.integers(0, most + 1))
        return [tuple(rng.choice(n, 2, replace=False).tolist()) for _ in range(count)]

    def soft() -> list[tuple[int, int, float]]:
        scale = rng.choice([0.0, 0.1, 1.0, 10.0])
        return [(i, j, float(scale * rng.random())) for i, j in pairs(n)]

    weights = rng.uniform(0.2, 3.0, n) if rng.random() < 0.3 or kind > 3 else None
    if kind > 3:
        mean = weights.sum() / k
        limits["min_weight"] = float(mean * rng.uniform(0.3, 1.0))
    if kind == 5:
        limits["max_weight"] = float(mean * rng.uniform(1.0, 2.0))
        limits["min_size"] = int(rng.integers(1, 3))
    return Instance(
        points, k, pairs(2), pairs(3), weights=weights, soft_must_link=soft(),
        soft_cannot_link=soft(), **limits,
    )  # fmt: skip
