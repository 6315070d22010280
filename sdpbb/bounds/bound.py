"""Interface of bounds: proven bounds, the bounding of one node, and methods that begin it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, Self, TypeVar

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

    Only what carries such a proof makes one: the evaluation of a dual function
    (`sdpbb.bounds.sdp.safe_bound`, `sdpbb.bounds.lagrangian.duals`), the partitioning of a
    node's enumerated clusters, a parent's bound, the cost of a node's only clustering, the scatter
    inside blocks, or zero; inf says that the node holds no clustering. An objective value reported
    by a solver is a float, and floats cannot prune: the comparisons in `sdpbb.search.tree`
    take a ProvenBound.

    evidence : what a certificate can show for it: dual values of the bounding method, or evidence
        as the checker reads it; None where it is not kept, or for the scatter inside blocks
    """

    value: float
    evidence: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if math.isnan(self.value):
            raise ValueError("a bound that is not a number proves nothing")

    def bare(self) -> ProvenBound:
        """Return the same bound without its evidence, as nodes and states keep it."""
        return self if self.evidence is None else ProvenBound(self.value)


def matrices_mebibytes(n_matrices: float, n_blocks: int) -> float:
    """Estimate the memory of a bound in MiB: dense (m, m) matrices, and what grows with m.

    The matrices are in double precision; cuts and columns grow with m. Peaks measured at 1,000 and
    2,000 blocks: 153 and 470 of the semidefinite bound, 160 of the hybrid one at 1,000; 44, 75 and
    at 3,000 blocks 119 of columns.
    """
    return 20.0 + 0.04 * n_blocks + n_matrices * 8.0 * n_blocks**2 / 2**20


def rounding_of(contraction: Contraction) -> float:
    """Return a bound on the rounding errors of inner products of block means and of their sums.

    They are sums of r and m terms, and inside blocks of as many terms as the block has points; and
    the sum of what all clusterings pay for soft pairs.
    """
    terms: int = 2 * contraction.means.shape[1] + 16
    inside = float(contraction.counts.max()) * float(contraction.scatter.sum())
    soft = 2.0 * contraction.soft.rounding * contraction.soft.constant
    return EPS * (terms * contraction.total + inside) + soft


def scatter_bound(contraction: Contraction) -> ProvenBound:
    """Return the scatter inside the blocks, and what all pay for soft pairs, rounded down."""
    own = math.fsum(contraction.scatter)
    rounding = EPS * (contraction.n_points + contraction.means.shape[1] + 8)
    inside = max(0.0, own * (1.0 - rounding) - rounding * contraction.total * EPS)
    return ProvenBound(inside + contraction.soft.constant_below * (1.0 - EPS))


def unions_of(block_of: NDArray[np.intp], child: Contraction) -> NDArray[np.intp]:
    """Return the block of a child that each block of its parent, (m,), is part of.

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
    stalled : more iterations are not expected to close the node; branching is
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

    evidence : what a certificate can show for them, or None
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

        Where the time left is too short for that, the bound is evaluated early, as far as that can
        be foreseen.
        """

    def affinity(self) -> NDArray[np.float64]:
        """Return the affinity Z (m, m) of the blocks: the relaxation's approximate solution.

        It is about 1/|C| for two blocks that share a cluster C and 0 otherwise, Z @ weights = 1. It
        steers heuristics and branching.
        """

    def clustering(self) -> NDArray[np.intp] | None:
        """Return the cheapest clustering that bounding itself has met, if any, as labels (m,).

        They are exactly the clusters 0..k-1, and keep all constraints.
        """

    def fixings(self, cutoff: float) -> PairFixings:
        """Return pairs of blocks that share a cluster in no clustering below the cutoff."""

    def warm_start(self) -> Warm_co:
        """Return the warm start of a child of the node; picklable."""


class BoundingMethod(ABC, Generic[WarmStart]):
    """Bounding method: begins and resumes the bounding of nodes. See `sdpbb.bounds.registry`.

    Attributes
    ----------
    most_blocks_here : steps on more blocks are the work of another process, which can be left
        behind in the middle of one: no step of LAPACK's and no integer programme can be left
        otherwise. A step on 500 blocks takes a sixth of a second
    """

    most_blocks_here: int = 600

    @abstractmethod
    def start(
        self,
        contraction: Contraction,
        warm_start: WarmStart | None,
        known: NDArray[np.intp] | None = None,
    ) -> BoundRun[WarmStart]:
        """Return a new run on a node, from the warm start of its parent if there is one.

        `known` is, if one is known, labels (m,) of a clustering of the blocks that keeps all
        constraints.
        """

    @abstractmethod
    def mebibytes(self, contraction: Contraction) -> float:
        """Return the memory that bounding a node takes at its peak, in MiB, about."""

    def lighter(self, contraction: Contraction) -> str | None:
        """Return the name of a method that takes less memory, if one is good for the contraction.

        It is for where this one does not fit the memory.
        """
        return None

    def is_quick(self, contraction: Contraction) -> bool:
        """Return whether bounding takes little time, however many blocks there are."""
        return False

    @staticmethod
    def exercise(contraction: Contraction) -> None:
        """Run the compiled loops of the method once, with the types that runs call them with."""

    def scatter(self, contraction: Contraction) -> ProvenBound:
        """Return the scatter inside the blocks, which every clustering has."""
        return scatter_bound(contraction)

    def cost_of_only(
        self, contraction: Contraction, labels: NDArray[np.intp], instance: Instance
    ) -> ProvenBound:
        """Return the bound of a node all of whose clusterings cost what labels (m,) cost.

        What rounding can have added to this cost is deducted (see
        `sdpbb.problem.coordinates.sum_of_squares`).
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

        No cluster of a clustering below the cutoff is across two of them (see
        `sdpbb.bounds.distance`).
        """
        points, weights = instance.scaled
        return components_apart(contraction, points, cutoff, stop, weights), None

    def provisional(self, run: BoundRun[WarmStart]) -> ProvenBound:
        """Return a bound of a paused run that little work proves; it may be below its last one."""
        return ProvenBound(0.0)
