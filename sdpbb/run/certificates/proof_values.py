"""Bound that a recorded proof implies at each node, and the steps that are needed for it."""

from __future__ import annotations

import math

from sdpbb.bounds.certified import FixingProof
from sdpbb.run.certificates.recorder import BoundStep, ProofNode


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
