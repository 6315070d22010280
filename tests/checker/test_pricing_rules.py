"""No cluster that keeps the rules and is worth less is overlooked, and what is right is proven."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sdpbb.checker.kernel.geometry import Contracted
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.rules import Limit
from sdpbb.checker.prices import Lagrangian
from sdpbb.checker.pricing import places, proven_least
from sdpbb.checker.pricing import search as pricing_search
from tests.checker.block_rules import keeps, of_blocks, random_rules
from tests.checker.clusters import SEARCHES, exact_values, searching
from tests.checker.test_lagrangian import cheapest
from tests.checker.test_pricing import MARGIN, problems, random_problem, scale_of
from tests.examples import examples

NO_PAIRS = np.empty((0, 2), np.int64)


def allowed_values(contracted, adjacency, prices, rules) -> dict[int, Fraction]:
    """`exact_values` of the sets that keep the rules."""
    values = exact_values(contracted, adjacency, prices)
    return {
        number: value
        for number, value in values.items()
        if keeps(rules, [i for i in range(contracted.m) if number >> i & 1])
    }


@pytest.mark.long
@pytest.mark.parametrize("by", SEARCHES)
@examples(200)
@given(
    problem=problems(),
    seed=st.integers(0, 10**6),
    off=st.sampled_from([-1e-3, -1e-11, 0.0, 1e-12, 1e-9, 1e-3]),
)
def test_nothing_above_the_least_value_is_proven(by, problem, seed, off):
    contracted, adjacency, prices = problem
    rules = random_rules(np.random.default_rng(seed), contracted.m)
    values = allowed_values(contracted, adjacency, prices, rules)
    assume(values)
    true = min(values.values())
    least = float(true) + off * scale_of(contracted, prices)
    try:
        with searching(by):
            proven = proven_least(contracted, adjacency, prices, least, rules=rules)
    except Rejected:
        # What is right is proven; above 0 it is a matter of all blocks, allowed or not.
        assert off > -MARGIN or least > 0.0
        return
    assert proven <= least
    assert Fraction(proven) <= true


@pytest.mark.parametrize(
    ("m", "d", "n_links"), [(12, 1, 0), (12, 2, 8), (13, 2, 40), (12, 6, 6), (10, 1, 10)]
)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sizes", [(64, 512), (3, 2)])
def test_all_sets_are_looked_at(m, d, n_links, seed, sizes, monkeypatch):
    monkeypatch.setattr(places, "MOST_DIMENSIONS", 0)
    monkeypatch.setattr(pricing_search, "_GROUP", sizes[0])
    monkeypatch.setattr(pricing_search, "_BATCH", sizes[1])
    rng = np.random.default_rng(seed)
    contracted, adjacency, prices = random_problem(rng, m, d, n_links)
    rules = random_rules(rng, m)
    values = allowed_values(contracted, adjacency, prices, rules)
    if not values or min(values.values()) >= 0:
        return
    true = float(min(values.values()))
    proven = proven_least(contracted, adjacency, prices, true, rules=rules)
    assert true - MARGIN * prices.sum() <= proven <= true
    with pytest.raises(Rejected, match="is worth less than"):
        proven_least(contracted, adjacency, prices, true + 1e-10, rules=rules)


@pytest.mark.parametrize("by", SEARCHES)
def test_a_size_is_told_by_far_fewer_nodes_than_all_sets_are(by):
    """Of forty points around a place the ten nearest ones to some point are worth the most: limits
    are part of the bounds."""
    rng = np.random.default_rng(3)
    points, size = rng.normal(size=(40, 2)), Limit(np.ones(40, np.int64), NO_PAIRS, 5)
    contracted = Contracted(40, np.ones(40), points, np.zeros(40), 0.0)
    prices, free = np.full(40, 3.0), np.zeros((40, 40), bool)
    true = min(
        sum(((points[list(x)] - points[list(x)].mean(axis=0)) ** 2).ravel()) - 3.0 * 5
        for x in near_sets(points, 5)
    )
    least = true - 1e-9
    with searching(by):
        assert proven_least(contracted, free, prices, least, 20_000, (size,)) <= least
    with searching(by), pytest.raises(Rejected, match="is worth less"):
        proven_least(contracted, free, prices, true + 1e-6, 20_000, (size,))


def near_sets(points, count):
    """For each point, sets among the nine nearest to it: the best one is among them."""
    for i in range(len(points)):
        near = np.argsort(((points - points[i]) ** 2).sum(axis=1))[:9]
        yield from combinations(near.tolist(), count)


@examples(200)
@given(st.integers(0, 10**6))
def test_prices_refute_only_what_has_no_clustering(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 7))
    links = int(rng.integers(0, m))
    contracted, adjacency, _ = random_problem(rng, m, 2, links)
    rules, k = random_rules(rng, m), int(rng.integers(1, m + 1))
    prices = rng.integers(0, 4, m) * rng.choice([1.0, 0.1, 1e9])
    one_place = Contracted(contracted.n, contracted.weights, np.zeros((m, 1)), np.zeros(m), 0.0)
    values = allowed_values(one_place, adjacency, prices, rules)
    least = float(min(values.values(), default=Fraction(0)))
    least = least if rng.random() < 0.7 else least * 0.9
    exists = cheapest(values, m, k) is not None
    try:
        refuted = Lagrangian(prices, least).proves_infeasible(
            contracted, of_blocks(k, adjacency, rules)
        )
    except Rejected:
        return
    if refuted:
        assert not exists
    elif least == float(min(values.values(), default=Fraction(0))):
        # Whole prices prove what they can prove.
        assert math.fsum(prices) + k * least <= 1e-9 * math.fsum(prices)
