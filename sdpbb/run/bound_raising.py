"""Raising of the bound of a search: by subsets where that pays, then by branch and bound.

`branch_and_bound` works on the tree: nodes are evaluated by a `Workforce`, with a bounding method
(`sdpbb.bounds`) and heuristics, until they are finished or a limit is reached. The bound of a large
root is raised by those of subsets before (`sdpbb.run.decomposition`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from heuristics.incumbents import IncumbentSearch
from sdpbb.bounds.method import BoundingMethod
from sdpbb.bounds.registry import bounding_method
from sdpbb.problem import Contraction, Instance
from sdpbb.problem.checker_rules import checked_soft_pairs, checker_rules
from sdpbb.run.certificates.recorder import ProofRecorder
from sdpbb.run.checkpoint import CheckpointWriter
from sdpbb.run.memory_plan import MemoryPlan, memory_plan
from sdpbb.run.parameters import SolverParameters
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
class BoundRaising:
    """Raising of the bound of a search within limits, by what fits the memory.

    Attributes
    ----------
    instance, joined : as it is stated, and with its equal points joined, for the search
    parameters : those that are asked for; once the bound of the root as a whole begins, those that
        the memory allows
    observer : receives events
    limits, workforce : stop the run; evaluate its nodes
    recorder, writer : keep the proof, and the state
    is_resumed : whether the search was saved before
    shortage : what the memory did not allow; None where it does
    """

    instance: Instance
    joined: Instance
    parameters: SolverParameters
    observer: Observer
    limits: Limits
    workforce: Workforce
    recorder: ProofRecorder
    writer: CheckpointWriter
    is_resumed: bool
    shortage: MemoryShort | None = None

    def raise_bound(self, search: Search, contraction: Contraction) -> Termination | None:
        """Raise the bound by subsets where that pays, then by branch and bound.

        Return the limit that was reached, or None.
        """
        parameters = self.parameters
        asked = bounding_method(parameters.bounding, parameters.sdp)
        plan = memory_plan(
            parameters,
            asked,
            contraction,
            is_resumed=self.is_resumed,
            is_local=not self.workforce.is_given,
        )
        reporter = Reporter(self.observer, self.limits)
        if self._begins_with_subsets(search, contraction, asked, plan):
            reached = self._bound_subsets(search, contraction, asked, plan, reporter)
            if reached is not None or not search.tree.n_open:
                return reached
        return self._search_tree(search, contraction.n_blocks, plan, reporter)

    def _begins_with_subsets(
        self,
        search: Search,
        contraction: Contraction,
        asked: BoundingMethod[Any],
        plan: MemoryPlan,
    ) -> bool:
        """Return whether the root's first bound is the sum of the bounds of subsets.

        It is if that is asked for, and by itself where the hybrid bound of all blocks takes long or
        does not fit the memory.

        asked : the bounding method that is asked for
        """
        parameters = self.parameters
        if search.tree.has_begun or not search.tree.n_open:
            return False
        if parameters.bounding != "hybrid":
            return parameters.bounding == "decomposition"
        if plan.is_without_bound:
            return True
        is_large = parameters.decomposition.is_large(contraction.n_blocks, contraction.has_limits)
        return is_large and not asked.is_quick(contraction)

    def _bound_subsets(
        self,
        search: Search,
        contraction: Contraction,
        asked: BoundingMethod[Any],
        plan: MemoryPlan,
        reporter: Reporter,
    ) -> Termination | None:
        """Raise the bound of the root by subsets; return the limit that was reached.

        None if the search has ended, or the root is to be bounded as a whole.
        """
        from sdpbb.run.decomposition.places import raise_by_places  # seldom needed
        from sdpbb.run.decomposition.run import Decomposition
        from sdpbb.search.root import Root

        parameters = self.parameters
        # The scatter inside blocks, all that is asked for of the root, is worth no large matrix.
        fits = contraction.n_blocks <= parameters.decomposition.largest
        of_root = self._certified(asked, fits) if parameters.certify else asked
        root = Root(
            search,
            contraction,
            self._context(search, of_root, plan.is_without_bound),
            self.limits,
            self.recorder.record,
            reporter,
            Watches(reporter, self.writer),
        )
        decomposition = Decomposition(
            root=root,
            instance=self.instance,
            bounding=bounding_method(parameters.bounding, parameters.sdp, PRICING_SLICES),
            parameters=parameters.decomposition,
            workforce=self.workforce,
            free_mebibytes=plan.available,
            keep=self.writer.keep_subsets,
            state=self.writer.saved.subsets,
        )
        root.begin()
        decomposition.prepare()
        # A run that goes on may have been cut short in this before.
        root.look_for_clusterings()
        if decomposition.state is None:
            raise_by_places(root, plan.available)
        return root.end(decomposition.run())

    def _search_tree(
        self, search: Search, n_blocks: int, plan: MemoryPlan, reporter: Reporter
    ) -> Termination | None:
        """Bound the root as a whole, and branch; return the limit that was reached, or None."""
        is_short = plan.parameters != self.parameters or plan.is_without_bound
        if is_short and search.tree.n_open:
            self.shortage = plan.event(n_blocks)
            self.observer(self.shortage)
            self.parameters = plan.parameters
            self.writer.keep_parameters(plan.parameters)
            self.workforce.allow_workers(plan.parameters.workers)
        parameters = self.parameters
        bounding = bounding_method(parameters.bounding, parameters.sdp)
        # Without a bound, no step takes long.
        long_steps = not plan.is_without_bound and n_blocks > bounding.most_blocks_here
        self.workforce.begin_tree(long_steps, root_uses_cores=n_blocks >= LARGE)
        watches = [reporter, self.writer]
        if parameters.certify:
            bounding = self._certified(bounding, not plan.is_without_bound)
            watches = [self.recorder, *watches]
        context = self._context(search, bounding, plan.is_without_bound)
        evaluations = Evaluations(context, self.limits, self.workforce, reporter)
        return branch_and_bound(search, evaluations, Watches(*watches))

    def _context(
        self, search: Search, bounding: BoundingMethod[Any], is_without_bound: bool
    ) -> EvaluationContext:
        parameters = self.parameters
        return EvaluationContext(
            instance=self.joined,
            bounding=bounding,
            heuristic=IncumbentSearch(),
            parameters=parameters.search,
            tolerances=search.tree.tolerances,
            seed=parameters.seed,
            is_without_bound=is_without_bound,
            keeps_evidence=parameters.certify,
        )

    def _certified(self, bounding: BoundingMethod[Any], fits: bool) -> BoundingMethod[Any]:
        """Return a bounding all of whose bounds a certificate can show; if the matrices fit."""
        from sdpbb.bounds.certified import CertifiedBounding  # of certified runs

        instance = self.instance
        rules = checker_rules(instance)
        return CertifiedBounding(
            bounding, instance.points, rules, fits, instance.weights, checked_soft_pairs(instance)
        )
