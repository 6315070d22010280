"""What a search leaves behind as a proof: the tree, with what its bounds rest on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sdpbb.archive.stored import stored
from sdpbb.bounds.certified import BoundProof, FixingProof
from sdpbb.search.node import Pair


@stored
@dataclass(frozen=True)
class SplitEnd:
    """A node's two children, as proof nodes."""

    pair: Pair
    together: int
    apart: int


@stored
@dataclass
class ProofNode:
    """What is known about a node, in the order in which it was found.

    end : None as long as nothing is; a node that holds no clustering is its own
    """

    steps: list[BoundProof | FixingProof] = field(default_factory=list)
    end: SplitEnd | None = None
    is_infeasible: bool = False


@stored
@dataclass
class SearchProof:
    """The nodes of the tree.

    nodes : the root first, children after their parents
    of_number : their positions by number; as text, as the keys of archives are
    """

    nodes: list[ProofNode] = field(default_factory=lambda: [ProofNode()])
    of_number: dict[str, int] = field(default_factory=lambda: {"0": 0})

    def node(self, number: int) -> ProofNode:
        return self.nodes[self.of_number[str(number)]]

    def bounded(self, number: int, proof: BoundProof | None) -> None:
        """A bound of a node was proven, or the one that it had already."""
        if proof is not None:
            _add(self.node(number), proof)

    def fixed(self, number: int, proof: FixingProof | None) -> None:
        """Pairs were fixed by the bound's dual values, or by their distance."""
        if proof is not None and len(proof.excluded) + len(proof.far):
            self.node(number).steps.append(proof)

    def infeasible(self, number: int) -> None:
        """A node holds no clustering that keeps its decisions and fixings."""
        self.node(number).is_infeasible = True

    def split(self, number: int, pair: Pair, together: int, apart: int) -> None:
        """A node was replaced by its children."""
        children = self._add_node(together), self._add_node(apart)
        self.node(number).end = SplitEnd(pair, *children)

    def _add_node(self, number: int) -> int:
        position = len(self.nodes)
        self.nodes.append(ProofNode())
        self.of_number[str(number)] = position
        return position


def _add(node: ProofNode, proof: BoundProof) -> None:
    """A better bound of the same blocks replaces the one before."""
    last = node.steps[-1] if node.steps else None
    if isinstance(last, BoundProof) and _same(last.blocks, proof.blocks):
        if proof.bound > last.bound:
            node.steps[-1] = proof
    else:
        node.steps.append(proof)


def _same(blocks: NDArray[np.intp], others: NDArray[np.intp]) -> bool:
    return blocks is others or np.array_equal(blocks, others)
