"""The work on one node: picklable values in, picklable values out, no other state."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundingMethod, BoundProgress, BoundRun, ProvenBound
from sdpbb.bounds.certified import BoundProof, CertifiedBounding, CertifiedRun, proof_of
from sdpbb.bounds.colgen.safe_bound import scatter_bound
from sdpbb.bounds.distance import components_apart
from sdpbb.feasibility import find_feasible
from sdpbb.problem import Contraction, Infeasibility, Instance, Partition, contract
from sdpbb.problem.coordinates import block_means, centred, held_apart
from sdpbb.search.branching import most_undecided_pair
from sdpbb.search.limits import ENDLESS, TimeBudget
from sdpbb.search.node import EvaluationState, Fixings, Node, NodeResult, NodeStatus, Pair
from sdpbb.search.parameters import SearchParameters
from sdpbb.search.primal import PrimalHeuristic
from sdpbb.search.tolerances import Tolerances
from sdpbb.search.tree import with_fixings


@dataclass(frozen=True)
class EvaluationContext:
    """What all nodes of a run share.

    is_without_bound : whether memory holds no bound that leads anywhere, so that all there is to do
        is to look for clusterings at the root
    """

    instance: Instance
    bounding: BoundingMethod[Any]
    heuristic: PrimalHeuristic
    search: SearchParameters
    tolerances: Tolerances
    seed: int
    is_without_bound: bool = False


# Of the time that is left to a run, the part that heuristics may take before the first bound.
BEFORE_SHARE = 0.25
# Components are moved where the sum of squares of all points around their means is so many times
# smaller then: an outlier some times farther away than others are takes no digits worth the while,
# and what the bounding has come to is lost.
WORTH_MOVING = 16.0
# Clusters across components that are this many lengths apart cost at least eight squared lengths.
APART = 4.0
# What is not proven in the end is checked when iterations have grown by this factor.
PROVISIONAL_GROWTH = 2.0
# The bound of a node that holds none.
NO_CLUSTERING = ProvenBound(math.inf)


@dataclass(frozen=True)
class Incumbent:
    """The best clustering an evaluation knows of: its cost, and labels if it found it itself."""

    cost: float
    labels: NDArray[np.intp] | None = None
    source: str = ""


def evaluate(
    node: Node, upper: float, context: EvaluationContext, budget: TimeBudget = ENDLESS
) -> NodeResult:
    """Bound a node; look for clusterings; fix pairs, or choose what to branch on, if that does not
    close it.

    Parameters
    ----------
    node, upper : the node, and the cost of the incumbent, inf if there is none
    budget : how long that may take

    Where constraints on clusters are more than cannot-links, the heuristics know nothing of them:
    what violates them is dropped, and no clustering may be known for long.

    A pure function but for the clock: where an evaluation is left to be continued has no influence
    on what it comes to.
    """
    budget = budget.begin()
    contractions = _contractions(node, context.instance)
    if contractions is None:
        return NodeResult(NodeStatus.INFEASIBLE, node.lower)
    decided, bounded = contractions
    feasible = known_labels(node, decided)
    if feasible is None:
        found = find_feasible(decided, budget.seconds_left, budget.is_urgent)
        if isinstance(found, Infeasibility):
            return NodeResult(NodeStatus.INFEASIBLE, node.lower)
        if found is None:
            return NodeResult(NodeStatus.UNFINISHED, node.lower, state=node.state)
        feasible = found
    search = _NodeSearch(node, Incumbent(upper), context, decided, bounded, feasible, budget)
    same = bounded.n_blocks == decided.n_blocks
    known = feasible if same and bounded.keeps(feasible) else None
    only = only_clustering(bounded, known)
    return search.run() if only is None else search.closed_by(only)


def _contractions(node: Node, instance: Instance) -> tuple[Contraction, Contraction] | None:
    """The instance contracted by the node's decisions, in which clusterings are looked for, and by
    its fixings too, which is bounded; None if there is no clustering.

    The first does without fixings: these make so many cannot-links that finding clusterings becomes
    hard, and there may be none that keeps them. Components that are fixed are held apart by one
    more coordinate there, as heuristics go by distances.
    """
    bounded = _bounded_contraction(node, instance)
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
    """The same with each of the components (n,) around its own mean, and these so far apart that a
    clustering which joins two costs more than length^2. As it is where a block is across two."""
    of_blocks = components[decided.representatives]
    if not np.array_equal(decided.lift(of_blocks), components):
        return decided
    points = centred(instance.points, components)
    means = block_means(points, decided.block_of, decided.sizes)
    return replace(decided, means=held_apart(means, of_blocks, APART * length))


def _bounded_contraction(node: Node, instance: Instance) -> Contraction | None:
    """The second of `_contractions`; None if there is no clustering."""
    fixed = node.fixings
    if fixed.n_components > instance.k:
        return None
    must_link = np.concatenate([_array(node.must_link), fixed.must_link])
    cannot_link = np.concatenate([_array(node.cannot_link), fixed.cannot_link])
    bounded = contract(instance, must_link, cannot_link, node.blocks, fixed.components)
    return None if isinstance(bounded, Infeasibility) else bounded


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


def only_cost(labels: NDArray[np.intp], points: NDArray[np.float64]) -> ProvenBound:
    """The sum of squares of labels of the points, less what rounding can have added to it (see
    `sdpbb.problem.coordinates.sum_of_squares`)."""
    eps = float(np.finfo(np.float64).eps)
    terms = 16.0 + float(np.log2(points.size))
    return ProvenBound(Partition(labels).sum_of_squares(points) * (1.0 - 4.0 * eps * terms))


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
        budget: TimeBudget,
    ) -> None:
        self._node = node
        self._lower = node.lower
        self._incumbent = incumbent
        self._context = context
        self._decided = decided
        self._bounded = bounded
        self._feasible = feasible
        self._budget = budget
        self._n_heuristics = 0 if node.state is None else node.state.n_heuristics
        self._heuristic = context.heuristic.prepare(decided, feasible, budget.remainder)
        self._run: BoundRun[Any] | None = None
        self._proof: BoundProof | None = None
        self._progress = BoundProgress(node.lower, False, 0, 0)
        self._iterations_before = 0
        self._met: NDArray[np.intp] | None = None  # in bounding, and offered
        self._offer(decided, feasible, "colouring")

    def closed_by(self, labels: NDArray[np.intp]) -> NodeResult:
        """The blocks have a clustering that costs as much as all others."""
        lifted = self._bounded.lift(labels)
        self._offer(self._bounded, labels, "colouring")
        if isinstance(self._context.bounding, CertifiedBounding):
            self._raise_to_scatter()
        else:
            self._raise_to(only_cost(lifted, self._context.instance.points))
        return self._outcome(NodeStatus.CLOSED)

    def _raise_to_scatter(self) -> None:
        """Take what the points of each block cost among themselves."""
        bounding = self._context.bounding
        if not isinstance(bounding, CertifiedBounding):
            self._raise_to(scatter_bound(self._bounded))
        elif not self._context.is_without_bound:  # the checker's blocks are a matrix, too
            self._proof = bounding.scatter_proof(self._bounded)
            self._raise_to(ProvenBound(self._proof.bound))

    def _raise_to(self, bound: ProvenBound) -> None:
        """Take a bound on the clusterings that keep the node's decisions."""
        self._lower = max(self._lower, self._node.proven(bound))

    def run(self) -> NodeResult:
        """Alternate bounds and heuristics until the node is closed, stalled or left."""
        if self._budget.is_urgent():
            return self._outcome(NodeStatus.UNFINISHED)
        is_to_be_bounded = self._budget.bounds and not self._context.is_without_bound
        if not is_to_be_bounded:
            self._raise_to_scatter()
        if self._n_heuristics == 0:
            apart = self._apart()
            if apart is None and self._node.number == 0 and self._run_heuristic(None):
                apart = self._apart()
            if apart is not None:
                return apart
            self._n_heuristics = 1
        if not is_to_be_bounded:
            return self._outcome(NodeStatus.UNFINISHED)
        run = self._begin()
        while not self._budget.is_urgent():
            self._progress = run.advance(self._cutoff, self._budget.remainder)
            if self._progress.bound == NO_CLUSTERING:
                return self._outcome(NodeStatus.INFEASIBLE)
            self._raise_to(self._progress.bound)
            self._offer_of_bounding(run)
            if self._is_closed:
                return self._outcome(NodeStatus.CLOSED)
            if self._progress.is_cut:
                break
            stalled, improved = self._progress.stalled, False
            due = self._context.search.heuristic_iterations[self._n_heuristics - 1 :]
            if stalled or (due and self._progress.n_iterations >= due[0]):
                improved = self._run_heuristic(run)
                self._n_heuristics += 1
                if self._is_closed:
                    return self._outcome(NodeStatus.CLOSED)
                if improved and (apart := self._apart()) is not None:
                    return apart
            if stalled:
                return self._leave(run)
            if self._budget.is_over() or improved:  # another process may not come back from a step
                break
        self._take_provisional(run)
        return self._outcome(NodeStatus.UNFINISHED)

    def _take_provisional(self, run: BoundRun[Any]) -> None:
        """Take what is confirmed of a bound that has not closed the node, if this evaluation has
        done a good part of what it took: the checker needs some time as well."""
        enough = run.n_iterations >= PROVISIONAL_GROWTH * self._iterations_before
        is_last = self._progress.is_cut or self._budget.is_urgent()
        if isinstance(run, CertifiedRun) and (enough or is_last):
            self._proof = run.provisional()
            self._raise_to(ProvenBound(self._proof.bound))

    def _begin(self) -> BoundRun[Any]:
        bounding, state = self._context.bounding, self._node.state
        if state is None or state.bounding is None:
            self._run = bounding.start(self._bounded, self._node.warm_start, self._known())
        else:
            # A run changes its state, and a node is not to change.
            self._run = bounding.resume(self._bounded, copy.deepcopy(state.bounding))
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

    def _apart(self) -> NodeResult | None:
        """What distances alone fix, if components are found that are to be moved: each to its own
        mean, so that numbers lose no digits to what is far away. None if there are none, or if that
        hardly makes anything smaller."""
        cutoff, bounding, bounded = self._cutoff, self._context.bounding, self._bounded
        if not math.isfinite(cutoff) or self._context.is_without_bound:
            return None
        points, proof = self._context.instance.points, None
        component_of = components_apart(bounded, points, cutoff, self._budget.is_urgent)
        fixings = Fixings(components=bounded.lift(component_of), below=cutoff)
        if not self._are_worth_moving(fixings):
            return None
        if isinstance(bounding, CertifiedBounding):
            component_of, proof = bounding.components_apart(bounded, cutoff)
            fixings = Fixings(components=bounded.lift(component_of), below=cutoff)
            if not self._are_worth_moving(fixings):
                return None
        return self._outcome(NodeStatus.FIXED, fixings=fixings, fixing_proof=proof)

    def _are_worth_moving(self, fixings: Fixings) -> bool:
        """Whether there are more components than before, and sums get smaller by moving them."""
        components = fixings.components
        if components is None or fixings.n_components <= self._node.fixings.n_components:
            return False
        moved = Partition(components).sum_of_squares(self._context.instance.points)
        return WORTH_MOVING * moved <= self._bounded.total

    def _offer(self, contraction: Contraction, labels: NDArray[np.intp], source: str) -> None:
        """Take labels of the blocks with k clusters that keep the must-links and cannot-links, if
        they keep the constraints on clusters too and are better than the incumbent."""
        lifted = contraction.lift(labels)
        # As it will be reported: sums over blocks may be of other coordinates.
        cost = Partition(lifted).sum_of_squares(self._context.instance.points)
        improves = self._context.tolerances.improves(cost, self._incumbent.cost)
        if improves and contraction.keeps(labels):
            self._incumbent = Incumbent(cost, lifted, source)
            self._budget.found(lifted, cost, source)

    def _offer_of_bounding(self, run: BoundRun[Any]) -> None:
        """Take the clustering that bounding has met, if it is one and better than the incumbent."""
        labels = run.clustering()
        if labels is None or len(np.unique(labels)) != self._bounded.k:
            return
        if self._met is None or not np.array_equal(labels, self._met):
            self._met = labels
            self._offer(self._bounded, labels, "bounding")

    def _run_heuristic(self, run: BoundRun[Any] | None) -> bool:
        """Look for a better clustering, from the affinity of the bounding if there is one; whether
        one was found."""
        known = self._incumbent.cost
        affinity = None if run is None else self._affinity(run)
        # Seeded by the node and the step, not by the order of evaluation: the same on any executor.
        rng = np.random.default_rng([self._context.seed, self._node.number, self._n_heuristics])
        # Where time is limited, most of what is left at the root is for its bound.
        share = BEFORE_SHARE if run is None and not self._context.is_without_bound else 1.0
        self._heuristic.search(
            rng,
            affinity,
            lambda: self._budget.has_used(share),
            lambda labels, source: self._offer(self._decided, labels, source),
        )
        return self._incumbent.cost < known

    def _affinity(self, run: BoundRun[Any]) -> NDArray[np.float64]:
        """Of the blocks that clusterings are looked for in."""
        Z = run.affinity()
        if self._bounded is self._decided:
            return Z
        block = self._bounded.block_of[self._decided.representatives]
        return Z[np.ix_(block, block)]

    def _leave(self, run: BoundRun[Any]) -> NodeResult:
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
        pair = most_undecided_pair(self._bounded, run.affinity())
        if pair is None:  # more than k blocks, and each two of them are cannot-linked
            return self._outcome(NodeStatus.INFEASIBLE)
        return self._outcome(
            NodeStatus.BRANCH,
            warm_start=warm_start,
            fixings=fixings,
            fixing_proof=proof,
            pair=pair,
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

    def _outcome(self, status: NodeStatus, **more: Any) -> NodeResult:
        """What the evaluation has come to."""
        if status is NodeStatus.UNFINISHED:
            known = self._node.state or EvaluationState()
            bounding = known.bounding if self._run is None else self._run.state
            more["state"] = EvaluationState(bounding, self._n_heuristics)
        return NodeResult(
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
