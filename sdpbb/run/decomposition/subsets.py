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
from sdpbb.run.certificates.recorded import Proof, SubsetProof
from sdpbb.runtime.archive import stored
from sdpbb.search.clocks import Budget
from sdpbb.search.evaluate import EvaluationContext, evaluate
from sdpbb.search.events import NodeEnd
from sdpbb.search.node import Node
from sdpbb.search.result import Statistics
from sdpbb.search.tree import Tolerances, Tree

# Accuracy of the bound of a subset, as a share of the loss of the decomposition itself. The next,
# larger subsets lose less.
ACCURACY = 0.5
# The relative gap of a subset is at most this, and at least this share of the gap of the run.
LARGEST_GAP, LEAST_GAP = 5e-2, 0.25
# A subset starts with the restriction of a good clustering, and a descent from it. Further
# heuristics run only if the first bound, from its dual values, does not close the subset.
HEURISTIC_ITERATIONS = (1,)
FROM_KNOWN = MultiStartParameters(n_starts=0, n_relocations=0, swap_effort=0.0)
LITTLE = MultiStartParameters(n_starts=4, n_relocations=5, swap_effort=0.5)


@stored
@dataclass(frozen=True, eq=False)
class SubsetTree:
    """Binary tree of subsets. In the order of the tree, each subset is a range of blocks.

    Subset 1 has all blocks, and the halves of subset s are the subsets 2 s and 2 s + 1.
    The subsets of one level, 2**level <= s < 2**(level + 1), are a partition of the blocks.

    order : (m,) the blocks
    bounds : (2**depth + 1,) positions in the order between which the smallest subsets lie
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
        """Return the subset of a level that each block (m,) is in."""
        found = np.empty(len(self.order), dtype=np.intp)
        found[self.order] = np.repeat(np.arange(1 << level, 2 << level), self.n_blocks(level))
        return found

    def n_blocks(self, level: int) -> NDArray[np.intp]:
        """Return the number of blocks of each subset of a level."""
        return np.diff(self.bounds[:: 1 << (self.depth - level)])


def level_of(subset: int) -> int:
    """Return the level of a subset; subset 1, with all blocks, is at level 0."""
    return subset.bit_length() - 1


def subsets_at(level: int) -> range:
    """Return the subsets of a level."""
    return range(1 << level, 2 << level)


@stored
@dataclass(eq=False)
class SubsetBounds:
    """Proven bounds of subsets. The bound of the whole is the largest sum over a partition.

    Arrays have 2**(depth + 1) entries, in the order of the numbers of subsets.

    tree : of the subsets
    level : of the subsets that are bounded now
    proven : bound of each subset itself, 0 before it is bounded
    seconds : time of each subset
    is_done : whether the bounding of each subset has ended
    proofs : by the numbers of subsets, as text, for the largest sum; None: the run is not certified
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
        """True if a subset has no clustering; then the whole has none."""
        return bool(np.isinf(self.proven).any())

    def of_each(self) -> NDArray[np.float64]:
        """Return the larger of each subset's own bound and the sum of its halves'; rounded."""
        bounds = self.proven.copy()
        for level in reversed(range(self.tree.depth)):
            at = slice(1 << level, 2 << level)
            halves = bounds[2 << level : 4 << level]
            bounds[at] = np.maximum(bounds[at], halves[::2] + halves[1::2])
        return bounds

    def total(self) -> float:
        """Return the bound of the whole, rounded down."""
        terms = self.proven[self.best_partition()].tolist()
        # fsum rounds once, to the nearest number.
        return max(math.nextafter(math.fsum(terms), -math.inf), 0.0)

    def best_partition(self) -> list[int]:
        """Return the subsets of the partition with the largest sum of bounds."""
        of_each, found, subsets = self.of_each(), [], [1]
        while subsets:
            subset = subsets.pop()
            if self.proven[subset] >= of_each[subset]:
                found.append(subset)
            else:
                subsets += [2 * subset, 2 * subset + 1]
        return found

    def raise_to(self, subset: int, bound: float, proof: SubsetProof | None = None) -> None:
        """Raise the bound of a subset if `bound` is higher; certified runs keep its proof."""
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
        """Return the proofs of the largest sum, or the proof that a subset has no clustering.

        None: the run is not certified.
        """
        if self.proofs is None:
            return None
        empty = np.flatnonzero(np.isinf(self.proven)).tolist()
        subsets = empty[:1] or [s for s in self.best_partition() if self.proven[s] > 0.0]
        return [self.proofs[str(subset)] for subset in subsets]

    def todo(self, level: int) -> list[int]:
        """Return the subsets of a level whose bounding has not ended."""
        return [subset for subset in subsets_at(level) if not self.is_done[subset]]

    def mean_seconds(self, level: int) -> float:
        """Return the mean time of the finished subsets of a level; NaN: there is none."""
        at = slice(1 << level, 2 << level)
        done = self.seconds[at][self.is_done[at]]
        return float(done.mean()) if len(done) else math.nan


