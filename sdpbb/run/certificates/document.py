"""Conversion of a recorded proof to the log of a certificate: its steps, and their arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.certified import FixingProof
from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.evidence import Evidence, Scatter
from sdpbb.run.certificates.recorder import BoundStep, Proof, ProofNode
from sdpbb.run.certificates.replay import Step, infeasibility, propagated


def values(nodes: list[ProofNode]) -> list[float]:
    """Return the bound that is proven for the clusterings of each node: inf where there are none.

    Children come after their parents.
    """
    proven = [0.0] * len(nodes)
    for position in range(len(nodes) - 1, -1, -1):
        node = nodes[position]
        value = 0.0
        if node.is_infeasible:
            value = math.inf
        elif node.end is not None:
            value = min(proven[node.end.together], proven[node.end.apart])
        for step in reversed(node.steps):
            if isinstance(step, FixingProof):
                value = min(value, step.below)
            else:
                value = max(value, step.bound)
        proven[position] = max(0.0, value)
    return proven


def proves(step: BoundStep | FixingProof, target: float) -> bool:
    """Return whether a step by itself proves the target for a node: later steps are not needed."""
    return isinstance(step, BoundStep) and step.bound >= target


class LogBuilder:
    """Log of a certificate, as it grows.

    steps : lists that begin with a word
    arrays : by their names in the file; those of step 7 are `7.rows` and the like
    """

    def __init__(self) -> None:
        self.steps: list[list[Any]] = []
        self.arrays: list[tuple[str, NDArray[Any]]] = []

    def add(self, step: Step) -> None:
        """Add a step with its arrays."""
        words, arrays = step
        self.steps.append(words)
        number = len(self.steps)
        self.arrays += [(f"{number}.{name}", array) for name, array in arrays.items()]

    def add_subset(self, rows: NDArray[np.int32]) -> None:
        """Begin the proof about a subset of the points."""
        self.add((["subset"], {"rows": rows}))

    def add_tree(self, proof: Proof, root: Blocks, equal: NDArray[np.integer]) -> None:
        """Add the nodes that the bound of a proof needs, each before those below it.

        equal : pairs (p, 2) of points that the search has joined at the root
        """
        if len(equal) and root.contradiction is None:
            self.add((["equal"], {"pairs": equal.astype(np.int32)}))
            root = root.linked(equal.astype(np.int64))
        tree = _Tree(self, proof)
        waiting = [(proof.nodes[0], root)]
        while waiting:
            waiting += tree.write(*waiting.pop())


class _Tree:
    """Nodes of a proof, on their way to a log."""

    def __init__(self, log: LogBuilder, proof: Proof) -> None:
        self._log, self._proof = log, proof
        self._target = values(proof.nodes)[0]

    def write(self, node: ProofNode, blocks: Blocks) -> list[tuple[ProofNode, Blocks]]:
        """Write a node; return the nodes that it is split into, the one that is next last."""
        while True:
            blocks, is_ended = self._write_steps(node, blocks)
            if is_ended:
                return []
            assert node.end is not None
            together, apart = (self._proof.nodes[at] for at in (node.end.together, node.end.apart))
            i, j = node.end.pair
            if blocks.are_undecided(i, j):
                self._log.add((["split", int(i), int(j)], {}))
                pair = np.array([[i, j]])
                return [(apart, blocks.separated(pair)), (together, blocks.linked(pair))]
            # Pairs fixed just before have decided it: what is left is the node itself.
            node = together if blocks.block_of[i] == blocks.block_of[j] else apart

    def _write_steps(self, node: ProofNode, blocks: Blocks) -> tuple[Blocks, bool]:
        """Write the steps of a node, and its end if it is not a split.

        Return the blocks after them, and whether the node has ended.
        """
        blocks, refutation = self._propagate(blocks)
        for step in node.steps:
            if refutation:
                break
            if isinstance(step, FixingProof):
                blocks, refutation = self._propagate(self._fix(step, blocks))
            elif proves(step, self._target):
                assert np.array_equal(step.blocks, blocks.block_of), "blocks that do not follow"
                self._bound(step)
                return blocks, True
        if refutation or node.is_infeasible:
            self._add_all(refutation or infeasibility(blocks))
            return blocks, True
        if node.end is None:
            assert self._target <= 0.0
            self._log.add((["open"], {}))
            return blocks, True
        return blocks, False

    def _propagate(self, blocks: Blocks) -> tuple[Blocks, list[Step]]:
        blocks, merges, end = propagated(blocks)
        self._add_all(merges)
        return blocks, end

    def _bound(self, step: BoundStep) -> None:
        """Write the bound that a node ends with, or the prices that prove that it has none."""
        words, arrays = _written(step.evidence)
        if step.bound == math.inf:
            self._log.add((["infeasible", *words], arrays))
            return
        self._log.add((["bound", step.bound, words], arrays))
        self._log.add((["open"], {}))

    def _fix(self, step: FixingProof, blocks: Blocks) -> Blocks:
        """Write the step that fixes pairs, below the target; return the blocks after it."""
        words: list[Any] | None = None
        arrays: dict[str, NDArray[Any]] = {}
        if len(step.excluded):
            assert step.evidence is not None
            words, arrays = _written(step.evidence)
            arrays = arrays | {"excluded": step.excluded.astype(np.int32)}
        if len(step.far):
            arrays = arrays | {"far": step.far.astype(np.int32)}
        self._log.add((["fix", self._target, words], arrays))
        return blocks.separated(np.concatenate([step.excluded, step.far]))

    def _add_all(self, steps: Iterable[Step]) -> None:
        for step in steps:
            self._log.add(step)


def _written(evidence: Evidence | None) -> Step:
    """Return evidence as a step has it; None is the scatter inside blocks."""
    return (Scatter() if evidence is None else evidence).written()
