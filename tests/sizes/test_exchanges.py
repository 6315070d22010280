"""Moves and swaps within limits: what they leave cannot be improved by any of them."""

from itertools import combinations, product

import numpy as np
import pytest

from heuristics.sizes.exchanges import Exchanges, least_saving
from heuristics.sizes.shifts import empty_shifts, find_all_shifts, renew_shifts
from sdpbb.problem import Infeasibility, Instance, contract
from tests.enumeration import feasible_clusterings
from tests.sizes.instances import sized_instance
from tests.sizes.weighted_instances import weighted_instance
from tests.soft.instances import random_mixture, weighted_mixture

DRAWS = sized_instance, weighted_instance, random_mixture, weighted_mixture
CASES = [(draw, seed) for draw in DRAWS for seed in range(60)]


def moved(labels, k):
    """Yield the labels after each move of a block."""
    for i, c in product(range(len(labels)), range(k)):
        yield np.where(np.arange(len(labels)) == i, c, labels)


def exchanged(labels, k):
    """Yield the labels after each move and each swap of blocks."""
    yield from moved(labels, k)
    for i, j in combinations(range(len(labels)), 2):
        swapped = labels.copy()
        swapped[[i, j]] = labels[[j, i]]
        yield swapped


def check_exchanges(instance, neighbours):
    """From several clusterings: no neighbour is cheaper, and a saving is what it is said to be."""
    contraction = contract(instance)
    if isinstance(contraction, Infeasibility) or not contraction.has_limits:
        return
    exchange = Exchanges(contraction)
    rounding = 1e3 * least_saving(contraction) + 1e-300
    for clustering in feasible_clusterings(instance)[:5]:
        labels = clustering[contraction.representatives]
        found, saved = exchange(labels)
        assert saved >= 0.0
        assert contraction.keeps(found)
        cost = contraction.cost(found)
        assert contraction.cost(labels) - cost == pytest.approx(saved, abs=rounding)
        for other in neighbours(found, contraction.k):
            has_all = len(np.unique(other)) == contraction.k
            if has_all and contraction.keeps(other):
                assert contraction.cost(other) >= cost - 2 * least_saving(contraction)


@pytest.mark.parametrize(("draw", "seed"), CASES)
def test_no_move_and_no_swap_improves_what_exchanges_leave(draw, seed):
    check_exchanges(draw(seed), exchanged)


@pytest.mark.parametrize(("draw", "seed"), CASES)
def test_no_move_improves_what_moves_leave(draw, seed, monkeypatch):
    """Of many blocks only moves are looked at, whose distances are those of one block at a time."""
    monkeypatch.setattr("heuristics.sizes.exchanges.SWAP_BLOCKS", 0)
    check_exchanges(draw(seed), moved)


@pytest.mark.parametrize("with_soft_pairs", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_exchanges_of_many_blocks_leave_nothing_to_improve(seed, with_soft_pairs):
    """Where most clusters and most blocks are passed over by their bounds."""
    rng = np.random.default_rng(seed)
    n, k = 60, 5
    weights = None if seed == 0 else rng.uniform(0.2, 4.0, n)
    pairs = rng.permutation(n)[:40].reshape(-1, 2)
    labels = np.repeat(np.arange(k), n // k)
    cannot_link = [(i, j) for i, j in pairs.tolist() if labels[i] != labels[j]]
    points = rng.normal(size=(n, 2)) + rng.normal(size=(n, 2)) * (seed > 2)
    drawn = [rng.choice(n, 2, replace=False) for _ in range(40)] if with_soft_pairs else []
    soft = [(int(i), int(j), rng.uniform(0.0, 5.0)) for i, j in drawn]
    instance = Instance(
        points,
        k,
        cannot_link=cannot_link,
        soft_must_link=soft[::2],
        soft_cannot_link=soft[1::2],
        weights=weights,
        min_size=11,
        max_size=13,
    )
    contraction = contract(instance)
    found, saved = Exchanges(contraction)(labels)
    assert saved > 0.0
    assert contraction.keeps(found)
    cost = contraction.cost(found)
    for other in exchanged(found, k):
        if contraction.keeps(other):
            assert contraction.cost(other) >= cost - 2 * least_saving(contraction)


@pytest.mark.parametrize("seed", range(20))
def test_bounds_after_an_exchange_are_those_found_anew(seed):
    rng = np.random.default_rng(seed)
    m, k = 12, 4
    weights = rng.uniform(0.5, 2.0, m)
    labels = np.concatenate([np.arange(k), rng.integers(k, size=m - k)])
    distances, prices = rng.uniform(size=(m, k)), rng.normal(size=(m, k))
    renewed, anew = empty_shifts(k), empty_shifts(k)
    find_all_shifts(weights, labels, distances, prices, renewed)
    i, j = rng.choice(np.flatnonzero(labels < 2), 2, replace=False)
    labels[[i, j]] = labels[[j, i]]
    distances[:, :2] = rng.uniform(size=(m, 2))
    prices[:, :2] = rng.normal(size=(m, 2))
    renew_shifts(weights, labels, distances, prices, 0, 1, renewed)
    find_all_shifts(weights, labels, distances, prices, anew)
    for one, other in zip(renewed, anew, strict=True):
        np.testing.assert_array_equal(one, other)
