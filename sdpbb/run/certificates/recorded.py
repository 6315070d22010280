"""Recorded proof of a search: a `Watch` that keeps the evidence of all nodes."""

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
    bound : as the checker computes it from the evidence; inf: no clustering exists
    evidence : None: only the scatter inside the blocks
    """

    blocks: NDArray[np.intp]
    bound: float
    evidence: Evidence | None


@stored
@dataclass
class ProofNode:
    """Steps proven about a node, in the order in which they were proven, and its split.

    split : the pair of points, and the number of the child where they share a cluster; the next
        number is the child where they do not. None: the node is a leaf
    is_infeasible : whether no clustering satisfies its decisions and fixings
    """

    steps: list[BoundStep | FixingProof] = field(default_factory=list)
    split: tuple[Pair, int] | None = None
    is_infeasible: bool = False

    def record(self, result: NodeResult) -> None:
        """Record the bound, fixings and infeasibility that an evaluation proves."""
        if result.block_of is not None and result.bound.value > 0.0:  # 0 needs no proof
            self._record_bound(
                BoundStep(result.block_of, result.bound.value, result.bound.evidence)
            )
        fixings: FixingProof | None = result.fixing_evidence
        if fixings is not None and len(fixings.excluded) + len(fixings.far):
            self.steps.append(fixings)
        self.is_infeasible |= result.status is NodeStatus.INFEASIBLE

    def _record_bound(self, step: BoundStep) -> None:
        """Record a bound; keep only the best of several bounds for the same blocks."""
        last = self.steps[-1] if self.steps else None
        if not isinstance(last, BoundStep) or not np.array_equal(last.blocks, step.blocks):
            self.steps.append(step)
        elif step.bound > last.bound:
            self.steps[-1] = step


@stored
@dataclass
class Proof(Watch):
    """Proof of a search so far: the evidence for all bounds and fixings of its nodes.

    It watches a search whose bounds have evidence.

    nodes : by number; the root first, children after their parents
    """

    nodes: list[ProofNode] = field(default_factory=lambda: [ProofNode()])

    @property
    def lower(self) -> float:
        """Lower bound on the cost of all clusterings; inf: no clustering exists."""
        proven = [0.0] * len(self.nodes)
        for position in range(len(self.nodes) - 1, -1, -1):
            node = self.nodes[position]
            value = 0.0
            if node.is_infeasible:
                value = math.inf
            elif node.split is not None:
                child = node.split[1]
                value = min(proven[child : child + 2])
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
            node.split = result.pair, children[0]
            self.nodes += [ProofNode(), ProofNode()]


@stored
@dataclass(frozen=True, eq=False)
class SubsetProof:
    """Proof about the instance of a subset of the points.

    rows : (s,) int32, increasing numbers of its points
    equal : (p, 2) pairs of equal points that are joined first, by their places in the subset
    """

    rows: NDArray[np.int32]
    equal: NDArray[np.intp]
    proof: Proof = field(default_factory=Proof)
