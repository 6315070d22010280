"""Check of a proof: a walk over the steps of its log, and the bound that follows.

A node stands for the clusterings of its blocks (`Blocks`). The log has the steps of a node, and
then its end. A split is followed by the child where the two points share a cluster, with all nodes
below it, and by the child where they do not.

The value of a node is a lower bound on the cost of each of its clusterings. At the end of the node
it is infinity if no clustering exists, the lesser value of both children after a split, else 0.
From there, the steps change it in reverse order. A bound x raises a lower value to x. If pairs
are fixed apart in all clusterings cheaper than x, a value above x counts as x: clusterings that
have such a pair together cost x or more.
"""

from __future__ import annotations

import importlib
import math
import pickle
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .archive import NUMBERS, Archive
from .blocks import Blocks
from .certificate import Certificate, fields, items, number, shown, whole, word
from .dual import Semidefinite
from .evidence import Evidence
from .judge import Judge
from .rejection import Rejected, at
from .rules import measures

# A stated bound may be below the proven one by this part of it, as other arithmetic wrote it.
STATED_WITHIN = 1e-9

# Kinds of evidence by their words. Modules outside of the kernel are loaded if a proof needs them.
_KINDS = {
    "scatter": (".evidence", "Scatter"),
    "dual": (".dual", "Semidefinite"),
    "prices": ("..pricing", "Lagrangian"),
    "clusters": ("..partitions", "Enumerated"),
}
REASONS = {
    "conflict": "conflicts",
    "clique": "cliques of cannot-links",
    "colouring": "colouring",
    "packing": "packing",
    "prices": "pricing",
}


