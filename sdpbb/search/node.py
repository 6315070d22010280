"""Nodes of the search tree: results of their evaluation, contractions, pairs to branch on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import ProvenBound
from sdpbb.problem import Contraction, Infeasibility, Instance, contract
from sdpbb.problem.coordinates import block_means, centred, held_apart
from sdpbb.problem.graph import by_first_occurrence
from sdpbb.runtime.archive import stored

Pair = tuple[int, int]

# A cluster across components that are this many lengths apart costs at least eight squared lengths.
APART = 4.0
# A soft pair is contested if the paid and the unpaid share of its weight are larger than this.
CONTESTED = 0.01


def _no_pairs() -> NDArray[np.intp]:
    return np.empty((0, 2), np.intp)


@stored
@dataclass(frozen=True, eq=False)
class Fixings:
    """Fixed cannot-links and components of a node.

    Every clustering of the node that costs less than `below` satisfies them.

    cannot_link : (p, 2) pairs of points that do not share a cluster
    components : (n,) the component of each point; every cluster is inside one. None: one component
    """

    cannot_link: NDArray[np.intp] = field(default_factory=_no_pairs)
    below: float = math.inf
    components: NDArray[np.intp] | None = None

    @property
    def n_components(self) -> int:
        return 1 if self.components is None else int(self.components.max()) + 1

    def __len__(self) -> int:
        """Return the number of pairs plus the number of components minus 1."""
        return len(self.cannot_link) + self.n_components - 1

    def __add__(self, other: Fixings) -> Fixings:
        return Fixings(
            np.concatenate([self.cannot_link, other.cannot_link]),
            min(self.below, other.below),
            _common_refinement(self.components, other.components),
        )


def _common_refinement(
    one: NDArray[np.intp] | None, other: NDArray[np.intp] | None
) -> NDArray[np.intp] | None:
    """Return the intersections (n,) of two partitions into components."""
    if one is None or other is None:
        return other if one is None else one
    return by_first_occurrence(one * (int(other.max()) + 1) + other)


@stored
@dataclass(frozen=True, eq=False)
class Node:
    """Node of the search tree.

    Its clusterings are the clusterings of the instance that satisfy its decisions.

    number : in order of creation, 0 for the root
    must_link, cannot_link : decisions, as pairs of points
    fixings : facts about better clusterings; no bound of this node or of its descendants is above
        fixings.below
    block_of : (n,) the blocks of an ancestor's bounding; the node's blocks are unions of them. None
        for the root
    known_labels : (n,) labels with k clusters that satisfy the must-links and cannot-links of an
        ancestor. They may violate decisions of the node, and constraints on clusters
    lower : proven for every clustering of the node; the parent's bound before the first evaluation
    warm_start : of the bounding method, from the parent
    bounding : run of the bounding method, from which the evaluation resumes; None before its start
    n_heuristics : heuristics run so far, including the heuristics before the bounding
    """

    number: int = 0
    must_link: tuple[Pair, ...] = ()
    cannot_link: tuple[Pair, ...] = ()
    fixings: Fixings = field(default_factory=Fixings)
    block_of: NDArray[np.intp] | None = None
    known_labels: NDArray[np.intp] | None = None
    lower: ProvenBound = field(default_factory=lambda: ProvenBound(0.0))
    warm_start: Any = None
    bounding: Any = None
    n_heuristics: int = 0

    def proven(self, bound: ProvenBound) -> ProvenBound:
        """Return the bound of the node that follows from a bound under its fixings."""
        return max(self.lower, min(bound.bare(), ProvenBound(self.fixings.below)))


class NodeStatus(Enum):
    """Status of a node after an evaluation."""

    INFEASIBLE = "no clustering satisfies its decisions"
    CLOSED = "its bound meets the incumbent"
    BRANCH = "it must be split"
    FIXED = "pairs were fixed; it must be bounded again"
    UNFINISHED = "its evaluation is paused"


@dataclass(frozen=True, eq=False)
class NodeResult:
    """Result of evaluating a node for a while.

    bound : proven for all clusterings that satisfy the node's decisions and fixings; with evidence
        in a certified run
    labels, cost, source : the best clustering found, if it is better than the incumbent before
    block_of : blocks that were bounded
    known_labels : labels that satisfy the node's must-links and cannot-links
    bounding, n_heuristics : for UNFINISHED, state to resume from (see `Node`)
    warm_start : for BRANCH and FIXED, for the children, or the node itself
    pair : for BRANCH, the points to branch on
    fixings : for BRANCH and FIXED, new fixings
    fixing_evidence : evidence of the fixings in a certified run
    n_iterations : of the bounding in this slice
    n_cuts : of the bounding now
    """

    status: NodeStatus
    bound: ProvenBound
    labels: NDArray[np.intp] | None = None
    cost: float = math.inf
    source: str = ""
    block_of: NDArray[np.intp] | None = None
    known_labels: NDArray[np.intp] | None = None
    bounding: Any = None
    n_heuristics: int = 0
    warm_start: Any = None
    pair: Pair | None = None
    fixings: Fixings = field(default_factory=Fixings)
    fixing_evidence: Any = None
    n_iterations: int = 0
    n_cuts: int = 0


def contractions_of(node: Node, instance: Instance) -> tuple[Contraction, Contraction] | None:
    """Return two contractions: by decisions, and by decisions and fixings. None: no clustering.

    Heuristics search the first; the second is bounded.

    The first has no fixings: many cannot-links make it hard to find clusterings, and no clustering
    may satisfy them. One more coordinate separates fixed components there, as heuristics know only
    distances.
    """
    bounded = bounded_contraction(node, instance)
    if bounded is None or not len(node.fixings):
        return None if bounded is None else (bounded, bounded)
    decided = contract(instance, node.must_link, node.cannot_link)
    if isinstance(decided, Infeasibility):
        return None
    if (components := node.fixings.components) is not None:
        decided = _in_components(decided, instance, components, math.sqrt(node.fixings.below))
    return decided, bounded


def _in_components(
    decided: Contraction, instance: Instance, components: NDArray[np.intp], length: float
) -> Contraction:
    """Return the contraction with each of the components (n,) around its own mean.

    A clustering that joins two components costs more than length^2. The contraction is unchanged if
    a block is across two components.
    """
    of_blocks = components[decided.representatives]
    if not np.array_equal(decided.lift(of_blocks), components):
        return decided
    points, weights = instance.scaled
    points = centred(points, components, weights)
    means = block_means(points, decided.block_of, decided.weights, weights)
    # Light blocks need larger distances to cost as much.
    away = APART * length / math.sqrt(min(1.0, float(decided.weights.min())))
    return replace(decided, means=held_apart(means, of_blocks, away))


def bounded_contraction(node: Node, instance: Instance) -> Contraction | None:
    """Return the contraction by decisions and fixings; None if there is no clustering."""
    fixed = node.fixings
    if fixed.n_components > instance.k:
        return None
    cannot_link = np.concatenate([_array(node.cannot_link), fixed.cannot_link])
    bounded = contract(instance, node.must_link, cannot_link, node.block_of, fixed.components)
    return None if isinstance(bounded, Infeasibility) else bounded


def known_labels(node: Node, contraction: Contraction) -> NDArray[np.intp] | None:
    """Return the labels of the blocks that the node knows.

    None: there are no labels, or they violate a cannot-link or a limit on sizes.
    """
    if node.known_labels is None:
        return None
    labels = labels_of_blocks(node.known_labels, contraction)
    i, j = contraction.cannot_link.T
    if labels is None or (labels[i] == labels[j]).any():
        return None
    return labels if contraction.keeps_sizes(labels) else None


def labels_of_blocks(labels: NDArray[np.intp], contraction: Contraction) -> NDArray[np.intp] | None:
    """Return labels of the points as labels of the blocks; None if they split one."""
    of_blocks = labels[contraction.representatives]
    return of_blocks if np.array_equal(contraction.lift(of_blocks), labels) else None


def only_clustering(
    contraction: Contraction, feasible: NDArray[np.intp] | None
) -> NDArray[np.intp] | None:
    """Return labels of the blocks if all clusterings cost the same, or None.

    Either there are k blocks. Or all blocks have the same mean and there are no soft pairs; then
    `feasible` is returned.
    """
    if contraction.n_blocks == contraction.k:
        return np.arange(contraction.k)
    return None if contraction.means.any() or contraction.soft else feasible


def branching_pair(contraction: Contraction, Z: NDArray[np.float64]) -> Pair | None:
    """Return the pair to branch on: the most contested soft pair, or else the most undecided pair.

    None if all blocks are cannot-linked.
    """
    contested = most_contested_pair(contraction, Z)
    return most_undecided_pair(contraction, Z) if contested is None else contested


def most_contested_pair(contraction: Contraction, Z: NDArray[np.float64]) -> Pair | None:
    """Return two points of the soft pair with the largest |w| min(x, 1 - x), the first of equals.

    x in [0, 1] is the share of its weight w that Z pays, 0 or 1 in a clustering (see
    `sdpbb.bounds.sdp.cuts.soft_pairs`). One child satisfies the pair, the other violates it; one of
    them is often closed soon. None if no soft pair has CONTESTED < x < 1 - CONTESTED.
    """
    soft = contraction.soft
    if not soft:
        return None
    x = _paid(contraction, Z)
    doubt = np.minimum(x, 1.0 - x)
    score = np.where(doubt > CONTESTED, np.abs(soft.weights) * doubt, 0.0)
    best = int(np.argmax(score))
    if not score[best] > 0.0:
        return None
    i, j = contraction.representatives[soft.pairs[best]].tolist()
    return int(i), int(j)


def _paid(contraction: Contraction, Z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of the weight of each soft pair (q,) that Z pays."""
    e, diagonal = contraction.weights, np.diag(Z)
    x = np.empty(len(contraction.soft))
    for place, (i, j) in enumerate(contraction.soft.pairs):
        if contraction.soft.weights[place] > 0.0:
            x[place] = e @ np.maximum(Z[i] + Z[j] - diagonal, 0.0)
        else:
            x[place] = 0.5 * (e @ np.abs(Z[i] - Z[j]))
    return x


def most_undecided_pair(contraction: Contraction, Z: NDArray[np.float64]) -> Pair | None:
    """Return the pair to branch on: two points, or None if all blocks are cannot-linked.

    They represent the two blocks with the largest min(Z_ij, ||Z_i - Z_j||^2), the first of equals.

    In a clustering matrix one of the two terms is zero for every pair. The norm is over points, so
    block h counts size_h times. If the solution of the relaxation is a clustering up to rounding,
    the pair is still a valid choice: unless the node has only one clustering, it has blocks that
    are neither merged nor cannot-linked.

    Source: PC-SOS-SDP, section 3.1.
    """
    gram = (Z * contraction.weights) @ Z.T
    squares = np.diag(gram)
    distance = np.maximum(squares[:, None] + squares - 2.0 * gram, 0.0)
    score = np.minimum(np.maximum(Z, 0.0), distance)
    i, j = np.nonzero(np.triu(~contraction.adjacency, 1))
    if not len(i):
        return None
    best = np.argmax(score[i, j])
    first = contraction.representatives
    return int(first[i[best]]), int(first[j[best]])


def _array(pairs: tuple[Pair, ...]) -> NDArray[np.intp]:
    return np.array(pairs, np.intp).reshape(-1, 2)
