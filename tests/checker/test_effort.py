"""Searches of the checker end as soon as the caller says so."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.evidence import Effort
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.sizes import SizeLimits
from sdpbb.checker.partitions import Enumerated
from sdpbb.checker.pricing import Lagrangian
from sdpbb.problem.feasibility import ClusterPacking
from tests.checker.priced import random_problem


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


def evidence(kind: str, d: int = 6):
    found = random_problem(np.random.default_rng(0), 40, d, 5)
    prices, blocks = found.prices, Blocks(3, np.arange(40), found.adjacency)
    total, none = float(prices.sum()), (np.empty((0, 3), np.int32), np.empty(0))
    ask = {
        "prices": Lagrangian(prices, -0.4 * total / d**0.5).bound,
        "infeasibility": Lagrangian(prices, -0.2 * total).proves_infeasible,
        "clusters": Enumerated(0.5 * total, prices, -0.2 * total, prices, *none).bound,
    }[kind]
    return lambda steps: ask(found.contracted, blocks, Effort(0.01, steps))


def partitions(steps: Steps) -> None:
    found = random_problem(np.random.default_rng(3), 8, 2, 0).contracted
    contracted = replace(found, scatter=np.zeros(8))
    members = np.array([[i >> b & 1 for b in range(8)] for i in range(1, 256)], bool)
    below = 1e-3 * float(np.square(contracted.means).sum())
    blocks = Blocks(7, np.arange(8), np.zeros((8, 8), bool))
    none = np.empty((0, 3), np.int32), np.empty(0)
    clusters = Enumerated(below, np.zeros(8), 0.0, np.zeros(8), *none)
    clusters.require_no_partition(contracted, blocks, members, Effort(0.25, steps))


def packings(steps: Steps) -> None:
    units = np.random.default_rng(4).integers(10**9, 10**10, 30)
    total = int(units.sum())
    limits = SizeLimits(total, 3, total // 3 - 1000, total // 3 + 1000)
    ClusterPacking([(units, limits)], np.zeros((30, 30), bool), at_step=steps).labels()


SEARCHES = {
    "places": evidence("prices", 2),
    "partitions": partitions,
    "packings": packings,
    **{kind: evidence(kind) for kind in ("prices", "infeasibility", "clusters")},
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_ends_at_the_step_at_which_it_is_told_to(name):
    unlimited = Steps(0)
    with suppress(Rejected):
        SEARCHES[name](unlimited)
    assert unlimited.count >= 2
    for last in {1, 2, unlimited.count // 2, unlimited.count}:
        steps = Steps(last)
        with pytest.raises(Ended):
            SEARCHES[name](steps)
        assert steps.count == last
