"""Bounds that are as good as what a certificate can show for them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import Bounding, BoundProgress, BoundRun, Pairs, SafeBound
from sdpbb.bounds.sdp.evidence import semidefinite_evidence
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint
from sdpbb.checker.evidence import Cuts, Evidence, Lagrangian, Semidefinite
from sdpbb.checker.exclusion import excluded_pairs, far_pairs
from sdpbb.checker.geometry import Contracted, Geometry
from sdpbb.checker.lagrangian import lagrangian_bound, proves_infeasible
from sdpbb.checker.pricing import MAX_NODES
from sdpbb.checker.rejection import Rejected
from sdpbb.checker.rules import BlockRules, Rules, over_blocks
from sdpbb.checker.semidefinite import scatter_bound, semidefinite_bound
from sdpbb.problem import Contraction

# What is proven by rounded dual values is a little less than by those of a run: that goes on until
# it has this part of the cutoff to spare, which is little beside `LEAST_CERTIFIED_GAP`.
SLACK = 1e-10
# What is stated of a bound is less than what is proven here by this part (see `_stated`).
STATED_ROUNDING = 1e-11
# A bound that does not close its node is checked when iterations have grown by this factor.
CHECK_GROWTH = 1.25


@dataclass(frozen=True, eq=False)
class BoundProof:
    """What proves a bound for all clusterings of some blocks.

    blocks : (n,) the block of each point
    bound : what the checker makes of the evidence; inf where that says that there is none
    evidence : None where the scatter inside the blocks is all that is known
    """

    blocks: NDArray[np.intp]
    bound: float
    evidence: Evidence | None


@dataclass(frozen=True, eq=False)
class FixingProof:
    """What proves that pairs of points are apart in every clustering of some blocks that costs less
    than `below`.

    excluded : (p, 2), by the evidence
    far : (q, 2), by their distance alone
    """

    below: float
    excluded: NDArray[np.intp]
    evidence: Semidefinite | None
    far: NDArray[np.intp]


Warm = TypeVar("Warm")


@dataclass(frozen=True, eq=False)
class CertifiedState:
    """Where a run was left.

    best, evidence : the best bound that was confirmed, and by what
    claimed, argument : the best one of the run itself, and by what; None once that was checked
    checked_at : iterations when something was checked last
    """

    inner: Any
    best: SafeBound
    evidence: Evidence | None
    claimed: SafeBound
    argument: DualPoint | Lagrangian | None
    checked_at: int


STATE_TYPES = (CertifiedState, BoundProof, FixingProof, Semidefinite, Lagrangian, Cuts)


class CertifiedBounding(Generic[Warm]):
    """Another bounding method, whose bounds count as far as the checker confirms them
    (`sdpbb.bounds.bound.Bounding`).

    What the checker is shown are dual values in single precision, or in double precision where that
    does not close the node and this does.
    """

    def __init__(
        self, inner: Bounding[Warm], points: NDArray[np.float64], rules: Rules = ()
    ) -> None:
        """rules : on clusters of the points, besides cannot-links"""
        self._inner, self._points, self._rules = inner, points, rules

    def __getstate__(self) -> dict[str, Any]:
        return {"_inner": self._inner, "_points": self._points, "_rules": self._rules}

    @cached_property
    def _geometry(self) -> Geometry:
        return Geometry.of(self._points)

    def contracted(self, contraction: Contraction) -> Contracted:
        """The points of a contraction, as the checker sees them."""
        return self._geometry.contracted(contraction.block_of)

    def _run(self, inner: BoundRun[Warm], contraction: Contraction) -> CertifiedRun[Warm]:
        rules = over_blocks(self._rules, contraction.block_of)
        return CertifiedRun(inner, contraction, self.contracted(contraction), rules)

    def scatter_proof(self, contraction: Contraction) -> BoundProof:
        """The bound that the scatter inside blocks is."""
        bound = _stated(scatter_bound(self.contracted(contraction)))
        return BoundProof(contraction.block_of, bound, None)

    def start(
        self,
        contraction: Contraction,
        warm_start: Warm | None,
        known: NDArray[np.intp] | None = None,
    ) -> CertifiedRun[Warm]:
        """Begin to bound a node."""
        return self._run(self._inner.start(contraction, warm_start, known), contraction)

    def resume(self, contraction: Contraction, state: CertifiedState) -> CertifiedRun[Warm]:
        """Go on where the bounding of the same contraction was left."""
        inner = self._inner.resume(contraction, state.inner)
        run = self._run(inner, contraction)
        run.restore(state)
        return run


class CertifiedRun(Generic[Warm]):
    """The bounding of one node."""

    def __init__(
        self,
        inner: BoundRun[Warm],
        contraction: Contraction,
        contracted: Contracted,
        rules: BlockRules,
    ) -> None:
        self._inner, self._contraction, self._contracted = inner, contraction, contracted
        self._rules = rules
        self._best = SafeBound(_stated(scatter_bound(contracted)))
        self._evidence: Evidence | None = None
        self._claimed = SafeBound(0.0)
        self._argument: DualPoint | Lagrangian | None = None
        self._checked_at = 0
        self.fixing_proof: FixingProof | None = None

    def state(self) -> CertifiedState:
        return CertifiedState(
            self._inner.state(),
            self._best,
            self._evidence,
            self._claimed,
            self._argument,
            self._checked_at,
        )

    def restore(self, state: CertifiedState) -> None:
        """Go on from the state of a run on the same contraction."""
        self._best, self._evidence, self._claimed = state.best, state.evidence, state.claimed
        self._argument, self._checked_at = state.argument, state.checked_at

    @property
    def n_iterations(self) -> int:
        return self._inner.n_iterations

    @cached_property
    def _relaxation(self) -> Relaxation:
        return Relaxation.of(self._contraction)

    def advance(self, cutoff: float) -> BoundProgress:
        """A step of the inner run; its bound as far as it is confirmed."""
        progress = self._inner.advance(cutoff + SLACK * abs(cutoff))
        if progress.bound.value == np.inf:  # the constraints alone say so
            return self._refuted(progress)
        if progress.bound > self._claimed:
            self._claimed, self._argument = progress.bound, self._inner.argument()
        closes = self._claimed.value >= cutoff
        due = progress.n_iterations >= CHECK_GROWTH * self._checked_at
        if self._argument is not None and (closes or due or progress.stalled):
            self._checked_at = progress.n_iterations
            self._check(self._argument, cutoff)
            self._argument = None
        return BoundProgress(self._best, progress.stalled, progress.n_cuts, progress.n_iterations)

    def _refuted(self, progress: BoundProgress) -> BoundProgress:
        """The inner run has found that there is no clustering: as far as that is confirmed, which
        is a matter of the prices, or of cannot-links alone where there is nothing to branch on."""
        prices = self._inner.argument()
        m, adjacency = self._contraction.n_blocks, self._contraction.adjacency
        with suppress(Rejected):
            if isinstance(prices, Lagrangian) and proves_infeasible(
                self._contracted,
                self._contraction.k,
                adjacency,
                prices,
                MAX_NODES // 2,
                self._rules,
            ):
                self._best, self._evidence = progress.bound, prices
                return progress
        if adjacency.sum() == m * (m - 1):
            return progress
        return BoundProgress(self._best, True, progress.n_cuts, progress.n_iterations)

    def _check(self, argument: DualPoint | Lagrangian, cutoff: float) -> None:
        """Have the checker judge what the best bound is proven by."""
        if isinstance(argument, Lagrangian):
            self._try(argument)
            return
        for precision in (np.float32, np.float64):
            self._try(semidefinite_evidence(self._relaxation, argument, precision))
            if self._best.value >= cutoff or self._claimed.value < cutoff:
                return

    def _try(self, evidence: Evidence) -> None:
        """Take evidence, unless the checker rejects it: it gives up pricing earlier than the run,
        and numbers may be beyond its range."""
        with suppress(Rejected):
            bound = _stated(self._proven(evidence))
            if bound > self._best.value:
                self._best, self._evidence = SafeBound(bound), evidence

    def _proven(self, evidence: Evidence) -> float:
        k, adjacency = self._contraction.k, self._contraction.adjacency
        if isinstance(evidence, Lagrangian):
            # Elsewhere the search may take some more nodes, and must end there as well.
            return lagrangian_bound(
                self._contracted, k, adjacency, evidence, MAX_NODES // 2, self._rules
            )
        return semidefinite_bound(self._contracted, k, adjacency, evidence)

    def argument(self) -> Evidence | None:
        """What the checker has confirmed."""
        return self._evidence

    def proof(self) -> BoundProof:
        """Of the bound that was confirmed."""
        return BoundProof(self._contraction.block_of, self._best.value, self._evidence)

    def fixings(self, cutoff: float) -> tuple[Pairs, Pairs]:
        """No pairs are proven to be together; sets `fixing_proof` for those that are apart."""
        k, adjacency = self._contraction.k, self._contraction.adjacency
        # With room for rounding: a pair on the edge might be another one elsewhere.
        below = cutoff + SLACK * abs(cutoff)
        far = far_pairs(self._contracted, below) & ~adjacency
        excluded = np.zeros_like(far)
        evidence = self._evidence if isinstance(self._evidence, Semidefinite) else None
        if evidence is not None:
            excluded = excluded_pairs(self._contracted, k, adjacency, evidence, below)
            excluded &= ~(adjacency | far)
        first = self._contraction.representatives
        self.fixing_proof = FixingProof(
            below=cutoff,
            excluded=first[_pairs(excluded)],
            evidence=evidence if excluded.any() else None,
            far=first[_pairs(far)],
        )
        return np.empty((0, 2), np.intp), _pairs(excluded | far)

    def affinity(self) -> NDArray[np.float64]:
        return self._inner.affinity()

    def clustering(self) -> NDArray[np.intp] | None:
        return self._inner.clustering()

    def warm_start(self) -> Warm:
        return self._inner.warm_start()


def _stated(bound: float) -> float:
    """What a certificate states of a bound: elsewhere the checker may add up in another order."""
    return bound * (1.0 - STATED_ROUNDING)


def _pairs(marked: NDArray[np.bool_]) -> NDArray[np.intp]:
    """(p, 2) where a symmetric matrix is true, i < j."""
    return np.argwhere(np.triu(marked, 1)).astype(np.intp)


def proof_of(run: BoundRun[Any] | None) -> BoundProof | None:
    """Of a run's bound; None if it keeps none."""
    return run.proof() if isinstance(run, CertifiedRun) else None
