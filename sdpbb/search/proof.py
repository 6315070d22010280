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
class Refutation:
    """A pair of points that is linked as said, because the other way nothing better is left.

    alternative : the proof node of the other way
    """

    pair: Pair
    together: bool
    alternative: int


@stored
@dataclass(frozen=True, eq=False)
class FixingStep:
    """Pairs fixed in all clusterings of a node that cost less than `below`; see `FixingProof`."""

    below: float
    refuted: tuple[Refutation, ...] = ()
    proof: FixingProof | None = None


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

    steps: list[BoundProof | FixingStep] = field(default_factory=list)
    end: SplitEnd | None = None
    is_infeasible: bool = False


@stored
@dataclass
class SearchProof:
    """The nodes of the tree, those that it has given no number included.

    nodes : the root first, children after their parents
    of_number : the positions of numbered nodes; by text, as dictionaries in an archive are
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
            self.node(number).steps.append(FixingStep(proof.below, proof=proof))

    def infeasible(self, number: int) -> None:
        """A node holds no clustering that keeps its decisions and fixings."""
        self.node(number).is_infeasible = True

    def refuted(self, number: int, below: float, pairs: list[tuple[Pair, bool, NewChild]]) -> None:
        """Pairs were fixed because their other children are not worth looking at.
        pairs : (pair, how it is linked, the other child)"""
        refutations = tuple(
            Refutation(pair, together, self._born(other)) for pair, together, other in pairs
        )
        if refutations:
            self.node(number).steps.append(FixingStep(below, refutations))

    def split(self, number: int, pair: Pair, together: NewChild, apart: NewChild) -> None:
        """A node was replaced by its children."""
        self.node(number).end = SplitEnd(pair, self._born(together), self._born(apart))

    def _born(self, child: NewChild) -> int:
        position = len(self.nodes)
        born = ProofNode(is_infeasible=child.is_infeasible)
        if child.proof is not None:
            _add(born, child.proof)
        self.nodes.append(born)
        if child.number is not None:
            self.of_number[str(child.number)] = position
        return position


@dataclass(frozen=True, eq=False)
class NewChild:
    """A child at its birth: its number unless it was closed at once, and what was proven for it
    before."""

    number: int | None
    is_infeasible: bool = False
    proof: BoundProof | None = None


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
