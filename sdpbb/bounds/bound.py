"""Interface of bounds: proven bounds, runs on one node, and methods that start runs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.distance import components_apart
from sdpbb.checker.kernel.cuts import FORMS, Cuts
from sdpbb.checker.kernel.dual import Semidefinite
from sdpbb.checker.partitions import Enumerated
from sdpbb.checker.pricing import Lagrangian
from sdpbb.problem import Contraction, Instance, Partition
from sdpbb.runtime.archive import stored
from sdpbb.runtime.time_left import TimeLeft, no_limit

EPS = float(np.finfo(np.float64).eps)

# Archives hold evidence. The checker imports nothing else of this package, so it cannot register
# its own types.
for _evidence in (Semidefinite, Lagrangian, Enumerated, Cuts, *FORMS):
    stored(_evidence)


@stored
@dataclass(frozen=True, order=True)
class ProvenBound:
    """Number proven to be at most the sum of squares of every clustering of a node.

    Only code with such a proof makes one: the evaluation of a dual function
    (`sdpbb.bounds.sdp.safe_bound`, `sdpbb.bounds.lagrangian.duals`), the partitioning of a
    node's enumerated clusters, a parent's bound, the cost of a node's only clustering, the scatter
    inside blocks, or zero. inf: the node has no clustering. An objective value reported by a solver
    is a float, and floats cannot prune: `sdpbb.search.tree` compares ProvenBounds.

    evidence : dual values of the bounding method, or evidence as the checker reads it, for a
        certificate; None if it was dropped, and for the scatter inside blocks
    """

    value: float
    evidence: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if math.isnan(self.value):
            raise ValueError("a bound that is not a number proves nothing")

    def bare(self) -> ProvenBound:
        """Return the same bound without its evidence, as nodes and states store it."""
        return self if self.evidence is None else ProvenBound(self.value)


def matrices_mebibytes(n_matrices: float, n_blocks: int) -> float:
    """Estimate the memory of a bound in MiB: dense (m, m) matrices, and arrays that grow with m.

    The matrices are in double precision; cuts and columns grow with m. Peaks measured at 1,000 and
    2,000 blocks: 153 and 470 of the semidefinite bound, 160 of the hybrid one at 1,000; 44, 75 and
    at 3,000 blocks 119 of columns.
    """
    return 20.0 + 0.04 * n_blocks + n_matrices * 8.0 * n_blocks**2 / 2**20


def rounding_of(contraction: Contraction) -> float:
    """Return a bound on the rounding errors of inner products of block means and of their sums.

    They are sums of r and of m terms, and inside blocks of one term for each point. It includes the
    sum of the cost of soft pairs in all clusterings.
    """
    terms: int = 2 * contraction.means.shape[1] + 16
    inside = float(contraction.counts.max()) * float(contraction.scatter.sum())
    soft = 2.0 * contraction.soft.rounding * contraction.soft.constant
    return EPS * (terms * contraction.total + inside) + soft


def scatter_bound(contraction: Contraction) -> ProvenBound:
    """Return the scatter inside blocks plus the least cost of soft pairs, rounded down."""
    own = math.fsum(contraction.scatter)
    rounding = EPS * (contraction.n_points + contraction.means.shape[1] + 8)
    inside = max(0.0, own * (1.0 - rounding) - rounding * contraction.total * EPS)
    return ProvenBound(inside + contraction.soft.constant_below * (1.0 - EPS))


def unions_of(block_of: NDArray[np.intp], child: Contraction) -> NDArray[np.intp]:
    """Return for each block of a parent, (m,), the block of its child that it is part of.

    block_of : (n,) the parent's block, 0 to m - 1, of each point
    """
    union_of: NDArray[np.intp] = child.block_of[np.unique(block_of, return_index=True)[1]]
    assert np.array_equal(union_of[block_of], child.block_of)
    return union_of


Warm_co = TypeVar("Warm_co", covariant=True)
WarmStart = TypeVar("WarmStart")
Pairs = NDArray[np.intp]


@dataclass(frozen=True)
class BoundProgress:
    """Progress of the bounding of a node.

    bound : the best bound proven so far, with its evidence if the last step has raised it
    stalled : whether the run should end, and the node be branched
    n_cuts : cuts in the relaxation now, or columns in the pool
    is_cut : whether the step ended early, as hardly any time was left
    """

    bound: ProvenBound
    stalled: bool
    n_cuts: int
    is_cut: bool = False


@dataclass(frozen=True, eq=False)
class PairFixings:
    """Pairs of blocks (p, 2) proven apart.

    They share a cluster in no clustering of a node that costs less than some cutoff.

    evidence : for a certificate, or None
    """

    apart: Pairs
    evidence: Any = None


class BoundRun(Protocol[Warm_co]):
    """Bounding of one node, in steps; bounds never fall from step to step.

    A run is its state. Copies, pickles and archives of it resume to the last bit once they are
    attached (see `sdpbb.runtime.archive.Attached`).
    """

    def attach(self, contraction: Contraction, method: Any) -> Self:
        """Attach the run, or a copy, to the contraction and the method that it started with."""

    @property
    def n_iterations(self) -> int:
        """Iterations since `start`."""

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Work until the next bound; `cutoff` is the bound that would close the node.

        If the time left is likely too short for that, the bound is evaluated early.
        """

    def affinity(self) -> NDArray[np.float64]:
        """Return the affinity Z (m, m) of the blocks: the relaxation's approximate solution.

        It is about 1/|C| for two blocks that share a cluster C and 0 otherwise, Z @ weights = 1. It
        steers heuristics and branching.
        """

    def clustering(self) -> NDArray[np.intp] | None:
        """Return the cheapest clustering met in bounding, as labels (m,), or None.

        Labels are 0..k-1, each of which occurs, and satisfy all constraints.
        """

    def fixings(self, cutoff: float) -> PairFixings:
        """Return pairs of blocks that share a cluster in no clustering below the cutoff."""

    def warm_start(self) -> Warm_co:
        """Return the warm start of a child of the node; picklable."""


