"""Bounds that are as good as what a certificate can show for them."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from sdpbb.archive.stored import stored
from sdpbb.bounds.bound import (
    Bounding,
    BoundProgress,
    BoundRun,
    Pairs,
    SafeBound,
    SecondsLeft,
    endless,
)
from sdpbb.bounds.sdp.evidence import semidefinite_evidence
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint
from sdpbb.checker.blocks import Blocks
from sdpbb.checker.cuts import FAMILIES, Cuts
from sdpbb.checker.enumeration import enumeration_bound
from sdpbb.checker.evidence import Enumerated, Evidence, Lagrangian, Semidefinite
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
# A node whose bound the checker does not confirm is given up when so many steps add nothing to it.
MOST_IDLE = 20
# What is stated of a bound is less than what is proven here by this part (see `_stated`).
STATED_ROUNDING = 1e-11
# Elsewhere a search may take some more nodes, and must end there as well; and a bound that does not
# close its node is worth less of them.
SHARE, PROVISIONAL_SHARE = 0.5, 0.05


@stored
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


@stored
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
Argument = DualPoint | Lagrangian | Enumerated


@stored
@dataclass(frozen=True, eq=False)
class CertifiedState:
    """Where a run was left.

    best, evidence : the best bound that was confirmed, and by what
    claimed, argument : the best one of the run itself, and by what; None once that was checked
    """

    inner: Any
    best: SafeBound
    evidence: Evidence | None
    claimed: SafeBound
    argument: Argument | None


# The checker imports nothing else of this package, so it cannot register its own.
for _evidence in (Semidefinite, Lagrangian, Enumerated, Cuts, *FAMILIES):
    stored(_evidence)


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

    @cached_property
    def _last(self) -> list[tuple[NDArray[np.intp], Contracted]]:
        """What was contracted last: a node is left and resumed."""
        return []

    def contracted(self, contraction: Contraction) -> Contracted:
        """The points of a contraction, as the checker sees them."""
        block_of, component_of = contraction.block_of, _blocks(contraction).component_of
        key = block_of if component_of is None else np.stack([block_of, component_of[block_of]])
        if not (self._last and np.array_equal(self._last[0][0], key)):
            self._last[:] = [(key, self._geometry.contracted(block_of, component_of))]
        return self._last[0][1]

    def components_apart(
        self, contraction: Contraction, cutoff: float
    ) -> tuple[NDArray[np.intp], FixingProof]:
        """(m,) components of blocks that no cluster is across of a clustering that costs less than
        cutoff, as far as the checker confirms it, and the pairs that it has to be shown for that.
        """
        below = _with_room(cutoff)
        blocks = _blocks(contraction)
        far = far_pairs(self.contracted(contraction), below)
        apart = replace(blocks, adjacency=blocks.adjacency | far).component_of
        component_of = np.zeros(blocks.m, np.intp) if apart is None else apart
        across = (component_of[:, None] != component_of) & ~blocks.adjacency
        first = contraction.representatives
        none = np.empty((0, 2), np.intp)
        return component_of, FixingProof(cutoff, none, None, first[_pairs(across)])

    def _run(self, inner: BoundRun[Warm], contraction: Contraction) -> CertifiedRun[Warm]:
        rules = over_blocks(self._rules, contraction.block_of)
        return CertifiedRun(inner, contraction, self.contracted(contraction), rules)

    def scatter_proof(self, contraction: Contraction) -> BoundProof:
        """The bound that the scatter inside blocks is."""
        bound = _stated(scatter_bound(self.contracted(contraction)))
        return BoundProof(contraction.block_of, bound, None)

    def mebibytes(self, contraction: Contraction) -> float:
        """Memory that bounding a node takes at its peak, in MiB, about."""
        return self._inner.mebibytes(contraction)

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
        self._n_idle = 0  # steps since a bound was claimed that closes the node, unconfirmed
        self._check_seconds = 0.0  # of the longest check so far
        self._best = SafeBound(_stated(scatter_bound(contracted)))
        self._evidence: Evidence | None = None
        self._claimed = SafeBound(0.0)
        self._argument: Argument | None = None
        self.fixing_proof: FixingProof | None = None

    @property
    def state(self) -> CertifiedState:
        return CertifiedState(
            self._inner.state,
            self._best,
            self._evidence,
            self._claimed,
            self._argument,
        )

    def restore(self, state: CertifiedState) -> None:
        """Go on from the state of a run on the same contraction."""
        self._best, self._evidence = state.best, state.evidence
        self._claimed, self._argument = state.claimed, state.argument

    @property
    def n_iterations(self) -> int:
        return self._inner.n_iterations

    @cached_property
    def _relaxation(self) -> Relaxation:
        return Relaxation.of(self._contraction)

    def advance(self, cutoff: float, seconds_left: SecondsLeft = endless) -> BoundProgress:
        """A step of the inner run; its bound as far as it is confirmed. What does not close the
        node is checked in the end, as checking takes as long as many iterations."""
        progress = self._inner.advance(
            cutoff + SLACK * abs(cutoff), lambda: seconds_left() - self._check_seconds
        )
        if progress.bound.value == np.inf:  # the constraints alone say so
            return self._refuted(progress)
        if progress.bound > self._claimed:
            self._claim(progress.bound, cutoff)
        closes, stalled = self._claimed.value >= cutoff, progress.stalled
        if self._argument is not None and (closes or stalled):
            self._check(self._argument, cutoff)
            # What was enumerated is not by another step, as the dual values of a method are.
            is_last = isinstance(self._argument, Enumerated) and self._best.value < cutoff
            stalled |= closes and is_last
            self._argument = None
            self._n_idle = 0
        elif closes:
            # The run takes the node for closed, the checker does not, and nothing better comes.
            self._n_idle += 1
            stalled |= self._n_idle >= MOST_IDLE
        return replace(progress, bound=self._best, stalled=stalled)

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
        return replace(progress, bound=self._best, stalled=True)

    def _claim(self, bound: SafeBound, cutoff: float) -> None:
        """Take the best bound of the run itself, and what it is proven by."""
        argument = self._inner.argument()
        if isinstance(self._argument, DualPoint) and not isinstance(argument, DualPoint):
            # Which the checker confirms, as it may not what comes after it.
            self._check(self._argument, cutoff)
        self._claimed, self._argument = bound, argument

    def _check(self, argument: Argument, cutoff: float) -> None:
        """Have the checker judge what the best bound is proven by."""
        if isinstance(argument, Lagrangian | Enumerated):
            self._try(argument)
            return
        for precision in (np.float32, np.float64):
            self._try(semidefinite_evidence(self._relaxation, argument, precision))
            if self._best.value >= cutoff or self._claimed.value < cutoff:
                return

    def _try(self, evidence: Evidence) -> None:
        """Take evidence if it proves more than the last."""
        bound = self._confirmed(evidence, SHARE)
        if bound > self._best.value:
            self._best, self._evidence = SafeBound(bound), evidence

    def _confirmed(self, evidence: Evidence, share: float) -> float:
        """What is proven by evidence, with this share of the checker's limits; 0 if the checker
        rejects it: it gives up searches earlier than the run, and numbers may be beyond its range.
        """
        begun = time.perf_counter()
        try:
            return self._judged(evidence, share)
        finally:
            self._check_seconds = max(self._check_seconds, time.perf_counter() - begun)

    def _judged(self, evidence: Evidence, share: float) -> float:
        contracted, k, rules = self._contracted, self._contraction.k, self._rules
        adjacency = self._contraction.adjacency
        with suppress(Rejected), np.errstate(all="ignore"):
            if isinstance(evidence, Lagrangian):
                nodes = int(share * MAX_NODES)
                return _stated(lagrangian_bound(contracted, k, adjacency, evidence, nodes, rules))
            if isinstance(evidence, Enumerated):
                return _stated(enumeration_bound(contracted, k, adjacency, evidence, share, rules))
            return _stated(semidefinite_bound(contracted, k, adjacency, evidence))
        return 0.0

    def provisional(self) -> BoundProof:
        """Of the best bound so far, as far as the checker confirms it with little work; changes
        nothing."""
        argument = self._argument
        if argument is None:
            return self.proof()
        evidence = (
            semidefinite_evidence(self._relaxation, argument)
            if isinstance(argument, DualPoint)
            else argument
        )
        bound = self._confirmed(evidence, PROVISIONAL_SHARE)
        if bound <= self._best.value:
            return self.proof()
        return BoundProof(self._contraction.block_of, bound, evidence)

    def argument(self) -> Evidence | None:
        """What the checker has confirmed."""
        return self._evidence

    def proof(self) -> BoundProof:
        """Of the bound that was confirmed."""
        return BoundProof(self._contraction.block_of, self._best.value, self._evidence)

    def fixings(self, cutoff: float) -> tuple[Pairs, Pairs]:
        """No pairs are proven to be together; sets `fixing_proof` for those that are apart."""
        if self._argument is not None:
            self._check(self._argument, cutoff)
            self._argument = None
        k, adjacency = self._contraction.k, self._contraction.adjacency
        below = _with_room(cutoff)
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


def _blocks(contraction: Contraction) -> Blocks:
    """The blocks of a contraction, as the checker sees them."""
    return Blocks(contraction.k, contraction.block_of, contraction.adjacency)


def _with_room(cutoff: float) -> float:
    """For rounding: a pair on the edge might be another one elsewhere."""
    return cutoff + SLACK * abs(cutoff)


def _stated(bound: float) -> float:
    """What a certificate states of a bound: elsewhere the checker may add up in another order."""
    return bound * (1.0 - STATED_ROUNDING)


def _pairs(marked: NDArray[np.bool_]) -> NDArray[np.intp]:
    """(p, 2) where a symmetric matrix is true, i < j."""
    return np.argwhere(np.triu(marked, 1)).astype(np.intp)


def proof_of(run: BoundRun[Any] | None) -> BoundProof | None:
    """Of a run's bound; None if it keeps none."""
    return run.proof() if isinstance(run, CertifiedRun) else None
