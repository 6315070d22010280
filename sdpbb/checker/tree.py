"""Check of a proof tree: every step of every node, and the root bound that follows."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .blocks import Blocks
from .colouring import is_colourable
from .container import StoredArray
from .evidence import Lagrangian, Semidefinite
from .exclusion import excluded_pairs, far_pairs
from .geometry import Contracted, Geometry
from .nodes import (
    APART,
    CLIQUE,
    COLOURING,
    CONFLICT,
    PACKING,
    PRICES,
    TOGETHER,
    Bound,
    Equal,
    Fix,
    Infeasible,
    Merge,
    ProofTree,
    ProofTreeNode,
    Split,
)
from .packing import is_packable
from .rejection import Rejected, at
from .size_rules import measures

# How far below what is proven a stated bound may be, relatively: it is written by arithmetic of
# another kind, and says what the file proves, not less.
STATED_WITHIN = 1e-9
# How many contractions are kept: a node and its child often have the same blocks.
_KEPT = 4


class _CompressedBlocks:
    """Compressed blocks of a pending node: in a deep tree, many wait."""

    def __init__(self, blocks: Blocks) -> None:
        self._k, self._m, self._rules = blocks.k, blocks.m, blocks.rules
        self._block_of = blocks.block_of.astype(np.int32)
        self._adjacency = zlib.compress(np.packbits(blocks.adjacency).tobytes(), 1)

    def blocks(self) -> Blocks:
        bits = np.frombuffer(zlib.decompress(self._adjacency), np.uint8)
        adjacency = np.unpackbits(bits, count=self._m**2).view(np.bool_)
        square = adjacency.reshape(self._m, self._m)
        return Blocks(self._k, self._block_of.astype(np.intp), square, self._rules)


@dataclass(frozen=True)
class _ProofTask:
    """Node to be checked. It begins with the blocks, and points i and j linked as link says."""

    node: int
    kept: _CompressedBlocks
    i: int = 0
    j: int = 0
    link: str | None = None

    def state(self) -> Blocks:
        blocks, pair = self.kept.blocks(), np.array([[self.i, self.j]])
        if self.link == TOGETHER:
            return blocks.linked(pair)
        return blocks.separated(pair) if self.link == APART else blocks


def tree_value(proof: ProofTree, root: Blocks, geometry: Geometry) -> float:
    """Check a proof tree; return a number that no clustering of the root costs less than.

    It is infinity if there is no clustering. All that it follows from is proven before.

    Raises
    ------
    Rejected
        Naming the node and the step that does not prove what it states.
    """
    walk = _Walk(proof, geometry)
    tasks = [_ProofTask(0, _CompressedBlocks(root))]
    while tasks:
        tasks += walk.checked(tasks.pop())
    return _values(proof.nodes)[0]


def _values(nodes: tuple[ProofTreeNode, ...]) -> list[float]:
    """Return the value of each node; children have higher numbers."""
    values = [0.0] * len(nodes)
    for number in reversed(range(len(nodes))):
        node = nodes[number]
        match node.end:
            case Infeasible():
                value = math.inf
            case Split():
                value = min(values[node.end.together], values[node.end.apart])
            case _:
                value = 0.0
        for position in reversed(range(len(node.steps))):
            step = node.steps[position]
            if isinstance(step, Bound):
                value = max(value, step.stated)
            elif isinstance(step, Fix):
                with at(f"node {number}, step {position}"):
                    _require_refuted(step, values)
                value = min(value, step.below)
        values[number] = max(value, 0.0)
    return values


def _require_refuted(step: Fix, values: list[float]) -> None:
    for entry in step.refuted:
        if not values[entry.node] >= step.below:
            raise Rejected(
                f"needs {step.below!r} from node {entry.node}, which proves {values[entry.node]!r}"
            )


class _Walk:
    """Walk over the nodes of a proof, one by one; keeps nothing of them but some contractions."""

    def __init__(self, proof: ProofTree, geometry: Geometry) -> None:
        self._proof = proof
        self._geometry = geometry
        self._contractions: list[tuple[Blocks, Contracted]] = []

    def checked(self, task: _ProofTask) -> list[_ProofTask]:
        """Prove the steps and the end of a node.

        Return the tasks of the nodes that it refers to.
        """
        node, blocks = self._proof.nodes[task.node], task.state()
        tasks: list[_ProofTask] = []
        for number, step in enumerate(node.steps):
            with at(f"node {task.node}, step {number}"):
                _require_consistent(blocks)
                match step:
                    case Merge():
                        _require_rows(step.rows, blocks.m, "merges")
                        blocks = blocks.merged(self._points(step.rows))
                    case Equal():
                        if task.node or number:
                            raise Rejected("equal points; expected them first, in the root")
                        _require_rows(step.pairs, len(blocks.block_of), "equal")
                        pairs = self._points(step.pairs)
                        blocks = blocks.with_equal_linked(
                            self._geometry.points, pairs, self._geometry.soft.points.tolist()
                        )
                    case Bound():
                        self._check_bound(step, blocks)
                    case Fix():
                        tasks += _refuting_tasks(step, blocks)
                        blocks = self._fix_pairs(step, blocks)
        with at(f"node {task.node}, end"):
            if isinstance(node.end, Infeasible):
                self._check_infeasible(node.end, blocks)
                return tasks
            _require_consistent(blocks)
            if isinstance(node.end, Split):
                i, j = node.end.i, node.end.j
                if not blocks.are_undecided(i, j):
                    raise Rejected(f"splits points {i} and {j}, which are linked already")
                kept = _CompressedBlocks(blocks)
                tasks.append(_ProofTask(node.end.apart, kept, i, j, APART))
                tasks.append(_ProofTask(node.end.together, kept, i, j, TOGETHER))
        return tasks

    def _check_bound(self, step: Bound, blocks: Blocks) -> None:
        evidence = step.source.load(blocks.m)
        contracted, rules = self._contract(blocks), blocks.block_rules
        proven = evidence.bound(contracted, blocks.k, blocks.adjacency, rules)
        slack = STATED_WITHIN * abs(proven)
        if not proven - slack <= step.stated <= proven:
            raise Rejected(f"states a bound of {step.stated!r}, proves {proven!r}")

    def _check_infeasible(self, end: Infeasible, blocks: Blocks) -> None:
        if end.kind != PRICES:
            _check_infeasible(end, blocks)
            return
        _require_consistent(blocks)
        assert end.source is not None
        evidence, rules = end.source.load(blocks.m), blocks.block_rules
        assert isinstance(evidence, Lagrangian)
        contracted = self._contract(blocks)
        if not evidence.proves_infeasible(contracted, blocks.k, blocks.adjacency, rules):
            raise Rejected(
                "the prices prove no infeasibility: their sum is at most what k clusters may hold"
            )

    def _fix_pairs(self, step: Fix, blocks: Blocks) -> Blocks:
        """Return the blocks in which all pairs of a step are linked.

        `_refuting_tasks` proves the refuted.
        """
        together = [(r.i, r.j) for r in step.refuted if r.link == TOGETHER]
        apart = [_pairs([(r.i, r.j) for r in step.refuted if r.link == APART])]
        if step.excluded is not None:
            stored, source = step.excluded
            _require_rows(stored, blocks.m * (blocks.m - 1) // 2, "excluded")
            evidence = source.load(blocks.m)
            assert isinstance(evidence, Semidefinite)
            proven = excluded_pairs(
                self._contract(blocks),
                blocks.k,
                blocks.adjacency,
                evidence,
                step.below,
                blocks.block_rules,
            )
            apart.append(self._require_proven_apart(stored, blocks, proven, "excluded"))
        if step.far is not None:
            _require_rows(step.far, blocks.m * (blocks.m - 1) // 2, "far")
            proven = far_pairs(self._contract(blocks), step.below)
            apart.append(self._require_proven_apart(step.far, blocks, proven, "far"))
        return blocks.changed(_pairs(together), np.concatenate(apart))

    def _require_proven_apart(
        self, stored: StoredArray, blocks: Blocks, proven: NDArray[np.bool_], what: str
    ) -> NDArray[np.int64]:
        pairs = self._points(stored)
        rows, columns = blocks.block_of[pairs].T
        unproven = np.flatnonzero(~proven[rows, columns] | (rows == columns))
        if len(unproven):
            i, j = pairs[unproven[0]].tolist()
            raise Rejected(f"{what}: points {i} and {j} are not proven to be apart")
        return pairs

    def _points(self, stored: StoredArray) -> NDArray[np.int64]:
        """Return an array of numbers of points."""
        points = stored.load().astype(np.int64)
        if points.size and not (points.min() >= 0 and points.max() < self._proof.n):
            raise Rejected(f"a point beyond 0..{self._proof.n - 1}")
        return points

    def _contract(self, blocks: Blocks) -> Contracted:
        for known, contracted in self._contractions:
            if _have_same_components(known, blocks):
                return contracted
        contracted = self._geometry.contracted(blocks.block_of, blocks.component_of)
        self._contractions = [(blocks, contracted), *self._contractions[: _KEPT - 1]]
        return contracted


def _have_same_components(one: Blocks, other: Blocks) -> bool:
    if not np.array_equal(one.block_of, other.block_of):
        return False
    if one.component_of is None or other.component_of is None:
        return one.component_of is other.component_of
    return np.array_equal(one.component_of, other.component_of)


def _require_rows(stored: StoredArray, most: int, what: str) -> None:
    """Raise `Rejected` for more rows than can be of use; nothing is taken from the file yet."""
    if stored.shape[0] > most:
        raise Rejected(f"{what}: {stored.shape[0]} rows; expected at most {most}")


def _pairs(pairs: list[tuple[int, int]]) -> NDArray[np.int64]:
    return np.array(pairs, np.int64).reshape(-1, 2)


def _refuting_tasks(step: Fix, blocks: Blocks) -> list[_ProofTask]:
    """Return the tasks of the nodes that have to refute the opposite of a step's pairs."""
    if not step.refuted:
        return []
    kept = _CompressedBlocks(blocks)
    return [
        _ProofTask(
            entry.node, kept, entry.i, entry.j, APART if entry.link == TOGETHER else TOGETHER
        )
        for entry in step.refuted
    ]


def _require_consistent(blocks: Blocks) -> None:
    if blocks.contradiction is not None:
        raise Rejected(f"{blocks.contradiction}; expected the end of the node, infeasible")


def _check_infeasible(end: Infeasible, blocks: Blocks) -> None:
    if end.kind == CONFLICT and blocks.contradiction is None:
        raise Rejected("nothing contradicts itself")
    if end.kind == CLIQUE and not blocks.is_clique(end.points):
        raise Rejected("the points are not all of blocks that are cannot-linked to each other")
    if end.kind == COLOURING:
        members = np.unique(blocks.block_of[list(end.points)])
        if is_colourable(blocks.adjacency[np.ix_(members, members)], blocks.k):
            raise Rejected(f"the blocks of the points can be coloured with {blocks.k} colours")
    if end.kind == PACKING:
        found = measures(blocks.block_rules)
        if not found or is_packable(found, blocks.adjacency):
            raise Rejected("the blocks can be put into clusters of allowed sizes")
