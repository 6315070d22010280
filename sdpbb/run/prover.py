"""Prover of a run: it raises the bound of its search, by subsets where that pays, then by a tree.

`branch_and_bound` works on the tree: a `Workforce` evaluates its nodes, with a bounding method
(`sdpbb.bounds`) and heuristics, until they are finished or a limit is reached. Bounds of subsets
raise that of a large root before (`sdpbb.run.decomposition`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heuristics.incumbents import IncumbentSearch
from sdpbb.bounds.method import BoundingMethod
from sdpbb.bounds.registry import bounding_method
from sdpbb.problem import Contraction, Instance
from sdpbb.problem.checker_rules import checked_soft_pairs, checker_rules
from sdpbb.run.certificates.recorder import ProofRecorder
from sdpbb.run.checkpoint import CheckpointWriter, RunState
from sdpbb.run.checks import checked_clustering
from sdpbb.run.memory_plan import MemoryPlan, memory_plan
from sdpbb.runtime.cores import LARGE
from sdpbb.search.evaluate import EvaluationContext
from sdpbb.search.evaluations import Evaluations
from sdpbb.search.events import MemoryShort, Observer
from sdpbb.search.limits import Limits
from sdpbb.search.loop import branch_and_bound
from sdpbb.search.reporting import Reporter, Watches
from sdpbb.search.result import Termination
from sdpbb.search.tree import Search
from sdpbb.search.workforce import Workforce

# Maximum slices of exact pricing for enumeration in a subset. Open subsets are bounded again as
# parts of larger ones.
PRICING_SLICES = 1


@dataclass(eq=False)
class Prover:
    """Run under way: its state, and what works on it.

    Attributes
    ----------
    state : is changed. Its parameters are those that the memory allows once the bound of the root
        as a whole begins
    joined : the instance with its equal points joined, for the search
    observer : receives events
    limits, workforce : stop the run; evaluate its nodes
    recorder, writer : keep the proof; write the state to its file
    is_resumed : whether the search was saved before
    reporter : reports the progress of the search
    shortage : what the memory did not allow; None if all fits
    """

    state: RunState
    joined: Instance
    observer: Observer
    limits: Limits
    workforce: Workforce
    recorder: ProofRecorder
    writer: CheckpointWriter
    is_resumed: bool
    reporter: Reporter = field(init=False)
    shortage: MemoryShort | None = None

    def raise_bound(self, contraction: Contraction) -> Termination | None:
        """Raise the bound by subsets where that pays, then by branch and bound.

        Return the limit that was reached, or None.
        """
        parameters, tree = self.state.parameters, self._search.tree
        self.reporter = Reporter(self.observer, self.limits, self._read)
        asked = bounding_method(parameters.bounding, parameters.sdp)
        plan = memory_plan(
            parameters,
            asked,
            contraction,
            is_resumed=self.is_resumed,
            is_local=not self.workforce.is_given,
        )
        if self._begins_with_subsets(contraction, asked, plan):
            reached = self._bound_subsets(contraction, asked, plan)
            if reached is not None or not tree.n_open:
                return reached
        return self._search_tree(contraction.n_blocks, plan)

    @property
    def _search(self) -> Search:
        assert self.state.search is not None
        return self.state.search

    def _read(self, labels: Any) -> tuple[NDArray[np.intp], float]:
        """Return labels (n,) that the observer hands in, and their cost.

        Raises
        ------
        ParameterError
            If they are no clustering of the instance, or violate a constraint.
        """
        instance = self.state.instance
        partition = checked_clustering(labels, instance, "observer")
        return partition.labels, partition.cost(instance)

    def _begins_with_subsets(
        self, contraction: Contraction, asked: BoundingMethod[Any], plan: MemoryPlan
    ) -> bool:
        """Return whether the root's first bound is the sum of the bounds of subsets.

        It is if the parameters say so, and by itself if the hybrid bound of all blocks takes long
        or does not fit the memory.

        asked : the bounding method of the parameters
        """
        parameters, tree = self.state.parameters, self._search.tree
        if tree.has_begun or not tree.n_open:
            return False
        if parameters.bounding != "hybrid":
            return parameters.bounding == "decomposition"
        if plan.is_without_bound:
            return True
        is_large = parameters.decomposition.is_large(contraction.n_blocks, contraction.has_limits)
        return is_large and not asked.is_quick(contraction)

    def _bound_subsets(
        self, contraction: Contraction, asked: BoundingMethod[Any], plan: MemoryPlan
    ) -> Termination | None:
        """Raise the bound of the root by subsets; return the limit that was reached.

        None if the search has ended, or the root is to be bounded as a whole.
        """
        from sdpbb.run.decomposition.places import raise_by_places  # seldom needed
        from sdpbb.run.decomposition.run import Decomposition
        from sdpbb.search.root import Root

        parameters = self.state.parameters
        # The scatter inside blocks, all that is asked for of the root, is worth no large matrix.
        fits = contraction.n_blocks <= parameters.decomposition.largest
        root = Root(
            self._search,
            contraction,
            self._context(asked, plan.is_without_bound, fits),
            self.limits,
            self.recorder.record,
            self.reporter,
            Watches(self.reporter, self.writer),
        )
        decomposition = Decomposition(
            root=root,
            run=self.state,
            bounding=bounding_method(parameters.bounding, parameters.sdp, PRICING_SLICES),
            workforce=self.workforce,
            free_mebibytes=plan.available,
        )
        root.begin()
        decomposition.prepare()
        # A resumed run may have been cut short in this before.
        root.look_for_clusterings()
        if self.state.subsets is None:
            raise_by_places(root, plan.available)
        return root.end(decomposition.bound())

    def _search_tree(self, n_blocks: int, plan: MemoryPlan) -> Termination | None:
        """Bound the root as a whole, and branch; return the limit that was reached, or None."""
        is_short = plan.parameters != self.state.parameters or plan.is_without_bound
        if is_short and self._search.tree.n_open:
            self.shortage = plan.event(n_blocks)
            self.observer(self.shortage)
            self.state.parameters = plan.parameters
            self.workforce.allow_workers(plan.parameters.workers)
        parameters = self.state.parameters
        bounding = bounding_method(parameters.bounding, parameters.sdp)
        # Without a bound, no step takes long.
        long_steps = not plan.is_without_bound and n_blocks > bounding.most_blocks_here
        self.workforce.begin_tree(long_steps, root_uses_cores=n_blocks >= LARGE)
        context = self._context(bounding, plan.is_without_bound, not plan.is_without_bound)
        evaluations = Evaluations(context, self.limits, self.workforce, self.reporter)
        recorders = [self.recorder] if parameters.certify else []
        watches = Watches(*recorders, self.reporter, self.writer)
        return branch_and_bound(self._search, evaluations, watches)

    def _context(
        self, bounding: BoundingMethod[Any], is_without_bound: bool, fits: bool
    ) -> EvaluationContext:
        """Return what the evaluations of nodes share.

        fits : whether the memory holds the matrices of a bound that a certificate can show
        """
        parameters, instance = self.state.parameters, self.state.instance
        if parameters.certify:
            from sdpbb.bounds.certified import CertifiedBounding  # of certified runs

            rules, soft = checker_rules(instance), checked_soft_pairs(instance)
            bounding = CertifiedBounding(
                bounding, instance.points, rules, fits, instance.weights, soft
            )
        return EvaluationContext(
            instance=self.joined,
            bounding=bounding,
            heuristic=IncumbentSearch(),
            parameters=parameters.search,
            tolerances=self._search.tree.tolerances,
            seed=parameters.seed,
            is_without_bound=is_without_bound,
            keeps_evidence=parameters.certify,
        )
