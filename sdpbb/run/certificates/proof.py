"""Proof of a search, which records itself as a `Watch`."""

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

if TYPE_CHECKING:  # a run without a certificate does without them
    from sdpbb.bounds.certified import FixingProof
    from sdpbb.checker.kernel.evidence import Evidence


@stored
@dataclass(frozen=True, eq=False)
class BoundStep:
    """Bound of all clusterings of some blocks.

    blocks : (n,) the block of each point
    bound : as the checker computes it from the evidence; inf if that proves that there are none
    evidence : None where the scatter inside the blocks is all that is known
    """

    blocks: NDArray[np.intp]
    bound: float
    evidence: Evidence | None


@stored
@dataclass(frozen=True)
class SplitEnd:
    """Children of a node, by their numbers."""

    pair: Pair
    together: int
    apart: int


@stored
@dataclass
class ProofNode:
    """Steps that are proven about a node, in the order in which they were proven, and its end.

    end : its children, if it was split
    is_infeasible : whether no clustering keeps its decisions and fixings
    """

    steps: list[BoundStep | FixingProof] = field(default_factory=list)
    end: SplitEnd | None = None
    is_infeasible: bool = False

    def record(self, result: NodeResult) -> None:
        """Record what an evaluation has proven."""
        if result.block_of is not None and result.bound.value > 0.0:  # 0 needs no proof
            self._record_bound(
                BoundStep(result.block_of, result.bound.value, result.bound.evidence)
            )
        fixings: FixingProof | None = result.fixing_evidence
        if fixings is not None and len(fixings.excluded) + len(fixings.far):
            self.steps.append(fixings)
        self.is_infeasible |= result.status is NodeStatus.INFEASIBLE

    def _record_bound(self, step: BoundStep) -> None:
        """Record a bound; of several for the same blocks only the best is kept."""
        last = self.steps[-1] if self.steps else None
        if not isinstance(last, BoundStep) or not np.array_equal(last.blocks, step.blocks):
            self.steps.append(step)
        elif step.bound > last.bound:
            self.steps[-1] = step


@stored
@dataclass
class Proof(Watch):
    """Proof of a search, as far as it has come: the evidence for all that is proven of its nodes.

    It watches a search whose bounds carry their evidence.

    nodes : by their numbers: the root first, children after their parents
    """

    nodes: list[ProofNode] = field(default_factory=lambda: [ProofNode()])

    @property
    def lower(self) -> float:
        """Bound that is proven for all clusterings; inf if there are none."""
        proven = [0.0] * len(self.nodes)
        for position in range(len(self.nodes) - 1, -1, -1):
            node = self.nodes[position]
            value = 0.0
            if node.is_infeasible:
                value = math.inf
            elif node.end is not None:
                value = min(proven[node.end.together], proven[node.end.apart])
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
            assert children[0] == len(self.nodes)
            node.end = SplitEnd(result.pair, *children)
            self.nodes += [ProofNode(), ProofNode()]


@stored
@dataclass(frozen=True, eq=False)
class SubsetProof:
    """Proof about some of the points, with what is stated of them alone.

    rows : (s,) int32, increasing
    equal : (p, 2) pairs of equal ones that are joined first; as in the proof, by their places
    proof : of the instance that they are
    """

    rows: NDArray[np.int32]
    equal: NDArray[np.intp]
    proof: Proof = field(default_factory=Proof)
