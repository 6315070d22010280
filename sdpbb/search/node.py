"""Nodes of the tree, and what comes of evaluating one."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import SafeBound

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Node:
    """A set of clusterings: those of the instance that keep further must-links and cannot-links.

    number : in order of creation, 0 for the root
    blocks : (n,) the parent's blocks, of which this node's are unions; None for the root
    must_link, cannot_link : the decisions on the way here, as pairs of points
    feasible : (n,) labels that keep the instance's constraints and the decisions, if known
    lower : proven for every clustering of the node; the parent's, until the node is evaluated
    warm_start : the bounding method's, from the parent
    """

    number: int = 0
    must_link: tuple[Pair, ...] = ()
    cannot_link: tuple[Pair, ...] = ()
    blocks: NDArray[np.intp] | None = None
    feasible: NDArray[np.intp] | None = None
    lower: SafeBound = field(default_factory=lambda: SafeBound(0.0))
    warm_start: Any = None


class NodeStatus(Enum):
    """What became of a node."""

    INFEASIBLE = "no clustering keeps its decisions"
    CLOSED = "its bound meets the incumbent"
    BRANCH = "it must be split"
    STOPPED = "the run was stopped while it was bounded"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What evaluating a node gave.

    lower : proven for every clustering of the node (its parent's at least)
    labels, cost, source : the best clustering of the points met, if it is better than the
        incumbent the evaluation was given
    pair, blocks, feasible, warm_start : for status BRANCH, the two points to branch on and what the
        children start from
    """

    status: NodeStatus
    lower: SafeBound
    labels: NDArray[np.intp] | None = None
    cost: float = np.inf
    source: str = ""
    pair: Pair | None = None
    blocks: NDArray[np.intp] | None = None
    feasible: NDArray[np.intp] | None = None
    warm_start: Any = None
    n_iterations: int = 0
    n_cuts: int = 0
