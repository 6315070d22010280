"""Conversion of a recorded proof to the JSON nodes and arrays of a certificate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.certified import FixingProof
from sdpbb.checker.blocks import Blocks
from sdpbb.checker.evidence import Evidence, Lagrangian, Scatter
from sdpbb.run.certificates.recorder import BoundStep, Proof, ProofNode
from sdpbb.run.certificates.replay import infeasibility, propagated


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


class ArrayTable:
    """Arrays of a certificate; each is stored once."""

    def __init__(self) -> None:
        self.stored: list[NDArray[Any]] = []
        self._position: dict[int, int] = {}

    def add(self, array: NDArray[Any]) -> int:
        """Add an array; return its position."""
        if id(array) not in self._position:
            self._position[id(array)] = len(self.stored)
            self.stored.append(array)
        return self._position[id(array)]


class NodeTable:
    """Nodes of a document: those that the bound of a proof needs."""

    def __init__(
        self, proof: Proof, root: Blocks, equal: NDArray[np.integer], arrays: ArrayTable
    ) -> None:
        """equal : pairs (p, 2) of points that the search has joined at the root"""
        self._proof, self._arrays = proof, arrays
        self.target = values(proof.nodes)[0]
        self.nodes: list[dict[str, Any]] = []
        # Positions in the proof, with the blocks they begin with.
        self._waiting: list[tuple[int, Blocks]] = []
        first: list[dict[str, Any]] = []
        if len(equal) and root.contradiction is None:
            first = [{"equal": arrays.add(_int32(equal))}]
            root = root.linked(equal.astype(np.int64))
        self._refer(0, root)
        for position, blocks in self._waiting:  # grows meanwhile
            self.nodes.append(self._node(proof.nodes[position], blocks))
        self.nodes[0]["steps"][:0] = first

    def _refer(self, position: int, blocks: Blocks) -> int:
        self._waiting.append((position, blocks))
        return len(self._waiting) - 1

    def _node(self, node: ProofNode, blocks: Blocks) -> dict[str, Any]:
        steps: list[dict[str, Any]] = []
        while True:
            blocks, end = self._write_steps(node, blocks, steps)
            if end is not None:
                return {"steps": steps, "end": end}
            assert node.end is not None
            i, j = node.end.pair
            pair = np.array([[i, j]])
            if blocks.are_undecided(i, j):
                together = self._refer(node.end.together, blocks.linked(pair))
                apart = self._refer(node.end.apart, blocks.separated(pair))
                return {"steps": steps, "end": {"split": [i, j, together, apart]}}
            # Pairs fixed just before have decided it: what is left is the node itself.
            same = blocks.block_of[i] == blocks.block_of[j]
            node = self._proof.nodes[node.end.together if same else node.end.apart]

    def _write_steps(
        self, node: ProofNode, blocks: Blocks, steps: list[dict[str, Any]]
    ) -> tuple[Blocks, dict[str, Any] | None]:
        """Write the steps of a node.

        Return the blocks after them, and the end if it is not a split.
        """
        blocks, more, reason = self._propagate(blocks)
        steps += more
        for step in node.steps:
            if reason is not None:
                break
            if isinstance(step, FixingProof):
                written, blocks = self._fixing(step, blocks)
                steps.append(written)
                blocks, more, reason = self._propagate(blocks)
                steps += more
            elif proves(step, self.target):
                assert np.array_equal(step.blocks, blocks.block_of), "blocks that do not follow"
                if step.bound == math.inf:
                    return blocks, {"infeasible": self._prices(step.evidence)}
                steps.append({"bound": step.bound, "evidence": self._evidence(step.evidence)})
                return blocks, {"open": True}
        if reason is not None or node.is_infeasible:
            return blocks, {"infeasible": reason or infeasibility(blocks)}
        if node.end is None:
            assert self.target <= 0.0
            return blocks, {"open": True}
        return blocks, None

    def _propagate(
        self, blocks: Blocks
    ) -> tuple[Blocks, list[dict[str, Any]], dict[str, Any] | None]:
        blocks, rounds, reason = propagated(blocks)
        return blocks, [{"merge": self._arrays.add(_int32(rows))} for rows in rounds], reason

    def _fixing(self, step: FixingProof, blocks: Blocks) -> tuple[dict[str, Any], Blocks]:
        """Return the step that fixes pairs, below the target, and the blocks after it."""
        excluded = far = None
        if len(step.excluded):
            assert step.evidence is not None
            excluded = {
                "pairs": self._arrays.add(_int32(step.excluded)),
                "evidence": self._evidence(step.evidence),
            }
        if len(step.far):
            far = self._arrays.add(_int32(step.far))
        fix: dict[str, Any] = {
            "below": self.target if math.isfinite(self.target) else None,
            "refuted": [],
            "excluded": excluded,
            "far": far,
        }
        return {"fix": fix}, blocks.separated(np.concatenate([step.excluded, step.far]))

    def _prices(self, evidence: Evidence | None) -> dict[str, Any]:
        assert isinstance(evidence, Lagrangian)
        return {**self._evidence(evidence), "kind": "prices"}

    def _evidence(self, evidence: Evidence | None) -> dict[str, Any]:
        """Return evidence as an object of the document; None is the scatter inside blocks."""
        stated = Scatter() if evidence is None else evidence
        written: dict[str, Any] = {"kind": stated.KIND}
        for name, value in stated.values().items():
            written[name] = self._arrays.add(value) if isinstance(value, np.ndarray) else value
        return written


def _int32(rows: NDArray[np.integer]) -> NDArray[np.int32]:
    return rows.astype(np.int32)