@dataclass
class ProofCounts:
    """Counts of the parts of a proof, and names of the rules that it uses.

    trees : one of a search, or one for each subset
    splits : a tree has one leaf more than splits
    """

    trees: int = 0
    splits: int = 0
    bounds: int = 0
    fixings: int = 0
    rules: dict[str, None] = field(default_factory=dict)

    def use(self, *rules: str) -> None:
        """Note rules, each once."""
        self.rules.update(dict.fromkeys(rules))

    def add(self, other: ProofCounts) -> None:
        """Add the counts of another proof."""
        for name in ("trees", "splits", "bounds", "fixings"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.use(*other.rules)


def proof_of(certificate: Certificate, lines: range, root: Blocks, judge: Judge) -> ProofTree:
    """Check the steps of the lines; return the tree, whose `value` is a bound of the root.

    Raises
    ------
    Rejected
        With the first line that does not prove what it states.
    """
    tree = ProofTree(judge, root)
    for line in lines:
        with at(f"line {line}"):
            tree.check(certificate.step(line), certificate.archive.of_step(line))
    return tree


class ProofTree:
    """Tree of a proof, as far as its steps are checked."""

    def __init__(self, judge: Judge, root: Blocks) -> None:
        self.counts = ProofCounts(trees=1)
        self._judge, self._n, self._root = judge, len(root.block_of), root
        self._blocks: Blocks | None = root  # of the node under way; None after the last one
        # Second children that wait: blocks of the node that was split, and the pair. They are
        # compressed, as a deep tree has many.
        self._waiting: list[tuple[bytes, NDArray[np.int64]]] = []
        # Bounds, fixed pairs, splits and ends in the order of the log, with their numbers.
        self._stated: list[tuple[str, float]] = []

    def value(self) -> float:
        """Return a lower bound on the cost of every clustering of the root; inf: none exists."""
        if self._blocks is not None:
            raise Rejected("the log ends within a proof; expected the end of each node")
        values: list[float] = []  # of the finished nodes whose parents are not
        for name, stated in reversed(self._stated):
            match name:
                case "bound":
                    values[-1] = max(values[-1], stated)
                case "fix":
                    values[-1] = min(values[-1], stated)
                case "split":
                    values.append(max(0.0, min(values.pop(), values.pop())))
                case _:
                    values.append(stated)
        return max(0.0, values[0])

    def check(self, step: list[Any], arrays: Archive) -> None:
        """Check the next step; `Rejected` if it does not prove what it states."""
        blocks, counts = self._blocks, self.counts
        if blocks is None:
            raise Rejected("a step after the end of the proof; expected none")
        if step[0] != "infeasible":
            _require_consistent(blocks)
        match step:
            case ["merge"]:
                rows = arrays.take("rows", NUMBERS, range(blocks.m + 1), blocks.k + 1)
                counts.use("merges")
                self._blocks = blocks.merged(self._points(rows))
            case ["equal"]:
                self._blocks = self._with_equal_linked(arrays, blocks)
            case ["bound", x, evidence]:
                stated = number(x, "bound")
                self._check_bound(stated, evidence, arrays, blocks)
                self._stated.append(("bound", stated))
            case ["fix", x, evidence]:
                below = number(x, "below")
                self._stated.append(("fix", below))
                self._blocks = self._fixed(below, evidence, arrays, blocks)
            case ["split", i, j]:
                i, j = self._point(i), self._point(j)
                if not blocks.are_undecided(i, j):
                    raise Rejected(f"splits points {i} and {j}, which are linked already")
                pair = np.array([[i, j]])
                kept = pickle.dumps((blocks.k, blocks.block_of, blocks.adjacency))
                self._waiting.append((zlib.compress(kept, 1), pair))
                self._stated.append(("split", 0.0))
                self._blocks = blocks.linked(pair)
                counts.splits += 1
                counts.use("splits")
            case ["open"]:
                self._end(0.0)
            case ["infeasible", reason, *rest]:
                name = word(reason, "infeasible", *REASONS)
                self._check_infeasible(name, rest, arrays, blocks)
                counts.use(REASONS[name])
                self._end(math.inf)
            case _:
                raise Rejected(f"{shown(step)}; expected a step of this format")

    def _end(self, value: float) -> None:
        """End the node under way; the last child that waits is next."""
        self._stated.append(("end", value))
        self._blocks = None
        if self._waiting:
            kept, pair = self._waiting.pop()
            k, block_of, adjacency = pickle.loads(zlib.decompress(kept))
            self._blocks = Blocks(k, block_of, adjacency, self._root.rules).separated(pair)

    def _with_equal_linked(self, arrays: Archive, blocks: Blocks) -> Blocks:
        """Return the root after equal points are linked; see `Blocks.with_equal_linked`."""
        if self._stated or blocks is not self._root:
            raise Rejected("equal points; expected them first, in the root")
        pairs = arrays.take("pairs", NUMBERS, range(self._n + 1), 2)
        self.counts.use("equal points")
        geometry = self._judge.geometry
        named = geometry.soft.points.tolist()
        return blocks.with_equal_linked(geometry.points, self._points(pairs), named)

    def _check_bound(self, stated: float, evidence: Any, arrays: Archive, blocks: Blocks) -> None:
        """Raise `Rejected` unless p (1 - 1e-9) <= stated <= p for the bound p of the evidence."""
        found = _evidence(evidence, arrays, blocks)
        proven = self._judge.bound(found, blocks)
        if not proven - STATED_WITHIN * abs(proven) <= stated <= proven:
            raise Rejected(f"states a bound of {stated!r}, proves {proven!r}")
        self.counts.bounds += 1
        self.counts.use(*found.rules_used)

    def _fixed(self, below: float, evidence: Any, arrays: Archive, blocks: Blocks) -> Blocks:
        """Return the blocks with pairs apart that no clustering cheaper than `below` has together.

        `Rejected` unless that is proven.
        """
        apart = [np.empty((0, 2), np.int64)]
        most = range(blocks.m * (blocks.m - 1) // 2 + 1)
        if evidence is not None:
            pairs = self._points(arrays.take("excluded", NUMBERS, most, 2))
            found = _evidence(evidence, arrays, blocks)
            if not isinstance(found, Semidefinite):
                raise Rejected(f"excluded: expected evidence of the kind {Semidefinite.WORD!r}")
            _require_apart(pairs, blocks, self._judge.excluded(found, blocks, below), "excluded")
            apart.append(pairs)
            self.counts.use("excluded pairs", *found.rules_used)
        if "far" in arrays:
            pairs = self._points(arrays.take("far", NUMBERS, most, 2))
            _require_apart(pairs, blocks, self._judge.far(blocks, below), "far")
            apart.append(pairs)
            self.counts.use("far pairs")
        self.counts.fixings += sum(map(len, apart))
        return blocks.separated(np.concatenate(apart))

    def _check_infeasible(
        self, reason: str, rest: list[Any], arrays: Archive, blocks: Blocks
    ) -> None:
        """Raise `Rejected` unless the reason proves that the blocks have no clustering.

        A reason is a plain contradiction, k + 1 blocks cannot-linked to each other, prices
        (`pricing.Lagrangian.proves_infeasible`) or a search.
        """
        if reason == "conflict":
            fields(rest)
            if blocks.contradiction is None:
                raise Rejected("nothing contradicts itself")
            return
        if reason == "clique":
            points = self._listed(*fields(rest, "points"))
            if len(points) != blocks.k + 1 or not blocks.is_clique(points):
                raise Rejected(
                    f"the points are not of {blocks.k + 1} blocks that are cannot-linked to each "
                    "other"
                )
            return
        _require_consistent(blocks)
        if reason == "prices":
            prices = _evidence(["prices", *rest], arrays, blocks)
            if not self._judge.proves_infeasible(prices, blocks):
                raise Rejected(
                    "the prices prove no infeasibility: their sum is at most what k clusters may "
                    "hold"
                )
        else:
            self._check_packing(reason == "colouring", rest, blocks)

    def _check_packing(self, is_colouring: bool, rest: list[Any], blocks: Blocks) -> None:
        """Raise `Rejected` unless a search finds no k-colouring of some blocks, or no packing."""
        packing = importlib.import_module("..packing", __package__)
        if is_colouring:
            points = self._listed(*fields(rest, "points"))
            members = np.unique(blocks.block_of[points])
            if packing.is_packable(blocks.adjacency[np.ix_(members, members)], blocks.k):
                raise Rejected(f"the blocks of the points can have {blocks.k} colours")
            return
        fields(rest)
        found = measures(blocks.block_rules)
        if not found or packing.is_packable(blocks.adjacency, blocks.k, found):
            raise Rejected("the blocks can be put into clusters of allowed sizes")

    def _point(self, value: Any) -> int:
        """Return the number of a point; `Rejected` unless it is in 0..n - 1."""
        return whole(value, "a point", 0, self._n)

    def _listed(self, value: Any) -> list[int]:
        return [self._point(point) for point in items(value, "points")]

    def _points(self, array: NDArray[Any]) -> NDArray[np.int64]:
        """Return numbers of points; `Rejected` unless all are in 0..n - 1."""
        points = array.astype(np.int64)
        if points.size and not (points.min() >= 0 and points.max() < self._n):
            raise Rejected(f"a point beyond 0..{self._n - 1}")
        return points


def _evidence(values: Any, arrays: Archive, blocks: Blocks) -> Evidence:
    """Return the evidence that a list and the arrays of a step state."""
    kind, *rest = items(values, "evidence") or [None]
    module, name = _KINDS[word(kind, "evidence", *_KINDS)]
    form: type[Evidence] = getattr(importlib.import_module(module, __package__), name)
    return form.read(rest, arrays.take, blocks.m)


def _require_apart(
    pairs: NDArray[np.int64], blocks: Blocks, proven: NDArray[np.bool_], what: str
) -> None:
    """Raise `Rejected` unless the points of each pair are in two blocks that `proven` marks."""
    rows, columns = blocks.block_of[pairs].T
    unproven = np.flatnonzero(~proven[rows, columns] | (rows == columns))
    if len(unproven):
        i, j = pairs[unproven[0]].tolist()
        raise Rejected(f"{what}: points {i} and {j} are not proven to be apart")


def _require_consistent(blocks: Blocks) -> None:
    """Raise `Rejected` if the blocks contradict each other: such a node has to end."""
    if blocks.contradiction is not None:
        raise Rejected(f"{blocks.contradiction}; expected the end of the node, infeasible")
