"""Nodes of the search tree, and results of their evaluation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import ProvenBound
from sdpbb.problem.graph import by_first_occurrence
from sdpbb.runtime.archive import stored

Pair = tuple[int, int]


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
        ancestor. They may violate those of the node, and constraints on clusters
    lower : proven for every clustering of the node; the parent's, until the node is evaluated
    warm_start : the bounding method's, from the parent
    state : from which the node's evaluation goes on, or None if it has not begun
    """

    number: int = 0
    must_link: tuple[Pair, ...] = ()
    cannot_link: tuple[Pair, ...] = ()
    fixings: Fixings = field(default_factory=Fixings)
    block_of: NDArray[np.intp] | None = None
    known_labels: NDArray[np.intp] | None = None
    lower: ProvenBound = field(default_factory=lambda: ProvenBound(0.0))
    warm_start: Any = None
    state: EvaluationState | None = None

    def proven(self, bound: ProvenBound) -> ProvenBound:
        """Return the bound of the node that follows from a bound with its decisions and fixings.

        The bound given is one of the clusterings that keep them.
        """
        return max(self.lower, min(bound.bare(), ProvenBound(self.fixings.below)))


@stored
@dataclass(frozen=True, eq=False)
class EvaluationState:
    """State of a node's evaluation, from which it goes on as if it had not been left.

    bounding : the bounding method's run, or None before its first iteration
    n_heuristics : heuristics run so far, the one before the bounding included
    """

    bounding: Any = None
    n_heuristics: int = 0


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
    state : for UNFINISHED, from which the evaluation goes on
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
    state: EvaluationState | None = None
    warm_start: Any = None
    pair: Pair | None = None
    fixings: Fixings = field(default_factory=Fixings)
    fixing_evidence: Any = None
    n_iterations: int = 0
    n_cuts: int = 0
