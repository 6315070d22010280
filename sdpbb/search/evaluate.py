"""The work on one node: picklable values in, picklable values out, no other state."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heuristics.multi_start import Descent, MultiStart
from heuristics.parameters import MultiStartParameters
from sdpbb.bounds.bound import Bounding, BoundProgress, BoundRun, SafeBound
from sdpbb.bounds.certified import BoundProof, CertifiedBounding, CertifiedRun, proof_of
from sdpbb.feasibility import find_feasible
from sdpbb.problem import Contraction, Infeasibility, Instance, Partition, contract
from sdpbb.search.branching import most_undecided_pairs
from sdpbb.search.node import EvaluationState, Fixings, Node, NodeStatus, Outcome, Pair
from sdpbb.search.parameters import SearchParameters
from sdpbb.search.tolerances import Tolerances
from sdpbb.search.tree import with_fixings


@dataclass(frozen=True)
class EvaluationContext:
    """What all nodes of a run share."""

    instance: Instance
    bounding: Bounding[Any]
    search: SearchParameters
    tolerances: Tolerances
    seed: int


def _never() -> bool:
    return False


@dataclass(frozen=True)
class Allowance:
    """How long an evaluation may take, from its beginning on.

    slice : seconds until it is left, after a step at least, to be continued
    left : seconds until the run's end: not even a step is begun after it, and heuristics and
        integer programmes are cut short
    cancelled : asked between steps, for a caller in the same process
    """

    slice: float = math.inf
    left: float = math.inf
    cancelled: Callable[[], bool] = _never


ENDLESS = Allowance()
# The bound of a node that holds none.
NO_CLUSTERING = SafeBound(math.inf)


class _Clock:
    """An allowance that is running out."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._started = time.perf_counter()

    def is_over(self) -> bool:
        """Whether the slice has ended."""
        return self._seconds >= self._allowance.slice or self.is_urgent()

    def is_urgent(self) -> bool:
        """Whether the run is to end."""
        return self._allowance.cancelled() or self._seconds >= self._allowance.left

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the run's end, at least a hundredth; None without a limit."""
        left = self._allowance.left
        return None if left == math.inf else max(0.01, left - self._seconds)

    def remainder(self) -> float:
        """Seconds until the run's end, 0 once it is to end; inf without a limit."""
        return 0.0 if self.is_urgent() else self._allowance.left - self._seconds

    @property
    def _seconds(self) -> float:
        return time.perf_counter() - self._started


@dataclass(frozen=True)
class Incumbent:
    """The best clustering an evaluation knows of: its cost, and labels if it found it itself."""

    cost: float
    labels: NDArray[np.intp] | None = None
    source: str = ""


def evaluate(
    node: Node, upper: float, context: EvaluationContext, allowance: Allowance = ENDLESS
) -> Outcome:
    """Bound a node; look for clusterings; fix pairs, or choose what to branch on, if that does not
    close it.

    Parameters
    ----------
    node, upper : the node, and the cost of the incumbent, inf if there is none
    allowance : how long that may take

    Where constraints on clusters are more than cannot-links, the heuristics know nothing of them:
    what violates them is dropped, and no clustering may be known for long.

    A pure function but for the clock: where an evaluation is left to be continued has no influence
    on what it comes to.
    """
    clock = _Clock(allowance)
    contractions = _contractions(node, context.instance)
    if contractions is None:
        return Outcome(NodeStatus.INFEASIBLE, node.lower)
    decided, bounded = contractions
    feasible = known_labels(node, decided)
    if feasible is None:
        found = find_feasible(decided, clock.seconds_left)
        if isinstance(found, Infeasibility):
            return Outcome(NodeStatus.INFEASIBLE, node.lower)
        if found is None:
            return Outcome(NodeStatus.UNFINISHED, node.lower, state=node.state)
        feasible = found
    search = _NodeSearch(node, Incumbent(upper), context, decided, bounded, feasible, clock)
    known = feasible if bounded is decided and decided.keeps(feasible) else None
    only = only_clustering(bounded, known)
    return search.run() if only is None else search.closed_by(only)


