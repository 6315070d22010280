"""Check of a proof: a walk over the steps of its log, and the bound that follows.

A node stands for the clusterings that keep its blocks together, its cannot-links apart, and the
rules. Its steps come one after the other, and then its end. A split is followed by the node where
the two points share a cluster, with all that is below it, and by the one where they do not.

The value of a node is at most what each of its clusterings costs. At an end without a clustering it
is infinite, at a split the lesser of the two, and else 0; then, from the last step to the first, it
is the greater of it and x for a bound x, and the lesser of it and x for pairs that are fixed in all
clusterings cheaper than x. So it is right: a clustering that does not keep such pairs costs x.
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
from .evidence import Evidence, Scatter
from .judge import Judge
from .rejection import Rejected, at
from .rules import measures

# How far below what is proven a stated bound may be, relatively: it is written by arithmetic of
# another kind, and says what the file proves, not less.
STATED_WITHIN = 1e-9

_KINDS: dict[str, type[Evidence]] = {kind.WORD: kind for kind in (Scatter, Semidefinite)}
# Of modules beside the kernel, which are loaded if a proof needs them.
_MODULES = {"prices": ("..pricing", "Lagrangian"), "clusters": ("..partitions", "Enumerated")}
REASONS = {
    "conflict": "conflicts",
    "clique": "cliques of cannot-links",
    "colouring": "colouring",
    "packing": "packing",
    "prices": "pricing",
}


@dataclass
class ProofCounts:
    """Counts of what a proof consists of, and the names of the rules that it uses.

    trees : of which each is a search, or about a subset
    splits : of nodes; a tree has one leaf more
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
    """Check the steps of some lines, which prove a bound of the root.

    Raises
    ------
    Rejected
        Naming the line that does not prove what it states.
    """
    tree = ProofTree(judge, root)
    for line in lines:
        with at(f"line {line}"):
            tree.check(certificate.step(line), certificate.archive.of_step(line))
    return tree


class ProofTree:
    """Tree of a proof, as far as its steps are checked.

    counts : of its steps
    """

    def __init__(self, judge: Judge, root: Blocks) -> None:
        self.counts = ProofCounts(trees=1)
        self._judge, self._n, self._root = judge, len(root.block_of), root
        self._blocks: Blocks | None = root  # of the node under way; None after the last one
        # Branches that wait, in a deep tree many: what tells their blocks from those of the root.
        self._waiting: list[tuple[bytes, NDArray[np.int64]]] = []
        # Step by step: bounds, fixed pairs, and ends, with their numbers.
        self._stated: list[tuple[str, float]] = []

    def value(self) -> float:
        """Return what every clustering of the root costs at least; infinity if there is none."""
        if self._blocks is not None:
            raise Rejected("the log ends within a proof; expected the end of each node")
        values: list[float] = []  # of the nodes after a step that are not below others
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
        """Prove the next step; `Rejected` if it does not prove what it states."""
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
        """End the node under way; the last one that waits is next."""
        self._stated.append(("end", value))
        self._blocks = None
        if self._waiting:
            kept, pair = self._waiting.pop()
            k, block_of, adjacency = pickle.loads(zlib.decompress(kept))
            self._blocks = Blocks(k, block_of, adjacency, self._root.rules).separated(pair)

    def _with_equal_linked(self, arrays: Archive, blocks: Blocks) -> Blocks:
        if self._stated or blocks is not self._root:
            raise Rejected("equal points; expected them first, in the root")
        pairs = arrays.take("pairs", NUMBERS, range(self._n + 1), 2)
        self.counts.use("equal points")
        geometry = self._judge.geometry
        named = geometry.soft.points.tolist()
        return blocks.with_equal_linked(geometry.points, self._points(pairs), named)

    def _check_bound(self, stated: float, evidence: Any, arrays: Archive, blocks: Blocks) -> None:
        found = _evidence(evidence, arrays, blocks)
        proven = self._judge.bound(found, blocks)
        if not proven - STATED_WITHIN * abs(proven) <= stated <= proven:
            raise Rejected(f"states a bound of {stated!r}, proves {proven!r}")
        self.counts.bounds += 1
        self.counts.use(*found.rules_used)

    def _fixed(self, below: float, evidence: Any, arrays: Archive, blocks: Blocks) -> Blocks:
        """Return the blocks in which all pairs of a step are apart, after they are proven to be."""
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
        """Have a search show that no k clusters hold all blocks, or those of some points."""
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
        return whole(value, "a point", 0, self._n)

    def _listed(self, value: Any) -> list[int]:
        return [self._point(point) for point in items(value, "points")]

    def _points(self, array: NDArray[Any]) -> NDArray[np.int64]:
        """Return an array of numbers of points."""
        points = array.astype(np.int64)
        if points.size and not (points.min() >= 0 and points.max() < self._n):
            raise Rejected(f"a point beyond 0..{self._n - 1}")
        return points


def _evidence(values: Any, arrays: Archive, blocks: Blocks) -> Evidence:
    kind, *rest = items(values, "evidence") or [None]
    name = word(kind, "evidence", *_KINDS, *_MODULES)
    if name in _KINDS:
        return _KINDS[name].read(rest, arrays, blocks.m)
    module, class_name = _MODULES[name]
    beside: type[Evidence] = getattr(importlib.import_module(module, __package__), class_name)
    return beside.read(rest, arrays, blocks.m)


def _require_apart(
    pairs: NDArray[np.int64], blocks: Blocks, proven: NDArray[np.bool_], what: str
) -> None:
    rows, columns = blocks.block_of[pairs].T
    unproven = np.flatnonzero(~proven[rows, columns] | (rows == columns))
    if len(unproven):
        i, j = pairs[unproven[0]].tolist()
        raise Rejected(f"{what}: points {i} and {j} are not proven to be apart")


def _require_consistent(blocks: Blocks) -> None:
    if blocks.contradiction is not None:
        raise Rejected(f"{blocks.contradiction}; expected the end of the node, infeasible")
