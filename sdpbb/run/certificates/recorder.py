"""Recording of the proof of a search, by a `Watch`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import ProvenBound
from sdpbb.runtime.archive.stored import stored
from sdpbb.search.node import NodeResult, NodeStatus, Pair
from sdpbb.search.reporting import Watch
from sdpbb.search.tree import Search

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
    """Children of a node, by their positions in the proof."""

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


@stored
@dataclass
class Proof:
    """Proof of a search: its nodes, with the evidence for all that is proven about them.

    nodes : the root first, children after their parents
    of_number : their positions by number; as text, as the keys of archives are
    """

    nodes: list[ProofNode] = field(default_factory=lambda: [ProofNode()])
    of_number: dict[str, int] = field(default_factory=lambda: {"0": 0})

    def node(self, number: int) -> ProofNode:
        """Return the node of a number."""
        return self.nodes[self.of_number[str(number)]]


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


class ProofRecorder(Watch):
    """Watch that records the proof of a search whose bounds carry their evidence.

    Attributes
    ----------
    proof : as far as the search has come
    """

    def __init__(self, proof: Proof | None = None) -> None:
        """proof : of a search that goes on"""
        self.proof = Proof() if proof is None else proof

    def evaluated(
        self, search: Search, number: int, result: NodeResult, children: tuple[int, int] | None
    ) -> None:
        self.record(number, result)
        if children is not None:
            assert result.pair is not None
            self.record_split(number, result.pair, *children)

    def record(self, number: int, result: NodeResult) -> None:
        """Record what an evaluation has proven of a node."""
        if result.block_of is not None:
            self.record_bound(number, result.block_of, result.bound)
        self.record_fixings(number, result.fixing_evidence)
        if result.status is NodeStatus.INFEASIBLE:
            self.record_infeasible(number)

    def record_bound(self, number: int, blocks: NDArray[np.intp], bound: ProvenBound) -> None:
        """Record a bound of the clusterings of blocks (n,) of a node.

        Of several for the same blocks only the best is kept.
        """
        if bound.value <= 0.0:  # needs no proof
            return
        step = BoundStep(blocks, bound.value, bound.evidence)
        steps = self.proof.node(number).steps
        last = steps[-1] if steps else None
        if not isinstance(last, BoundStep) or not _same(last.blocks, blocks):
            steps.append(step)
        elif step.bound > last.bound:
            steps[-1] = step

    def record_fixings(self, number: int, proof: FixingProof | None) -> None:
        """Record pairs of points that are fixed in a node."""
        if proof is not None and len(proof.excluded) + len(proof.far):
            self.proof.node(number).steps.append(proof)

    def record_infeasible(self, number: int = 0) -> None:
        """Record that no clustering keeps the decisions and fixings of a node."""
        self.proof.node(number).is_infeasible = True

    def record_split(self, number: int, pair: Pair, together: int, apart: int) -> None:
        """Record the children of a node."""
        children = self._add_node(together), self._add_node(apart)
        self.proof.node(number).end = SplitEnd(pair, *children)

    def _add_node(self, number: int) -> int:
        position = len(self.proof.nodes)
        self.proof.nodes.append(ProofNode())
        self.proof.of_number[str(number)] = position
        return position


def _same(blocks: NDArray[np.intp], others: NDArray[np.intp]) -> bool:
    return blocks is others or np.array_equal(blocks, others)