def _contractions(node: Node, instance: Instance) -> tuple[Contraction, Contraction] | None:
    """The instance contracted by the node's decisions, in which clusterings are looked for, and by
    its fixings too, which is bounded; None if there is no clustering.

    The first does without fixings: these make so many cannot-links that finding clusterings becomes
    hard, and there may be none that keeps them.
    """
    bounded = _bounded_contraction(node, instance)
    if bounded is None or not len(node.fixings):
        return None if bounded is None else (bounded, bounded)
    decided = contract(instance, node.must_link, node.cannot_link)
    return None if isinstance(decided, Infeasibility) else (decided, bounded)


def _bounded_contraction(node: Node, instance: Instance) -> Contraction | None:
    """The second of `_contractions`; None if there is no clustering."""
    fixed = node.fixings
    must_link = np.concatenate([_array(node.must_link), fixed.must_link])
    cannot_link = np.concatenate([_array(node.cannot_link), fixed.cannot_link])
    bounded = contract(instance, must_link, cannot_link, node.blocks)
    return None if isinstance(bounded, Infeasibility) else bounded


@dataclass(frozen=True)
class Probe:
    """What a short bounding proves for a child of a node that is to be branched on.

    bound : proven for the child; None if it holds no clustering
    proof : of the bound, or that there is no clustering, where it is kept
    """

    bound: SafeBound | None
    n_iterations: int = 0
    proof: BoundProof | None = None


def probe(child: Node, upper: float, context: EvaluationContext) -> Probe:
    """Bound a child of a node for a short while (see `BranchingParameters`)."""
    bounded = _bounded_contraction(child, context.instance)
    if bounded is None:
        return Probe(None)
    if only_clustering(bounded, None) is not None:
        return Probe(child.lower)  # its evaluation will close it, and offer its clustering
    run = context.bounding.start(bounded, child.warm_start)
    bound = child.lower
    for _ in range(context.search.branching.probe_steps):
        progress = run.advance(context.tolerances.cutoff(upper))
        if progress.bound == NO_CLUSTERING:
            return Probe(None, run.n_iterations, proof_of(run))
        bound = max(bound, child.proven(progress.bound))
        if context.tolerances.closes(bound, upper):
            break
    return Probe(bound, run.n_iterations, proof_of(run))


def known_labels(node: Node, contraction: Contraction) -> NDArray[np.intp] | None:
    """Labels of the blocks that keep the cannot-links, from those the node knows, if they do."""
    if node.feasible is None:
        return None
    labels = _of_blocks(node.feasible, contraction)
    i, j = contraction.cannot_link.T
    return None if labels is None or (labels[i] == labels[j]).any() else labels


def _of_blocks(labels: NDArray[np.intp], contraction: Contraction) -> NDArray[np.intp] | None:
    """Labels of the points as those of the blocks; None if they split one."""
    of_blocks = labels[contraction.representatives]
    return of_blocks if np.array_equal(contraction.lift(of_blocks), labels) else None


def only_clustering(
    contraction: Contraction, feasible: NDArray[np.intp] | None
) -> NDArray[np.intp] | None:
    """Labels of the blocks where all clusterings cost the same: one block per cluster (k = 1
    included), or blocks that all have the same mean, for which labels must be known. None if there
    may be several, or their labels are not known."""
    if contraction.n_blocks == contraction.k:
        return np.arange(contraction.k)
    return None if contraction.means.any() else feasible


def only_cost(labels: NDArray[np.intp], points: NDArray[np.float64]) -> SafeBound:
    """The sum of squares of labels of the points, less what rounding can have added to it: pairwise
    sums of squares lose a small multiple of eps and of the logarithm of their number, relative to
    themselves."""
    eps = float(np.finfo(np.float64).eps)
    terms = 16.0 + float(np.log2(points.size))
    return SafeBound(Partition(labels).sum_of_squares(points) * (1.0 - 4.0 * eps * terms))


