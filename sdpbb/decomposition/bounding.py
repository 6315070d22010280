"""Bounding of one subset: the root of an instance of its own, in slices of time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heuristics.multi_start import IncumbentSearch
from heuristics.parameters import HeuristicSchedule, MultiStartParameters
from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.method import BoundingMethod
from sdpbb.certificates.recorder import Proof, ProofRecorder, SubsetProof
from sdpbb.problem import Instance, Partition
from sdpbb.problem.cluster_rules import cluster_rules
from sdpbb.search.evaluate import EvaluationContext, evaluate
from sdpbb.search.limits import Budget
from sdpbb.search.node import Node, NodeResult, NodeStatus
from sdpbb.search.parameters import SearchParameters
from sdpbb.search.tolerances import Tolerances
from sdpbb.search.tree import advanced

# A subset has the restriction of a good clustering to begin with: little is looked for besides.
SEARCH = SearchParameters(heuristic_iterations=(), fixing=False)
LITTLE = MultiStartParameters(n_starts=1, n_relocations=4)


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
class SubsetBounding:
    """Bounding of one subset, as far as it has come.

    subset : its number
    context, node : what `evaluate` takes
    accuracy : how near it is bounded
    given : cost of the restriction of the best clustering of the whole, inf for none
    upper : cost of the best clustering known of it
    labels : (n,) of that, if it is better than the restriction
    seconds : that it has taken
    n_iterations : in its last slice
    goes_on : whether another slice is to follow
    proof : of what is proven of it, if the run is certified
    """

    subset: int
    context: EvaluationContext
    node: Node
    accuracy: Accuracy
    given: float
    upper: float
    labels: NDArray[np.intp] | None = None
    seconds: float = 0.0
    n_iterations: int = 0
    goes_on: bool = True
    proof: SubsetProof | None = None

    @property
    def lower(self) -> float:
        """Bound proven for the subset; inf if no clustering keeps its constraints."""
        if self.proof is None:
            return self.node.lower.value
        from sdpbb.certificates.proof_values import values  # of certified runs

        return values(self.proof.proof.nodes)[0]


def subset_bounding(
    subset: int,
    instance: Instance,
    labels: NDArray[np.intp] | None,
    bounding: BoundingMethod[Any],
    accuracy: Accuracy,
    seed: int,
    proof: SubsetProof | None = None,
) -> SubsetBounding:
    """Return the bounding of a subset, before its first slice.

    instance : of the subset
    labels : (n,) of its points, of a clustering into k clusters or fewer; None if none is known
    proof : to begin with, if its bound is to be certified
    """
    if proof is not None:
        from sdpbb.bounds.certified import CertifiedBounding

        bounding = CertifiedBounding(bounding, instance.points, cluster_rules(instance))
    context = EvaluationContext(
        instance=instance,
        bounding=bounding,
        heuristic=IncumbentSearch(HeuristicSchedule(before=LITTLE, during=LITTLE)),
        parameters=SEARCH,
        tolerances=Tolerances(accuracy.least),
        seed=seed,
        keeps_evidence=proof is not None,
    )
    if labels is None:
        return SubsetBounding(subset, context, Node(), accuracy, np.inf, np.inf, proof=proof)
    numbered = np.unique(labels, return_inverse=True)[1]
    # What keeps the constraints but has fewer clusters costs no less than the optimum.
    cost = Partition(numbered).sum_of_squares(instance.points)
    has_all = int(numbered.max()) + 1 == instance.k
    node = Node(feasible=numbered if has_all else None)
    return SubsetBounding(subset, context, node, accuracy, cost, cost, proof=proof)


def bound_subset(bounding: SubsetBounding, budget: Budget) -> SubsetBounding:
    """Bound a subset for a slice of time.

    The first begins with a clustering of its own: how much that saves says how near to bound it.
    """
    n_iterations, before = 0, bounding
    if bounding.node.state is None:
        looked = evaluate(
            bounding.node, bounding.upper, bounding.context, replace(budget, bounds=False)
        )
        bounding = _after(bounding, looked)
        if bounding.given > 0.0:
            saved = 1.0 - bounding.upper / bounding.given if bounding.given < np.inf else 0.0
            tolerances = Tolerances(bounding.accuracy.gap(saved))
            bounding = replace(bounding, context=replace(bounding.context, tolerances=tolerances))
    if bounding.goes_on:
        result = evaluate(bounding.node, bounding.upper, bounding.context, budget)
        n_iterations = result.n_iterations
        bounding = _after(bounding, result)
    return replace(bounding, n_iterations=n_iterations, seconds=before.seconds)


def _after(bounding: SubsetBounding, result: NodeResult) -> SubsetBounding:
    """Return the bounding of a subset after an evaluation of its root."""
    node = advanced(bounding.node, result)
    if result.status is NodeStatus.INFEASIBLE:
        # Nothing below what pairs were fixed by; nothing at all where none were.
        node = replace(node, lower=ProvenBound(node.fixings.below))
    better = result.labels is not None and result.cost < bounding.upper
    upper = result.cost if better else bounding.upper
    closed = bounding.context.tolerances.closes(node.lower, upper)
    unfinished = result.status in (NodeStatus.UNFINISHED, NodeStatus.FIXED)
    proof = bounding.proof
    if proof is not None:
        known = proof.proof.nodes[0]
        recorder = ProofRecorder(Proof([replace(known, steps=list(known.steps))]))
        recorder.record(0, result)
        proof = replace(proof, proof=recorder.proof)
    return replace(
        bounding,
        node=node,
        upper=upper,
        labels=result.labels if better else bounding.labels,
        goes_on=unfinished and not closed,
        proof=proof,
    )
