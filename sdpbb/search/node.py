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

# Clusters across components that are this many lengths apart cost at least eight squared lengths.
APART = 4.0
# A soft pair is contested where more than this part of its weight is paid, and more is not.
CONTESTED = 0.01


def _no_pairs() -> NDArray[np.intp]:
    return np.empty((0, 2), np.intp)


@stored
@dataclass(frozen=True, eq=False)
class Fixings:
    """Fixed cannot-links and components of a node.

    They hold in every clustering of the node that costs less than `below`.

    cannot_link : (p, 2) pairs of points that do not share a cluster
    components : (n,) the component of each point, where every cluster is inside of one; None for a
        single component
    """

    cannot_link: NDArray[np.intp] = field(default_factory=_no_pairs)
    below: float = math.inf
    components: NDArray[np.intp] | None = None

    @property
    def n_components(self) -> int:
        return 1 if self.components is None else int(self.components.max()) + 1

    def __len__(self) -> int:
        """Return the number of pairs, and of components but the first."""
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
    """Return the components (n,) of which each is in one component of both."""
    if one is None or other is None:
        return other if one is None else one
    return by_first_occurrence(one * (int(other.max()) + 1) + other)


@stored
@dataclass(frozen=True, eq=False)
class Node:
    """Node of the search tree.

    It holds the clusterings of the instance that keep further must-links and cannot-links.

    number : in order of creation, 0 for the root
    must_link, cannot_link : the decisions on the way here, as pairs of points
    fixings : facts about the clusterings worth looking for; no bound of this node or of its
        descendants proves more than fixings.below
    block_of : (n,) the blocks of an ancestor's bounding, of which this node's are unions; None for
        the root
    known_labels : (n,) labels with k clusters that keep the must-links and cannot-links of an
        ancestor. They may violate decisions of the node, and constraints on clusters
    lower : proven for every clustering of the node; the parent's, until the node is evaluated
    warm_start : the bounding method's, from the parent
    bounding : the bounding method's run, from which the evaluation resumes; None before it begins
    n_heuristics : heuristics run so far, the one before the bounding included
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
        """Return the bound of the node that follows from a bound with its decisions and fixings.

        The bound given is one of the clusterings that keep them.
        """
        return max(self.lower, min(bound.bare(), ProvenBound(self.fixings.below)))


class NodeStatus(Enum):
    """Status of a node after an evaluation."""

    INFEASIBLE = "no clustering satisfies its decisions"
    CLOSED = "its bound meets the incumbent"
    BRANCH = "it must be split"
    FIXED = "pairs were fixed; with them it is worth bounding again"
    UNFINISHED = "its evaluation was left to be continued"


@dataclass(frozen=True, eq=False)
class NodeResult:
    """Result of evaluating a node for a while.

    bound : proven for all clusterings that keep the node's decisions and fixings, with its evidence
        if that is kept
    labels, cost, source : the best clustering of the points met, if it is better than the
        incumbent the evaluation was given
    block_of, known_labels : the blocks that were bounded, and labels that keep the node's
        must-links and cannot-links, where known
    bounding, n_heuristics : for UNFINISHED, from which the evaluation resumes (see `Node`)
    warm_start : for BRANCH and FIXED, for the children, or the node itself
    pair : for BRANCH, the points to branch on
    fixings : for BRANCH and FIXED, what was fixed besides what was before
    fixing_evidence : for the fixings, if it is kept
    n_iterations, n_cuts : of the bounding, since the evaluation was begun or continued; now
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
    """Return the contraction by a node's decisions, and that by its fixings too, or None.

    Clusterings are looked for in the first; the second is bounded. None if there is no clustering.

    The first does without fixings: these make enough cannot-links that finding clusterings becomes
    hard, and there may be none that keeps them. Components that are fixed are held apart by one
    more coordinate there, as heuristics go by distances.
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

    They are so far apart that a clustering which joins two costs more than length^2. Unchanged
    where a block is across two.
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
    """Return the second of `contractions_of`; None if there is no clustering."""
    fixed = node.fixings
    if fixed.n_components > instance.k:
        return None
    cannot_link = np.concatenate([_array(node.cannot_link), fixed.cannot_link])
    bounded = contract(instance, node.must_link, cannot_link, node.block_of, fixed.components)
    return None if isinstance(bounded, Infeasibility) else bounded


def known_labels(node: Node, contraction: Contraction) -> NDArray[np.intp] | None:
    """Return the labels of the blocks that the node knows.

    None if there are none, or if they violate a cannot-link or a limit on sizes.
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
    """Return labels of the blocks where all clusterings cost the same.

    There is one block per cluster (k = 1 included), or the blocks all have the same mean and no
    soft pairs, for which labels must be known. None if costs may differ, or no labels are known.
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

    x in [0, 1] is the part of its weight w that Z pays, which is 0 or 1 in a clustering (see
    `sdpbb.bounds.sdp.cuts.soft_pairs`). One of the two children, in which the pair is kept or
    violated for good, is often closed soon. None if no soft pair has CONTESTED < x < 1 - CONTESTED.
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
    """Return the part of the weight of each soft pair (q,) that Z pays."""
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

    In a clustering matrix one of the two is zero for every pair. The norm is that of the rows over
    points, so block h counts size_h times. Where the relaxation's solution is a clustering up to
    rounding, the pair with the largest minimum is still a valid choice: blocks that are not
    cannot-linked and not merged are always left, or the node has only one clustering.

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
