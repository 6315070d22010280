"""Certificates of small instances, built by splitting until k blocks are left or none can be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdpbb.checker import digests
from sdpbb.checker.blocks import Blocks
from sdpbb.checker.certificate import Certificate
from sdpbb.checker.container import pack
from sdpbb.checker.cuts import Cuts
from sdpbb.checker.evidence import Enumerated, Lagrangian, Semidefinite
from sdpbb.checker.evidence.scatter import scatter_bound
from sdpbb.checker.exclusion import excluded_pairs, far_pairs
from sdpbb.checker.geometry import Contracted, Geometry
from sdpbb.checker.verdict import CertificateVerdict
from sdpbb.checker.verify import verify
from sdpbb.problem import Instance
from tests.enumeration import feasible_clusterings, sums_of_squares


@dataclass
class Built:
    """A document and its arrays, of an instance."""

    instance: Instance
    document: dict[str, Any]
    arrays: list[np.ndarray]

    @property
    def data(self) -> bytes:
        return pack(self.document, self.arrays)

    def verified(self, data: bytes | None = None) -> CertificateVerdict:
        return verified(self.data if data is None else data, self.instance)


def verified(data: bytes, instance: Instance) -> CertificateVerdict:
    return verify(
        Certificate.read(data),
        instance.points,
        instance.k,
        instance.must_link,
        instance.cannot_link,
    )


@dataclass
class Builder:
    """Builds the nodes of an instance.

    below : nodes fix pairs that cheaper clusterings do not link otherwise, if that is finite
    fixing : at the root only, by refutation too
    """

    instance: Instance
    below: float = np.inf
    fixing: bool = False
    nodes: list[dict[str, Any]] = field(default_factory=list)
    arrays: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.geometry = Geometry.of(self.instance.points)

    def ref(self, array: np.ndarray) -> int:
        self.arrays.append(array)
        return len(self.arrays) - 1

    def root(self) -> float:
        instance = self.instance
        pairs = (digests.normalised(p) for p in (instance.must_link, instance.cannot_link))
        return self.node(Blocks.of(instance.n_points, instance.k, *pairs), self.fixing)

    def node(self, blocks: Blocks, fixing: bool = False) -> float:
        """Appends a node and those below it; returns its value."""
        node: dict[str, Any] = {"steps": [], "end": None}
        self.nodes.append(node)
        caps = []
        if fixing and blocks.contradiction is None:
            blocks, caps = self.fixes(node, blocks)
        value = self.ended(node, blocks)
        return min([value, *caps])

    def fixes(self, node: dict[str, Any], blocks: Blocks) -> tuple[Blocks, list[float]]:
        """Two bounds, pairs that are far or excluded, and pairs that are refuted."""
        first, contracted = (
            first_points(blocks),
            self.geometry.contracted(blocks.block_of, blocks.component_of),
        )
        evidence = some_evidence(blocks)
        stored = self.stored(evidence)
        stated = evidence.bound(contracted, blocks.k, blocks.adjacency)
        node["steps"].append({"bound": stated, "evidence": stored})
        node["steps"].append(self.prices(blocks, contracted))
        node["steps"].append(self.enumerated(blocks, contracted))
        far = np.argwhere(np.triu(far_pairs(contracted, self.below)))
        excluded = np.argwhere(
            np.triu(excluded_pairs(contracted, blocks.k, blocks.adjacency, evidence, self.below))
        )
        step = fix(self.below, far=self.ref(first[far].astype(np.int32)))
        pairs = self.ref(first[excluded].astype(np.int32))
        step["fix"]["excluded"] = {"pairs": pairs, "evidence": stored}
        node["steps"].append(step)
        blocks = blocks.separated(first[np.concatenate([far, excluded])])
        if blocks.contradiction is not None:
            return blocks, [self.below]
        refuted = []
        for i, j in undecided(blocks):
            for link, other in (("together", blocks.separated), ("apart", blocks.linked)):
                kept = len(self.nodes), len(self.arrays)
                value = self.node(other(np.array([[i, j]])))
                if value >= self.below:
                    refuted.append([i, j, link, kept[0]])
                    break
                del self.nodes[kept[0] :], self.arrays[kept[1] :]
            if len(refuted) == 3:
                break
        node["steps"].append(fix(self.below, refuted=refuted))
        together, apart = (
            np.array([r[:2] for r in refuted if r[2] == link], np.int64).reshape(-1, 2)
            for link in ("together", "apart")
        )
        return blocks.changed(together, apart), [self.below]

    def prices(self, blocks: Blocks, contracted: Contracted) -> dict[str, Any]:
        prices = np.full(blocks.m, 0.125)
        evidence = Lagrangian(prices, -0.125 * blocks.m)
        return {
            "bound": evidence.bound(contracted, blocks.k, blocks.adjacency),
            "evidence": {
                "kind": "lagrangian",
                "prices": self.ref(prices),
                "least": evidence.least,
            },
        }

    def enumerated(self, blocks: Blocks, contracted: Contracted) -> dict[str, Any]:
        """At prices of nothing, so that all clusters are looked at."""
        m, below = blocks.m, 0.9 * self.below
        some = min(m // 3, 1)
        triples = np.arange(3 * some, dtype=np.int32).reshape(-1, 3)
        prices, penalties = np.full(m, 0.125 * below), np.full(some, 0.0625 * below)
        evidence = Enumerated(below, prices, -below * m, prices.copy(), triples, penalties)
        return {
            "bound": evidence.bound(contracted, blocks.k, blocks.adjacency),
            "evidence": {
                "kind": "enumerated",
                "below": below,
                "prices": self.ref(evidence.prices),
                "least": evidence.least,
                "share_prices": self.ref(evidence.share_prices),
                "triples": self.ref(triples),
                "penalties": self.ref(penalties),
            },
        }

    def stored(self, evidence: Semidefinite) -> dict[str, Any]:
        return {
            "kind": "semidefinite",
            "unit": evidence.unit,
            "N": self.ref(evidence.N),
            **{name: self.ref(array) for name, array in evidence.cuts.arrays.items()},
            "multipliers": self.ref(evidence.multipliers),
        }

    def ended(self, node: dict[str, Any], blocks: Blocks) -> float:
        first = first_points(blocks)
        if blocks.contradiction is not None:
            node["end"] = {"infeasible": {"kind": "conflict"}}
            return np.inf
        if blocks.m == blocks.k:
            stated = scatter_bound(self.geometry.contracted(blocks.block_of, blocks.component_of))
            node["steps"].append({"bound": stated, "evidence": {"kind": "scatter"}})
            node["end"] = {"open": True}
            return stated
        pairs = undecided(blocks)
        if not pairs:
            points = first[: blocks.k + 1].tolist()
            node["end"] = {"infeasible": {"kind": "clique", "points": points}}
            return np.inf
        i, j = pairs[0]
        together = len(self.nodes)
        value = self.node(blocks.linked(np.array([[i, j]])))
        apart = len(self.nodes)
        value = min(value, self.node(blocks.separated(np.array([[i, j]]))))
        node["end"] = {"split": [i, j, together, apart]}
        return value


def built(instance: Instance, fixing: bool = False, tolerance: float = 1e-9) -> Built:
    """A certificate of an instance of at most 8 points or so."""
    best = cheapest(instance)
    builder = Builder(instance, np.inf if best is None else best[1], fixing and best is not None)
    value = builder.root()
    proven = {"nodes": builder.nodes}
    return certificate_of(instance, best, proven, builder.arrays, value, "optimal", tolerance)


def cheapest(instance: Instance) -> tuple[np.ndarray, float] | None:
    """Labels of a cheapest clustering, if there is one, and a cost that it does not exceed."""
    labels = feasible_clusterings(instance)
    if not len(labels):
        return None
    best = labels[sums_of_squares(instance.points, labels).argmin()].astype(np.int32)
    return best, Geometry.of(instance.points).cost_at_most(best)


def certificate_of(
    instance: Instance,
    best: tuple[np.ndarray, float] | None,
    proven: dict[str, Any],
    arrays: list[np.ndarray],
    value: float,
    status: str,
    tolerance: float,
) -> Built:
    """A certificate of a clustering, with its status, or of none.

    proven : what the document has besides, which refers to the arrays and proves a value
    """
    is_infeasible = value == np.inf
    document = {
        "written_by": "a test",
        "n": instance.n_points,
        "d": instance.n_features,
        "k": instance.k,
        "points": digests.of_points(instance.points),
        "must_link": digests.of_pairs(instance.must_link),
        "cannot_link": digests.of_pairs(instance.cannot_link),
        "rules": digests.of_rules(()),
        "tolerance": tolerance,
        "status": "infeasible" if is_infeasible else "unknown" if best is None else status,
        "labels": None if best is None else len(arrays),
        "cost": None if best is None else best[1],
        "lower_bound": None if is_infeasible else max(0.0, value),
        **proven,
    }
    return Built(instance, document, arrays if best is None else [*arrays, best[0]])


def some_evidence(blocks: Blocks) -> Semidefinite:
    """Dual values that prove little, with cuts of every kind there is."""
    m, k = blocks.m, blocks.k
    linked = np.argwhere(blocks.adjacency)[:1] if k == 2 else np.empty((0, 2), np.intp)
    cuts = Cuts.of(
        k,
        {
            "star_start": np.array([0, 3], np.int64),
            "star_blocks": np.array([0, m - 1, m - 1], np.int32),
            "cliques": np.arange(k + 1, dtype=np.int32)[None] % m,
            "complements": np.array([[0, j, h] for j, h in linked], np.int32).reshape(-1, 3),
            "pentagons": np.array([[0, 1 % m, 0, m - 1, m - 1]], np.int32),
            "estimate_start": np.array([0, 2], np.int64),
            "estimates": np.array([[0, m - 1, 1], [16, 0, 1]], np.int32),
        },
    )
    N = np.full(m * (m + 1) // 2, 0.25, np.float32)
    return Semidefinite(0.5, N, cuts, np.full(len(cuts), 0.125))


def fix(below: float | None, refuted: list[Any] | None = None, far: int | None = None) -> Any:
    return {"fix": {"below": below, "refuted": refuted or [], "excluded": None, "far": far}}


def first_points(blocks: Blocks) -> np.ndarray:
    return np.unique(blocks.block_of, return_index=True)[1]


def undecided(blocks: Blocks) -> list[tuple[int, int]]:
    """First points of blocks that are not cannot-linked, i < j."""
    first = first_points(blocks)
    return [tuple(first[p].tolist()) for p in np.argwhere(np.triu(~blocks.adjacency, 1))]


def random_instance(rng: np.random.Generator, n: int = 6, k: int = 3, pairs: int = 3) -> Instance:
    points = rng.normal(size=(n, 2)).round(3)
    chosen = [tuple(rng.choice(n, 2, replace=False).tolist()) for _ in range(pairs)]
    at = rng.integers(0, pairs + 1)
    return Instance(points, k, must_link=chosen[:at], cannot_link=chosen[at:])