class BoundingMethod(ABC, Generic[WarmStart]):
    """Bounding method: starts the bounding of nodes. See `sdpbb.bounds.registry`.

    Attributes
    ----------
    most_blocks_here : steps on more blocks are done by another process, which can be abandoned
        during a step. Calls of LAPACK and integer programmes cannot be interrupted otherwise. A
        step on 500 blocks takes a sixth of a second
    keeps_evidence : whether results of evaluations keep the evidence of bounds, for a certificate
    """

    most_blocks_here: int = 600
    keeps_evidence: ClassVar[bool] = False

    @abstractmethod
    def start(
        self,
        contraction: Contraction,
        warm_start: WarmStart | None,
        known: NDArray[np.intp] | None = None,
    ) -> BoundRun[WarmStart]:
        """Return a new run on a node, from the warm start of its parent if there is one.

        known : labels (m,) from 0 on of a clustering that satisfies all constraints, or None
        """

    @abstractmethod
    def mebibytes(self, contraction: Contraction) -> float:
        """Estimate the memory that bounding a node takes at its peak, in MiB."""

    def lighter(self, contraction: Contraction) -> str | None:
        """Return the name of a suitable method that takes less memory, or None."""
        return None

    def is_quick(self, contraction: Contraction) -> bool:
        """Return whether bounding takes little time for any number of blocks."""
        return False

    @staticmethod
    def exercise(contraction: Contraction) -> None:
        """Run the compiled loops of the method once, with the types that runs call them with."""

    def scatter(self, contraction: Contraction) -> ProvenBound:
        """Return the scatter inside the blocks, a bound on every clustering."""
        return scatter_bound(contraction)

    def cost_of_only(
        self, contraction: Contraction, labels: NDArray[np.intp], instance: Instance
    ) -> ProvenBound:
        """Return the bound of a node whose clusterings all cost as much as labels (m,).

        It allows for rounding of this cost (see `sdpbb.problem.coordinates.sum_of_squares`).
        """
        terms = 16.0 + float(np.log2(instance.points.size))
        cost = Partition(contraction.lift(labels)).cost(instance)
        return ProvenBound(cost * (1.0 - 4.0 * EPS * terms))

    def components_apart(
        self,
        contraction: Contraction,
        instance: Instance,
        cutoff: float,
        stop: Callable[[], bool],
    ) -> tuple[NDArray[np.intp], Any]:
        """Return components (m,) of blocks that are apart, and the evidence for that.

        No cluster of a clustering below the cutoff has blocks of two components (see
        `sdpbb.bounds.distance`).
        """
        points, weights = instance.scaled
        return components_apart(contraction, points, cutoff, stop, weights), None

    def provisional(self, run: BoundRun[WarmStart]) -> ProvenBound:
        """Return a bound of a paused run that little work proves; it may be below its last one."""
        return ProvenBound(0.0)
