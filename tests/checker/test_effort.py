"""Searches of the checker end as soon as the caller says so."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.evidence import Effort
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.sizes import SizeLimits
from sdpbb.checker.partitions import require_no_partition
from sdpbb.checker.prices import Enumerated, Lagrangian
from sdpbb.checker.pricing import clusters_below, proven_least
from sdpbb.problem.packing.in_units import ClusterPacking
from tests.checker.priced import random_problem

NO_TRIPLES = np.empty((0, 3), np.int32), np.empty(0)


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


def drawn(seed, m, d, n_links):
    found = random_problem(np.random.default_rng(seed), m, d, n_links)
    return found.contracted, found.adjacency, found.prices


def least_value(d, share):
    contracted, adjacency, prices = drawn(0, 40, d, 5)
    least = -share * prices.sum()
    return lambda steps: proven_least(contracted, adjacency, prices, least, 5_000, (), steps)


def all_clusters():
    contracted, adjacency, prices = drawn(2, 30, 4, 5)
    total = float(np.maximum(prices, 0.0).sum())
    given = contracted, adjacency, prices, -total, 0.2 * total, 2_000, 10**6, ()
    return lambda steps: clusters_below(*given, steps)


def partitions():
    found = drawn(3, 8, 2, 0)[0]
    contracted = replace(found, scatter=np.zeros(8))
    members = np.array([[i >> b & 1 for b in range(8)] for i in range(1, 256)], bool)
    below = 1e-3 * float(np.square(contracted.means).sum())
    given = contracted, 7, members, below, np.zeros(8), *NO_TRIPLES, 10_000
    return lambda steps: require_no_partition(*given, at_step=steps)


def packings():
    units = np.random.default_rng(4).integers(10**9, 10**10, 30)
    total = int(units.sum())
    limits = SizeLimits(total, 3, total // 3 - 1000, total // 3 + 1000)
    apart = np.zeros((30, 30), bool)
    return lambda steps: ClusterPacking([(units, limits)], apart, at_step=steps).labels()


def evidence(kind):
    contracted, adjacency, prices = drawn(0, 40, 6, 5)
    total, blocks = float(prices.sum()), Blocks(3, np.arange(40), adjacency)
    ask = {
        "prices": Lagrangian(prices, -0.1 * total).bound,
        "infeasibility": Lagrangian(prices, -0.2 * total).proves_infeasible,
        "clusters": Enumerated(0.5 * total, prices, -0.2 * total, prices, *NO_TRIPLES).bound,
    }[kind]
    return lambda steps: ask(contracted, blocks, Effort(0.01, steps))


SEARCHES = {
    "sets": least_value(6, 0.1),
    "places": least_value(2, 0.4),
    **{search.__name__: search() for search in (all_clusters, partitions, packings)},
    **{kind: evidence(kind) for kind in ("prices", "infeasibility", "clusters")},
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_ends_at_the_step_at_which_it_is_told_to(name):
    unlimited = Steps(0)
    with suppress(Rejected):
        SEARCHES[name](unlimited)
    assert unlimited.count >= 2
    for last in {1, 2, unlimited.count}:
        steps = Steps(last)
        with pytest.raises(Ended):
            SEARCHES[name](steps)
        assert steps.count == last


def test_a_share_of_a_limit():
    assert Effort(0.5).of(1001) == 500
    assert Effort().of(7) == 7
