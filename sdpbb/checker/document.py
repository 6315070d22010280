"""Reader of the nodes of a document; whatever is not as it should be is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from . import fields
from .container import StoredArray
from .evidence import KINDS, Evidence, Lagrangian, Semidefinite, Source
from .fields import ArrayKey, NumberKey, References
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
    Open,
    ProofTreeNode,
    Refuted,
    Split,
    Subset,
    require_tree,
)
from .rejection import Rejected, at

# A number of a node is below this, whatever it is compared with.
_MOST_NODES = 2**31


@dataclass(frozen=True)
class Reader:
    """Reader of parts of a document on n points and k clusters."""

    n: int
    k: int
    references: References

    def labels(self, value: Any) -> StoredArray | None:
        if value is None:
            return None
        labels = self.references.take(value, "labels", ("<i4",))
        if labels.shape != (self.n,):
            raise Rejected(f"labels: of {labels.shape[0]} points; expected {self.n}")
        return labels

    def nodes(self, value: Any) -> tuple[ProofTreeNode, ...]:
        if not fields.items(value, "nodes"):
            raise Rejected("nodes: none; expected at least the root")
        nodes = tuple(self._node(entry, f"node {number}") for number, entry in enumerate(value))
        require_tree(nodes)
        return nodes

    def subsets(self, value: Any) -> tuple[Subset, ...]:
        read, left = [], self.n
        for number, entry in enumerate(fields.items(value, "subsets")):
            with at(f"subset {number}"):
                rows, nodes = fields.entries(entry, "rows", "nodes")
                stored = self.references.take(rows, "rows", ("<i4",))
                n = stored.shape[0]
                if not self.k <= n <= left:
                    raise Rejected(f"rows: {n} points; expected {self.k}..{left}")
                left -= n
                read.append(Subset(stored, replace(self, n=n).nodes(nodes)))
        return tuple(read)

    def _node(self, value: Any, place: str) -> ProofTreeNode:
        with at(place):
            steps, end = fields.entries(value, "steps", "end")
            fields.items(steps, "steps")
        read = []
        for number, step in enumerate(steps):
            with at(f"{place}, step {number}"):
                read.append(self._step(step))
        with at(f"{place}, end"):
            return ProofTreeNode(tuple(read), self._end(end))

    def _step(self, value: Any) -> Merge | Equal | Bound | Fix:
        if not isinstance(value, dict):
            raise Rejected(f"{fields.shown(value)}; expected merge, equal, bound or fix")
        if "equal" in value:
            (pairs,) = fields.entries(value, "equal")
            return Equal(self._pairs(pairs, "equal"))
        if "merge" in value:
            (rows,) = fields.entries(value, "merge")
            return Merge(self.references.take(rows, "merge", ("<i4",), self.k + 1))
        if "bound" in value:
            stated, evidence = fields.entries(value, "bound", "evidence")
            return Bound(fields.number(stated, "bound"), self._source(evidence))
        (fix,) = fields.entries(value, "fix")
        return self._fix(*fields.entries(fix, "below", "refuted", "excluded", "far"))

    def _fix(self, below: Any, refuted: Any, excluded: Any, far: Any) -> Fix:
        if below is None and (excluded is not None or far is not None):
            raise Rejected("below: null; expected a number where pairs are excluded or far")
        return Fix(
            math.inf if below is None else fields.number(below, "below"),
            tuple(self._refuted(entry) for entry in fields.items(refuted, "refuted")),
            None if excluded is None else self._excluded(excluded),
            None if far is None else self._pairs(far, "far"),
        )

    def _refuted(self, value: Any) -> Refuted:
        i, j, link, node = fields.items(value, "refuted", 4)
        return Refuted(
            self._point(i),
            self._point(j),
            fields.word(link, "refuted", TOGETHER, APART),
            fields.whole(node, "refuted", 0, _MOST_NODES),
        )

    def _excluded(self, value: Any) -> tuple[StoredArray, Source]:
        pairs, evidence = fields.entries(value, "pairs", "evidence")
        source = self._source(evidence)
        if source.kind is not Semidefinite:
            raise Rejected("excluded: expected semidefinite evidence")
        return self._pairs(pairs, "excluded"), source

    def _pairs(self, value: Any, what: str) -> StoredArray:
        return self.references.take(value, what, ("<i4",), 2)

    def _point(self, value: Any) -> int:
        return fields.whole(value, "a point", 0, self.n)

    def _source(self, value: Any) -> Source:
        said = value.get("kind") if isinstance(value, dict) else None
        for kind in KINDS:
            if said == kind.KIND:
                return self._evidence(kind, value)
        names = [kind.KIND for kind in KINDS]
        raise Rejected(f"evidence: expected the kind {', '.join(names[:-1])} or {names[-1]}")

    def _evidence(self, kind: type[Evidence], value: dict[str, Any]) -> Source:
        keys = kind.keys(value)
        _, *found = fields.entries(value, "kind", *(key.name for key in keys))
        return Source(
            kind,
            self.k,
            {key.name: self._value(key, entry) for key, entry in zip(keys, found, strict=True)},
        )

    def _value(self, key: NumberKey | ArrayKey, value: Any) -> float | StoredArray:
        if isinstance(key, NumberKey):
            return fields.number(value, key.name)
        return self.references.take(value, key.name, key.dtypes, key.columns_for(self.k))

    def _end(self, value: Any) -> Open | Split | Infeasible:
        if not isinstance(value, dict):
            raise Rejected(f"{fields.shown(value)}; expected open, split or infeasible")
        if "open" in value:
            (is_open,) = fields.entries(value, "open")
            if is_open is not True:
                raise Rejected(f"open: {fields.shown(is_open)}; expected true")
            return Open()
        if "split" in value:
            (split,) = fields.entries(value, "split")
            i, j, together, apart = fields.items(split, "split", 4)
            return Split(
                self._point(i),
                self._point(j),
                fields.whole(together, "split", 0, _MOST_NODES),
                fields.whole(apart, "split", 0, _MOST_NODES),
            )
        (reason,) = fields.entries(value, "infeasible")
        said = reason.get("kind") if isinstance(reason, dict) else None
        if said in (CONFLICT, PACKING):
            fields.entries(reason, "kind")
            return Infeasible(said)
        if said == PRICES:
            return Infeasible(PRICES, source=self._evidence(Lagrangian, reason))
        kind, points = fields.entries(reason, "kind", "points")
        fields.word(kind, "kind", CONFLICT, CLIQUE, COLOURING, PACKING, PRICES)
        members = tuple(self._point(point) for point in fields.items(points, "points"))
        if kind == CLIQUE and len(members) != self.k + 1:
            raise Rejected(f"a clique of {len(members)} points; expected k + 1 = {self.k + 1}")
        return Infeasible(kind, members)
