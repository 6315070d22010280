"""Nodes of small instances as the checker sees them, with all their clusterings."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from random import Random

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.cuts import Cuts
from sdpbb.checker.kernel.cuts.inequalities import NodeFacts
from sdpbb.checker.kernel.dual import DualTerms, Semidefinite
from sdpbb.checker.kernel.geometry import Contracted, Geometry
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.problem import Instance
from sdpbb.problem.checker_rules import stated_instance
from sdpbb.run.certificates.writer import propagated
from tests.any_instance import PARTS, any_instance, drawn_instance
from tests.checker.drawn_cuts import FORMS, drawn_cuts, joined
from tests.enumeration import Truth, clustering_matrix

# What a certificate can state.
STATED = tuple(part for part in PARTS if part != "own constraints")


@dataclass(frozen=True, eq=False)
class CheckedNode:
    """Root of an instance.

    truth : all clusterings
    contracted : the geometry of the blocks
    """

    instance: Instance
    truth: Truth
    geometry: Geometry
    blocks: Blocks
    contracted: Contracted

    @classmethod
    def of(cls, instance: Instance) -> CheckedNode | None:
        """The node, or None if the constraints contradict each other, so that there is none."""
        stated = stated_instance(instance)
        blocks, _, end = propagated(stated.root)
        if end:
            return None
        geometry = stated.geometry
        contracted = geometry.contracted(blocks.block_of, blocks.component_of)
        return cls(instance, Truth(instance), geometry, blocks, contracted)

    @property
    def optimum(self) -> Fraction:
        return min(self.truth.exact_costs)

    @cached_property
    def terms(self) -> DualTerms:
        return DualTerms.of(self.contracted, self.blocks, zero_evidence(self.blocks.m))

    @property
    def facts(self) -> NodeFacts:
        """Facts about the node that cuts rest on."""
        return self.terms.node

    @property
    def matrices(self) -> list[np.ndarray]:
        """Z of all clusterings."""
        labels = self.labels_below(np.inf)
        return [clustering_matrix(row, self.contracted.weights) for row in labels]

    @property
    def paid(self) -> list[float]:
        """What each clustering pays for soft pairs, beyond what all of them do, in the unit of the
        prices among the facts."""
        soft, apart = self.geometry.soft, self.blocks.adjacency | self.contracted.across
        constant = self.contracted.soft.constant(apart) if soft else 0.0
        paid = [sum(soft.violated(row)) - constant for row in self.truth.labels]
        return np.ldexp(paid, -2 * self.terms.exponent).tolist()

    @property
    def total(self) -> float:
        """About the sum of squares of all points around their mean."""
        centred, w = self.geometry.centred()[0], self.geometry.weights
        squares = np.square(centred - np.average(centred, axis=0, weights=w))
        return float((squares if w is None else w[:, None] * squares).sum())

    @property
    def unit(self) -> float:
        """A power of two about the size of a squared distance."""
        spread = self.total / self.instance.n_points
        return float(2.0 ** np.round(np.log2(spread))) if spread > 1e-200 else 1.0

    def labels_below(self, below: float) -> np.ndarray:
        """Labels (number, m) of the blocks in all clusterings that cost less."""
        costs = self.truth.exact_costs
        is_cheaper = [below == np.inf or cost < Fraction(below) for cost in costs]
        first = np.unique(self.blocks.block_of, return_index=True)[1]
        return self.truth.labels[is_cheaper][:, first]


@st.composite
def nodes(draw, *parts: str, feasible: bool = True, **more) -> CheckedNode:
    """Nodes that have a clustering, unless not `feasible`.

    parts, more : of `any_instance`
    """
    node = CheckedNode.of(draw(any_instance(*(parts or STATED), **more)))
    assume(node is not None)
    assume(node.truth.is_feasible or not feasible)
    return node


def zero_evidence(m: int, unit: float = 1.0) -> Semidefinite:
    return Semidefinite(unit, np.zeros(m * (m + 1) // 2), Cuts(), np.zeros(0))


def valid_cuts(rng: np.random.Generator, node: NodeFacts) -> Cuts:
    """Cuts of some forms, as far as they are valid for the node."""
    found = [Cuts()]
    for name in FORMS:
        cuts = drawn_cuts(rng, name, node)
        if rng.random() < 0.5 and _are_valid(cuts, node):
            found.append(cuts)
    return joined(*found)


def _are_valid(cuts: Cuts, node: NodeFacts) -> bool:
    try:
        cuts.sums(np.ones(len(cuts)), node)
    except Rejected:
        return False
    return True


def random_duals(rng: np.random.Generator, node: CheckedNode, spread: float) -> Semidefinite:
    """Dual values of about spread times a squared distance, in single or double precision."""
    m, adjacency = node.blocks.m, node.blocks.adjacency
    upper = np.triu_indices(m)
    N = rng.exponential(spread, len(upper[0])) * (rng.random(len(upper[0])) < rng.random())
    free = adjacency[upper]
    N[free] = rng.normal(size=free.sum()) * spread
    cuts = valid_cuts(rng, node.facts)
    t = rng.exponential(spread, len(cuts))
    dtype = rng.choice([np.float32, np.float64])
    return Semidefinite(node.unit, N.astype(dtype), cuts, t.astype(dtype))


def drawn_nodes(number: int, n: tuple[int, int] = (3, 6)) -> list[CheckedNode]:
    """Nodes with limits of every kind, weights, hard and soft pairs, that have a clustering."""
    parts, limits = ("equal points", "pairs", "weights", "soft pairs"), ("sizes", "weight limits")
    instances = (
        drawn_instance(Random(s), *parts, always=limits[s % 3 : s % 3 + 1], n=n, k=(1, 4))
        for s in range(number)
    )
    found = filter(None, map(CheckedNode.of, instances))
    return [node for node in found if node.truth.is_feasible]
