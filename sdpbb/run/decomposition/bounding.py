"""Bounding of one subset: the root of an instance of its own, in slices of time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heuristics.incumbents import IncumbentSearch
from heuristics.parameters import HeuristicSchedule, MultiStartParameters
from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.method import BoundingMethod
from sdpbb.problem import Instance, Partition
from sdpbb.problem.checker_rules import checked_soft_pairs, checker_rules
from sdpbb.run.certificates.recorder import Proof, ProofRecorder, SubsetProof
from sdpbb.runtime.backends import IntegerSolver
from sdpbb.search.evaluate import EvaluationContext, evaluate
from sdpbb.search.limits import Budget
from sdpbb.search.node import Node, NodeResult, NodeStatus
from sdpbb.search.parameters import SearchParameters
from sdpbb.search.tolerances import Tolerances
from sdpbb.search.tree import advanced

# A subset has the restriction of a good clustering to begin with. A descent from it comes first,
# and a little more where the first bound, that of the clustering's dual values, does not do.
HEURISTIC_ITERATIONS = (1,)
LITTLE = MultiStartParameters(n_starts=4, n_relocations=5, swap_effort=0.5)


@dataclass(frozen=True)
class Accuracy:
    """Accuracy of the bound of a subset: a part of what the sum loses by the subset anyway.

    part : of what the subset loses, which is what its own best clustering saves, and `unmatched`
    least, most : relative gaps, between which it is
    unmatched : share of its cost that a clustering loses when it is restricted to the subsets
    """

    part: float
    least: float
    most: float
    unmatched: float

    def gap(self, saved: float) -> float:
        """Return the relative gap, where a subset's own clustering saves a share of its cost."""
        return min(max(self.part * (self.unmatched + saved), self.least), self.most)


@dataclass(frozen=True, eq=False)
class SubsetTask:
    """Subset to bound, with all that its slices share.

    subset : its number
    instance : its points, with the constraints among them
    bounding : of its root
    accuracy : how near it is bounded
    given : cost of the restriction of the best clustering of the whole, inf for none
    seed : of its heuristics
    keeps_evidence : whether its bound is to be certified
    milp_solver : of its integer programmes
    """

    subset: int
    instance: Instance
    bounding: BoundingMethod[Any]
    accuracy: Accuracy
    given: float
    seed: int
    keeps_evidence: bool
    milp_solver: IntegerSolver = "auto"

    def tolerances(self, upper: float) -> Tolerances:
        """Return how near it is bounded if the best clustering known of it costs so much."""
        saved = 1.0 - upper / self.given if 0.0 < self.given < np.inf else 0.0
        return Tolerances(self.accuracy.gap(saved))

    def context(self, upper: float) -> EvaluationContext:
        """Return the context of the evaluation of its root."""
        return EvaluationContext(
            instance=self.instance,
            bounding=self.bounding,
            heuristic=IncumbentSearch(HeuristicSchedule(LITTLE, LITTLE, LITTLE), knows_good=True),
            parameters=SearchParameters(milp_solver=self.milp_solver, fixing=False),
            tolerances=self.tolerances(upper),
            seed=self.seed,
            keeps_evidence=self.keeps_evidence,
            heuristic_iterations=HEURISTIC_ITERATIONS,
        )


@dataclass(frozen=True, eq=False)
class SubsetProgress:
    """Bounding of a subset, as far as it has come: what a worker returns.

    node : its root; with its bound alone once the subset is done with
    upper : cost of the best clustering known of it
    n_iterations : in the last slice
    goes_on : whether another slice is to follow
    proof : of what is proven of it, if the run is certified
    """

    node: Node
    upper: float
    n_iterations: int = 0
    goes_on: bool = True
    proof: SubsetProof | None = None

    @property
    def lower(self) -> float:
        """Bound proven for the subset; inf if no clustering keeps its constraints."""
        if self.proof is None:
            return self.node.lower.value
        from sdpbb.run.certificates.document import values  # of certified runs

        return values(self.proof.proof.nodes)[0]


def subset_task(
    subset: int,
    instance: Instance,
    labels: NDArray[np.intp] | None,
    bounding: BoundingMethod[Any],
    accuracy: Accuracy,
    seed: int,
    proof: SubsetProof | None = None,
    milp_solver: IntegerSolver = "auto",
) -> tuple[SubsetTask, SubsetProgress]:
    """Return a subset to bound, and its progress before the first slice.

    instance : of the subset
    labels : (n,) of its points, of a clustering into k clusters or fewer; None if none is known
    proof : to begin with, if its bound is to be certified
    milp_solver : of its integer programmes
    """
    if proof is not None:
        from sdpbb.bounds.certified import CertifiedBounding

        bounding = CertifiedBounding(
            bounding,
            instance.points,
            checker_rules(instance),
            weights=instance.weights,
            soft=checked_soft_pairs(instance),
        )
    given, node = np.inf, Node()
    if labels is not None:
        numbered = np.unique(labels, return_inverse=True)[1]
        # What keeps the constraints but has fewer clusters costs no less than the optimum.
        given = Partition(numbered).cost(instance)
        has_all = int(numbered.max()) + 1 == instance.k
        node = Node(known_labels=numbered if has_all else None)
    certified = proof is not None
    task = SubsetTask(subset, instance, bounding, accuracy, given, seed, certified, milp_solver)
    return task, SubsetProgress(node, given, proof=proof)


def bound_subset(task: SubsetTask, progress: SubsetProgress, budget: Budget) -> SubsetProgress:
    """Bound a subset for a slice of time.

    It begins with a clustering of its own: how much that saves says how near to bound it, and each
    better one says so anew.
    """
    budget, progress = budget.begin(), replace(progress, n_iterations=0)
    while True:
        bounds = progress.node.state is not None
        context = task.context(progress.upper)
        result = evaluate(
            progress.node, progress.upper, context, replace(budget.left(), bounds=bounds)
        )
        progress = _after(task, progress, result)
        if not progress.goes_on:
            return replace(progress, node=Node(lower=progress.node.lower))
        if budget.is_over():
            return progress


def _after(task: SubsetTask, progress: SubsetProgress, result: NodeResult) -> SubsetProgress:
    """Return the progress of a subset after an evaluation of its root."""
    node = advanced(progress.node, result)
    if result.status is NodeStatus.INFEASIBLE:
        # Nothing below what pairs were fixed by; nothing at all where none were.
        node = replace(node, lower=ProvenBound(node.fixings.below))
    upper = min(progress.upper, result.cost)
    closed = task.tolerances(upper).closes(node.lower, upper)
    unfinished = result.status in (NodeStatus.UNFINISHED, NodeStatus.FIXED)
    proof = progress.proof
    if proof is not None:
        known = proof.proof.nodes[0]
        recorder = ProofRecorder(Proof([replace(known, steps=list(known.steps))]))
        recorder.record(0, result)
        proof = replace(proof, proof=recorder.proof)
    return replace(
        progress,
        node=node,
        upper=upper,
        n_iterations=progress.n_iterations + result.n_iterations,
        goes_on=unfinished and not closed,
        proof=proof,
    )
