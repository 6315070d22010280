"""Moves and swaps within limits: what they leave cannot be improved by any of them."""

from itertools import combinations

import numpy as np
import pytest

from heuristics.sizes.exchanges import LEAST_SAVING, Exchanges
from heuristics.sizes.shifts import empty_shifts, find_all_shifts, renew_shifts
from sdpbb.problem import Infeasibility, Instance, contract
from tests.enumeration import feasible_clusterings
from tests.sizes.instances import sized_instance
from tests.sizes.weighted_instances import weighted_instance

CASES = [(draw, seed) for draw in (sized_instance, weighted_instance) for seed in range(60)]


def exchanged(labels, k):
    """Yield the labels after each move and each swap of blocks."""
    for i in range(len(labels)):
        for c in set(range(k)) - {labels[i]}:
            yield np.where(np.arange(len(labels)) == i, c, labels)
    for i, j in combinations(range(len(labels)), 2):
        swapped = labels.copy()
        swapped[[i, j]] = labels[[j, i]]
        yield swapped


@pytest.mark.parametrize(("draw", "seed"), CASES)
def test_no_move_and_no_swap_improves_what_exchanges_leave(draw, seed):
    """From several clusterings, and a saving is what it is said to be."""
    instance = draw(seed)
    contraction = contract(instance)
    if isinstance(contraction, Infeasibility) or not contraction.has_limits:
        return
    exchange = Exchanges(contraction)
    rounding = 1e-9 * contraction.total + 1e-300
    for clustering in feasible_clusterings(instance)[:5]:
        labels = clustering[contraction.representatives]
        found, saved = exchange(labels)
        assert contraction.keeps(found)
        cost = contraction.cost(found)
        assert contraction.cost(labels) - cost == pytest.approx(saved, abs=rounding)
        for other in exchanged(found, contraction.k):
            has_all = len(np.unique(other)) == contraction.k
            if has_all and contraction.keeps(other):
                assert contraction.cost(other) >= cost - 2 * LEAST_SAVING * contraction.total


@pytest.mark.parametrize("seed", range(5))
def test_exchanges_of_many_blocks_leave_nothing_to_improve(seed):
    """Where most clusters and most blocks are passed over by their bounds."""
    rng = np.random.default_rng(seed)
    n, k = 60, 5
    weights = None if seed == 0 else rng.uniform(0.2, 4.0, n)
    pairs = rng.permutation(n)[:40].reshape(-1, 2)
    labels = np.repeat(np.arange(k), n // k)
    cannot_link = [(i, j) for i, j in pairs.tolist() if labels[i] != labels[j]]
    points = rng.normal(size=(n, 2)) + rng.normal(size=(n, 2)) * (seed > 2)
    instance = Instance(
        points, k, cannot_link=cannot_link, weights=weights, min_size=11, max_size=13
    )
    contraction = contract(instance)
    found, saved = Exchanges(contraction)(labels)
    assert saved > 0.0
    assert contraction.keeps(found)
    cost = contraction.cost(found)
    for other in exchanged(found, k):
        if contraction.keeps(other):
            assert contraction.cost(other) >= cost - 2 * LEAST_SAVING * contraction.total


@pytest.mark.parametrize("seed", range(20))
def test_bounds_after_an_exchange_are_those_found_anew(seed):
    rng = np.random.default_rng(seed)
    m, k = 12, 4
    weights = rng.uniform(0.5, 2.0, m)
    labels = np.concatenate([np.arange(k), rng.integers(k, size=m - k)])
    distances = rng.uniform(size=(m, k))
    renewed, anew = empty_shifts(k), empty_shifts(k)
    find_all_shifts(weights, labels, distances, renewed)
    i, j = rng.choice(np.flatnonzero(labels < 2), 2, replace=False)
    labels[[i, j]] = labels[[j, i]]
    distances[:, :2] = rng.uniform(size=(m, 2))
    renew_shifts(weights, labels, distances, 0, 1, renewed)
    find_all_shifts(weights, labels, distances, anew)
    for one, other in zip(renewed, anew, strict=True):
        np.testing.assert_array_equal(one, other)
