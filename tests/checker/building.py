"""Certificates of small instances, built by splitting until k blocks are left or none can be."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from sdpbb.checker.clusters import Enumerated
from sdpbb.checker.kernel import digests
from sdpbb.checker.kernel.archive import FORMAT
from sdpbb.checker.kernel.arithmetic import sum_down
from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.certificate import Certificate
from sdpbb.checker.kernel.cuts import Cuts
from sdpbb.checker.kernel.cuts.lifted import LiftedPentagons
from sdpbb.checker.kernel.cuts.templates import Cliques, Templates, Vectors
from sdpbb.checker.kernel.dual import Semidefinite
from sdpbb.checker.kernel.evidence import Evidence, Scatter
from sdpbb.checker.kernel.exclusion import excluded_pairs, far_pairs
from sdpbb.checker.kernel.geometry import Contracted, Geometry
from sdpbb.checker.kernel.verdict import CertificateVerdict
from sdpbb.checker.prices import Lagrangian
from sdpbb.checker.verify import verify
from sdpbb.problem import Instance
from sdpbb.problem.graph import connected_components
from tests.any_instance import drawn_instance
from tests.checker.parts import Parts, Step
from tests.enumeration import feasible_clusterings, sums_of_squares


@dataclass
class Built:
    """A certificate, and its instance."""

    instance: Instance
    parts: Parts

    @property
    def data(self) -> bytes:
        return self.parts.data

    def verified(self, data: bytes | None = None) -> CertificateVerdict:
        instance = self.instance
        read = Certificate.read(self.data if data is None else data)
        return verify(read, instance.points, instance.k, instance.must_link, instance.cannot_link)


@dataclass
class Builder:
    """Builds the steps of an instance.

    below : nodes fix pairs that cheaper clusterings do not link otherwise, if that is finite
    fixing : at the root only
    """

    instance: Instance
    below: float = np.inf
    fixing: bool = False
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.geometry = Geometry.of(self.instance.points)

    def add(self, *words: Any, **arrays: np.ndarray) -> None:
        self.steps.append(Step(list(words), arrays))

    def root(self) -> float:
        instance = self.instance
        pairs = (digests.normalised(p) for p in (instance.must_link, instance.cannot_link))
        return self.node(Blocks.of(instance.n_points, instance.k, *pairs), self.fixing)

    def node(self, blocks: Blocks, fixing: bool = False) -> float:
        """Appends a node and those below it; returns its value."""
        caps = []
        if fixing and blocks.contradiction is None:
            blocks, caps = self.fixes(blocks)
        return min([self.ended(blocks), *caps])

    def bound(self, evidence: Evidence, blocks: Blocks) -> float:
        contracted = self.contracted(blocks)
        stated = evidence.bound(contracted, blocks)
        words, arrays = evidence.written()
        self.add("bound", stated, words, **arrays)
        return stated

    def contracted(self, blocks: Blocks) -> Contracted:
        return self.geometry.contracted(blocks.block_of, blocks.component_of)

    def fixes(self, blocks: Blocks) -> tuple[Blocks, list[float]]:
        """Bounds of each kind, and pairs that are far or excluded."""
        first, contracted = first_points(blocks), self.contracted(blocks)
        evidence = some_evidence(blocks)
        self.bound(evidence, blocks)
        self.bound(Lagrangian(np.full(blocks.m, 0.125), -0.125 * blocks.m), blocks)
        self.bound(self.enumerated(blocks), blocks)
        far = np.argwhere(np.triu(far_pairs(contracted, self.below)))
        excluded = np.argwhere(np.triu(excluded_pairs(contracted, blocks, evidence, self.below)))
        words, arrays = evidence.written()
        pairs = {"far": first[far], "excluded": first[excluded]}
        stored = {name: array.astype(np.int32) for name, array in pairs.items()}
        self.add("fix", self.below, words, **arrays, **stored)
        return blocks.separated(first[np.concatenate([far, excluded])]), [self.below]

    def enumerated(self, blocks: Blocks) -> Enumerated:
        """At prices of nothing, so that all clusters are looked at."""
        m, below = blocks.m, 0.9 * self.below
        some = min(m // 3, 1)
        triples = np.arange(3 * some, dtype=np.int32).reshape(-1, 3)
        prices, penalties = np.full(m, 0.125 * below), np.full(some, 0.0625 * below)
        return Enumerated(below, prices, -below * m, prices.copy(), triples, penalties)

    def ended(self, blocks: Blocks) -> float:
        first = first_points(blocks)
        if blocks.contradiction is not None:
            self.add("infeasible", "conflict")
            return np.inf
        if blocks.m == blocks.k:
            stated = self.bound(Scatter(), blocks)
            self.add("open")
            return stated
        pairs = undecided(blocks)
        if not pairs:
            self.add("infeasible", "clique", first[: blocks.k + 1].tolist())
            return np.inf
        i, j = pairs[0]
        self.add("split", i, j)
        value = self.node(blocks.linked(np.array([[i, j]])))
        return min(value, self.node(blocks.separated(np.array([[i, j]]))))


def built(
    instance: Instance,
    fixing: bool = False,
    subsets: list[np.ndarray] | None = None,
    tolerance: float = 1e-9,
) -> Built:
    """A certificate of an instance of at most 8 points or so.

    subsets : rows of disjoint subsets, each of which is split to the end; None for a single tree
    """
    best, steps = cheapest(instance), list[Step]()
    if subsets is None:
        below = np.inf if best is None else best[1]
        value = Builder(instance, below, fixing and 0.0 < below < np.inf, steps).root()
        return certificate_of(instance, best, steps, value, "optimal", tolerance)
    values = []
    for rows in subsets:
        builder = Builder(part(instance, rows), steps=steps)
        builder.add("subset", rows=rows.astype(np.int32))
        values.append(max(0.0, builder.root()))
    value = np.inf if np.inf in values else sum_down(values)
    return certificate_of(instance, best, steps, value, "feasible", tolerance)


def part(instance: Instance, rows: np.ndarray) -> Instance:
    """The points of rows, and the links among them."""

    def inside(pairs: np.ndarray) -> np.ndarray:
        return np.searchsorted(rows, pairs[np.isin(pairs, rows).all(axis=1)])

    links = inside(instance.must_link), inside(instance.cannot_link)
    return Instance(instance.points[rows], instance.k, *links)


def random_subsets(rng: np.random.Generator, instance: Instance) -> list[np.ndarray]:
    """Disjoint ones of k blocks or more."""
    of = rng.integers(0, 3, instance.n_points)
    subsets = [np.flatnonzero(of == number) for number in range(2)]  # points of 2 are in none
    return [
        rows
        for rows in subsets
        if len(rows) >= instance.k and n_blocks(part(instance, rows)) >= instance.k
    ]


def n_blocks(instance: Instance) -> int:
    return int(connected_components(instance.n_points, instance.must_link).max()) + 1


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
    steps: list[Step],
    value: float,
    status: str,
    tolerance: float,
) -> Built:
    """A certificate of a clustering, with its status, or of none, whose steps prove a value."""
    is_infeasible = value == np.inf
    claim = {
        "certificate": FORMAT,
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
        "cost": None if best is None else best[1],
        "lower_bound": None if is_infeasible else max(0.0, value),
    }
    return Built(instance, Parts(claim, steps, None if best is None else best[0]))


def claimed(points: Any, k: int, labels: Any, tolerance: float = 1e-4) -> Built:
    """A certificate that calls labels optimal, and proves nothing."""
    instance = Instance(np.array(points), k)
    found = np.array(labels, np.int32)
    best = found, Geometry.of(instance.points).cost_at_most(found)
    return certificate_of(instance, best, [Step(["open"])], 0.0, "optimal", tolerance)


def some_evidence(blocks: Blocks) -> Semidefinite:
    """Dual values that prove little, with cuts of some forms."""
    m, k = blocks.m, blocks.k
    linked = np.argwhere(blocks.adjacency)[:1] if k == 2 else np.empty((0, 2), np.intp)
    complements = np.array([[0, j, h] for j, h in linked], np.int32).reshape(-1)
    template = Templates(1, 3, ((0, 0, -1.0), (0, 1, 1.0), (0, 2, 1.0)), 0.0)
    groups = (Vectors(1, (-1, 1, 1)), Cliques(1), *([template] if len(complements) else []))
    blocks_of_cuts = [
        np.array([0, m - 1, m - 1]),
        np.arange(k + 1) % m,
        complements,
        np.array([0, 1 % m, 0, m - 1, m - 1]),
    ]
    cuts = Cuts(
        (*groups, LiftedPentagons((2,))),
        np.concatenate(blocks_of_cuts).astype(np.int32),
        estimates=np.array([[0, m - 1, 1], [16, 0, 1]], np.int32),
    )
    N = np.full(m * (m + 1) // 2, 0.25, np.float32)
    return Semidefinite(0.5, N, cuts, np.full(len(cuts), 0.125))


def first_points(blocks: Blocks) -> np.ndarray:
    return np.unique(blocks.block_of, return_index=True)[1]


def undecided(blocks: Blocks) -> list[tuple[int, int]]:
    """First points of blocks that are not cannot-linked, i < j."""
    first = first_points(blocks)
    return [tuple(first[p].tolist()) for p in np.argwhere(np.triu(~blocks.adjacency, 1))]


def plain_instance(seed: int, k: int, n: int = 6) -> Instance:
    """Points and pairs, which may contradict each other."""
    parts = {"always": ["pairs"], "n": (n, n), "k": (k, k)}
    return drawn_instance(Random(seed), "equal points", **parts)
