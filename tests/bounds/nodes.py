"""Nodes of a few blocks under any rules, with everything that is true about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import linprog

from sdpbb.bounds.bound import BoundProgress
from sdpbb.bounds.lagrangian.columns import Columns, allowed
from sdpbb.bounds.lagrangian.sets.pricer import PricingOutcome
from sdpbb.bounds.sdp.cuts.cut_set import CutSet
from sdpbb.bounds.sdp.cuts.soft_pairs import separate_soft_pairs
from sdpbb.bounds.sdp.first_duals import clustering_dual
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint
from sdpbb.problem import Contraction, Instance, contract
from tests.any_instance import drawn_instance
from tests.constants import constants
from tests.contracts.test_cuts import separated
from tests.enumeration import Truth, all_sets, clusterings

# Rules on pairs of blocks, and all rules on clusters.
PAIRS = ("equal points", "pairs")
ANY = (*PAIRS, "constraints", "own constraints", "weights", "sizes", "weight limits", "soft pairs")
# Rules that the semidefinite relaxation supports.
RELAXED = (*PAIRS, "far groups", "units", "weights", "sizes", "weight limits", "soft pairs")


@dataclass(frozen=True, eq=False)
class Node:
    """Instance, its contraction, and the truth about both.

    seed : of all that is drawn for the node
    """

    seed: int
    instance: Instance
    contraction: Contraction

    def rng(self, *numbers: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *numbers])

    @cached_property
    def truth(self) -> Truth:
        return Truth(self.instance)

    @cached_property
    def labels(self) -> np.ndarray:
        """Labels of the blocks (number, m) in all clusterings."""
        return self.truth.labels[:, self.contraction.representatives]

    @property
    def optimum(self) -> float:
        """The least cost of a clustering, inf if there is none."""
        return math.inf if self.truth.optimum is None else self.truth.optimum

    @cached_property
    def relaxation(self) -> Relaxation:
        return Relaxation.of(self.contraction)

    @cached_property
    def columns(self) -> Columns:
        """Every allowed cluster."""
        return all_columns(self.contraction)

    def values(self, prices: np.ndarray) -> np.ndarray:
        """c(X) - prices(X) of every allowed cluster."""
        return self.columns.costs - self.columns.members @ prices

    @cached_property
    def prices(self) -> np.ndarray:
        """Prices from low to high; some are negative."""
        rng, m = self.rng(1), self.contraction.n_blocks
        unit = self.contraction.total / m * rng.choice([0.05, 0.3, 1.0, 3.0])
        prices = unit * rng.uniform(-0.2, 1.5, m)
        return np.full(m, unit) if rng.random() < 0.3 else prices  # ties

    def children(self, i: int, j: int) -> list[tuple[Contraction, np.ndarray]]:
        """Contractions with points i and j together, and apart, and the costs of their
        clusterings; without contradictory ones."""
        found = []
        for decision in ("must_link", "cannot_link"):
            child = contract(self.instance, **{decision: [(i, j)]})
            if isinstance(child, Contraction) and child.means.any():
                labels = self.truth.labels
                kept = (labels[:, i] == labels[:, j]) == (decision == "must_link")
                found.append((child, self.truth.costs[kept]))
        return found

    def drawn_dual(self, rng: np.random.Generator, spread: float) -> DualPoint:
        """Dual values of any size, with cuts of all families; N has any sign everywhere."""
        m, cuts = self.relaxation.m, self.soft_terms
        for _, found in separated(self.relaxation, self.labels, rng.integers(2**32)):
            cuts = cuts + found
        N = rng.normal(size=(m, m)) * spread
        if rng.random() < 0.5:
            # Dual values that are large on a few entries come nearest to wrong fixings.
            N = np.where(rng.random((m, m)) < 0.2, N, 0.0)
        if rng.random() < 0.5:
            # Those of a good clustering prove the most, and pairs.
            row = np.unique(self.labels[self.truth.costs.argmin()], return_inverse=True)[1]
            N = N + 0.5 * clustering_dual(self.contraction, self.relaxation, row).N
        t = rng.exponential(spread, size=len(cuts)) * (rng.random(len(cuts)) < rng.random())
        return DualPoint(N + N.T, cuts, t)

    @cached_property
    def soft_terms(self) -> CutSet:
        """Terms of all soft pairs that random symmetric matrices violate."""
        found, rng = CutSet.empty(), np.random.default_rng(0)
        for _ in range(30 if self.relaxation.soft is not None else 0):
            Z = rng.random((self.relaxation.m,) * 2)
            with constants({"bounds.sdp.cuts.soft_pairs.PER_BLOCK": 10**6}):
                cuts = separate_soft_pairs(Z + Z.T, self.relaxation)
            found = found + cuts.select(~np.isin(cuts.keys, found.keys))
        return found


def drawn_node(
    seed: int,
    *parts: str,
    always: Sequence[str] = (),
    n: tuple[int, int] = (2, 8),
    k: tuple[int, int] = (2, 8),
    d: tuple[int, int] = (1, 6),
    where: Callable[[Node], bool] = lambda node: True,
) -> Node:
    """A node of an instance that has some of the parts; its points are not all equal.

    parts, always, n, k, d : as of `any_instance`; no parts: `ANY` of them
    """
    random = Random(seed)
    while True:
        instance = drawn_instance(random, *(parts or ANY), always=always, n=n, k=k, d=d)
        contraction = contract(instance)
        if isinstance(contraction, Contraction) and contraction.total > 0.0:
            node = Node(seed, instance, contraction)
            if where(node):
                return node


def nodes(*parts: str, **limits) -> st.SearchStrategy[Node]:
    """Nodes of `drawn_node`."""
    return st.integers(0, 2**32 - 1).map(lambda seed: drawn_node(seed, *parts, **limits))


def relaxed(node: Node) -> bool:
    """Whether the node is feasible, and its relaxation has something to say."""
    return node.contraction.n_blocks > 2 and node.truth.is_feasible


def contracted(points: np.ndarray, k: int, *pairs, **more) -> Contraction:
    """The contraction of an instance that is one."""
    contraction = contract(Instance(points, k, *pairs, **more))
    assert isinstance(contraction, Contraction)
    return contraction


def all_columns(contraction: Contraction) -> Columns:
    """Every allowed cluster."""
    members = all_sets(contraction.n_blocks)
    return Columns.of(contraction, members[allowed(contraction, members)])


def master_value(contraction: Contraction) -> float | None:
    """The value of the partitioning programme over all clusters, by SciPy; None if infeasible."""
    columns = all_columns(contraction)
    scale = columns.costs.max() or 1.0
    matrix = np.vstack([columns.members.T, np.ones(len(columns))])
    sides = np.append(np.ones(contraction.n_blocks), contraction.k)
    result = linprog(columns.costs / scale, A_eq=matrix, b_eq=sides, method="highs-ds")
    assert result.status in (0, 2)
    return result.fun * scale + contraction.soft.constant if result.status == 0 else None


def optimum(contraction: Contraction) -> float:
    """The least cost of a clustering of the blocks that keeps all rules, inf if there is none."""
    rows = clusterings(contraction.n_blocks, contraction.k)
    return min((contraction.cost(row) for row in rows if contraction.keeps(row)), default=math.inf)


class BruteForcePricer:
    """A pricer that looks at all clusters; its heuristics see every `blind`-th one only: none for
    0."""

    def __init__(self, contraction: Contraction, blind: int = 2) -> None:
        self.columns, self.blind = all_columns(contraction), blind

    def heuristic(self, prices, sigma, for_cover=False):
        good = self._values(prices, for_cover) + sigma < -1e-9 * for_cover
        step = self.blind or len(good) + 1
        return self.columns.members[::step][good[::step]][: 4 * bool(self.blind)]

    def exact(self, prices, target, for_cover=False):
        values = self._values(prices, for_cover)
        found = np.flatnonzero(values < target)
        best = found[np.argsort(values[found], kind="stable")][:3]
        margin = 1e-13 * (np.abs(prices).sum() + self.columns.costs.max())
        least = float(values.min()) - (0.0 if for_cover else margin)
        return PricingOutcome(self.columns.members[best], least)

    def _values(self, prices, for_cover):
        collected = self.columns.members @ prices
        return -collected if for_cover else self.columns.costs - collected


def ended(run, cutoff: float = math.inf) -> BoundProgress:
    """The last step of a run, which stalls or reaches the cutoff; no bound is below an earlier."""
    before = -math.inf
    for _ in range(3000):
        step = run.advance(cutoff)
        assert step.bound.value >= before
        before = step.bound.value
        if step.stalled or before >= cutoff:
            return step
    raise AssertionError("the run does not end")


def scaled(instance: Instance, factor: float) -> Contraction:
    """The contraction of the instance in other units."""
    return contracted(
        factor * instance.points, instance.k, instance.must_link, instance.cannot_link
    )
