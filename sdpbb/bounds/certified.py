"""Bounding of certified runs: a wrapper that accepts only bounds which the checker confirms."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import (
    BoundingMethod,
    BoundProgress,
    BoundRun,
    PairFixings,
    ProvenBound,
)
from sdpbb.bounds.sdp.evidence import checkable
from sdpbb.bounds.sdp.safe_bound import DualPoint
from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.dual import Semidefinite
from sdpbb.checker.kernel.evidence import Effort, Evidence, scatter_bound
from sdpbb.checker.kernel.judge import Judge
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.rules import Rules, with_limits
from sdpbb.checker.kernel.stated import StatedInstance
from sdpbb.checker.partitions import Enumerated
from sdpbb.checker.pricing import Lagrangian
from sdpbb.problem import Contraction, Instance
from sdpbb.runtime.archive import Attached, stored
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, check_time, no_limit

# Rounded dual values prove a little less than exact ones. So the inner run continues until its
# bound exceeds the cutoff by this part, which is small compared to `LEAST_CERTIFIED_GAP`.
SLACK = 1e-10
# A node whose bound the checker does not confirm is given up after this many idle steps.
MOST_IDLE = 20
# A certificate states bounds that are lower by this part (see `_rounded_down`).
STATED_ROUNDING = 1e-11
# Shares of the checker's limits for a check here, as on another machine a search may need more
# nodes. The second is for bounds that do not close their nodes.
SHARE, PROVISIONAL_SHARE = 0.5, 0.05
# Seconds that a check of a provisional bound may take after the end of the time: otherwise a run
# may end without any bound.
LAST_SECONDS = 0.5


@stored
@dataclass(frozen=True, eq=False)
class FixingProof:
    """Proof that pairs of points are apart.

    They are apart in every clustering of some blocks that costs less than `below`.

    excluded : (p, 2), by the evidence
    far : (q, 2), by their distance alone
    """

    below: float
    excluded: NDArray[np.intp]
    evidence: Semidefinite | None
    far: NDArray[np.intp]


Warm = TypeVar("Warm")


@dataclass(eq=False)
class CertifiedBounding(BoundingMethod[Warm]):
    """Wrapper of a bounding method that accepts only bounds which the checker confirms.

    It tries several forms of evidence, and uses the shortest one that closes the node. Plans of
    memory and processes ask the inner method.

    stated : points, weights, soft pairs and rules on clusters, as the checker has them
    fits_memory : whether matrices over the blocks fit the memory; otherwise the checker confirms
        no bound
    """

    inner: BoundingMethod[Warm]
    stated: StatedInstance
    fits_memory: bool = True
    keeps_evidence: ClassVar[bool] = True

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def judge(self) -> Judge:
        return Judge(self.stated.geometry)

    def components_apart(
        self,
        contraction: Contraction,
        instance: Instance,
        cutoff: float,
        stop: Callable[[], bool],
    ) -> tuple[NDArray[np.intp], FixingProof | None]:
        """Return the components that the checker confirms, and the proof for pairs of blocks."""
        component_of, _ = super().components_apart(contraction, instance, cutoff, stop)
        if not component_of.any():
            return component_of, None
        below = _widened_cutoff(cutoff)
        blocks = _blocks(contraction)
        far = self.judge.far(blocks, below)
        apart = replace(blocks, adjacency=blocks.adjacency | far).component_of
        component_of = np.zeros(blocks.m, np.intp) if apart is None else apart
        across = (component_of[:, None] != component_of) & ~blocks.adjacency
        first = contraction.representatives
        none = np.empty((0, 2), np.intp)
        return component_of, FixingProof(
            below=cutoff, excluded=none, evidence=None, far=first[_pairs(across)]
        )

    def scatter(self, contraction: Contraction) -> ProvenBound:
        """Return the scatter inside blocks, as a certificate has it.

        It is 0 if matrices over the blocks do not fit the memory.
        """
        if not self.fits_memory:
            return ProvenBound(0.0)
        contracted = self.judge.contracted(_blocks(contraction))
        bound = scatter_bound(contracted, contraction.adjacency)
        return ProvenBound(_rounded_down(bound))

    def cost_of_only(
        self, contraction: Contraction, labels: NDArray[np.intp], instance: Instance
    ) -> ProvenBound:
        """Return the scatter: the checker proves no more of the cost."""
        return self.scatter(contraction)

    def provisional(self, run: BoundRun[Warm]) -> ProvenBound:
        """Return the best bound so far that the checker confirms with little work."""
        assert isinstance(run, CertifiedRun)
        return run.provisional()

    def mebibytes(self, contraction: Contraction) -> float:
        """Estimate the memory that bounding a node takes at its peak, in MiB."""
        return self.inner.mebibytes(contraction)

    def start(
        self,
        contraction: Contraction,
        warm_start: Warm | None,
        known: NDArray[np.intp] | None = None,
    ) -> CertifiedRun[Warm]:
        """Return a new `CertifiedRun` on a node."""
        inner = self.inner.start(contraction, warm_start, known)
        run = CertifiedRun(inner, self.scatter(contraction), ProvenBound(0.0))
        return run.watched_by(self, contraction)


@stored
@dataclass(eq=False)
class CertifiedRun(Attached, Generic[Warm]):
    """Bounding of one node with confirmed bounds.

    inner : the run whose bounds are checked
    best : the best confirmed bound, with its evidence as checked
    claimed : the best bound of the inner run, with its evidence until it is checked
    n_idle : steps since the inner run closed the node without confirmation
    """

    inner: BoundRun[Warm]
    best: ProvenBound
    claimed: ProvenBound
    n_idle: int = 0

    def attach(self, contraction: Contraction, method: CertifiedBounding[Warm]) -> Self:
        """Resume on the contraction and the method that the run started with."""
        self.inner.attach(contraction, method.inner)
        return self.watched_by(method, contraction)

    def watched_by(self, method: CertifiedBounding[Warm], contraction: Contraction) -> Self:
        """Start or resume on the contraction of the inner run."""
        rules = with_limits(method.stated.rules, contraction.n_points, contraction.k)
        self._contraction, self._judge = contraction, method.judge
        self._blocks = _blocks(contraction, rules)
        self._contracted = self._judge.contracted(self._blocks)
        self._check_seconds = 0.0  # of the longest check so far
        self._time_left = no_limit
        return self

    @property
    def n_iterations(self) -> int:
        return self.inner.n_iterations

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Take a step of the inner run; only the confirmed part of its bound counts.

        A bound that does not close the node is checked only at the end, as a check takes as long as
        many iterations. If the time ends during a check, the next step starts it again.
        """
        self._time_left = time_left
        claimed = self.claimed
        if claimed.evidence is not None and claimed.value >= cutoff:  # its check was cut short
            progress = BoundProgress(claimed, False, 0)
        else:
            progress = self.inner.advance(
                cutoff + SLACK * abs(cutoff), lambda: time_left() - self._check_seconds
            )
        try:
            return self._checked(progress, cutoff)
        except OutOfTime:
            return replace(progress, bound=self.best, stalled=False, is_cut=True)

    def _checked(self, progress: BoundProgress, cutoff: float) -> BoundProgress:
        """Return the progress of the inner run with the confirmed bound.

        Raises
        ------
        OutOfTime
            If the time ends before the check does.
        """
        if progress.bound > self.claimed:
            self._claim(progress.bound, cutoff)
        closes, stalled = self.claimed.value >= cutoff, progress.stalled
        if self.claimed.evidence is not None and (closes or stalled):
            # Another step changes dual values, but not an enumeration.
            is_last = isinstance(self.claimed.evidence, Enumerated)
            self._check(cutoff)
            stalled |= closes and is_last and self.best.value < cutoff
            self.n_idle = 0
        elif closes:
            # The inner run has closed the node, the checker does not confirm it.
            self.n_idle += 1
            stalled |= self.n_idle >= MOST_IDLE
        if self.claimed.value == np.inf > self.best.value:
            m, adjacency = self._contraction.n_blocks, self._contraction.adjacency
            if adjacency.sum() == m * (m - 1):  # all blocks are cannot-linked
                return progress
            stalled = True
        return replace(progress, bound=self.best, stalled=stalled)

    def _claim(self, bound: ProvenBound, cutoff: float) -> None:
        """Store the best bound of the inner run."""
        was, now = (isinstance(each.evidence, DualPoint) for each in (self.claimed, bound))
        if was and not now:
            # The checker confirms the bound before, but may not confirm the next one.
            self._check(cutoff)
        self.claimed = bound

    def _check(self, cutoff: float) -> None:
        """Check the claimed evidence; store the confirmed bound if it is better.

        Raises
        ------
        OutOfTime
            If the time ends before; the evidence remains unchecked.
        """
        claimed = self.claimed
        effort = Effort(SHARE, partial(check_time, self._time_left))
        for evidence in checkable(self._contraction, claimed.evidence):
            bound = self.confirmed_bound(evidence, effort)
            if bound > self.best.value:
                self.best = ProvenBound(bound, evidence)
            if self.best.value >= cutoff or claimed.value < cutoff:
                break
        self.claimed = claimed.bare()

    def confirmed_bound(self, evidence: Evidence, effort: Effort) -> float:
        """Return the bound that the checker proves by the evidence, with this effort.

        It is inf if prices prove the claim that there is no clustering. It is 0 if the checker
        rejects the evidence: its searches have stricter limits, and numbers may be out of range.
        """
        begun, bound = time.perf_counter(), 0.0
        try:
            with suppress(Rejected), np.errstate(all="ignore"):
                given = self._contracted, self._blocks, effort
                if self.claimed.value < np.inf:
                    bound = _rounded_down(evidence.bound(*given))
                elif isinstance(evidence, Lagrangian) and evidence.proves_infeasible(*given):
                    bound = np.inf
        finally:
            self._check_seconds = max(self._check_seconds, time.perf_counter() - begun)
        return bound

    def provisional(self) -> ProvenBound:
        """Return the best bound so far that the checker confirms with little work.

        The run does not change. The check may continue for LAST_SECONDS after the end of the time.
        """
        best, claimed = self.best, self.claimed
        if claimed.evidence is None:
            return best
        evidence = next(checkable(self._contraction, claimed.evidence))
        end = time.perf_counter() + LAST_SECONDS
        time_left = lambda: max(self._time_left(), end - time.perf_counter())  # noqa: E731
        effort = Effort(PROVISIONAL_SHARE, partial(check_time, time_left))
        with suppress(OutOfTime):
            return max(best, ProvenBound(self.confirmed_bound(evidence, effort), evidence))
        return best

    def fixings(self, cutoff: float) -> PairFixings:
        """Return pairs that are apart, with a `FixingProof`."""
        if self.claimed.evidence is not None:
            with suppress(OutOfTime):
                self._check(cutoff)
        adjacency = self._contraction.adjacency
        below = _widened_cutoff(cutoff)
        far = self._judge.far(self._blocks, below) & ~adjacency
        excluded = np.zeros_like(far)
        evidence = self.best.evidence
        if isinstance(evidence, Semidefinite):
            excluded = self._judge.excluded(evidence, self._blocks, below)
            excluded &= ~(adjacency | far)
        first = self._contraction.representatives
        proof = FixingProof(
            below=cutoff,
            excluded=first[_pairs(excluded)],
            evidence=evidence if excluded.any() else None,
            far=first[_pairs(far)],
        )
        return PairFixings(_pairs(excluded | far), proof)

    def affinity(self) -> NDArray[np.float64]:
        return self.inner.affinity()

    def clustering(self) -> NDArray[np.intp] | None:
        return self.inner.clustering()

    def warm_start(self) -> Warm:
        return self.inner.warm_start()


def _blocks(contraction: Contraction, rules: Rules = ()) -> Blocks:
    """Return the blocks of a contraction, as the checker sees them."""
    return Blocks(contraction.k, contraction.block_of, contraction.adjacency, rules)


def _widened_cutoff(cutoff: float) -> float:
    """Return the cutoff with room for rounding, as the checker may judge pairs on the edge."""
    return cutoff + SLACK * abs(cutoff)


def _rounded_down(bound: float) -> float:
    """Return a bound as a certificate has it, rounded down.

    On another machine the checker may add up in another order.
    """
    return bound * (1.0 - STATED_ROUNDING)


def _pairs(marked: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the indices (p, 2), i < j, of the true entries of a symmetric matrix."""
    return np.argwhere(np.triu(marked, 1)).astype(np.intp)
