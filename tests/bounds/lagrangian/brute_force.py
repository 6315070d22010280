"""Nodes of a few blocks under any rules; pricing and the master programme by all their subsets."""

import math
from dataclasses import replace
from random import Random

import numpy as np
from scipy.optimize import linprog

from sdpbb.bounds.lagrangian.columns import Columns, allowed
from sdpbb.bounds.lagrangian.sets.pricer import PricingOutcome
from sdpbb.problem import Contraction, Instance, contract
from tests.any_instance import drawn_instance
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


# What is asked about pairs of blocks alone, and all that is asked about clusters.
PAIRS = ("equal points", "pairs")
ANY = (*PAIRS, "constraints", "own constraints", "weights", "sizes", "weight limits", "soft pairs")


def drawn_node(seed: int, *parts: str, m_max: int = 8) -> tuple[Instance, Contraction]:
    """An instance in up to six dimensions, which has some of the parts, and its contraction.

    parts : those of `any_instance`; none: `ANY` of them
    """
    random = Random(seed)
    while True:
        # With one cluster all points are one block.
        instance = drawn_instance(random, *(parts or ANY), n=(2, m_max + 2), k=(2, 8), d=(1, 6))
        contraction = contract(instance)
        is_small = isinstance(contraction, Contraction) and contraction.n_blocks <= m_max
        if is_small and contraction.total > 0.0:  # or all points are equal
            return instance, contraction


def random_contraction(seed: int, factor: float = 1.0) -> Contraction:
    """Up to seven blocks of points in some unit, with cannot-links alone."""
    instance, _ = drawn_node(seed, *PAIRS, m_max=7)
    contraction = contract(replace(instance, points=factor * instance.points))
    assert isinstance(contraction, Contraction)
    return contraction


def random_prices(contraction: Contraction, seed: int) -> np.ndarray:
    """From hardly any cluster worth its cost to all, some prices negative."""
    rng = np.random.default_rng([seed, 1])
    m = contraction.n_blocks
    unit = contraction.total / m * rng.choice([0.05, 0.3, 1.0, 3.0])
    prices = unit * rng.uniform(-0.2, 1.5, m)
    return np.full(m, unit) if rng.random() < 0.3 else prices  # ties


def whole_contraction(seed: int) -> Contraction:
    """A contraction with limits on sizes or weights, soft pairs, or both."""
    return whole_instance(seed)[1]


def whole_instance(seed: int) -> tuple[Instance, Contraction]:
    """The same, and the instance that it is of."""
    random = Random(seed)
    while True:
        always = random.choice(["sizes", "weight limits", "soft pairs"])
        instance = drawn_instance(random, *ANY, always=[always], n=(3, 9), k=(1, 4), d=(1, 4))
        contraction = contract(instance)
        if isinstance(contraction, Contraction) and not contraction.is_monotone:
            return instance, contraction
