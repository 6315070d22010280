"""Certificates of results: their files, and the log of a recorded proof.

The writer repeats constraint propagation in each node, with a clique as the reason of each merge.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdpbb.bounds.certified import FixingProof
from sdpbb.checker.kernel import archive
from sdpbb.checker.kernel.arithmetic import sum_down
from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.certificate import LOG, lines
from sdpbb.checker.kernel.evidence import Scatter
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.rules import measures
from sdpbb.checker.kernel.verdict import FEASIBLE, OPTIMAL, is_optimal
from sdpbb.errors import CertificateError
from sdpbb.problem import Instance, Partition
from sdpbb.problem.checker_rules import stated_instance
from sdpbb.problem.colouring import decide
from sdpbb.problem.contraction import equal_points
from sdpbb.problem.graph import NeighbourSets
from sdpbb.problem.infeasibility import Infeasibility, clique_merges
from sdpbb.run.certificates.recorded import BoundStep, Proof, ProofNode, SubsetProof
from sdpbb.runtime.files import FilePath, replacement, shown_path
from sdpbb.runtime.version import installed_version
from sdpbb.search.events import CertificateWritten
from sdpbb.search.result import Result, SolutionStatus

Step = tuple[list[Any], dict[str, NDArray[Any]]]
"""Step of a log: a list that begins with a word, and its arrays."""

# Most coloured vertices, times vertices, to choose between two reasons: half a second.
COLOURING_WORK = 2_000_000


@dataclass(frozen=True)
class CertificateOrder:
    """Order for the certificate that a run writes at its end.

    path : of the file
    about : a clustering that satisfies the constraints, instead of the best one found
    only : write a certificate only for this status; None: for any status
    """

    path: FilePath
    about: Partition | None = None
    only: SolutionStatus | None = None

    def __fspath__(self) -> str:
        return os.fspath(self.path)


def write_certificate(
    order: CertificateOrder,
    instance: Instance,
    gap: float,
    result: Result,
    proof: Proof,
    subsets: Sequence[SubsetProof] | None = None,
) -> CertificateWritten:
    """Write the certificate of a run that has ended; return the event that reports it.

    gap : the requested relative gap
    subsets : of a run that has started with subsets

    Raises
    ------
    CertificateError
        With the result, if the file cannot be written.
    """
    path = order.path
    try:
        arrays = certificate_arrays(instance, result, proof, gap, order.about, subsets)
        with replacement(path) as file:
            archive.write(file, arrays)
            size = file.tell()
    except Exception as error:  # the result must survive any error
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        message = f"{shown_path(path)}: could not be written ({reason})"
        raise CertificateError(message, result) from error
    return CertificateWritten(os.fspath(path), size)


def certificate_arrays(
    instance: Instance,
    result: Result,
    proof: Proof,
    tolerance: float,
    about: Partition | None = None,
    subsets: Sequence[SubsetProof] | None = None,
) -> list[tuple[str, NDArray[Any]]]:
    """Return the certificate of a result, in the format of docs/certificate_format.md.

    It has the proof by subsets, or the proof of the tree if its bound is higher. One is enough, as
    the sum over subsets bounds all nodes.

    tolerance : the requested relative gap
    instance : with constraints that the checker knows
    about : a clustering that satisfies the constraints, instead of the best one
    subsets : disjoint subsets, each with its proof
    """
    n, d = instance.points.shape
    stated, steps, target = stated_instance(instance), LogBuilder(), proof.lower
    of_subsets = None if subsets is None else _value(subsets)
    if subsets is not None and of_subsets is not None and of_subsets >= target:
        target = of_subsets
        parts = stated.parts([subset.rows.astype(np.int64) for subset in subsets])
        for subset, part in zip(subsets, parts, strict=True):
            steps.add((["subset"], {"rows": subset.rows}))
            steps.add_tree(subset.proof, part.root, subset.equal)
    else:
        steps.add_tree(proof, stated.root, equal_points(instance))
    status, cost, arrays = result.status.value, result.objective, []
    partition = about or result.partition
    if partition is not None:
        arrays.append(("labels", partition.labels.astype(np.int32)))
    if about is not None:
        cost = about.cost(instance)
        upper = stated.geometry.cost_at_most(about.labels)
        status = OPTIMAL if is_optimal(upper, target, tolerance) else FEASIBLE
    claim = {
        "certificate": archive.FORMAT,
        "written_by": f"sdpbb {installed_version()}",
        "n": n,
        "d": d,
        "k": instance.k,
        **stated.digests,
        "tolerance": tolerance,
        "status": status,
        "cost": cost,
        "lower_bound": target if math.isfinite(target) else None,
    }
    return [(LOG, lines(claim, steps.steps)), *arrays, *steps.arrays]


def _value(subsets: Sequence[SubsetProof]) -> float:
    """Return the sum of the bounds of subsets, as the checker adds them up."""
    proven = [subset.proof.lower for subset in subsets]
    return math.inf if math.inf in proven else sum_down(proven)


class LogBuilder:
    """Builder of the log of a certificate.

    steps : lists that begin with a word
    arrays : by their names in the file, such as `7.rows` in step 7
    """

    def __init__(self) -> None:
        self.steps: list[list[Any]] = []
        self.arrays: list[tuple[str, NDArray[Any]]] = []

    def add(self, *steps: Step) -> None:
        """Add steps with their arrays."""
        for words, arrays in steps:
            self.steps.append(words)
            number = len(self.steps)
            self.arrays += [(f"{number}.{name}", array) for name, array in arrays.items()]

    def add_tree(self, proof: Proof, root: Blocks, equal: NDArray[np.integer]) -> None:
        """Add the nodes that the bound of a proof needs, parents before children.

        equal : pairs (p, 2) of equal points that the search has joined at the root
        """
        if len(equal) and root.contradiction is None:
            self.add((["equal"], {"pairs": equal.astype(np.int32)}))
            root = root.linked(equal.astype(np.int64))
        target, waiting = proof.lower, [(proof.nodes[0], root)]
        while waiting:
            node, blocks = waiting.pop()
            left = self._add_steps(node, blocks, target)
            if left is None:
                continue
            assert node.split is not None
            (i, j), child = node.split
            together, apart = proof.nodes[child : child + 2]
            if left.are_undecided(i, j):
                self.add((["split", int(i), int(j)], {}))
                pair = np.array([[i, j]])
                waiting += [(apart, left.separated(pair)), (together, left.linked(pair))]
            else:  # pairs fixed just before have decided it: one child is the node itself
                same = left.block_of[i] == left.block_of[j]
                waiting.append((together if same else apart, left))

    def _add_steps(self, node: ProofNode, blocks: Blocks, target: float) -> Blocks | None:
        """Add the steps of a node, and its end if it is not a split.

        Return the blocks after them, or None if the node has ended.
        """
        blocks, refutation = self._propagate(blocks)
        for step in node.steps:
            if refutation:
                break
            if isinstance(step, FixingProof):
                blocks, refutation = self._propagate(self._fix(step, blocks, target))
            elif step.bound >= target:  # later steps are not needed
                assert np.array_equal(step.blocks, blocks.block_of), "blocks that do not follow"
                self._bound(step)
                return None
        if refutation or node.is_infeasible:
            self.add(*(refutation or [infeasibility(blocks)]))
        elif node.split is None:
            assert target <= 0.0
            self.add((["open"], {}))
        else:
            return blocks
        return None

    def _propagate(self, blocks: Blocks) -> tuple[Blocks, list[Step]]:
        blocks, merges, end = propagated(blocks)
        self.add(*merges)
        return blocks, end

    def _bound(self, step: BoundStep) -> None:
        """Add the bound that ends a node, or the prices that prove that no clustering exists."""
        words, arrays = (Scatter() if step.evidence is None else step.evidence).written()
        if step.bound == math.inf:
            self.add((["infeasible", *words], arrays))
        else:
            self.add((["bound", step.bound, words], arrays), (["open"], {}))

    def _fix(self, step: FixingProof, blocks: Blocks, target: float) -> Blocks:
        """Add the step that fixes pairs, below the target; return the blocks after it."""
        words: list[Any] | None = None
        arrays: dict[str, NDArray[Any]] = {}
        if len(step.excluded):
            assert step.evidence is not None
            words, arrays = step.evidence.written()
            arrays = arrays | {"excluded": step.excluded.astype(np.int32)}
        if len(step.far):
            arrays = arrays | {"far": step.far.astype(np.int32)}
        self.add((["fix", target, words], arrays))
        return blocks.separated(np.concatenate([step.excluded, step.far]))


def propagated(blocks: Blocks) -> tuple[Blocks, list[Step], list[Step]]:
    """Repeat the inferences of `sdpbb.problem.contraction.contract`, round by round.

    Returns
    -------
    The blocks after all inferences. The merges of each round: rows (t, k + 1) of points i, j and a
    clique of k - 1 others, so that i and j share the last cluster. The end of the node, if the
    blocks have no clustering.
    """
    merges: list[Step] = []
    while True:
        if blocks.contradiction is not None:
            return blocks, merges, [(["infeasible", "conflict"], {})]
        if blocks.k < 3:  # the checker's blocks are closed already
            return blocks, merges, []
        rows, clique = _round(blocks)
        if clique is not None:
            return blocks, merges, [(["infeasible", "clique", clique], {})]
        if not len(rows):
            return blocks, merges, []
        rows, blocks = _apply_merges(blocks, rows)
        merges.append((["merge"], {"rows": rows.astype(np.int32)}))


def _apply_merges(blocks: Blocks, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], Blocks]:
    """Apply merges; return their rows and the blocks after them.

    If rows contradict each other, apply them up to the contradiction. After it, the cliques of
    other rows need not be cliques any more.
    """
    try:
        return rows, blocks.merged(rows)
    except Rejected:
        for count in range(1, len(rows)):
            left = blocks.merged(rows[:count])
            if left.contradiction is not None:
                return rows[:count], left
        raise


def _round(blocks: Blocks) -> tuple[NDArray[np.int64], list[int] | None]:
    """Return the merges that follow, and points of k + 1 blocks of a clique, if there is one."""
    first = np.unique(blocks.block_of, return_index=True)[1]
    pairs = np.argwhere(blocks.adjacency)  # few pairs; np.triu would copy the matrix
    neighbours = NeighbourSets(blocks.m, pairs[pairs[:, 0] <= pairs[:, 1]])
    found = clique_merges(neighbours, blocks.k)
    if isinstance(found, Infeasibility):
        return np.empty((0, 0), np.int64), first[list(found.points)].tolist()
    return first[found].astype(np.int64), None


def infeasibility(blocks: Blocks) -> Step:
    """Return the end of propagated blocks without a clustering; the checker searches again."""
    # A short search decides whether cannot-links alone leave no clustering, or sizes as well.
    graph, nodes = csr_array(blocks.adjacency), COLOURING_WORK // blocks.m
    found = decide(graph, blocks.k, nodes, time_left=lambda: 0.0)
    if measures(blocks.rules) and found.is_possible is not False:
        return ["infeasible", "packing"], {}
    first = np.unique(blocks.block_of, return_index=True)[1]
    needed = first if found.vertices is None else first[found.vertices]
    return ["infeasible", "colouring", sorted(needed.tolist())], {}
