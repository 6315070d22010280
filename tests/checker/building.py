"""Certificates of small instances of every kind, split until each block is a cluster."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from sdpbb.checker.kernel.archive import FORMAT
from sdpbb.checker.kernel.arithmetic import sum_down
from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.evidence import Evidence, Scatter
from sdpbb.checker.kernel.judge import Judge
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.verdict import CertificateVerdict
from sdpbb.checker.partitions import Enumerated
from sdpbb.checker.pricing import Lagrangian
from sdpbb.problem import Instance
from sdpbb.problem.checker_rules import stated_instance
from sdpbb.run.certificates.writer import propagated
from sdpbb.run.verification import verdict_on
from tests.checker.nodes import CheckedNode, random_duals
from tests.checker.parts import Parts, Step, loaded
from tests.enumeration import Truth


def verified(parts: Parts, instance: Instance, workers: int = 1) -> CertificateVerdict:
    """What a certificate proves of an instance; `Rejected` if it proves less than it states."""
    return verdict_on(loaded(parts.data), instance, workers)


def built(
    instance: Instance, fixing: bool = False, subsets: Sequence[np.ndarray] | None = None
) -> Parts:
    """A certificate of an instance of at most 8 points or so.

    fixing : bounds of each kind in the root, and pairs that cheaper clusterings keep apart
    subsets : rows of disjoint subsets, each of which is split to the end; None for a single tree
    """
    stated, truth, steps = stated_instance(instance), Truth(instance), list[Step]()
    labels = truth.best if truth.is_feasible else None
    if subsets is None:
        node = CheckedNode.of(instance) if fixing and (truth.optimum or 0.0) > 0.0 else None
        value = _tree(Judge(stated.geometry), stated.root, steps, node)
        return claimed(instance, labels, steps, value)
    values = []
    for rows, part in zip(subsets, stated.parts(subsets), strict=True):
        steps.append(Step(["subset"], {"rows": rows.astype(np.int32)}))
        values.append(_tree(Judge(part.geometry), part.root, steps))
    value = math.inf if math.inf in values else sum_down(values)
    return claimed(instance, labels, steps, value, "feasible")


def _tree(judge: Judge, blocks: Blocks, steps: list[Step], node: CheckedNode | None = None) -> Any:
    """Append the steps of the node of blocks and of those below it; return its value.

    node : the same node, whose steps fix pairs; None if they do not
    """
    blocks, merges, end = propagated(blocks)
    steps += [Step(list(words), dict(arrays)) for words, arrays in (*merges, *end)]
    if end:
        return math.inf
    if node is not None:
        below, apart = _fix(judge, blocks, steps, node)
        return min(below, _tree(judge, blocks.separated(apart), steps))
    first = np.unique(blocks.block_of, return_index=True)[1]
    undecided = np.argwhere(np.triu(~blocks.adjacency, 1))
    if blocks.m > blocks.k and not len(undecided):
        steps.append(Step(["infeasible", "clique", first[: blocks.k + 1].tolist()]))
        return math.inf
    if blocks.m == blocks.k:
        value = _bound(judge, blocks, steps, Scatter())
        steps.append(Step(["open"]))
        return value
    pair = first[undecided[:1]]
    steps.append(Step(["split", *pair[0].tolist()]))
    value = _tree(judge, blocks.linked(pair), steps)
    return min(value, _tree(judge, blocks.separated(pair), steps))


def _bound(judge: Judge, blocks: Blocks, steps: list[Step], evidence: Evidence) -> float:
    stated, (words, arrays) = judge.bound(evidence, blocks), evidence.written()
    steps.append(Step(["bound", stated, words], dict(arrays)))
    return stated


def _fix(
    judge: Judge, blocks: Blocks, steps: list[Step], node: CheckedNode
) -> tuple[float, np.ndarray]:
    """Append bounds of all kinds that evidence has, and pairs that are far or excluded."""
    m, below = blocks.m, float(np.nextafter(float(node.optimum), np.inf))
    dual = random_duals(np.random.default_rng(m), node, 0.05)
    _bound(judge, blocks, steps, dual)
    _bound(judge, blocks, steps, Lagrangian(np.full(m, 0.125 * below), -0.125 * below * m))
    # At these prices all clusters are looked at.
    some, limit = (
        min(m // 3, 1),
        0.5 * (below - judge.contracted(blocks).with_soft(0.0, blocks.adjacency)),
    )
    triples = np.arange(3 * some, dtype=np.int32).reshape(-1, 3)
    prices, penalties = np.full(m, 0.125 * limit), np.full(some, 0.0625 * limit)
    enumerated = Enumerated(limit, prices, -limit * m, prices.copy(), triples, penalties)
    with suppress(Rejected):  # what is next to nothing may be lost to rounding
        _bound(judge, blocks, steps, enumerated)
    first = np.unique(blocks.block_of, return_index=True)[1]
    far, excluded = (
        first[np.argwhere(np.triu(each))]
        for each in (judge.far(blocks, below), judge.excluded(dual, blocks, below))
    )
    words, arrays = dual.written()
    pairs = {"far": far.astype(np.int32), "excluded": excluded.astype(np.int32)}
    steps.append(Step(["fix", below, words], arrays | pairs))
    return below, np.concatenate([far, excluded])


def claimed(
    instance: Instance,
    labels: Any = None,
    steps: Sequence[Step] = (Step(["open"]),),
    value: float = 0.0,
    status: str = "optimal",
    tolerance: float = 1e-9,
) -> Parts:
    """A certificate of steps that prove a value, and of labels with their status.

    Without steps it proves nothing; without labels its status is "unknown", or "infeasible".
    """
    stated, cost = stated_instance(instance), None
    if labels is not None:
        labels = np.array(labels, np.int32)
        cost = stated.geometry.cost_at_most(labels)
    claim = {
        "certificate": FORMAT,
        "written_by": "a test",
        "n": instance.n_points,
        "d": instance.n_features,
        "k": instance.k,
        **stated.digests,
        "tolerance": tolerance,
        "status": "infeasible" if value == np.inf else "unknown" if labels is None else status,
        "cost": cost,
        "lower_bound": None if value == np.inf else max(0.0, value),
    }
    return Parts(claim, list(steps), labels)