def restricted_costs(
    contraction: Contraction, labels: NDArray[np.intp], subset_of: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the costs of the restrictions of a clustering to the subsets of a level, rounded.

    They are in the order of the numbers of subsets.

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
    """Return the points of some blocks, increasing."""
    chosen = np.zeros(contraction.n_blocks, dtype=bool)
    chosen[blocks] = True
    return np.flatnonzero(chosen[contraction.block_of])


def restricted(whole: Instance, rows: NDArray[np.intp]) -> Instance:
    """Return the restriction of an instance to points, with the constraints among them.

    The checker does the same, so constraints that follow from other points are not added. The
    restriction of a feasible clustering satisfies these constraints, but may have fewer than k
    clusters. Minimum sizes, listed sizes and limits on weights are dropped.

    The restriction pays for the soft pairs inside subsets only. If it has fewer than k clusters,
    splitting one must not add cost. So soft must-links are dropped if must-links, soft ones
    included, leave fewer than k components of the points. Otherwise, while there are fewer than k
    clusters, some cluster has several components, and can be split between them.

    rows : (s,) the points, k or more, increasing
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
        # A cluster has at most as many points in a subset as in the whole.
        max_size=None if limits is None else limits.most,
        soft_must_link=SoftPairs(pairs, whole.soft_must_link.weights[is_inside]),
        soft_cannot_link=SoftPairs(apart, whole.soft_cannot_link.weights[are_inside]),
    )


def _inside(
    pairs: NDArray[np.intp], place: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the pairs (p, 2) inside a subset, by their places there, and a mask of these pairs.

    place : (n,) of each point in the subset; -1: outside
    """
    found = place[pairs]
    is_inside = np.asarray((found >= 0).all(axis=1))
    return found[is_inside], is_inside


@dataclass(frozen=True, eq=False)
class Subset:
    """Search of one node that bounds a subset, between two slices.

    number : of the subset in the tree of subsets
    context : of the evaluation of the node, whose tolerance depends on the best clustering
    restricted_cost : cost of the restriction of the best clustering of the whole; inf: none known
    lost_share : share of its cost that this clustering loses by the restriction to subsets
    run_gap : requested gap of the run
    tree : of the node, with the statistics of the last slice
    proof : of the bound of the subset; None: the run is not certified
    seconds : of all slices before the present one
    began : seconds of the run at the start of the present slice
    """

    number: int
    context: EvaluationContext
    restricted_cost: float
    lost_share: float
    run_gap: float
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
        lost_share: float,
        whole: EvaluationContext,
        proof: SubsetProof | None = None,
    ) -> Subset:
        """Return a subset before the first slice.

        instance : of the subset
        labels : (n,) of its points, a clustering into at most k clusters; None: none is known
        whole : context of the root
        proof : empty proof to record the bound in; None: the run is not certified
        """
        if proof is not None:
            from sdpbb.bounds.certified import CertifiedBounding

            bounding = CertifiedBounding(bounding, stated_instance(instance))
        cost, node = math.inf, Node()
        if labels is not None:
            numbered = np.unique(labels, return_inverse=True)[1]
            # Fewer than k clusters cost at least the optimum, too.
            cost = Partition(numbered).cost(instance)
            has_all = int(numbered.max()) + 1 == instance.k
            node = Node(known_labels=numbered if has_all else None)
        before = LITTLE if instance.limits else FROM_KNOWN
        context = replace(
            whole,
            instance=instance,
            bounding=bounding,
            heuristic=HeuristicSchedule(before, LITTLE, LITTLE),
            fixing=False,
            may_bound=True,
            heuristic_iterations=HEURISTIC_ITERATIONS,
        )
        tree = Tree(node, whole.tolerances)
        subset = cls(number, context, cost, lost_share, whole.tolerances.gap, tree, proof)
        tree.upper, tree.tolerances = cost, subset.tolerances(cost)
        return subset

    @property
    def lower(self) -> float:
        """Proven bound of the subset; inf if no clustering satisfies its constraints."""
        return self.tree.bound_of_nodes if self.proof is None else self.proof.proof.lower

    def tolerances(self, upper: float) -> Tolerances:
        """Return the tolerances if the best known clustering of the subset costs `upper`.

        The gap is a share of what the subset loses anyway: `lost_share`, and the savings of its own
        clustering.
        """
        saved = 1.0 - upper / self.restricted_cost if 0.0 < self.restricted_cost < math.inf else 0.0
        gap = max(ACCURACY * (self.lost_share + saved), LEAST_GAP * self.run_gap)
        return Tolerances(min(gap, LARGEST_GAP))


def bound_subset(subset: Subset, budget: Budget) -> Subset:
    """Bound a subset for a slice of time.

    The tolerance depends on the savings of the subset's own clustering. Heuristics run first, and
    each better clustering updates the tolerance.
    """
    budget, tree, proof = budget.begin(), subset.tree, subset.proof
    tree.statistics = Statistics()
    if proof is not None:  # copy it: the caller may keep the subset of the last slice
        (known,) = proof.proof.nodes
        proof = replace(proof, proof=Proof([replace(known, steps=list(known.steps))]))
    while (node := tree.select()) is not None:
        context = replace(subset.context, tolerances=tree.tolerances)
        left = replace(budget.left(), may_bound=node.n_heuristics > 0)
        result = evaluate(node, tree.upper, context, left)
        if proof is not None:
            proof.proof.nodes[0].record(result)
        tree.tolerances = subset.tolerances(min(tree.upper, result.cost))
        if tree.apply(0, result) is not None:
            tree.abandon(0, NodeEnd.UNPROVEN)  # a larger subset proves more than two children
        if budget.has_used_slice:
            break
    return replace(subset, proof=proof)
