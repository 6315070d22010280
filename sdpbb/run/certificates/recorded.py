"""Recorded proof of a search: a `Watch` that collects the evidence of each node."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.archive import stored
from sdpbb.search.node import NodeResult, NodeStatus, Pair
from sdpbb.search.reporting import Watch
from sdpbb.search.tree import Tree

if TYPE_CHECKING:  # not needed by a run without a certificate
    from sdpbb.bounds.certified import FixingProof
    from sdpbb.checker.kernel.evidence import Evidence


@stored
@dataclass(frozen=True, eq=False)
class BoundStep:
    """Lower bound on all clusterings of some blocks.

    blocks : (n,) the block of each point
    bound : as the checker computes it from the evidence; inf: there is no clustering
    evidence : None: the bound is the scatter inside the blocks
    """

    blocks: NDArray[np.intp]
    bound: float
    evidence: Evidence | None


@stored
@dataclass
class ProofNode:
    """Proven steps about a node, in their order, and the end of the node.

    end : if the node was split, the pair, and the number of the child that joins it. The other
        child has the next number
    is_infeasible : whether no clustering satisfies its decisions and fixings
    """

    steps: list[BoundStep | FixingProof] = field(default_factory=list)
    end: tuple[Pair, int] | None = None
    is_infeasible: bool = False

    def record(self, result: NodeResult) -> None:
        """Record the proven bound and fixings of an evaluation."""
        if result.block_of is not None and result.bound.value > 0.0:  # 0 needs no proof
            self._record_bound(
                BoundStep(result.block_of, result.bound.value, result.bound.evidence)
            )
        fixings: FixingProof | None = result.fixing_evidence
        if fixings is not None and len(fixings.excluded) + len(fixings.far):
            self.steps.append(fixings)
        self.is_infeasible |= result.status is NodeStatus.INFEASIBLE

    def _record_bound(self, step: BoundStep) -> None:
        """Record a bound; keep only the best bound for the same blocks."""
        last = self.steps[-1] if self.steps else None
        if not isinstance(last, BoundStep) or not np.array_equal(last.blocks, step.blocks):
            self.steps.append(step)
        elif step.bound > last.bound:
            self.steps[-1] = step


@stored
@dataclass
class Proof(Watch):
    """Proof of a search so far: the evidence of all proven bounds and fixings of its nodes.

    It watches a search whose bounds have evidence.

    nodes : by their numbers: the root first, children after their parents
    """

    nodes: list[ProofNode] = field(default_factory=lambda: [ProofNode()])

    @property
    def lower(self) -> float:
        """Proven lower bound on all clusterings; inf if there are none."""
        proven = [0.0] * len(self.nodes)
        for position in range(len(self.nodes) - 1, -1, -1):
            node = self.nodes[position]
            value = 0.0
            if node.is_infeasible:
                value = math.inf
            elif node.end is not None:
                together = node.end[1]
                value = min(proven[together : together + 2])
            for step in reversed(node.steps):
                if isinstance(step, BoundStep):
                    value = max(value, step.bound)
                else:
                    value = min(value, step.below)
            proven[position] = max(0.0, value)
        return proven[0]

    def evaluated(
        self, tree: Tree, number: int, result: NodeResult, children: tuple[int, int] | None
    ) -> None:
        node = self.nodes[number]
        node.record(result)
        if children is not None:
            assert result.pair is not None
            assert children == (len(self.nodes), len(self.nodes) + 1)
            node.end = result.pair, children[0]
            self.nodes += [ProofNode(), ProofNode()]


@stored
@dataclass(frozen=True, eq=False)
class SubsetProof:
    """Proof about a subset of the points, with the constraints among them.

    rows : (s,) int32, the points, increasing
    equal : (p, 2) pairs of equal points that are joined first, by their places in rows
    proof : of the instance of the subset
    """

    rows: NDArray[np.int32]
    equal: NDArray[np.intp]
    proof: Proof = field(default_factory=Proof)
