"""Searches of the checker end as soon as the caller says so."""

from contextlib import suppress

import numpy as np
import pytest

from sdpbb.checker.clusters import Enumerated
from sdpbb.checker.kernel.effort import Effort
from sdpbb.checker.kernel.geometry import Contracted
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.sizes import SizeLimits
from sdpbb.checker.partitions import require_no_partition
from sdpbb.checker.prices import Lagrangian
from sdpbb.checker.pricing import clusters_below, proven_least
from sdpbb.problem.packing.in_units import ClusterPacking
from tests.checker.block_rules import of_blocks

NO_TRIPLES = np.empty((0, 3), np.int32), np.empty(0)


def random_problem(
    seed: int, m: int, d: int, n_links: int
) -> tuple[Contracted, np.ndarray, np.ndarray]:
    """Blocks of random weights, some cannot-links, and a price for each."""
    rng = np.random.default_rng(seed)
    linked = np.zeros((m, m), bool)
    for _ in range(n_links):
        i, j = rng.permutation(m)[:2]
        linked[i, j] = linked[j, i] = True
    weights = rng.integers(1, 5, m).astype(float)
    means, scatter = rng.normal(size=(m, d)), np.zeros(m)
    contracted = Contracted(int(weights.sum()), weights, means, scatter, 0.0)
    return contracted, linked, rng.uniform(1.0, 4.0, m)


class Ended(Exception):
    pass


class Steps:
    """Steps of a search that ends at the last one."""

    def __init__(self, last: int) -> None:
        self.count, self._last = 0, last

    def __call__(self) -> None:
        self.count += 1
        if self.count == self._last:
            raise Ended


def ignoring_rejection(search, at_step):
    with suppress(Rejected):
        search(at_step)


def least_value_of_sets(at_step):
    contracted, adjacency, prices = random_problem(0, 40, 6, 5)
    proven_least(contracted, adjacency, prices, -0.1 * prices.sum(), 5_000, (), at_step)


def least_value_of_places(at_step):
    contracted, adjacency, prices = random_problem(1, 40, 2, 5)
    proven_least(contracted, adjacency, prices, -0.4 * prices.sum(), 5_000, (), at_step)


def all_clusters(at_step):
    contracted, adjacency, prices = random_problem(2, 30, 4, 5)
    total = float(np.maximum(prices, 0.0).sum())
    limits = 2_000, 10**6
    clusters_below(contracted, adjacency, prices, -total, 0.2 * total, *limits, (), at_step)


def partitions(at_step):
    contracted, _, _ = random_problem(3, 8, 2, 0)
    members = np.array([[i >> b & 1 for b in range(8)] for i in range(1, 256)], bool)
    below = 1e-3 * float(np.square(contracted.means).sum())
    require_no_partition(
        contracted, 7, members, below, np.zeros(8), *NO_TRIPLES, 10_000, at_step=at_step
    )


def packings(at_step):
    units = np.random.default_rng(4).integers(10**9, 10**10, 30)
    total = int(units.sum())
    limits = SizeLimits(total, 3, total // 3 - 1000, total // 3 + 1000)
    ClusterPacking([(units, limits)], np.zeros((30, 30), bool), at_step=at_step).labels()


def evidence_of_prices(at_step):
    contracted, adjacency, prices = random_problem(0, 40, 6, 5)
    evidence = Lagrangian(prices, -0.1 * float(prices.sum()))
    evidence.bound(contracted, of_blocks(3, adjacency), Effort(0.01, at_step))


def evidence_of_infeasibility(at_step):
    contracted, adjacency, prices = random_problem(0, 40, 2, 60)
    evidence = Lagrangian(prices, -0.2 * float(prices.sum()))
    evidence.proves_infeasible(contracted, of_blocks(3, adjacency), Effort(0.01, at_step))


def evidence_of_enumeration(at_step):
    contracted, adjacency, prices = random_problem(0, 40, 6, 5)
    total = float(prices.sum())
    evidence = Enumerated(0.5 * total, prices, -0.2 * total, prices, *NO_TRIPLES)
    evidence.bound(contracted, of_blocks(3, adjacency), Effort(0.01, at_step))


SEARCHES = [
    least_value_of_sets,
    least_value_of_places,
    all_clusters,
    partitions,
    packings,
    evidence_of_prices,
    evidence_of_infeasibility,
    evidence_of_enumeration,
]


@pytest.mark.parametrize("search", SEARCHES)
def test_a_search_ends_at_the_step_at_which_it_is_told_to(search):
    unlimited = Steps(0)
    ignoring_rejection(search, unlimited)
    assert unlimited.count >= 2
    for last in {1, 2, unlimited.count}:
        steps = Steps(last)
        with pytest.raises(Ended):
            search(steps)
        assert steps.count == last


def test_a_share_of_a_limit():
    assert Effort(0.5).of(1001) == 500
    assert Effort().of(7) == 7
