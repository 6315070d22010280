"""Column generation at the root of an instance, with its exact pricing counted."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from colgen_instances import Case, instance_of
from numpy.typing import NDArray

import sdpbb
from sdpbb.bounds.colgen.bounding import known_columns
from sdpbb.bounds.colgen.generation import Generation
from sdpbb.bounds.colgen.pricing.branching_pricer import BranchingPricer
from sdpbb.bounds.colgen.pricing.protocol import PricingOutcome
from sdpbb.bounds.colgen.pricing.search import ClusterSearch
from sdpbb.bounds.colgen.pricing.sought import SoughtClusters
from sdpbb.problem import Contraction, contract

GAP = 1e-4
SDP_ITERATIONS = 60


class MeasuringPricer(BranchingPricer):
    """Pricer that keeps count of exact pricing, and its problems.

    It is not for constraints on clusters that have no compiled form.
    """

    def __init__(self, contraction: Contraction) -> None:
        super().__init__(contraction)
        self.asked: list[tuple[NDArray[np.float64], float]] = []
        self.n_slices, self.n_nodes = 0, 0
        self._under_way: ClusterSearch | None = None

    def exact(self, prices: NDArray[np.float64], target: float) -> PricingOutcome:
        target = min(target, 0.0)
        if self._under_way is None or not self._is_last(prices, target):
            self.asked.append((prices.copy(), target))
            self._under_way = ClusterSearch(self.problem(), SoughtClusters(prices, target))
        search, before = self._under_way, self._under_way.n_nodes
        members = search.run(self.nodes_per_slice)
        self.n_slices += 1
        self.n_nodes += search.n_nodes - before
        if not search.is_finished:
            return PricingOutcome(members, None)
        self._under_way = None
        return PricingOutcome(members, search.upper - self.problem().margin(prices))

    def _is_last(self, prices: NDArray[np.float64], target: float) -> bool:
        before, of = self.asked[-1]
        return np.array_equal(before, prices) and of == target


class Generated(NamedTuple):
    """Column generation that was run to its end, or to a limit."""

    generation: Generation
    pricer: MeasuringPricer
    solved: bool
    seconds: float


class Root(NamedTuple):
    """Root of an instance, with a known clustering: labels (m,) of blocks, and its cost."""

    contraction: Contraction
    labels: NDArray[np.intp]
    cost: float


def root_of(case: Case) -> Root:
    """Return the root with the clustering of the heuristic "best-of"."""
    instance = instance_of(case)
    contraction = contract(instance)
    known = sdpbb.heuristic("best-of").run(instance)
    assert isinstance(contraction, Contraction)
    assert known.labels is not None
    assert known.sum_of_squares is not None
    first = np.unique(contraction.block_of, return_index=True)[1]
    return Root(contraction, known.labels[first], known.sum_of_squares)


def generated(root: Root, seconds: float) -> Generated:
    """Generate columns until the master programme is solved, without regard to a cutoff."""
    pricer = MeasuringPricer(root.contraction)
    columns = known_columns(root.contraction, root.labels)
    start = time.perf_counter()
    generation = Generation(root.contraction, pricer, columns, integer=False)
    solved = False
    while not solved and time.perf_counter() - start < seconds:
        solved = generation.step(np.inf).stalled
    return Generated(generation, pricer, solved, time.perf_counter() - start)
