"""Subsets of the blocks: their tree and what is proven, their instances and their bounding."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heuristics.parameters import HeuristicSchedule, MultiStartParameters
from sdpbb.bounds.bound import BoundingMethod
from sdpbb.problem import Contraction, Instance, Partition, SoftPairs
from sdpbb.problem.checker_rules import stated_instance
from sdpbb.problem.graph import connected_components
from sdpbb.run.certificates.proof import Proof, SubsetProof
from sdpbb.runtime.archive import stored
from sdpbb.search.evaluate import EvaluationContext, evaluate
from sdpbb.search.events import NodeEnd
from sdpbb.search.limits import Budget
from sdpbb.search.node import Node
from sdpbb.search.result import Statistics
from sdpbb.search.tree import Tolerances, Tree

# Accuracy of the bound of a subset, as a share of the loss of the decomposition itself: larger
# subsets, which lose less, come next.
ACCURACY = 0.5
# The relative gap of a subset is at most this, and at least this share of the gap of the run.
LARGEST_GAP, LEAST_GAP = 5e-2, 0.25
# A subset has the restriction of a good clustering to begin with. A descent from it comes first,
# and a little more where the first bound, from the clustering's dual values, does not do.
HEURISTIC_ITERATIONS = (1,)
FROM_KNOWN = MultiStartParameters(n_starts=0, n_relocations=0, swap_effort=0.0)
LITTLE = MultiStartParameters(n_starts=4, n_relocations=5, swap_effort=0.5)


@stored
@dataclass(frozen=True, eq=False)
class SubsetTree:
    """Binary tree of subsets: the blocks in an order in which each subset is a range.

    Subset 1 has all blocks, and the halves of subset s are the subsets 2 s and 2 s + 1.
    The subsets of one level, 2**level <= s < 2**(level + 1), are a partition of the blocks.

    order : (m,) the blocks
    bounds : (2**depth + 1,) where the smallest subsets begin and end in it
    """

    order: NDArray[np.intp]
    bounds: NDArray[np.intp]

    @property
    def depth(self) -> int:
        return (len(self.bounds) - 1).bit_length() - 1

    def blocks(self, subset: int) -> NDArray[np.intp]:
        """Return the blocks of a subset, in increasing order."""
        level = level_of(subset)
        width = 1 << (self.depth - level)
        first = (subset - (1 << level)) * width
        begin, end = self.bounds[[first, first + width]]
        return np.sort(self.order[begin:end])

    def subset_of(self, level: int) -> NDArray[np.intp]:
        """Return the subset (m,) of each block, of a level."""
        found = np.empty(len(self.order), dtype=np.intp)
        found[self.order] = np.repeat(np.arange(1 << level, 2 << level), self.n_blocks(level))
        return found

    def n_blocks(self, level: int) -> NDArray[np.intp]:
        """Return the number of blocks of each subset of a level."""
        return np.diff(self.bounds[:: 1 << (self.depth - level)])


def level_of(subset: int) -> int:
    """Return the level of a subset: 0 of that with all blocks."""
    return subset.bit_length() - 1


def subsets_at(level: int) -> range:
    """Return the subsets of a level."""
    return range(1 << level, 2 << level)


@stored
@dataclass(eq=False)
class SubsetBounds:
    """Proven bounds of subsets. The bound of the whole is the best sum that a partition has.

    tree : of the subsets, by whose numbers the arrays go; those have 2**(depth + 1) entries
    level : of the subsets that are bounded now
    proven : bound of each subset by itself, 0 before it has one
    seconds : that each subset has taken
    is_done : whether the subset is done with
    proofs : of subsets by their numbers, as text, as far as the best sum needs them; None if the
        run is not certified
    """

    tree: SubsetTree
    level: int
    proven: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    seconds: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    is_done: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=bool))
    proofs: dict[str, SubsetProof] | None = None

    def __post_init__(self) -> None:
        if not len(self.proven):
            n = 2 << self.tree.depth
            self.proven, self.seconds = np.zeros(n), np.zeros(n)
            self.is_done = np.zeros(n, dtype=bool)

    @property
    def is_infeasible(self) -> bool:
        """True if a subset has no clustering, so that there is none at all."""
        return bool(np.isinf(self.proven).any())

    def of_each(self) -> NDArray[np.float64]:
        """Return the bound of each subset: its own, or the sum of its halves'; about."""
        bounds = self.proven.copy()
        for level in reversed(range(self.tree.depth)):
            at = slice(1 << level, 2 << level)
            halves = bounds[2 << level : 4 << level]
            bounds[at] = np.maximum(bounds[at], halves[::2] + halves[1::2])
        return bounds

    def total(self) -> float:
        """Return the bound of the whole, rounded down."""
        terms = self.proven[self.best_partition()].tolist()
        # The sum is rounded once, to the nearest.
        return max(math.nextafter(math.fsum(terms), -math.inf), 0.0)

    def best_partition(self) -> list[int]:
        """Return the subsets whose own bounds have the best sum."""
        of_each, found, subsets = self.of_each(), [], [1]
        while subsets:
            subset = subsets.pop()
            if self.proven[subset] >= of_each[subset]:
                found.append(subset)
            else:
                subsets += [2 * subset, 2 * subset + 1]
        return found

    def raise_to(self, subset: int, bound: float, proof: SubsetProof | None = None) -> None:
        """Take a bound of a subset if it is better, and the proof of it in a certified run."""
        if bound <= self.proven[subset]:
            return
        self.proven[subset] = bound
        if self.proofs is None:
            return
        assert proof is not None
        self.proofs[str(subset)] = proof
        needed = self.best_partition()
        self.proofs = {str(s): self.proofs[str(s)] for s in needed if str(s) in self.proofs}

    def best_proofs(self) -> list[SubsetProof] | None:
        """Return the proofs of the best sum, or of a subset that has no clustering.

        None if the run is not certified.
        """
        if self.proofs is None:
            return None
        empty = np.flatnonzero(np.isinf(self.proven)).tolist()
        subsets = empty[:1] or [s for s in self.best_partition() if self.proven[s] > 0.0]
        return [self.proofs[str(subset)] for subset in subsets]

    def todo(self, level: int) -> list[int]:
        """Return the subsets of a level that are not done with."""
        return [subset for subset in subsets_at(level) if not self.is_done[subset]]

    def mean_seconds(self, level: int) -> float:
        """Return the mean time that the subsets of a level have taken which are done; else NaN."""
        at = slice(1 << level, 2 << level)
        done = self.seconds[at][self.is_done[at]]
        return float(done.mean()) if len(done) else math.nan


