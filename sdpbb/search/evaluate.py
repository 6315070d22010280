"""Evaluation of one node (`evaluate`): a function of picklable values, without a state."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heuristics import HeuristicSchedule
from heuristics.incumbents import PreparedSearch
from sdpbb.bounds.bound import BoundingMethod, BoundProgress, BoundRun, ProvenBound
from sdpbb.problem import Contraction, Infeasibility, Instance, Partition
from sdpbb.problem.feasibility import find_feasible
from sdpbb.runtime.backends import IntegerSolver
from sdpbb.runtime.backends.milp import using_integer_solver
from sdpbb.runtime.cores import using_cores
from sdpbb.search.clocks import ENDLESS, Budget
from sdpbb.search.node import (
    Fixings,
    Node,
    NodeResult,
    NodeStatus,
    bounded_contraction,
    branching_pair,
    contractions_of,
    known_labels,
    labels_of_blocks,
    only_clustering,
)
from sdpbb.search.tree import Tolerances, with_fixings


@dataclass(frozen=True)
class EvaluationContext:
    """Data shared by the evaluations of all nodes of a run.

    milp_solver : of integer programmes
    fixing : whether to fix cannot-links that every better clustering satisfies
    may_bound : whether a bound fits the memory; if not, only heuristics run, at the root
    heuristic_iterations : iterations of the bounding after which heuristics start from the solution
        of the relaxation. They also run at its end
    """

    instance: Instance
    bounding: BoundingMethod[Any]
    heuristic: HeuristicSchedule
    tolerances: Tolerances
    seed: int
    milp_solver: IntegerSolver = "auto"
    fixing: bool = True
    may_bound: bool = True
    heuristic_iterations: tuple[int, ...] = (60, 160, 320)


# Share of the remaining time of a run for heuristics before the first bound.
BEFORE_SHARE = 0.25
# The same share if sizes or weights are limited, as heuristics then take longer. On 2,000 points in
# the plane in 20 clusters, they ended at most 0.05 % above the best known cost after 2.5 of 5 s,
# and 0.13 % after 1.25 s (five seeds each).
LIMITED_SHARE = 0.5
# Components are moved to their own means if that divides the total sum of squares by this factor.
# Less gains no digits, and the bounding would start again.
WORTH_MOVING = 16.0
# A provisional bound is computed when iterations have grown by this factor.
PROVISIONAL_GROWTH = 2.0
# Bounds of a node without a clustering, and of a node about which nothing is known.
NO_CLUSTERING, NOTHING = ProvenBound(math.inf), ProvenBound(0.0)


def evaluate(
    node: Node, upper: float, context: EvaluationContext, budget: Budget = ENDLESS
) -> NodeResult:
    """Bound a node and run heuristics; if that does not close the node, fix pairs or branch.

    A pure function apart from the clock: pauses do not influence the result. Heuristics support
    pairs and limits on sizes and weights. Clusterings that violate other constraints on clusters
    are dropped, so there may be no incumbent for a long time.

    Parameters
    ----------
    upper : cost of the incumbent; inf: none
    budget : limits of time, and cores
    """
    with using_integer_solver(context.milp_solver), using_cores(budget.cores):
        return _evaluate(node, upper, context, budget.begin())


def _evaluate(node: Node, upper: float, context: EvaluationContext, budget: Budget) -> NodeResult:
    contractions = contractions_of(node, context.instance)
    if contractions is None:
        return NodeResult(NodeStatus.INFEASIBLE, NOTHING)
    decided, bounded = contractions
    feasible = known_labels(node, decided)
    if feasible is None:
        found = find_feasible(decided, budget.time_left)
        if isinstance(found, Infeasibility):
            return NodeResult(NodeStatus.INFEASIBLE, NOTHING)
        if found is None:
            begun = {"bounding": node.bounding, "n_heuristics": node.n_heuristics}
            return NodeResult(NodeStatus.UNFINISHED, NOTHING, **begun)
        feasible = found
    evaluation = _Evaluation(node, context, decided, bounded, feasible, budget, upper)
    same = bounded.n_blocks == decided.n_blocks
    only = only_clustering(bounded, feasible if same and bounded.keeps(feasible) else None)
    return evaluation.run() if only is None else evaluation.close_by(only)


@dataclass(eq=False)
class _Evaluation:
    """Evaluation of one node: its bound and its incumbent only improve.

    decided, bounded : contractions for heuristics, and for the bound
    feasible : labels of the blocks of `decided` that satisfy pairs and sizes
    upper, labels, source : of the incumbent; labels are None unless this evaluation found them
    """

    node: Node
    context: EvaluationContext
    decided: Contraction
    bounded: Contraction
    feasible: NDArray[np.intp]
    budget: Budget
    upper: float
    labels: NDArray[np.intp] | None = None
    source: str = ""

    def __post_init__(self) -> None:
        node, context = self.node, self.context
        self._bound = NOTHING
        self._n_heuristics = node.n_heuristics
        self._heuristic = PreparedSearch(
            context.heuristic,
            self.decided,
            self.feasible,
            self.budget.time_left,
            is_root=node.number == 0,
        )
        self._run: BoundRun[Any] | None = None
        self._progress = BoundProgress(NOTHING, False, 0)
        self._iterations_before = 0
        self._met: NDArray[np.intp] | None = None  # last clustering of the bounding
        self._offer(self.decided, self.feasible, "colouring")

    def close_by(self, labels: NDArray[np.intp]) -> NodeResult:
        """Close the node by a clustering of its blocks; all clusterings cost the same."""
        self._offer(self.bounded, labels, "colouring")
        instance = self.context.instance
        self._raise_to(self.context.bounding.cost_of_only(self.bounded, labels, instance))
        return self._result(NodeStatus.CLOSED)

    def _raise_to(self, bound: ProvenBound) -> None:
        """Raise the bound on the clusterings that satisfy the decisions and fixings."""
        self._bound = max(self._bound, bound)

    def run(self) -> NodeResult:
        """Alternate bounds and heuristics until the node is closed or stalled, or must pause."""
        if self.budget.is_over:
            return self._result(NodeStatus.UNFINISHED)
        may_bound = self.budget.may_bound and self.context.may_bound
        if not may_bound:
            self._raise_to(self.context.bounding.scatter(self.bounded))
        if self._n_heuristics == 0:
            apart = self._split_components()
            if apart is None and self.node.number == 0 and self._run_heuristic(None):
                apart = self._split_components()
            if apart is not None:
                return apart
            self._n_heuristics = 1
        if not may_bound:
            return self._result(NodeStatus.UNFINISHED)
        run = self._begin()
        while not self.budget.is_over:
            self._progress = run.advance(self._cutoff, self.budget.time_left)
            self._raise_to(self._progress.bound)
            if self._bound == NO_CLUSTERING:
                return self._result(NodeStatus.INFEASIBLE)
            self._offer_of_bounding(run)
            if self._is_closed:
                return self._result(NodeStatus.CLOSED)
            if self._progress.is_cut:
                break
            stalled, improved = self._progress.stalled, False
            due = self.context.heuristic_iterations[self._n_heuristics - 1 :]
            if stalled or (due and run.n_iterations >= due[0]):
                improved = self._run_heuristic(run)
                self._n_heuristics += 1
                if self._is_closed:
                    return self._result(NodeStatus.CLOSED)
                if improved and (apart := self._split_components()) is not None:
                    return apart
            if stalled:
                return self._fix_or_branch(run)
            if self.budget.has_used_slice or improved:
                break
        # A provisional bound takes time, too: compute it only if this slice has done a large share
        # of the iterations.
        enough = run.n_iterations >= PROVISIONAL_GROWTH * self._iterations_before
        if enough or self._progress.is_cut or self.budget.is_over:
            self._raise_to(self.context.bounding.provisional(run))
        return self._result(NodeStatus.UNFINISHED)

    def _begin(self) -> BoundRun[Any]:
        """Start or resume the bounding of the node."""
        bounding, begun = self.context.bounding, self.node.bounding
        if begun is None:
            self._run = bounding.start(self.bounded, self.node.warm_start, self._known_labels())
        else:
            # The run changes its state, and the node must not change.
            self._run = copy.deepcopy(begun).attach(self.bounded, bounding)
            self._iterations_before = self._run.n_iterations
        return self._run

    def _known_labels(self) -> NDArray[np.intp] | None:
        """Return labels of the bounded blocks that satisfy all constraints, or None.

        They are from the incumbent, or from the first clustering of the node.
        """
        for labels in (self.labels, self.decided.lift(self.feasible)):
            of_blocks = self._of_blocks(labels, self.bounded)
            if of_blocks is not None:
                return of_blocks
        return None

    @staticmethod
    def _of_blocks(
        labels: NDArray[np.intp] | None, contraction: Contraction
    ) -> NDArray[np.intp] | None:
        """Return labels of points as labels of blocks, or None if a constraint is violated."""
        of_blocks = None if labels is None else labels_of_blocks(labels, contraction)
        return of_blocks if of_blocks is not None and contraction.keeps(of_blocks) else None

    @property
    def _cutoff(self) -> float:
        return self.context.tolerances.cutoff(self.upper)

    @property
    def _is_closed(self) -> bool:
        return self.context.tolerances.closes(self.node.proven(self._bound), self.upper)

    def _split_components(self) -> NodeResult | None:
        """Return a FIXED result if distances separate components, or None.

        Each component is then moved to its own mean, so that distances to other components cost no
        digits. None, too, if that hardly reduces the numbers.
        """
        cutoff, instance = self._cutoff, self.context.instance
        if not math.isfinite(cutoff) or not self.context.may_bound:
            return None
        component_of, evidence = self.context.bounding.components_apart(
            self.bounded, instance, cutoff, lambda: self.budget.is_over
        )
        components = self.bounded.lift(component_of)
        fixings = Fixings(components=components, below=cutoff)
        if fixings.n_components <= self.node.fixings.n_components:
            return None
        moved = Partition(components).sum_of_squares(instance.points, instance.weights)
        if WORTH_MOVING * moved > self.bounded.total:
            return None
        return self._result(NodeStatus.FIXED, fixings=fixings, fixing_evidence=evidence)

    def _offer(self, contraction: Contraction, labels: NDArray[np.intp], source: str) -> None:
        """Make labels of the blocks the incumbent if they are better and feasible.

        They have k clusters and satisfy must-links and cannot-links. Check the constraints on
        clusters here.
        """
        lifted = contraction.lift(labels)
        # The cost of the points, as it is reported: blocks may have other coordinates.
        cost = Partition(lifted).cost(self.context.instance)
        if cost < self.upper and contraction.keeps(labels):
            self.upper, self.labels, self.source = cost, lifted, source
            self.budget.found(lifted, cost, source)

    def _offer_of_bounding(self, run: BoundRun[Any]) -> None:
        """Offer the clustering that the bounding has found, if there is a new one."""
        labels = run.clustering()
        if labels is None or len(np.unique(labels)) != self.bounded.k:
            return
        if self._met is None or not np.array_equal(labels, self._met):
            self._met = labels
            self._offer(self.bounded, labels, "bounding")

    def _run_heuristic(self, run: BoundRun[Any] | None) -> bool:
        """Search for a better clustering; return whether one was found.

        run : starts are from its affinity; None: before the bounding
        """
        known, affinity = self.upper, None if run is None else run.affinity()
        if affinity is not None and self.bounded is not self.decided:
            block = self.bounded.block_of[self.decided.representatives]
            affinity = affinity[np.ix_(block, block)]
        # The seed depends on node and step, not on the order of evaluations or the executor.
        rng = np.random.default_rng([self.context.seed, self.node.number, self._n_heuristics])
        # If time is limited, the bound of the root gets most of it.
        before = LIMITED_SHARE if self.decided.has_limits else BEFORE_SHARE
        share = before if run is None and self.context.may_bound else 1.0
        self._heuristic.search(
            rng,
            affinity,
            lambda: self.budget.has_used(share),
            lambda labels, source: self._offer(self.decided, labels, source),
        )
        return self.upper < known

    def _fix_or_branch(self, run: BoundRun[Any]) -> NodeResult:
        """Return the result of a stalled bound: fixings, or the branching pair.

        Fix pairs. Branch, unless the fixings merge blocks or leave no clustering: then bound the
        node again.
        """
        found: dict[str, Any] = {"warm_start": run.warm_start()}
        # Fixings need an incumbent.
        if self.context.fixing and math.isfinite(self._cutoff):
            pairs = run.fixings(self._cutoff)
            fixings = Fixings(self.bounded.representatives[pairs.apart], self._cutoff)
            found |= {"fixings": fixings, "fixing_evidence": pairs.evidence}
            if len(fixings):
                fixed = with_fixings(self.node, fixings)
                bounded = bounded_contraction(fixed, self.context.instance)
                if bounded is None or bounded.n_blocks < self.bounded.n_blocks:
                    return self._result(NodeStatus.FIXED, **found)
        pair = branching_pair(self.bounded, run.affinity())
        if pair is None:  # more than k blocks, all cannot-linked
            return self._result(NodeStatus.INFEASIBLE)
        return self._result(NodeStatus.BRANCH, pair=pair, **found)

    def _result(self, status: NodeStatus, **more: Any) -> NodeResult:
        """Return the result of the evaluation.

        The bounding of the next slice starts with the cheapest labels found here that satisfy the
        decisions of the node.
        """
        if status is NodeStatus.UNFINISHED:
            more["bounding"] = self.node.bounding if self._run is None else self._run
            more["n_heuristics"] = self._n_heuristics
        n_iterations = 0 if self._run is None else self._run.n_iterations
        is_kept = self._of_blocks(self.labels, self.decided) is not None
        return NodeResult(
            status=status,
            bound=self._bound if self.context.bounding.keeps_evidence else self._bound.bare(),
            labels=self.labels,
            cost=self.upper,
            source=self.source,
            block_of=self.bounded.block_of,
            known_labels=self.labels if is_kept else self.decided.lift(self.feasible),
            n_iterations=n_iterations - self._iterations_before,
            n_cuts=self._progress.n_cuts,
            **more,
        )
