"""Local search over clusters: what it returns are clusters that no exchange improves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.colgen.columns import cluster_costs
from sdpbb.bounds.colgen.pricing.branching_pricer import local_minima
from sdpbb.bounds.colgen.pricing.problem import PricingProblem
from sdpbb.problem import Contraction, Instance, contract
from tests.bounds.colgen.test_pricing import KINDS, SEEDS, drawn, random_prices
from tests.constrained import allowed_sets
from tests.examples import examples


def assert_locally_minimal(contraction, sets, prices, minima, without_costs=False) -> None:
    """No block more, no block fewer, and no block in the place of those it excludes."""
    costs = np.zeros(len(sets)) if without_costs else cluster_costs(contraction, sets)
    worth = costs - sets @ prices
    value = {row.tobytes(): worth for row, worth in zip(sets, worth, strict=True)}
    scale = 1e-12 * (contraction.total + np.abs(prices).sum())
    for row in minima:
        own = value[row.tobytes()]
        for j in range(contraction.n_blocks):
            other = row.copy()
            if row[j]:
                other[j] = False
            else:
                other &= ~contraction.adjacency[j]
                other[j] = True
            assert value.get(other.tobytes(), np.inf) >= own - 1e-8 * abs(own) - scale


@pytest.mark.long
@given(SEEDS, KINDS, st.booleans())
@examples(100, derandomize=True)
def test_no_exchange_improves_what_is_returned(seed, kinds, without_costs):
    instance, contraction = drawn(seed, kinds)
    sets = allowed_sets(instance, contraction)
    prices = random_prices(contraction, seed)
    if without_costs:
        prices = np.abs(prices)
    problem = PricingProblem.of(contraction, without_costs)
    costs = np.zeros(len(sets)) if without_costs else cluster_costs(contraction, sets)
    value = dict(zip((row.tobytes() for row in sets), costs - sets @ prices, strict=True))
    middle = float(np.median(list(value.values())))
    for below in (np.inf, 0.0, middle):
        minima = local_minima(problem, prices, below)
        values = np.array([value[row.tobytes()] for row in minima])  # all are allowed
        rounding = 1e-12 * (contraction.total + np.abs(prices).sum())
        assert (values < below + rounding).all()
        assert (np.diff(values) >= -rounding).all()
        assert_locally_minimal(contraction, sets, prices, minima, without_costs)
        if below == np.inf:
            assert len(minima) == contraction.n_blocks


def test_separate_groups_are_all_found():
    """Three far-away groups whose prices are worth more than their scatter: one minimum each."""
    rng = np.random.default_rng(0)
    points = np.repeat([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0]], 5, axis=0)
    contraction = contract(Instance(points + rng.normal(size=(15, 2)), 3))
    assert isinstance(contraction, Contraction)
    minima = local_minima(PricingProblem.of(contraction), np.full(15, 20.0), 0.0)
    groups = np.repeat(np.eye(3, dtype=bool), 5, axis=1)
    assert {row.tobytes() for row in minima} == {row.tobytes() for row in groups}


@pytest.mark.parametrize(("n_seeds", "expected"), [(1, 1), (4, 4), (7, 5), (15, 15), (99, 15)])
def test_from_about_so_many_blocks(n_seeds, expected):
    contraction = contract(Instance(np.random.default_rng(0).normal(size=(15, 2)), 3))
    assert isinstance(contraction, Contraction)
    problem, prices = PricingProblem.of(contraction), np.full(15, 1.0)
    found = local_minima(problem, prices, np.inf, n_seeds)
    assert len(found) == expected
    everywhere = {row.tobytes() for row in local_minima(problem, prices, np.inf)}
    assert {row.tobytes() for row in found} <= everywhere


def test_a_block_replaces_those_it_excludes():
    """From block 0, which excludes it, the far heavier block 1 is reached by an exchange only."""
    contraction = contract(Instance(np.zeros((3, 1)), 2, cannot_link=[(0, 1)]))
    assert isinstance(contraction, Contraction)
    problem = PricingProblem.of(contraction, without_costs=True)
    minima = local_minima(problem, np.array([1.0, 5.0, 1.0]), -2.0)
    assert {row.tobytes() for row in minima} == {np.array([False, True, True]).tobytes()}
    assert len(minima) == 3


def test_nothing_below():
    contraction = contract(Instance(np.arange(4.0)[:, None], 2))
    assert isinstance(contraction, Contraction)
    found = local_minima(PricingProblem.of(contraction), np.full(4, -1.0), 0.0)
    assert found.shape == (0, 4)
    found = local_minima(PricingProblem.of(contraction), np.full(4, -1.0), np.inf)
    assert (found.sum(axis=1) == 1).all()
    assert found.sum() == pytest.approx(4)