def restricted_costs(
    contraction: Contraction, labels: NDArray[np.intp], subset_of: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the costs of the restrictions of a clustering to the subsets of a level; about.

    They stand at the numbers of the subsets.

    labels, subset_of : (m,) of the blocks
    """
    k, n = int(labels.max()) + 1, 1 << int(subset_of.max()).bit_length()
    part, weights, means = subset_of * k + labels, contraction.weights, contraction.means
    weight = np.bincount(part, weights, n * k)
    sums = np.array([np.bincount(part, weights * column, n * k) for column in means.T])
    squares = contraction.scatter + weights * (means**2).sum(axis=1)
    of_means = (sums**2).sum(axis=0) / np.where(weight > 0.0, weight, 1.0)
    return np.asarray(np.bincount(subset_of, squares, n) - of_means.reshape(n, k).sum(axis=1))


def rows_of(contraction: Contraction, blocks: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the points of some blocks, in increasing order."""
    chosen = np.zeros(contraction.n_blocks, dtype=bool)
    chosen[blocks] = True
    return np.flatnonzero(chosen[contraction.block_of])


def restricted(whole: Instance, rows: NDArray[np.intp]) -> Instance:
    """Return the restriction of an instance to points, with what is stated of them alone.

    It is what a checker sees, who knows nothing of what follows from the constraints of others.
    Whatever clustering keeps the constraints of the instance, its restriction to a subset keeps
    those of the subset's instance, but that it may have fewer than k clusters. Minimum sizes,
    listed sizes and limits on weights are dropped.

    For the soft pairs inside of subsets it pays no more than for all. It may have to be divided
    into k clusters, which costs nothing: where must-links, soft ones included, leave fewer than k
    components of a subset's points, its soft must-links are dropped; else some cluster has points
    of several components as long as there are fewer than k clusters.

    rows : (s,) of the points, k or more, in increasing order
    """
    place = np.full(whole.n_points, -1, dtype=np.intp)
    place[rows] = np.arange(len(rows))
    must_link, cannot_link = (_inside(p, place)[0] for p in (whole.must_link, whole.cannot_link))
    pairs, is_inside = _inside(whole.soft_must_link.pairs, place)
    linked = np.concatenate([must_link, pairs])
    if len(pairs) and int(connected_components(len(rows), linked).max()) + 1 < whole.k:
        pairs, is_inside = pairs[:0], np.zeros_like(is_inside)
    apart, are_inside = _inside(whole.soft_cannot_link.pairs, place)
    each = (constraint.restricted(place) for constraint in whole.cluster_constraints)
    limits = whole.size_limits
    return Instance(
        whole.points[rows],
        whole.k,
        must_link=must_link,
        cannot_link=cannot_link,
        cluster_constraints=[constraint for constraint in each if constraint is not None],
        weights=None if whole.weights is None else whole.weights[rows],
        # A cluster may have few points in a subset, or none, but not more than in all.
        max_size=None if limits is None else limits.most,
        soft_must_link=SoftPairs(pairs, whole.soft_must_link.weights[is_inside]),
        soft_cannot_link=SoftPairs(apart, whole.soft_cannot_link.weights[are_inside]),
    )


def _inside(
    pairs: NDArray[np.intp], place: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the pairs (p, 2) among some points, by their places there, and which pairs these are.

    place : (n,) of the points, -1 of the others
    """
    found = place[pairs]
    is_inside = np.asarray((found >= 0).all(axis=1))
    return found[is_inside], is_inside


@dataclass(frozen=True, eq=False)
class Subset:
    """Subset as a search of one node, as far as it has come.

    number : of the subset in the tree of subsets
    context : of the evaluation of the node, whose tolerance depends on the best clustering
    given : cost of the restriction of the best clustering of the whole, inf for none
    loss : share of its cost that this clustering loses when it is restricted to the subsets
    gap : of the run
    tree : of the node, with the statistics of the last slice
    proof : of what is proven of the subset, if the run is certified
    seconds : that its slices have taken until the present one, which began at `began`
    """

    number: int
    context: EvaluationContext
    given: float
    loss: float
    gap: float
    tree: Tree
    proof: SubsetProof | None = None
    seconds: float = 0.0
    began: float = 0.0

    @classmethod
    def of(
        cls,
        number: int,
        instance: Instance,
        labels: NDArray[np.intp] | None,
        bounding: BoundingMethod[Any],
        loss: float,
        whole: EvaluationContext,
        proof: SubsetProof | None = None,
    ) -> Subset:
        """Return a subset before the first slice.

        instance : of the subset
        labels : (n,) of its points, of a clustering into k clusters or fewer; None if none is known
        whole : context of the root
        proof : to begin with, if its bound is to be certified
        """
        if proof is not None:
            from sdpbb.bounds.certified import CertifiedBounding

            bounding = CertifiedBounding(bounding, stated_instance(instance))
        given, node = math.inf, Node()
        if labels is not None:
            numbered = np.unique(labels, return_inverse=True)[1]
            # What keeps the constraints but has fewer clusters costs no less than the optimum.
            given = Partition(numbered).cost(instance)
            has_all = int(numbered.max()) + 1 == instance.k
            node = Node(known_labels=numbered if has_all else None)
        context = replace(
            whole,
            instance=instance,
            bounding=bounding,
            heuristic=HeuristicSchedule(FROM_KNOWN, LITTLE, LITTLE),
            fixing=False,
            is_without_bound=False,
            heuristic_iterations=HEURISTIC_ITERATIONS,
        )
        tree = Tree(node, whole.tolerances)
        subset = cls(number, context, given, loss, whole.tolerances.gap, tree, proof)
        tree.upper, tree.tolerances = given, subset.tolerances(given)
        return subset

    @property
    def lower(self) -> float:
        """Bound proven for the subset; inf if no clustering keeps its constraints."""
        return self.tree.bound_of_nodes if self.proof is None else self.proof.proof.lower

    def tolerances(self, upper: float) -> Tolerances:
        """Return how near it is bounded if the best clustering known of it costs so much.

        That is a part of what the subset loses anyway: `loss`, and what its own clustering saves.
        """
        saved = 1.0 - upper / self.given if 0.0 < self.given < math.inf else 0.0
        gap = max(ACCURACY * (self.loss + saved), LEAST_GAP * self.gap)
        return Tolerances(min(gap, LARGEST_GAP))


def bound_subset(subset: Subset, budget: Budget) -> Subset:
    """Bound a subset for a slice of time.

    It begins with a clustering of its own: how much that saves says how near to bound it, and each
    better one says so anew.
    """
    budget, tree, proof = budget.begin(), subset.tree, subset.proof
    tree.statistics = Statistics()
    if proof is not None:  # others may hold the one that is given
        (known,) = proof.proof.nodes
        proof = replace(proof, proof=Proof([replace(known, steps=list(known.steps))]))
    while (node := tree.select()) is not None:
        context = replace(subset.context, tolerances=tree.tolerances)
        left = replace(budget.left(), bounds=node.n_heuristics > 0)
        result = evaluate(node, tree.upper, context, left)
        if proof is not None:
            proof.proof.nodes[0].record(result)
        tree.tolerances = subset.tolerances(min(tree.upper, result.cost))
        if tree.apply(0, result) is not None:
            tree.abandon(0, NodeEnd.UNPROVEN)  # a larger subset tells more than its two children
        if budget.is_over():
            break
    return replace(subset, proof=proof)
