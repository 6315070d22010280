"""Base class of semidefinite bounding runs (ADMM, conic): warm start, fixings, state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import (
    BoundProgress,
    PairFixings,
    ProvenBound,
)
from sdpbb.bounds.sdp.fixing import far_apart, pairs_apart
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint, safe_bound
from sdpbb.problem import Contraction
from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.time_left import TimeLeft, no_limit


@stored
@dataclass(frozen=True, eq=False)
class SdpWarmStart:
    """Warm start of a child: its parent's last iterate, in the coordinates of Z.

    block_of : (n,) the parent's blocks, by which its matrices are mapped to the child's
    scale : of the parent's relaxation, the unit of dual
    dual : dual values, N in single precision (any N >= 0 proves something)
    Z : (m, m) affinity, in single precision
    rho : penalty
    weights : (m,) of the parent's blocks; None where they are numbers of points
    """

    block_of: NDArray[np.intp]
    scale: float
    dual: DualPoint
    Z: NDArray[np.float32]
    rho: float
    weights: NDArray[np.float64] | None = None

    def for_child(self, child: Contraction, scale: float) -> tuple[DualPoint, NDArray[np.float64]]:
        """Return dual values, in units of `scale`, and an affinity in the blocks of a child.

        Each block of its contraction is a union of the parent's (see `contract`).
        """
        first = np.unique(self.block_of, return_index=True)[1]
        block_of = child.block_of[first]
        assert np.array_equal(block_of[self.block_of], child.block_of)
        dual = DualPoint(self.dual.N.astype(np.float64), self.dual.cuts, self.dual.multipliers)
        dual = dual.scaled(self.scale / scale).merged(block_of, child.n_blocks)
        # The weighted mean over merged blocks keeps Z e = 1.
        weights = np.zeros((child.n_blocks, len(first)))
        parts = np.bincount(self.block_of) if self.weights is None else self.weights
        weights[block_of, np.arange(len(first))] = parts
        weights /= child.weights[:, None]
        return dual, weights @ self.Z.astype(np.float64) @ weights.T


@stored
@dataclass(eq=False)
class RelaxationState:
    """Resumable state of the bounding of a node by its relaxation.

    is_child : whether it began from a warm start
    best : the best bound so far
    history : (iteration, best bound) after each evaluation of the bound that was due
    """

    is_child: bool
    best: ProvenBound
    history: list[tuple[int, float]] = field(default_factory=list)


class RelaxationRun(ABC):
    """Base class of semidefinite bounding runs (`sdpbb.bounds.bound.BoundRun`).

    Attributes
    ----------
    state : all that changes; a run that begins with it goes on to the last bit
    """

    state: RelaxationState

    def __init__(self, contraction: Contraction, parameters: SdpParameters) -> None:
        self.parameters = parameters
        self.relaxation = Relaxation.of(contraction)
        self._contraction = contraction

    @property
    @abstractmethod
    def n_iterations(self) -> int:
        """Iterations since the bounding of the node began."""

    @abstractmethod
    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Work until the next bound (see `sdpbb.bounds.bound.BoundRun`)."""

    @abstractmethod
    def affinity(self) -> NDArray[np.float64]:
        """Return Z (m, m), nonnegative and zero on cannot-links."""

    @abstractmethod
    def dual_point(self) -> DualPoint:
        """Return the dual values that fixings and warm starts are taken from."""

    @property
    @abstractmethod
    def _penalty(self) -> float:
        """Penalty rho that a child begins with."""

    def clustering(self) -> NDArray[np.intp] | None:
        """Return None: solutions of a relaxation are no clusterings."""
        return None

    def fixings(self, cutoff: float) -> PairFixings:
        """Return pairs of blocks that share a cluster in no clustering below the cutoff."""
        dual = self.dual_point()
        # Not the best bound so far: that may belong to other dual values.
        bound = safe_bound(self.relaxation, dual)
        apart = pairs_apart(self.relaxation, dual, bound, cutoff)
        apart = np.concatenate([apart, far_apart(self._contraction, cutoff)])
        return PairFixings(np.unique(apart, axis=0))

    def warm_start(self) -> SdpWarmStart:
        """Return the warm start of a child of the node."""
        dual = self.dual_point()
        return SdpWarmStart(
            block_of=self._contraction.block_of,
            scale=self.relaxation.scale,
            dual=DualPoint(dual.N.astype(np.float32), dual.cuts, dual.multipliers),
            Z=self.affinity().astype(np.float32),
            rho=self._penalty,
            weights=self._contraction.weights,
        )

    def _scatter_inside_blocks(self) -> ProvenBound:
        """Return the first bound, less what rounding can have added to it."""
        scatter, constant = self._contraction.scatter, self._contraction.soft.constant
        own = float(scatter.sum()) + constant - self.relaxation.rounding
        return ProvenBound(max(0.0, own))