class _NodeSearch:
    """The state of one evaluation: the bound and the incumbent, which only ever improve."""

    def __init__(
        self,
        node: Node,
        incumbent: Incumbent,
        context: EvaluationContext,
        decided: Contraction,
        bounded: Contraction,
        feasible: NDArray[np.intp],
        clock: _Clock,
    ) -> None:
        self._node = node
        self._lower = node.lower
        self._incumbent = incumbent
        self._context = context
        self._decided = decided
        self._bounded = bounded
        self._feasible = feasible
        self._clock = clock
        self._n_heuristics = 0 if node.state is None else node.state.n_heuristics
        self._descent: Descent | None = None
        self._run: BoundRun[Any] | None = None
        self._proof: BoundProof | None = None
        self._progress = BoundProgress(node.lower, False, 0, 0)
        self._iterations_before = 0
        self._offer(decided, feasible, decided.cost(feasible), "colouring")

    def closed_by(self, labels: NDArray[np.intp]) -> Outcome:
        """The blocks have a clustering that costs as much as all others."""
        # The same sums as those of its bound: sums over centred blocks are rounded differently,
        # and where costs are small beside distances they differ by more than a gap.
        lifted = self._bounded.lift(labels)
        cost = Partition(lifted).sum_of_squares(self._context.instance.points)
        self._offer(self._bounded, labels, cost, "colouring")
        bounding = self._context.bounding
        if isinstance(bounding, CertifiedBounding):
            self._proof = bounding.scatter_proof(self._bounded)
            self._raise_to(SafeBound(self._proof.bound))
        else:
            self._raise_to(only_cost(lifted, self._context.instance.points))
        return self._outcome(NodeStatus.CLOSED)

    def _raise_to(self, bound: SafeBound) -> None:
        """Take a bound on the clusterings that keep the node's decisions."""
        self._lower = max(self._lower, self._node.proven(bound))

    def run(self) -> Outcome:
        """Alternate bounds and heuristics until the node is closed, stalled or left."""
        schedule = self._context.search.heuristics
        before = schedule.before if self._node.number == 0 else None
        if self._clock.is_urgent():
            return self._outcome(NodeStatus.UNFINISHED)
        if self._n_heuristics == 0:
            if before is not None:
                self._run_heuristic(before, None)
            self._n_heuristics = 1
        run = self._begin()
        while not self._clock.is_urgent():
            self._progress = run.advance(self._cutoff)
            if self._progress.bound == NO_CLUSTERING:
                return self._outcome(NodeStatus.INFEASIBLE)
            self._raise_to(self._progress.bound)
            self._offer_of_bounding(run)
            if self._is_closed:
                return self._outcome(NodeStatus.CLOSED)
            stalled = self._progress.stalled
            due = schedule.iterations[self._n_heuristics - 1 :]
            if stalled or (due and self._progress.n_iterations >= due[0]):
                self._run_heuristic(schedule.during, run)
                self._n_heuristics += 1
                if self._is_closed:
                    return self._outcome(NodeStatus.CLOSED)
            if stalled:
                return self._leave(run)
            if self._clock.is_over():
                break
        return self._outcome(NodeStatus.UNFINISHED)

    def _begin(self) -> BoundRun[Any]:
        bounding, state = self._context.bounding, self._node.state
        if state is None or state.bounding is None:
            self._run = bounding.start(self._bounded, self._node.warm_start, self._known())
        else:
            self._run = bounding.resume(self._bounded, state.bounding)
            self._iterations_before = self._run.n_iterations
        return self._run

    def _known(self) -> NDArray[np.intp] | None:
        """Labels of the blocks that are bounded, for a clustering that keeps all constraints: the
        incumbent's, or those that showed the node to be feasible."""
        for labels in (self._incumbent.labels, self._decided.lift(self._feasible)):
            of_blocks = None if labels is None else _of_blocks(labels, self._bounded)
            if of_blocks is not None and self._bounded.keeps(of_blocks):
                return of_blocks
        return None

    @property
    def _cutoff(self) -> float:
        return self._context.tolerances.cutoff(self._incumbent.cost)

    @property
    def _is_closed(self) -> bool:
        return self._context.tolerances.closes(self._lower, self._incumbent.cost)

    def _offer(
        self, contraction: Contraction, labels: NDArray[np.intp], cost: float, source: str
    ) -> None:
        """Take labels of the blocks with k clusters that keep the must-links and cannot-links, if
        they keep the constraints on clusters too and are better than the incumbent."""
        improves = self._context.tolerances.improves
        if improves(cost, self._incumbent.cost) and contraction.keeps(labels):
            lifted = contraction.lift(labels)
            # As it will be reported: sums over blocks are rounded differently.
            cost = Partition(lifted).sum_of_squares(self._context.instance.points)
            if improves(cost, self._incumbent.cost):
                self._incumbent = Incumbent(cost, lifted, source)

    def _offer_of_bounding(self, run: BoundRun[Any]) -> None:
        """Take the clustering that bounding has met, if it is one and better than the incumbent."""
        labels = run.clustering()
        if labels is None or len(np.unique(labels)) != self._bounded.k:
            return
        self._offer(self._bounded, labels, self._bounded.cost(labels), "bounding")

    def _run_heuristic(self, parameters: MultiStartParameters, run: BoundRun[Any] | None) -> None:
        """Look for a better clustering, from the bounding's affinity or k-means++ starts."""
        affinity = None if run is None else self._affinity(run)
        if self._descent is None:
            self._descent = Descent(
                self._decided, parameters, self._feasible, self._clock.remainder
            )
        # Seeded by the node and the step, not by the order of evaluation: the same on any executor.
        rng = np.random.default_rng([self._context.seed, self._node.number, self._n_heuristics])
        found = MultiStart(parameters).run(
            self._decided, rng, affinity, self._descent, self._clock.is_urgent
        )
        self._offer(self._decided, found.labels, found.cost, found.source)

    def _affinity(self, run: BoundRun[Any]) -> NDArray[np.float64]:
        """Of the blocks that clusterings are looked for in."""
        Z = run.affinity()
        if self._bounded is self._decided:
            return Z
        block = self._bounded.block_of[self._decided.representatives]
        return Z[np.ix_(block, block)]

    def _leave(self, run: BoundRun[Any]) -> Outcome:
        """The bound has stalled: fix what it allows, and branch unless that changes the blocks."""
        search = self._context.search
        # Without an incumbent there is nothing that fixed pairs could be better than.
        fixing = search.fixing and math.isfinite(self._cutoff)
        fixings = self._fixings(run) if fixing else Fixings()
        warm_start = run.warm_start()
        proof = run.fixing_proof if isinstance(run, CertifiedRun) else None
        if len(fixings) and self._changes_blocks(fixings):
            return self._outcome(
                NodeStatus.FIXED, warm_start=warm_start, fixings=fixings, fixing_proof=proof
            )
        candidates = most_undecided_pairs(
            self._bounded, run.affinity(), search.branching.n_candidates
        )
        return self._outcome(
            NodeStatus.BRANCH,
            warm_start=warm_start,
            fixings=fixings,
            fixing_proof=proof,
            candidates=candidates,
        )

    def _fixings(self, run: BoundRun[Any]) -> Fixings:
        together, apart = run.fixings(self._cutoff)
        first = self._bounded.representatives
        return Fixings(first[together], first[apart], self._cutoff)

    def _changes_blocks(self, fixings: Fixings) -> bool:
        """Whether the pairs fixed, and what follows from them, merge blocks or leave no clustering:
        then the bound is worth another try."""
        node = with_fixings(self._node, fixings)
        bounded = _bounded_contraction(node, self._context.instance)
        return bounded is None or bounded.n_blocks < self._bounded.n_blocks

    def _outcome(self, status: NodeStatus, **more: Any) -> Outcome:
        """What the evaluation has come to."""
        if status is NodeStatus.UNFINISHED:
            known = self._node.state or EvaluationState()
            bounding = known.bounding if self._run is None else self._run.state()
            more["state"] = EvaluationState(bounding, self._n_heuristics)
        return Outcome(
            status=status,
            lower=self._lower,
            labels=self._incumbent.labels,
            cost=self._incumbent.cost,
            source=self._incumbent.source,
            # A state belongs to the contraction that the node's present blocks give again.
            blocks=None if status is NodeStatus.UNFINISHED else self._bounded.block_of,
            feasible=self._decided.lift(self._feasible),
            n_iterations=self._progress.n_iterations - self._iterations_before,
            n_cuts=self._progress.n_cuts,
            proof=self._proof or proof_of(self._run),
            **more,
        )


def _array(pairs: tuple[Pair, ...]) -> NDArray[np.intp]:
    return np.array(pairs, np.intp).reshape(-1, 2)
